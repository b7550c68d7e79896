"""Peaks of anonymous memory of a piece of work, in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

MEASURE = """
import sys, json
import numpy as np
import bochner
from bochner.bench.timing import PeakMemory

{code}

memory, peaks = PeakMemory(), []
for argument in sys.argv[1:]:
    work(argument)
    peaks.append(memory.bytes)
print(json.dumps(peaks))
"""


def measured(code, *arguments):
    """The peak in bytes after `work`, which the code defines, was done with each argument in turn."""
    if not Path("/proc/self/status").exists():
        pytest.skip("memory is read from /proc")
    command = [sys.executable, "-c", MEASURE.format(code=code), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    peaks = json.loads(done.stdout)
    print(*(f"{argument}: {peak / 1e6:.0f} MB" for argument, peak in zip(arguments, peaks, strict=True)), sep="\n")
    return peaks

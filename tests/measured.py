"""The peak of anonymous memory of a piece of code, run in a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

BEFORE = "import sys, numpy as np\nfrom bochner.bench.timing import PeakMemory\nmemory = PeakMemory()\n"
AFTER = "\nprint(memory.bytes)"


def measured(code, *arguments):
    """Bytes; the code finds its arguments in sys.argv."""
    if not Path("/proc/self/status").exists():
        pytest.skip("memory is read from /proc")
    command = [sys.executable, "-c", BEFORE + code + AFTER, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    print(f"peak {int(done.stdout) / 1e6:.0f} MB", *arguments)
    return int(done.stdout)

"""Damaged and hostile files, by the thousand: tests/fuzz.py in a process of its own."""

import subprocess
import sys
import time
from pathlib import Path

import pytest


@pytest.mark.parametrize("cases", [1400, pytest.param(100_000, marks=pytest.mark.slow)])
def test_damaged_and_hostile_files(cases):
    begun = time.perf_counter()
    fuzz = Path(__file__).parent / "fuzz.py"
    done = subprocess.run([sys.executable, fuzz, str(cases)], capture_output=True, text=True, check=False)
    print(done.stdout, f"{time.perf_counter() - begun:.0f} s")
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]

"""Damaged and hostile files, by the thousand: tests/fuzz.py and tests/hostile.py in processes of their own."""

import subprocess
import sys
import time
from pathlib import Path

import pytest


@pytest.mark.parametrize("cases", [1400, pytest.param(100_000, marks=pytest.mark.slow)])
def test_damaged_and_hostile_files(cases):
    require_no_faults("fuzz.py", cases)


@pytest.mark.parametrize("cases", [400, pytest.param(20_000, marks=pytest.mark.slow)])
def test_whatever_is_changed_in_a_file_it_is_refused_or_works(cases):
    require_no_faults("hostile.py", cases)


def require_no_faults(name, cases):
    begun = time.perf_counter()
    program = Path(__file__).parent / name
    done = subprocess.run([sys.executable, program, str(cases)], capture_output=True, text=True, check=False)
    print(done.stdout, f"{time.perf_counter() - begun:.0f} s")
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]

"""Damaged and hostile files, by the thousand: helpers/fuzz.py and helpers/hostile.py in processes of their own."""

import subprocess
import sys
import time

import pytest

from helpers.places import TESTS


@pytest.mark.parametrize("cases", [1400, pytest.param(100_000, marks=pytest.mark.slow)])
def test_damaged_and_hostile_files(cases):
    require_no_faults("helpers.fuzz", cases)


@pytest.mark.parametrize("cases", [400, pytest.param(20_000, marks=pytest.mark.slow)])
def test_whatever_is_changed_in_a_file_it_is_refused_or_works(cases):
    require_no_faults("helpers.hostile", cases)


def require_no_faults(name, cases):
    begun = time.perf_counter()
    command = [sys.executable, "-m", name, str(cases)]
    done = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, check=False)
    print(done.stdout, f"{time.perf_counter() - begun:.0f} s")
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]

"""The tests of the ops with native code built under AddressSanitizer and UndefinedBehaviorSanitizer.

Builds the extension into a temporary folder and runs tests/ops/test_ops.py with it, on every instruction set that this
machine has and on emulated tiles. Needs gcc.
"""

import os
import subprocess
import sys
import tempfile

from helpers.extension import NATIVE, build, run_tests

FLAGS = ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
SETS = ("baseline", "avx2", "avx512", "vnni", "bfloat16", "amx_emulated")


def runtime(name):
    """Where gcc keeps the library of a sanitizer."""
    done = subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def main():
    with tempfile.TemporaryDirectory() as scratch:
        library = build(scratch, SETS, NATIVE / "machine.cpp", FLAGS)
        preload = ":".join(map(runtime, ("libasan.so", "libubsan.so")))
        environment = {**os.environ, "LD_PRELOAD": preload, "ASAN_OPTIONS": "detect_leaks=0"}
        return run_tests(library, "tests/ops/test_ops.py", "-k", "not absent", environment=environment)


if __name__ == "__main__":
    sys.exit(main())

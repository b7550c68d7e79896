"""The AMX machine code, as it is shipped, on a processor without AMX: each tile instruction traps and is interpreted.

Builds the extension with trapped.cpp in place of machine.cpp and runs the tests of the products on it. Needs gcc
and a processor with AVX-512 VNNI.
"""

import os
import sys
import tempfile
from pathlib import Path

from helpers.extension import build, run_tests

SETS = ("baseline", "amx_emulated", "vnni", "amx")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        library = build(scratch, SETS, Path(__file__).with_suffix(".cpp"), ["-O3"])
        # pytest's own handler of faults would take the traps away.
        words = ["-p", "no:faulthandler", "tests/ops/test_ops.py", "-k", "amx and not emulated"]
        return run_tests(library, *words, environment={**os.environ, "BOCHNER_INSTRUCTION_SET": "amx"})


if __name__ == "__main__":
    sys.exit(main())

"""The tests of the ops with native code built under AddressSanitizer and UndefinedBehaviorSanitizer.

Builds the extension into a temporary folder and runs tests/test_ops.py and tests/test_threads.py with it, on every
instruction set that this machine has. Needs gcc.
"""

import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import nanobind

ROOT = Path(__file__).parents[1]
NATIVE = ROOT / "src" / "bochner" / "ops" / "native"
FLAGS = {
    "baseline": [],
    "avx2": ["-mavx2", "-mfma"],
    "avx512": ["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl"],
    "vnni": ["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mavx512vnni"],
}
COMMON = ["-std=c++17", "-O1", "-g", "-fPIC", "-ffp-contract=off", "-fsanitize=address,undefined",
          "-fno-sanitize-recover=undefined", "-Wno-psabi"]  # fmt: skip
RUN = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("bochner.ops._native", sys.argv[1])
module = importlib.util.module_from_spec(spec)
sys.modules["bochner.ops._native"] = module
spec.loader.exec_module(module)
import pytest
from bochner.ops import native
assert native._native is module, "the tests would not use the sanitized build"
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:xdist", *sys.argv[2:]]))
"""


def compile_to(out, source, *flags):
    subprocess.run(["g++", *COMMON, *flags, "-c", str(source), "-o", str(out)], check=True)


def runtime(name):
    """Where gcc keeps the library of a sanitizer."""
    done = subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def main():
    include = Path(nanobind.include_dir())
    headers = ["-I", str(include), "-I", str(include.parent / "ext" / "robin_map" / "include"),
               "-I", sysconfig.get_path("include")]  # fmt: skip
    with tempfile.TemporaryDirectory() as scratch:
        objects = []
        for name, flags in FLAGS.items():
            objects.append(Path(scratch) / f"{name}.o")
            compile_to(objects[-1], NATIVE / "kernels.cpp", f"-DBOCHNER_INSTRUCTION_SET={name}", *flags)
        for source, flags in (
            (NATIVE / "module.cpp", ["-DBOCHNER_X86", *headers]),
            (include.parent / "src" / "nb_combined.cpp", ["-fno-strict-aliasing", *headers]),
        ):
            objects.append(Path(scratch) / f"{source.stem}.o")
            compile_to(objects[-1], source, *flags)
        library = Path(scratch) / "_native.so"
        subprocess.run(["g++", "-shared", "-fsanitize=address,undefined", "-o", library, *objects], check=True)
        preload = ":".join(map(runtime, ("libasan.so", "libubsan.so")))
        environment = {**os.environ, "LD_PRELOAD": preload, "ASAN_OPTIONS": "detect_leaks=0"}
        tests = [str(ROOT / "tests" / "test_ops.py"), "-k", "not absent"]
        return subprocess.run([sys.executable, "-c", RUN, library, *tests], env=environment, cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())

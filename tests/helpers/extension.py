"""Builds the extension outside the package, with flags and a choice of instruction sets of its own. Needs g++."""

import subprocess
import sys
import sysconfig
from pathlib import Path

import nanobind

from helpers.places import ROOT

NATIVE = ROOT / "src" / "bochner" / "ops" / "native"
AVX512 = ["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl"]
SETS = {
    "baseline": ("kernels.cpp", []),
    "avx2": ("kernels.cpp", ["-mavx2", "-mfma"]),
    "avx512": ("kernels.cpp", AVX512),
    "vnni": ("kernels.cpp", [*AVX512, "-mavx512vnni"]),
    "bfloat16": ("bfloat16.cpp", [*AVX512, "-mavx512vnni", "-mavx512bf16"]),
    "amx": ("tiled.cpp", [*AVX512, "-mavx512vnni", "-DBOCHNER_OTHERS=vnni"]),
    "amx_emulated": ("tiled.cpp", ["-DBOCHNER_OTHERS=baseline", "-DBOCHNER_EMULATED"]),
}
COMMON = [
    "-std=c++17", "-g", "-fPIC", "-ffp-contract=off", "-Wno-psabi", "-DBOCHNER_X86", "-DBOCHNER_BFLOAT16",
    "-I", str(NATIVE),
]  # fmt: skip
RUN = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("bochner.ops._native", sys.argv[1])
module = importlib.util.module_from_spec(spec)
sys.modules["bochner.ops._native"] = module
spec.loader.exec_module(module)
import pytest
from bochner.ops import native
assert native._native is module, "the tests would not use this build"
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:xdist", *sys.argv[2:]]))
"""


def build(folder, sets, machine, flags):
    """Compile these instruction sets, with `machine` to say which of them run, into a library in `folder`."""
    include = Path(nanobind.include_dir())
    headers = ["-I", str(include), "-I", str(include.parent / "ext" / "robin_map" / "include"),
               "-I", sysconfig.get_path("include")]  # fmt: skip
    sources = [(NATIVE / SETS[name][0], [f"-DBOCHNER_INSTRUCTION_SET={name}", *SETS[name][1]]) for name in sets]
    sources += [(machine, []), (NATIVE / "module.cpp", headers)]
    sources += [(include.parent / "src" / "nb_combined.cpp", ["-fno-strict-aliasing", *headers])]
    objects = [Path(folder) / f"{number}.o" for number in range(len(sources))]
    for out, (source, own) in zip(objects, sources, strict=True):
        subprocess.run(["g++", *COMMON, *flags, *own, "-c", str(source), "-o", str(out)], check=True)
    library = Path(folder) / "_native.so"
    subprocess.run(["g++", "-shared", *flags, "-o", library, *objects], check=True)
    return library


def run_tests(library, *words, environment):
    """pytest on this library; its exit code."""
    return subprocess.run([sys.executable, "-c", RUN, library, *words], env=environment, cwd=ROOT).returncode

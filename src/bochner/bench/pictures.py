"""Pictures end to end: patches with an exact solution beside networks and trees, all on the same cores.

Each contestant learns in a process of its own from the 60,000 pictures of MNIST or Fashion-MNIST, whose IDX files are
under BOCHNER_DATA, and is told by its seconds, its test error and its peak memory. Networks and trees learn for as many
seconds as our first entry took, so nothing else may work on the machine. Peers that are not installed do not enter;
the packages of the record tell.
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec

from ..data.loading import pictures
from .timing import Entry

SETS = ("mnist", "fashion_mnist")


def union(*parts: tuple[int, int, int], basis: str = "", filters: str = "patches") -> str:
    """Code of features of patches: size, grid and number of filters of each part."""
    each = ", ".join(
        f"bochner.PatchFeatures({basis}image_shape=(28, 28), patch_size={size}, grid={grid}, n_filters={number}, "
        f"filters={filters!r})"
        for size, grid, number in parts
    )
    return f"bochner.BasisUnion([{each}], precision='int8', random_state=0)"


# Name, the basis, and the memory that the fit may plan with: above its own, one triangle has no room.
OURS = (
    (
        "training patches of 5, 7, 9 and 11 pixels, 20,160 features",
        union((5, 3, 320), (7, 2, 600), (9, 2, 600), (11, 2, 600)),
        "4GB",
    ),
    (
        "random maxout patches of 5 and 7 pixels, 16,000 features",
        union((5, 4, 500), (7, 4, 500), basis="bochner.RandomMaxout(), ", filters="random"),
        "4GB",
    ),
    (
        "training patches of 5, 7 and 9 pixels, 31,968 features",
        union((5, 4, 333), (7, 4, 333), (9, 4, 333)),
        "6GB",
    ),
)
PEERS = {
    "torch CNN of two convolutions": ("torch", "Network(seconds)"),
    "LightGBM": ("lightgbm", "Trees(seconds)"),
    "scikit-learn MLPClassifier": ("sklearn", "Perceptron(seconds)"),
}
PROGRAM = """
import json, sys, time, warnings
import numpy as np
import bochner
from bochner.bench.pictures_peers import Network, Perceptron, Trees
from bochner.bench.timing import PeakMemory
from bochner.data.loading import pictures

code, name, memory_given, seconds = sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4])
X, y, X_test, y_test = pictures(name)
warnings.simplefilter("ignore")
memory = PeakMemory()
begun, worked = time.perf_counter(), time.process_time()
if memory_given:
    with bochner.config_context(memory=memory_given):
        basis = eval(code)
        fitted = bochner.RandomFeatureClassifier(basis, solver="triangle", random_state=0).fit(X, y)
else:
    fitted = eval(code).fit(X, y)
spent, worked = time.perf_counter() - begun, time.process_time() - worked
error = float(np.mean(fitted.predict(X_test) != y_test))
print(json.dumps({"seconds": spent, "error": error, "peak": memory.bytes, "worked": worked}))
"""


def bench_pictures(quick: bool = False) -> list[Entry]:
    entries = []
    for name in SETS:
        pictures(name)  # says what is missing before anything is measured
        ours = OURS[:1] if quick else OURS
        seconds = 0.0
        for who, code, memory in ours:
            entries.append(measured(name, f"bochner {who}", "ours", code, memory, 0.0))
            seconds = seconds or entries[-1].seconds
        for who, (module, code) in PEERS.items():
            if find_spec(module) is not None:
                entries.append(measured(name, who, "peer", code, "", seconds))
    return entries


def measured(name: str, who: str, kind: str, code: str, memory: str, seconds: float) -> Entry:
    """One contestant, in a process of its own."""
    arguments = [sys.executable, "-c", PROGRAM, code, name, memory, str(seconds)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{who} failed: {done.stderr.strip().splitlines()[-1]}")
    found = json.loads(done.stdout)
    note = f"test error {100 * found['error']:.2f} %, peak {found['peak'] / 1e9:.2f} GB, {found['worked']:.0f} s of CPU"
    speed, costs = 60_000 / found["seconds"], {"CPU seconds": found["worked"], "test error": found["error"]}
    return Entry(f"{name}, fit", who, kind, found["seconds"], speed, "rows/s", note, costs)

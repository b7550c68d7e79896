"""End to end on MNIST, each contestant in a process of its own: seconds, test error, peak memory.

Data: the four IDX files of MNIST under BOCHNER_DATA (see `bochner data list`).
"""

from __future__ import annotations

import json
import subprocess
import sys

from ..data import mnist
from .timing import Entry

OURS = {f"bochner RandomFourier({m}) int8": f"model({m})" for m in (4096, 8192, 9216, 10_000)}
PEERS = {
    "RBFSampler(4096) + RidgeClassifier": (
        "make_pipeline(RBFSampler(gamma=0.02, n_components=4096, random_state=0), RidgeClassifier(alpha=0.1))"
    ),
    "MLPClassifier": "MLPClassifier((100,), early_stopping=True, random_state=0)",
    "Nystroem(2000) + LinearSVC": (
        "make_pipeline(Nystroem(gamma=0.02, n_components=2000, random_state=0), LinearSVC(dual=False))"
    ),
}
PROGRAM = """
import json, sys, time
import numpy as np
import bochner
from bochner.data import mnist
from bochner.bench.timing import PeakMemory
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import RidgeClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

def model(features):
    return bochner.RandomFeatureClassifier(bochner.RandomFourier(features, precision="int8", random_state=0))

bytes_wanted = sys.argv[2] == "ours"
X, y, X_test, y_test = mnist()
if not bytes_wanted:
    X, X_test = X.astype(np.float32) / 255, X_test.astype(np.float32) / 255
memory = PeakMemory()
begun = time.perf_counter()
fitted = eval(sys.argv[1]).fit(X, y)
seconds = time.perf_counter() - begun
error = float(np.mean(fitted.predict(X_test) != y_test))
print(json.dumps({"seconds": seconds, "error": error, "peak": memory.bytes}))
"""


def bench_fit(quick: bool = False) -> list[Entry]:
    mnist()  # says what is missing before anything is measured
    entries = []
    chosen = [(name, code, "ours") for name, code in OURS.items()]
    chosen += [(name, code, "peer") for name, code in PEERS.items()]
    for name, code, kind in [chosen[0], chosen[len(OURS)]] if quick else chosen:
        done = subprocess.run([sys.executable, "-c", PROGRAM, code, kind], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{name} failed: {done.stderr.strip().splitlines()[-1]}")
        found = json.loads(done.stdout)
        note = f"test error {100 * found['error']:.2f} %, peak {found['peak'] / 1e9:.2f} GB"
        entries.append(Entry("MNIST, fit", name, kind, found["seconds"], 60_000 / found["seconds"], "rows/s", note))
    return entries

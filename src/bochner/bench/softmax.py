"""Softmax on MNIST: ours, features and all, beside scikit-learn's saga on features that it is given.

Each contestant is a process of its own. Least squares on the same features says what error is to be reached.
"""

from __future__ import annotations

import json
import subprocess
import sys

from ..data import mnist
from .timing import Entry

WORK = "MNIST, softmax, 4,096 features"
# One objective for all: saga's C = 100 is alpha = 1 / (2 C) = 0.005.
CONTESTANTS = {
    "bochner, Adam, 10 epochs": ("ours", "ours(loss='logistic', alpha=0.005, solver=ADAM)"),
    "bochner, least squares": ("ours", "ours()"),
    "LogisticRegression(saga), 8 epochs": ("peer", "saga(8)"),
    "LogisticRegression(saga), 12 epochs": ("peer", "saga(12)"),
    "LogisticRegression(saga), 5 epochs": ("peer", "saga(5)"),
    "bochner, Adam, 10 epochs, alpha chosen": ("ours", "ours(loss='logistic', solver=ADAM)"),
    "bochner, Newton": ("ours", "ours(loss='logistic', alpha=0.005)"),
}
PROGRAM = """
import json, sys, time, warnings
import numpy as np
import bochner
from bochner.data import mnist
from sklearn.linear_model import LogisticRegression

X, y, X_test, y_test = mnist()
basis = bochner.RandomFourier(4096, precision="int8", random_state=0)
ADAM = bochner.solvers.Adam(epochs=10, batch_size=128)
warnings.simplefilter("ignore")  # saga says that it has not converged

def ours(**settings):
    begun = time.perf_counter()
    fitted = bochner.RandomFeatureClassifier(basis, **settings).fit(X, y)
    return time.perf_counter() - begun, fitted.predict(X_test)

def saga(epochs):
    fitted = basis.fit(X)
    Z, Z_test = (np.float32(fitted.scale_) * fitted.transform(rows).astype(np.float32) for rows in (X, X_test))
    begun = time.perf_counter()
    model = LogisticRegression(solver="saga", C=100.0, max_iter=epochs, tol=1e-6).fit(Z, y)
    return time.perf_counter() - begun, model.predict(Z_test)

seconds, labels = eval(sys.argv[1])
print(json.dumps({"seconds": seconds, "error": float(np.mean(labels != y_test))}))
"""


def bench_softmax(quick: bool = False) -> list[Entry]:
    mnist()  # says what is missing before anything is measured
    entries = []
    for name, (kind, code) in list(CONTESTANTS.items())[: 3 if quick else None]:
        done = subprocess.run([sys.executable, "-c", PROGRAM, code], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{name} failed: {done.stderr.strip().splitlines()[-1]}")
        found = json.loads(done.stdout)
        # Another loss is another work: ratios are among softmax fits alone.
        work = WORK if "least" not in name else "the same, least squares"
        note = f"test error {100 * found['error']:.2f} %"
        entries.append(Entry(work, name, kind, found["seconds"], 60_000 / found["seconds"], "rows/s", note))
    return entries

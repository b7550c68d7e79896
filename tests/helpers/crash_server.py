"""Kill a fit with a checkpoint at random moments, take it up again, and compare the saved bytes.

A process of its own that forks: the library is imported once. Prints one line of JSON. Run as
`python crash_server.py <folder> <kills> <seed>`.
"""

import json
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # no threads before fork

import numpy as np

import bochner
from bochner.blocks import checkpoint
from bochner.solvers import SGD

checkpoint.INTERVAL, checkpoint.SHARE = 0.0, 1e9  # a checkpoint after every block

rng = np.random.default_rng(0)
X = rng.standard_normal((4000, 8)).astype(np.float32)
Y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
FOLDER = Path(sys.argv[1])
THREADS = (1, 2, 4)  # killed with so many, taken up with another number of them
BASIS = bochner.RandomFourier(100)
STEPS = SGD(epochs=4)
JOBS = [
    (lambda: bochner.RandomFeatureRegressor(BASIS, random_state=0), Y),
    (lambda: bochner.RandomFeatureClassifier(BASIS, random_state=0), Y > 0),
    (lambda: bochner.RandomFeatureRegressor(BASIS, random_state=0, solver="cg", alpha=0.1), Y),
    (lambda: bochner.RandomFeatureRegressor(BASIS, random_state=0, alpha="loo", precision="auto"), Y),
    (lambda: bochner.RandomFeatureClassifier(BASIS, random_state=0, loss="logistic"), Y > 0),
    (
        lambda: bochner.RandomFeatureClassifier(BASIS, random_state=0, loss="hinge", solver=STEPS, alpha=0.1),
        Y > 0,
    ),
]


def work(job, number):
    """Fit to a file with a checkpoint, then save; as a program would that is simply run again after a crash."""
    make, _ = JOBS[job]
    with bochner.config_context(block_rows=200):
        model = make().fit(bochner.read(FOLDER / f"{job}.npy", target=-1), checkpoint=FOLDER / f"check-{number}")
        model.save(FOLDER / f"{number}.bochner", sums=job < 2)


def child(job, number, threads=1):
    process = os.fork()
    if process == 0:
        code = 1
        try:
            os.environ["BOCHNER_NUM_THREADS"] = str(threads)
            work(job, number)
            code = 0
        finally:
            os._exit(code)
    return process


def finished(process):
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0


def main(kills, seed):
    chance = random.Random(seed)
    durations, wanted = [], []
    for job, (_, y) in enumerate(JOBS):
        np.save(FOLDER / f"{job}.npy", np.column_stack([X, y.astype(np.float32)]))
        begun = time.perf_counter()
        assert finished(child(job, f"whole-{job}"))
        durations.append(time.perf_counter() - begun)
        wanted.append((FOLDER / f"whole-{job}.bochner").read_bytes())
        shutil.rmtree(FOLDER / f"check-whole-{job}")
    result = {"kills": 0, "went_on": 0, "saved_before_kill": 0, "broken": 0, "different": 0, "failed": 0}
    for number in range(2 * kills):
        if result["kills"] == kills:
            break
        job = number % len(JOBS)
        process = child(job, number, chance.choice(THREADS))
        time.sleep(chance.uniform(0.0, durations[job]))
        os.kill(process, signal.SIGKILL)
        result["kills"] += not finished(process)
        final = FOLDER / f"{number}.bochner"
        if final.exists():
            result["saved_before_kill"] += 1
            try:
                bochner.load(final)
            except ValueError:
                result["broken"] += 1
        result["went_on"] += len(list((FOLDER / f"check-{number}").glob("step-*"))) > 1
        result["failed"] += not finished(child(job, number, chance.choice(THREADS)))
        result["different"] += final.read_bytes() != wanted[job]
        shutil.rmtree(FOLDER / f"check-{number}")
        final.unlink()
    print(json.dumps(result))


if __name__ == "__main__":
    main(int(sys.argv[2]), int(sys.argv[3]))

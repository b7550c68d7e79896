"""Figure 2: on forest, the error of random bins falls quickly with the number of grids, and time grows slowly."""

from __future__ import annotations

import time

import numpy as np
from sklearn.datasets import load_digits

from bochner import RandomBins
from bochner.data import Split

from ..findings import Chart, Claim, Experiment, Findings, Job
from ..plain import AS_IN_PAPERS
from .fitting import SignedLeastSquares, choose_bins
from .tasks import TASKS, Task, halves, quick_tasks

GRIDS = (1, 2, 5, 10, 20, 50)


def run(job: Job) -> Findings:
    task = quick_tasks()[0] if job.quick else TASKS[3]
    split = odd_digits() if job.quick else task.load()
    counts = (1, 5, 20) if job.quick else GRIDS
    chosen = choose_bins(task, split)
    curve = []
    for grids in counts:
        error, seconds = job.part(f"{grids} grids", measured, task, split, chosen, grids)
        job.say(f"{grids} grids: {error:.2f} % in {seconds:.1f} s")
        curve.append((grids, error, seconds))
    (_, first, brief), (_, last, long) = curve[0], curve[-1]
    halfway = next(grids for grids, error, _ in curve if error <= (first + last) / 2)
    titles = {"error (%)": 1, "training (s)": 2}
    return Findings(
        settings={
            "rows": len(split.y), "grids": list(counts), "bandwidth": f"{chosen.basis.bandwidth:.4g}",
            "penalty": chosen.alpha, "columns that cells are hashed to": task.columns,
        },
        claims=[
            Claim(
                "error decays quickly as grids are added", last < first and halfway <= max(counts) / 4,
                f"{first:.2f} % with {counts[0]}, {last:.2f} % with {counts[-1]}; half of the way at {halfway} grids",
            ),
            Claim(
                "training time grows slowly with the number of grids", long / brief < counts[-1] / counts[0],
                f"{brief:.1f} s with {counts[0]}, {long:.1f} s with {counts[-1]}: {long / brief:.1f} times for "
                f"{counts[-1] // counts[0]} times as many",
            ),
        ],
        charts=[
            Chart(title, [{"P": row[0], title: row[k], "method": "binning"} for row in curve], "P", title, "method")
            for title, k in titles.items()
        ],
        remarks=["The paper prints curves and no numbers. Bandwidth and penalty are those chosen on training rows."],
    )  # fmt: skip


def measured(task: Task, split: Split, chosen: SignedLeastSquares, grids: int) -> tuple[float, float]:
    """Test error in per cent and seconds of training."""
    assert isinstance(chosen.basis, RandomBins)
    basis = RandomBins(task.columns, n_grids=grids, bandwidth=chosen.basis.bandwidth, random_state=0)
    begun = time.perf_counter()
    model = SignedLeastSquares(basis, alpha=chosen.alpha, precision="float32", **AS_IN_PAPERS).fit(split.X, split.y)
    seconds = time.perf_counter() - begun
    return task.error(model.predict(split.X_test), split.y_test), seconds


def odd_digits() -> Split:
    """Odd or even digits, for quick runs."""
    X, y = load_digits(return_X_y=True)
    return halves(X, np.where(y % 2 == 1, 1.0, -1.0))


EXPERIMENT = Experiment(
    "random-bases-forest", "uniform_approximation_with_random_bases",
    "Figure 2: forest, error and time against the number of grids", run, ("covtype",),
)  # fmt: skip

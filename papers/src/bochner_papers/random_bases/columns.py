"""Census with fewer columns: what the 103 columns that are missing here cost Table I.

The set at hand has 36 of the paper's 139 columns. Errors with some of the 36, drawn at random, tell how much a column
is still worth.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_diabetes

from bochner.data import Split

from ..findings import Chart, Claim, Comparison, Experiment, Findings, Job
from .fitting import choose_fourier, fitted, with_unit_targets
from .tasks import TASKS, Task, halves, quick_tasks

COUNTS, DRAWS = (4, 9, 18, 36), 5
PAPER_COLUMNS, PRINTED = 119, 5.0  # the paper writes 119 dimensions


def run(job: Job) -> Findings:
    task = quick_tasks()[1] if job.quick else TASKS[1]
    split = with_unit_targets(task, halves(*load_diabetes(return_X_y=True)) if job.quick else task.load())
    counts = (2, 5, 10) if job.quick else COUNTS
    errors = {}
    for count in counts:
        draws = 1 if count == split.X.shape[1] else DRAWS
        errors[count] = np.array(job.part(f"{count} columns", errors_of, task, split, count, draws))
        job.say(f"{count} columns: {errors[count].mean():.1f} %")
    means = [float(found.mean()) for found in errors.values()]
    slope = float(np.polyfit(np.log(counts[-2:]), means[-2:], 1)[0])
    expected = means[-1] + slope * np.log(PAPER_COLUMNS / counts[-1])
    return Findings(
        settings={"columns": list(counts), "draws of columns": DRAWS, "features": task.components[0]},
        comparisons=[
            Comparison(f"error, {count} columns", None, float(found.mean()),
                       spread=float(found.std(ddof=1)) if len(found) > 1 else None)
            for count, found in errors.items()
        ],
        claims=[
            Claim(
                "ours: the error still falls with the last half of the columns", means[-1] < means[-2],
                f"{', '.join(f'{error:.1f} % with {count}' for count, error in zip(counts, means, strict=True))}; a "
                f"line through the last two in the logarithm would be at {expected:.0f} % with {PAPER_COLUMNS}",
                "ours",
            )
        ],
        charts=[
            Chart("Error by number of columns", [
                {"columns": count, "error, %": float(error), "method": "Fourier"}
                for count, found in errors.items() for error in found
            ], "columns", "error, %", "method", "point", True),
        ],
    )  # fmt: skip


def errors_of(task: Task, split: Split, count: int, draws: int) -> list[float]:
    """Bandwidths are chosen for each draw of columns."""
    found = []
    for seed in range(draws):
        chosen = np.sort(np.random.default_rng(seed).permutation(split.X.shape[1])[:count])
        part = split._replace(X=split.X[:, chosen], X_test=split.X_test[:, chosen])
        found.append(fitted(task, part, choose_fourier(task, part)).error)
    return found


EXPERIMENT = Experiment(
    "random-bases-columns", "uniform_approximation_with_random_bases",
    "Table I: what the missing columns of census cost", run, ("census_house",),
)  # fmt: skip

"""Figure 2: the largest coefficient falls as K grows, so the constraint |a| <= C/K is idle for some fixed C.

The paper's stumps are -1 and +1, ours are divided by sqrt(K): a coefficient here is that of a feature of -1 and +1.
One Gram matrix at the largest K serves every smaller K, for the first K stumps of a longer list are the list of K.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bochner import RandomStumps, data
from bochner.moments import Centered, Moments
from bochner.solvers import solve_gram

from ..findings import Chart, Claim, Experiment, Findings, Job
from .racing import breast_cancer

COUNTS, RUNS, ROWS = (50, 100, 200, 400, 800, 1600), 500, 10_000
PENALTY = 1e-6  # times the number of rows: only so that stumps that are equal share their weight
KEPT = 60  # runs that are drawn for each K


def run(job: Job) -> Findings:
    split = breast_cancer() if job.quick else data.adult().standardized().first(ROWS)
    counts, runs = ((10, 20, 40, 80), 20) if job.quick else (COUNTS, RUNS)
    y = np.where(split.y == split.y.max(), 1, -1)[:, None]
    largest = np.empty((runs, len(counts)))
    for seed in range(runs):
        largest[seed] = largest_coefficients(split.X, y, counts, seed)
        if seed % 50 == 49:
            job.say(f"{seed + 1} of {runs} runs")
    medians = np.median(largest, axis=0)
    products = np.array(counts) * medians
    return Findings(
        settings={"runs": runs, "K": list(counts), "rows": len(y), "ridge": f"{PENALTY:g} a row", "features": "-1, +1"},
        claims=[
            Claim("the largest coefficient decays with K", bool((np.diff(medians) < 0).all()), shown(counts, medians)),
            Claim(
                "it decays linearly with K, over all K shown", slope(counts, medians) <= -0.9,
                f"slope of log against log {slope(counts, medians):.2f}; {slope(counts[-2:], medians[-2:]):.2f} "
                "between the two largest K (-1 is 1/K)",
            ),
            Claim(
                "some C does not grow with K: K times the largest coefficient levels off",
                bool(products[-1] <= 1.25 * products[-2]), "K times it: " + shown(counts, products),
            ),
        ],
        charts=[decay_chart(counts, largest)],
        remarks=[
            "The paper leaves the weights of equal stumps undetermined (plain least squares); a tiny ridge splits them "
            "evenly, as the least-norm solution does.",
            "Columns of adult are zeros and ones, so stumps are few but for repetitions. While K is below their number "
            "each new stump brings a column of its own, and coefficients hardly shrink; beyond it equal stumps share "
            "one weight, and the decay is that of 1/K.",
            f"The first {ROWS:,} rows of adult are used, where the paper has all 32,000.",
        ],
    )  # fmt: skip


def largest_coefficients(X: np.ndarray, y: np.ndarray, counts: Sequence[int], seed: int) -> list[float]:
    """max_k |a_k| of least squares on the first K stumps, for each K."""
    stumps = RandomStumps(max(counts), thresholds="normal", precision="int8", random_state=seed).fit_transform(X)
    moments = Moments.of(stumps, y)
    return [largest_of(moments.prefix(count).centered()) for count in counts]


def largest_of(problem: Centered) -> float:
    return float(np.abs(solve_gram(problem.gram, problem.cross, PENALTY * problem.rows).coefficients).max())


def slope(counts: Sequence[int], values: np.ndarray) -> float:
    return float(np.polyfit(np.log(counts), np.log(values), 1)[0])


def shown(counts: Sequence[int], values: np.ndarray) -> str:
    return "medians: " + ", ".join(f"{value:.3g} at K = {count}" for count, value in zip(counts, values, strict=True))


def decay_chart(counts: Sequence[int], largest: np.ndarray) -> Chart:
    rows = [{"K": k, "largest coefficient": float(v)} for j, k in enumerate(counts) for v in largest[:KEPT, j]]
    title = f"Largest coefficient, {min(KEPT, len(largest))} of {len(largest)} runs"
    return Chart(title, rows, "K", "largest coefficient", kind="point", log_x=True, log_y=True)


EXPERIMENT = Experiment(
    "kitchen-sinks-coefficients", "weighted_sums_of_random_kitchen_sinks",
    "Figure 2: the largest coefficient decays with the number of stumps", run, ("adult",),
)  # fmt: skip

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

from ..findings import Cause, Chart, Claim, Experiment, Findings, Job
from .racing import breast_cancer

COUNTS, RUNS, AT_ONCE = (50, 100, 200, 400, 800, 1600), 1000, 50
PENALTY = 1e-6  # times the number of rows: only so that stumps that are equal share their weight
FEW_STUMPS = Cause(
    "while K is below the number of different stumps, each new one brings a column of its own; only beyond it do equal "
    "stumps share one weight",
    "repeating every stump of a list halves the largest coefficient", "test_repeated_features_share_their_weight",
)  # fmt: skip
KEPT = 60  # runs that are drawn for each K


def run(job: Job) -> Findings:
    split = breast_cancer() if job.quick else data.adult().standardized()
    counts, runs = ((10, 20, 40, 80), 20) if job.quick else (COUNTS, RUNS)
    y = np.where(split.y == split.y.max(), 1, -1)[:, None]
    largest = np.concatenate([
        job.part(f"runs from {first}", runs_of, split.X, y, counts, range(first, min(first + AT_ONCE, runs)))
        for first in range(0, runs, AT_ONCE)
    ])  # fmt: skip
    medians = np.median(largest, axis=0)
    products = np.array(counts) * medians
    return Findings(
        settings={"runs": runs, "K": list(counts), "rows": len(y), "ridge": f"{PENALTY:g} a row", "features": "-1, +1"},
        claims=[
            Claim("the largest coefficient decays with K", bool((np.diff(medians) < 0).all()), shown(counts, medians)),
            Claim(
                "it decays linearly with K, over all K shown", slope(counts, medians) <= -0.9,
                f"slope of log against log {slope(counts, medians):.2f}; {slope(counts[-2:], medians[-2:]):.2f} "
                "between the two largest K (-1 is 1/K)", why=FEW_STUMPS,
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
        ],
    )  # fmt: skip


def runs_of(X: np.ndarray, y: np.ndarray, counts: Sequence[int], seeds: Sequence[int]) -> list[list[float]]:
    return [largest_coefficients(X, y, counts, seed) for seed in seeds]


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

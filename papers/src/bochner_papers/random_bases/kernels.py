"""Figure 1, a table: the kernels of Fourier features, stumps and bins, measured over many seeds.

The mean over seeds of <phi(x), phi(y)> is set beside the kernel, in standard errors of that mean (z-scores; over seeds,
for the features of one seed may depend on each other). Two rows of the table have a slip, which shows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from bochner import RandomBins, RandomFourier, RandomStumps

from ..findings import Cause, Chart, Claim, Experiment, Findings, Job

POINTS, DIMENSION, GAMMA, RADIUS = 6, 4, 0.7, 1.0
LIMIT = 4.5  # standard errors
COUNTS = (16, 32, 64, 128, 256, 512)
COLUMNS = 1 << 16
SLIPS = {
    "Fourier": Cause("a cosine has half the power of its cosine and sine", "with the factor sqrt(2/K) the z-score is "
                     "that of chance", "test_phased_cosines_give_half_the_kernel"),
    "stumps": Cause("the printed kernel lacks the factor 1/d of the uniform choice of a coordinate", "with it the "
                    "z-score is that of chance", "test_stump_kernel_has_a_factor_one_over_d"),
}  # fmt: skip


class Row(NamedTuple):
    """A row of the table: how to make K features, their factor as the paper has them, its kernel, and the right one."""

    name: str
    make: Callable[[int, int], Any]
    factor: float  # of <phi(x), phi(y)>, from our features to the mean over features of the paper's
    printed: Callable[[np.ndarray], np.ndarray]
    right: Callable[[np.ndarray], np.ndarray]
    slip: str


ROWS = (
    Row(
        "Fourier",
        lambda K, seed: RandomFourier(K, pairs=False, bandwidth=(2 * GAMMA) ** -0.5, random_state=seed),
        0.5,  # ours carry sqrt(2/K), the paper's cosines do not
        lambda X: np.exp(-GAMMA * cdist(X, X, "sqeuclidean")),
        lambda X: 0.5 * np.exp(-GAMMA * cdist(X, X, "sqeuclidean")),
        "; cosines without the factor sqrt(2/K) have half the printed kernel (as equation 12 says)",
    ),
    Row(
        "stumps",
        lambda K, seed: RandomStumps(K, radius=RADIUS, random_state=seed),
        1.0,
        lambda X: 1.0 - cdist(X, X, "cityblock") / RADIUS,
        lambda X: 1.0 - cdist(X, X, "cityblock") / (RADIUS * X.shape[1]),
        "; a coordinate is chosen with probability 1/d, which the printed kernel lacks",
    ),
    Row(
        "bins",
        lambda K, seed: RandomBins(COLUMNS, n_grids=K, bandwidth=1.0 / GAMMA, random_state=seed),
        1.0,
        lambda X: np.exp(-GAMMA * cdist(X, X, "cityblock")),
        lambda X: np.exp(-GAMMA * cdist(X, X, "cityblock")),
        "",
    ),
)


def run(job: Job) -> Findings:
    seeds = 100 if job.quick else 2000
    X = np.random.default_rng(0).uniform(-RADIUS, RADIUS, (POINTS, DIMENSION))
    found = Findings(
        {"points": POINTS, "dimension": DIMENSION, "seeds": seeds, "gamma": GAMMA, "a": RADIUS, "K": list(COUNTS)}
    )
    chart = []
    for row in ROWS:
        job.say(row.name)
        sample = products(row, X, 64, seeds)
        right, printed = largest_z(sample, row.right(X)), largest_z(sample, row.printed(X))
        text = f"{row.name}: the mean product of features is the kernel"
        found.claims.append(
            Claim(
                f"{text} as printed",
                printed < LIMIT,
                f"largest z-score {printed:.1f}{row.slip}",
                why=SLIPS.get(row.name, ""),
            )
        )
        if row.slip:
            found.claims.append(Claim(f"{text}, once corrected", right < LIMIT, f"largest z-score {right:.1f}"))
        errors = [rms_error(row, X, count, max(20, seeds // 10)) for count in COUNTS]
        slope = float(np.polyfit(np.log(COUNTS), np.log(errors), 1)[0])
        text = f"{row.name}: the error of the kernel falls like one over the root of K"
        found.claims.append(Claim(text, abs(slope + 0.5) < 0.1, f"slope {slope:.3f} of log against log"))
        chart += [{"K": k, "rms error": e, "features": row.name} for k, e in zip(COUNTS, errors, strict=True)]
    found.charts.append(Chart("Error of the kernel", chart, "K", "rms error", "features", log_x=True, log_y=True))
    return found


def products(row: Row, X: np.ndarray, count: int, seeds: int) -> np.ndarray:
    """<phi(x), phi(y)> of all pairs of different points (seeds, pairs), features as the paper has them."""
    pairs = np.triu_indices(len(X), 1)
    made = (row.make(count, seed).fit_transform(X) for seed in range(seeds))
    dense = (Z.toarray() if hasattr(Z, "toarray") else Z for Z in made)
    return np.array([row.factor * (Z @ Z.T)[pairs] for Z in dense])


def largest_z(sample: np.ndarray, kernel: np.ndarray) -> float:
    expected = kernel[np.triu_indices(len(kernel), 1)]
    return float(np.max(np.abs(sample.mean(axis=0) - expected) / (sample.std(axis=0, ddof=1) / np.sqrt(len(sample)))))


def rms_error(row: Row, X: np.ndarray, count: int, seeds: int) -> float:
    expected = row.right(X)[np.triu_indices(len(X), 1)]
    return float(np.sqrt(np.mean((products(row, X, count, seeds) - expected) ** 2)))


EXPERIMENT = Experiment(
    "random-bases-kernels", "uniform_approximation_with_random_bases",
    "Figure 1: the kernels of random features", run,
)  # fmt: skip

"""Before fitting: which bandwidth, how many features, which precision, and what it will cost."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target

from ..arrays import to_numpy
from ..bases import RandomFourier
from ..blocks import Block
from ..config import memory_budget
from ..kernels import Gaussian
from ..moments import Moments
from ..solvers import DualPath, dual_problem
from ..streams import sample_rows
from .classifier import RandomFeatureClassifier
from .precision import too_coarse
from .regressor import RandomFeatureRegressor
from .ways.dual import solve_kernel
from .ways.strategy import choose_exact, gram_bytes, kernel_bytes

PROBE = 1000  # rows that are looked at
FACTORS = (0.25, 0.5, 1.0, 2.0)  # of the median distance, tried as bandwidths
PER_DEGREE = 8  # features for each effective degree of freedom


@dataclass(frozen=True)
class Advice:
    """What to use, and the expected cost of a fit on all rows."""

    bandwidth: float
    n_components: int
    precision: str
    alpha: float
    solver: str
    seconds: float
    memory: int
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        head = (
            f"RandomFourier({self.n_components}, bandwidth={self.bandwidth:.4g}), precision={self.precision!r}: about "
            f"{self.seconds:.1f} s and {self.memory / 1e9:.2f} GB with solver {self.solver!r}"
        )
        return "\n".join([head, *(f"- {reason}" for reason in self.reasons)])


def advise(X: Any, y: Any) -> Advice:
    """Advice for RandomFourier on these rows, from exact kernel fits of a sample and a timed block.

    Examples
    --------
    >>> import numpy as np, bochner
    >>> X = np.random.default_rng(0).standard_normal((500, 3))
    >>> bochner.advise(X, np.sin(X[:, 0])).precision in ("int8", "int14", "float64")
    True
    """
    y = np.asarray(to_numpy(y))
    classifies = type_of_target(y) in ("binary", "multiclass") and y.dtype.kind not in "f"
    model: Any = RandomFeatureClassifier() if classifies else RandomFeatureRegressor()
    X, y = model._validate(X, y, reset=True)
    model._learn(model._summarize(y, None))
    codes = model._code(y)
    rows = sample_rows(X.shape[0], PROBE, seed=4)
    sample = X[rows].toarray() if hasattr(X, "toarray") else X[rows]
    block = Block(sample.astype(np.float64), codes[rows], None, 0)
    bandwidth, alpha, degrees = best_bandwidth(block, RandomFourier(2).fit(X).bandwidth_, classifies)
    most = int(np.sqrt(memory_budget() / 56))
    m = int(np.clip(2 ** np.ceil(np.log2(PER_DEGREE * degrees)), 256, max(256, most)))
    precision, why = probe_precision(X, block, bandwidth, alpha, m)
    solver, how = choose_exact(X.shape[0], m)
    seconds, memory = expected_cost(X, codes, bandwidth, precision, m, solver)
    reasons = (
        f"bandwidth: best of {len(FACTORS)} multiples of the median distance, exact kernel on {len(rows):,} rows",
        f"features: {PER_DEGREE} for each of {degrees:.0f} effective degrees of freedom at alpha = {alpha:.2g}",
        f"precision: {why}",
        f"solver: {how}",
    )
    return Advice(bandwidth, m, precision, alpha, solver, seconds, memory, reasons)


def best_bandwidth(block: Block, median: float, classifies: bool) -> tuple[float, float, float]:
    """The bandwidth whose exact kernel has the smallest generalised cross-validation; its alpha and degrees."""
    best = (np.inf, median, 1.0, 1.0)
    for factor in FACTORS:
        kernel = Gaussian(factor * median)(block.X)
        fit, _ = solve_kernel(kernel, block, "auto", True, classifies)
        alpha = fit.solution.alpha
        dual = dual_problem(kernel, block.y.astype(np.float64), None, True)
        path = DualPath(dual.kernel, dual.target)
        score = path.generalised_cross_validation(alpha, len(kernel), True)
        if score < best[0]:
            best = (score, factor * median, alpha, path.degrees(alpha))
    return best[1:]


def probe_precision(X: np.ndarray, block: Block, bandwidth: float, alpha: float, m: int) -> tuple[str, str]:
    for precision in ("int8", "int14"):
        basis = RandomFourier(m, bandwidth=bandwidth, precision=precision, random_state=0).fit(X)
        trouble = too_coarse(basis, Moments.of(basis.features(block.X), block.y), alpha, X.shape[0])
        if not trouble:
            return precision, f"{precision} loses nothing here"
    return "float64", f"integers are too coarse ({trouble})"


def expected_cost(
    X: np.ndarray, codes: np.ndarray, bandwidth: float, precision: str, m: int, solver: str
) -> tuple[float, int]:
    """Seconds, from the time of one block of features and sums; and bytes of the largest matrices."""
    basis = RandomFourier(m, bandwidth=bandwidth, precision=precision, random_state=0).fit(X)
    rows = min(X.shape[0], 1024)
    basis.features(X[:2])  # weights are drawn once, not per block
    start = time.perf_counter()
    features = basis.features(X[:rows])
    made = time.perf_counter() - start
    Moments.of(features, codes[:rows])
    summed = time.perf_counter() - start - made
    size = X.shape[0] if solver == "dual" else m
    cube = np.random.default_rng(0).standard_normal((512, 512))
    start = time.perf_counter()
    np.linalg.cholesky(cube @ cube.T + 600 * np.eye(512))
    factorisation = (time.perf_counter() - start) * (size / 512) ** 3
    passes = X.shape[0] / rows
    if solver == "dual":
        return float(2 * passes * made + passes * summed * X.shape[0] / m + 5 * factorisation), kernel_bytes(size)
    if solver == "cg":
        return float(40 * passes * made * 2), 8 * m * 320
    return float(passes * (made + summed) + 5 * factorisation), gram_bytes(size)

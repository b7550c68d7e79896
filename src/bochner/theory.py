"""What can be promised, and what is measured: bounds of the papers with their constants, features needed, kernel error.

Where a paper's constant fails its own proof, the right one is here and docs/errata.md says so. m is the number of
features, n of rows, delta the probability that a bound fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t as student
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from .arrays import to_numpy
from .bases.base import Basis
from .lazy import collections, is_lazy
from .maxout_theory import (
    RiskBound,
    constants_of,
    maxout_bound,
    maxout_features,
    maxout_rate,
    maxout_supremum,
    require_delta,
)
from .streams import sample_rows
from .typing import Matrix, MatrixLike
from .validation import require_integer, require_positive

__all__ = [
    "KernelError", "RiskBound", "features_needed", "intrinsic_dimension", "kernel_error", "kitchen_sinks_bound",
    "l2_approximation", "maxout_bound", "maxout_features", "maxout_rate", "maxout_supremum", "uniform_approximation",
]  # fmt: skip


def kitchen_sinks_bound(
    n: int,
    m: int,
    *,
    max_coefficient: float,
    loss: str | None = None,
    lipschitz: float | None = None,
    loss_at_zero: float = 1.0,
    delta: float = 0.05,
) -> RiskBound:
    """Bound the excess risk of a weighted sum of random features (Theorem 1 of the kitchen-sinks paper).

    It is for features |phi| <= 1, coefficients |a_k| <= C / m, and losses c(y f) that are L-Lipschitz on [-C, C]:
    estimation = (4 L C + 2 |c(0)| + L C sqrt(2 log(1/delta))) / sqrt(n). The last constant is twice the printed one,
    because changing one example moves the empirical risk by up to 2 L C / n. For the quadratic and exponential losses L
    grows with C.

    Parameters
    ----------
    n : int
        Number of rows.
    m : int
        Number of features.
    max_coefficient : float
        The number C.
    loss : str, default=None
        Name of a loss; None where its constants are given.
    lipschitz : float, default=None
        Lipschitz constant L of the loss.
    loss_at_zero : float, default=1.0
        Loss c(0), where `lipschitz` is given.
    delta : float, default=0.05
        Probability that each of the two parts fails.

    Returns
    -------
    RiskBound
        The two parts and their sum.

    Examples
    --------
    >>> from bochner.theory import kitchen_sinks_bound
    >>> round(kitchen_sinks_bound(10**6, 10**4, max_coefficient=1.0, loss="hinge").total, 4)
    0.0514
    """
    require_delta(delta)
    lipschitz, loss_at_zero = constants_of(loss, lipschitz, loss_at_zero, max_coefficient)
    scale = lipschitz * max_coefficient
    estimation = (4.0 * scale + 2.0 * abs(loss_at_zero) + scale * np.sqrt(2.0 * np.log(1.0 / delta))) / np.sqrt(n)
    return RiskBound(float(estimation), lipschitz * l2_approximation(m, norm=max_coefficient, delta=delta))


def l2_approximation(m: int, *, norm: float = 1.0, delta: float = 0.05) -> float:
    """Bound the L2 error of the best sum of m random features (Theorem 3.1 of the random-bases paper).

        |f_hat - f|_2 < |f|_p (1 + sqrt(2 log(1/delta))) / sqrt(m),   |phi| <= 1.

    Parameters
    ----------
    m : int
        Number of features.
    norm : float, default=1.0
        The norm |f|_p.
    delta : float, default=0.05
        Probability that the bound fails.

    Returns
    -------
    float
        The bound.

    Examples
    --------
    >>> from bochner.theory import l2_approximation
    >>> round(l2_approximation(10_000), 4)
    0.0345
    """
    require_delta(delta)
    return float(norm * (1.0 + np.sqrt(2.0 * np.log(1.0 / delta))) / np.sqrt(require_integer("m", m)))


def uniform_approximation(
    m: int, *, norm: float = 1.0, lipschitz: float, radius: float, weight_moment: float, delta: float = 0.05
) -> float:
    """Bound the largest error over |x| <= radius of the best sum of m random features (Theorem 3.2, the same paper).

        |f|_p (sqrt(2 log(1/delta)) + 4 L radius sqrt(E|w|^2)) / sqrt(m)

    for phi(<w, x>) with phi(0) = 0, |phi| <= 1 and L-Lipschitz. The printed bound lost the 2 under the first root;
    cosines do not satisfy phi(0) = 0.

    Parameters
    ----------
    m : int
        Number of features.
    norm : float, default=1.0
        The norm |f|_p.
    lipschitz : float
        Lipschitz constant L of phi.
    radius : float
        Largest |x|.
    weight_moment : float
        E |w|^2.
    delta : float, default=0.05
        Probability that the bound fails.

    Returns
    -------
    float
        The bound.

    Examples
    --------
    >>> from bochner.theory import uniform_approximation
    >>> round(uniform_approximation(10_000, lipschitz=1.0, radius=1.0, weight_moment=4.0), 4)
    0.1045
    """
    require_delta(delta)
    spread = 4.0 * lipschitz * radius * np.sqrt(weight_moment)
    return float(norm * (np.sqrt(2.0 * np.log(1.0 / delta)) + spread) / np.sqrt(require_integer("m", m)))


def features_needed(basis: Basis, error: float, delta: float = 0.05) -> int:
    """Return how many features keep the error of the kernel of any one pair of rows below a bound.

    Hoeffding's inequality is used where the product of a unit is bounded, else Chebyshev's with its second moment, for
    |x|, |z| <= 1. For RandomBins the answer is a number of grids. Dependent units (Fastfood, orthogonal frequencies)
    count by the group.

    Parameters
    ----------
    basis : Basis
        A fitted basis.
    error : float
        Largest |<phi(x), phi(z)> - k(x, z)|.
    delta : float, default=0.05
        Probability that it is exceeded.

    Returns
    -------
    int
        Number of columns.

    Examples
    --------
    >>> from bochner import RandomFourier
    >>> from bochner.theory import features_needed
    >>> features_needed(RandomFourier(random_state=0).fit([[0.0], [1.0]]), error=0.1)
    1476
    """
    require_positive("error", error)
    require_delta(delta)
    check_is_fitted(basis)
    bounds = basis.bounds
    if np.isfinite(bounds.product) and not bounds.floor:
        units = 2.0 * bounds.product**2 * np.log(2.0 / delta) / error**2
    elif np.isfinite(bounds.second_moment):
        left = error**2 * delta - bounds.floor
        if left <= 0:
            raise ValueError(
                f"hash collisions alone may exceed this error: use over {round(1 / (error**2 * delta))} columns."
            )
        units = bounds.second_moment / left
    else:
        raise ValueError(f"{type(basis).__name__} with this activation has no known bounds.")
    return int(np.ceil(units)) * bounds.columns


@dataclass(frozen=True)
class KernelError:
    """Measured error of the features' kernel, with confidence intervals over independent seeds.

    Attributes
    ----------
    rms : float
        Root mean square error over pairs of rows.
    rms_interval : tuple of two float
        Its confidence interval.
    largest : float
        Largest error over pairs of rows.
    largest_interval : tuple of two float
        Its confidence interval.
    pairs : int
        Number of pairs.
    repeats : int
        Number of draws of the basis.

    Examples
    --------
    >>> from bochner import RandomStumps
    >>> from bochner.theory import kernel_error
    >>> kernel_error(RandomStumps(100), [[0.0], [0.5], [1.0]]).pairs
    9
    """

    rms: float
    rms_interval: tuple[float, float]
    largest: float
    largest_interval: tuple[float, float]
    pairs: int
    repeats: int


def kernel_error(
    basis: Basis, X: MatrixLike, *, repeats: int = 20, confidence: float = 0.95, rows: int = 200
) -> KernelError:
    """Measure how far the kernel of random features is from the exact one.

    Parameters
    ----------
    basis : Basis
        The basis; it is drawn anew for each repeat.
    X : array-like, sparse matrix, frame, Blocks or Dask collection of shape (n_samples, n_features)
        Rows.
    repeats : int, default=20
        Number of draws.
    confidence : float, default=0.95
        Level of the intervals.
    rows : int, default=200
        Most rows to compare.

    Returns
    -------
    KernelError
        The root mean square and the largest error, with intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import RandomFourier
    >>> from bochner.theory import kernel_error
    >>> X = np.random.default_rng(0).normal(size=(30, 2))
    >>> few, many = (kernel_error(RandomFourier(m), X).rms for m in (100, 1600))
    >>> 3 < few / many < 5  # a quarter of the error for 16 times the features
    True
    """
    require_integer("repeats", repeats, minimum=2)
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must be between 0 and 1; got {confidence!r}.")
    sample = _some_rows(X, rows)
    rms, largest, exact = [], [], None
    for seed in range(repeats):
        fitted = clone(basis).set_params(random_state=seed).fit(sample)
        exact = fitted.kernel(sample) if exact is None else exact
        features = fitted.features(sample).astype(np.float64)
        product = features @ features.T
        difference = (product.toarray() if hasattr(product, "toarray") else product) * fitted.scale_**2 - exact
        rms.append(np.sqrt(np.mean(difference**2)))
        largest.append(np.abs(difference).max())
    half = student.ppf(0.5 + 0.5 * confidence, repeats - 1) / np.sqrt(repeats)

    def interval(values: list[float]) -> tuple[float, float]:
        mean, margin = float(np.mean(values)), float(half * np.std(values, ddof=1))
        return mean - margin, mean + margin

    return KernelError(
        float(np.mean(rms)), interval(rms), float(np.mean(largest)), interval(largest), sample.shape[0] ** 2, repeats
    )  # fmt: skip


def _some_rows(given: MatrixLike, most: int) -> Matrix:
    """A sample of the rows; those of Blocks and of Dask collections are fetched alone."""
    X: Any = collections().blocks_of(given) if is_lazy(given) else to_numpy(given)
    if hasattr(X, "n_rows"):
        return X.take(sample_rows(X.n_rows, most, seed=1)).X
    X = X if hasattr(X, "shape") else np.asarray(X)
    return _safe_indexing(X, sample_rows(X.shape[0], most, seed=1))


def intrinsic_dimension(X: ArrayLike, *, neighbors: int = 15) -> float:
    """Estimate the dimension of the set that rows lie on (Levina and Bickel, averaged as MacKay and Ghahramani).

        1 / mean over points and j < k of log(r_k / r_j),   r_j the distance to the j-th neighbour.

    It stands in for the Assouad dimension of the maxout paper, which is a worst case over scales and cannot be
    estimated. Duplicated rows are dropped.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    neighbors : int, default=15
        Number k of neighbours.

    Returns
    -------
    float
        The dimension.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.theory import intrinsic_dimension
    >>> angle = np.linspace(0, 6, 300)
    >>> round(intrinsic_dimension(np.column_stack([np.cos(angle), np.sin(angle), angle])))
    1
    """
    X = np.unique(np.asarray(X, dtype=np.float64), axis=0)
    k = min(require_integer("neighbors", neighbors, minimum=3), len(X) - 1)
    if k < 3:
        raise ValueError(f"intrinsic_dimension needs at least 4 different rows; got {len(X)}.")
    distances = NearestNeighbors(n_neighbors=k + 1).fit(X).kneighbors(X)[0][:, 1:]
    logarithms = np.log(distances[:, -1:] / distances[:, :-1])
    return float(1.0 / np.mean(logarithms))

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
from .kernels import maximum_moment
from .losses import CLASSIFYING, loss_of
from .streams import sample_rows
from .validation import require_integer, require_positive


@dataclass(frozen=True)
class RiskBound:
    """Excess risk <= 2 estimation + approximation, with probability at least 1 - 2 delta."""

    estimation: float
    approximation: float

    @property
    def total(self) -> float:
        return 2.0 * self.estimation + self.approximation


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
    """Theorem 1 of the kitchen-sinks paper: |phi| <= 1, |alpha_k| <= C/m, loss c(y f) L-Lipschitz on [-C, C].

    estimation = (4 L C + 2 |c(0)| + L C sqrt(2 log(1/delta))) / sqrt(n): the last constant is twice the printed one,
    because changing one example moves the empirical risk by up to 2 L C / n. For the quadratic and exponential losses
    L itself grows with C. Give a `loss` by name, or its constants L and c(0).
    """
    _require_delta(delta)
    if (loss is None) == (lipschitz is None):
        raise ValueError("give either a loss or its Lipschitz constant.")
    if loss is not None:
        known = loss_of(loss, CLASSIFYING)
        lipschitz, loss_at_zero = known.lipschitz(max_coefficient), known.at_zero()
    assert lipschitz is not None
    scale = lipschitz * max_coefficient
    estimation = (4.0 * scale + 2.0 * abs(loss_at_zero) + scale * np.sqrt(2.0 * np.log(1.0 / delta))) / np.sqrt(n)
    return RiskBound(float(estimation), lipschitz * l2_approximation(m, norm=max_coefficient, delta=delta))


def l2_approximation(m: int, *, norm: float = 1.0, delta: float = 0.05) -> float:
    """Theorem 3.1 of the random-bases paper: |f_hat - f|_2 < |f|_p (1 + sqrt(2 log(1/delta))) / sqrt(m), |phi| <= 1."""
    _require_delta(delta)
    return float(norm * (1.0 + np.sqrt(2.0 * np.log(1.0 / delta))) / np.sqrt(require_integer("m", m)))


def uniform_approximation(
    m: int, *, norm: float = 1.0, lipschitz: float, radius: float, weight_moment: float, delta: float = 0.05
) -> float:
    """Theorem 3.2 of the random-bases paper: the same in the largest deviation over |x| <= radius.

    |f|_p (sqrt(2 log(1/delta)) + 4 L radius sqrt(E|w|^2)) / sqrt(m), for phi(<w, x>) with phi(0) = 0, |phi| <= 1 and
    L-Lipschitz. The printed bound lost the 2 under the first root; cosines do not satisfy phi(0) = 0.
    """
    _require_delta(delta)
    spread = 4.0 * lipschitz * radius * np.sqrt(weight_moment)
    return float(norm * (np.sqrt(2.0 * np.log(1.0 / delta)) + spread) / np.sqrt(require_integer("m", m)))


def maxout_rate(
    n: int, m: int, *, pool_size: int, intrinsic_dimension: float, dimension: int, delta: float = 0.05
) -> dict[str, float]:
    """Theorem 2 of the maxout paper, as rates: its constants C1, C', c are not given, so none is made up here.

    estimation ~ sqrt(sigma^2(q)/n); approximation ~ sqrt((d_M log(sqrt(d)/delta) + log(q + 1) + log m)/m), with the
    union over the m units (log m) that its Lemma 3 leaves out.
    """
    _require_delta(delta)
    complexity = intrinsic_dimension * np.log(np.sqrt(dimension) / delta) + np.log(pool_size + 1) + np.log(m)
    return {
        "estimation": float(np.sqrt(maximum_moment(pool_size, 2) / n)),
        "approximation": float(np.sqrt(complexity / m)),
    }


def features_needed(basis: Basis, error: float, delta: float = 0.05) -> int:
    """Columns with which |<phi(x), phi(z)> - k(x, z)| <= error for any one pair, with probability 1 - delta.

    Hoeffding's inequality where a unit's product is bounded, Chebyshev's with its second moment otherwise (then for
    |x|, |z| <= 1). For RandomBins the answer is a number of grids. Dependent units (Fastfood, orthogonal) count by
    the group.
    """
    require_positive("error", error)
    _require_delta(delta)
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
        raise ValueError(f"{type(basis).__name__} with this activation declares no bounds.")
    return int(np.ceil(units)) * bounds.columns


@dataclass(frozen=True)
class KernelError:
    """Measured error of <phi, phi> against the exact kernel, with confidence intervals over independent seeds."""

    rms: float
    rms_interval: tuple[float, float]
    largest: float
    largest_interval: tuple[float, float]
    pairs: int
    repeats: int


def kernel_error(basis: Basis, X: Any, *, repeats: int = 20, confidence: float = 0.95, rows: int = 200) -> KernelError:
    """Draw the basis `repeats` times, and compare its kernel matrix on up to `rows` rows of X with the exact one."""
    require_integer("repeats", repeats, minimum=2)
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must be between 0 and 1; got {confidence!r}.")
    X = to_numpy(X)
    X = X if hasattr(X, "shape") else np.asarray(X)
    X = _safe_indexing(X, sample_rows(X.shape[0], rows, seed=1))
    rms, largest, exact = [], [], None
    for seed in range(repeats):
        fitted = clone(basis).set_params(random_state=seed).fit(X)
        exact = fitted.kernel(X) if exact is None else exact
        features = fitted.features(X).astype(np.float64)
        product = features @ features.T
        difference = (product.toarray() if hasattr(product, "toarray") else product) * fitted.scale_**2 - exact
        rms.append(np.sqrt(np.mean(difference**2)))
        largest.append(np.abs(difference).max())
    half = student.ppf(0.5 + 0.5 * confidence, repeats - 1) / np.sqrt(repeats)

    def interval(values: list[float]) -> tuple[float, float]:
        mean, margin = float(np.mean(values)), float(half * np.std(values, ddof=1))
        return mean - margin, mean + margin

    return KernelError(
        float(np.mean(rms)), interval(rms), float(np.mean(largest)), interval(largest), X.shape[0] ** 2, repeats
    )  # fmt: skip


def intrinsic_dimension(X: ArrayLike, *, neighbors: int = 15) -> float:
    """An estimate of the dimension of the set the rows lie on (Levina and Bickel, averaged as MacKay and Ghahramani).

    1 / mean over points and j < k of log(r_k / r_j). A stand-in for the Assouad dimension of the maxout paper, which
    is a worst case over scales and cannot be estimated. Duplicated rows are dropped.
    """
    X = np.unique(np.asarray(X, dtype=np.float64), axis=0)
    k = min(require_integer("neighbors", neighbors, minimum=3), len(X) - 1)
    if k < 3:
        raise ValueError(f"intrinsic_dimension needs at least 4 different rows; got {len(X)}.")
    distances = NearestNeighbors(n_neighbors=k + 1).fit(X).kneighbors(X)[0][:, 1:]
    logarithms = np.log(distances[:, -1:] / distances[:, :-1])
    return float(1.0 / np.mean(logarithms))


def _require_delta(delta: float) -> None:
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta must be between 0 and 1; got {delta!r}.")

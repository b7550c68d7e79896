"""A kernel in a learned metric: what a candidate of the search is, the functions it makes, and how they vary.

    k(x, z) = exp(-(|R'x - R'z|_p / s)^q) + w <x - c, z - c>,        f(x) = sum_j a_j k(x, z_j) + intercept.

R is the root of a metric, a vector if that is diagonal; s is a multiple of the median distance; w weighs a linear part,
whose sum over j is one slope for each column. The centres z_j are the rows of the fit, or some of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ...bases.heuristics import settle_bandwidth
from ...kernels import Stable

RIDGE = 1e-6  # of the largest diagonal entry: no direction is lost for ever
STEP = 0.5  # of symmetric differences, in spreads of a column: kinks have no useful slope
TILE = 1 << 23  # kernel values that are held at once


@dataclass(frozen=True, eq=False)
class Setting:
    """A kernel before its bandwidth is known in numbers.

    numbers : how the encoder scales numbers; p, q : the kernel; factor : bandwidth over the median distance; root : of
    the metric; linear : weight of the linear part; alpha : the penalty.
    """

    numbers: str | None
    p: float
    q: float
    factor: float = 1.0
    root: np.ndarray | None = None
    linear: float = 0.0
    alpha: float = 1e-2

    def metric(self, X: np.ndarray) -> np.ndarray:
        """The rows R'x in which distances are taken."""
        if self.root is None:
            return X
        return X * self.root if self.root.ndim == 1 else X @ self.root

    def kernel(self, Z: np.ndarray, seed: int = 0) -> Stable:
        """The kernel of rows in the metric, its bandwidth by some of them."""
        rows = Z[np.random.default_rng(seed).permutation(len(Z))[:1000]]
        return Stable(self.p, self.q, self.factor * settle_bandwidth("median", rows, self.p))

    def described(self) -> str:
        """The setting in words."""
        kind = "no metric" if self.root is None else "diagonal metric" if self.root.ndim == 1 else "full metric"
        line = ", linear part" if self.linear else ""
        rows = "with effects" if self.numbers == "effects" else self.numbers or "as they are"
        return f"Stable({self.p:g}, {self.q:g}), {kind}, rows {rows}, bandwidth {self.factor:g} medians{line}"


@dataclass(frozen=True, eq=False)
class Expansion:
    """A function of encoded rows: kernels at centres, a linear part and an intercept."""

    setting: Setting
    kernel: Stable
    centres: np.ndarray  # in the metric (m, d)
    coefficients: np.ndarray  # (m, outputs)
    slopes: np.ndarray  # of x - middle (d, outputs)
    middle: np.ndarray
    intercept: np.ndarray
    slopes_at: ClassVar[int] = 300  # rows by which columns are explained

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Scores (n, outputs), never more than a tile of the kernel at a time."""
        out = (X - self.middle) @ self.slopes + self.intercept
        rows = max(1, TILE // max(len(self.centres), 1))
        for start in range(0, len(X) if len(self.centres) else 0, rows):
            part = slice(start, start + rows)
            out[part] += self.kernel(self.setting.metric(X[part]), self.centres) @ self.coefficients
        return out

    def gradients(self, X: np.ndarray) -> np.ndarray:
        """Slopes (n, d, outputs) at rows, in each column of x; for p = 1 by symmetric differences of a step."""
        setting, kernel = self.setting, self.kernel
        Z, s, q = setting.metric(X), kernel.scale, kernel.q
        values = np.maximum(kernel(Z, self.centres), 1e-300)
        # (r/s)^q = -log k, so that d k / d r = -q k (-log k) / r.
        powers = -np.log(values)
        distance = np.maximum(s * powers ** (1.0 / q), 1e-3 * s)
        fall = q * values * powers / distance
        out = np.empty((*Z.shape, self.coefficients.shape[1]))
        if kernel.p == 2.0:
            fall = fall / distance
            for k, a in enumerate(self.coefficients.T):
                weighted = fall * a
                out[:, :, k] = weighted @ self.centres - weighted.sum(axis=1)[:, None] * Z
        else:
            steps = STEP * (np.ones(Z.shape[1]) if setting.root is None else setting.root)
            for j in range(Z.shape[1]):
                signs = np.clip((Z[:, j, None] - self.centres[:, j]) / max(steps[j], 1e-12), -1.0, 1.0)
                out[:, j] = -(fall * signs) @ self.coefficients
        if setting.root is not None:
            R = setting.root
            out = out * R[:, None] if R.ndim == 1 else np.einsum("ij,njk->nik", R, out)
        return out + self.slopes

    def metric(self, X: np.ndarray) -> np.ndarray:
        """The average gradient outer product at rows (d, d), its largest diagonal entry 1."""
        return average_product(self.gradients(X))


def average_product(slopes: np.ndarray) -> np.ndarray:
    """The mean of g g' over rows and outputs, its largest diagonal entry 1; slopes are (n, d, outputs)."""
    found = np.einsum("nik,njk->ij", slopes, slopes, optimize=True)
    largest = float(found.diagonal().max(initial=0.0))
    return found / largest if largest > 0 else np.eye(len(found))


def with_metric(setting: Setting, metric: np.ndarray, full: bool) -> Setting:
    """The setting in another metric, by its root."""
    if not full:
        return replace(setting, root=np.sqrt(metric.diagonal() + RIDGE))
    values, vectors = np.linalg.eigh(metric + RIDGE * np.eye(len(metric)))
    return replace(setting, root=(vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)

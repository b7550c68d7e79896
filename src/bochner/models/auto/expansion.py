"""A kernel in a learned metric: what a candidate of the search is, the functions it makes, and how they vary.

    k(x, z) = exp(-(|R'x - R'z|_p / s)^q) + w <x - c, z - c>,        f(x) = sum_j a_j k(x, z_j) + intercept.

R is the root of a metric, a vector if that is diagonal; s is a multiple of the median distance; w weighs a linear part,
whose sum over j is one slope for each column. The centres z_j are the rows of the fit, or some of them.

Rows and all that is made of them are arrays, or tensors on a device; metrics and bandwidths are numbers of the host.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ... import ops
from ...arrays import Array, empty, is_torch, like, namespace, to_host
from ...bases.heuristics import settle_bandwidth
from ...kernels import Stable
from ...ops import threads

RIDGE = 1e-6  # of the largest diagonal entry: no direction is lost for ever
STEP = 0.5  # of symmetric differences, in spreads of a column: kinks have no useful slope
MEASURED = 1000  # rows whose distances tell a bandwidth
TILE, TILE_OF_TENSORS = 1 << 23, 1 << 27  # kernel values that are held at once


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

    def metric(self, X: Array) -> Array:
        """The rows R'x in which distances are taken."""
        if self.root is None:
            return X
        root = like(self.root, X)
        return X * root if root.ndim == 1 else X @ root

    def kernel(self, Z: Array) -> Stable:
        """The kernel of rows in the metric, its bandwidth by some of them."""
        rows = to_host(Z[like(sampled(len(Z)), Z)])
        return Stable(self.p, self.q, self.factor * settle_bandwidth("median", rows, self.p))

    def key(self) -> tuple[object, ...]:
        """What two settings of the same functions share, whatever their penalty."""
        root = None if self.root is None else self.root.tobytes()
        return self.numbers, self.p, self.q, self.factor, root, self.linear

    def described(self) -> str:
        """The setting in words."""
        kind = "no metric" if self.root is None else "diagonal metric" if self.root.ndim == 1 else "full metric"
        line = ", linear part" if self.linear else ""
        rows = "with effects" if self.numbers == "effects" else self.numbers or "as they are"
        return f"Stable({self.p:g}, {self.q:g}), {kind}, rows {rows}, bandwidth {self.factor:g} medians{line}"


def sampled(rows: int) -> np.ndarray:
    """The numbers of the rows whose distances tell a bandwidth."""
    return np.random.default_rng(0).permutation(rows)[:MEASURED]


def fallen(distances: Array, scale: Array | float, q: float) -> Array:
    """The kernel exp(-(r/s)^q) at distances r."""
    if is_torch(distances):
        return fallen_in_place(distances / scale, q)
    found = np.empty_like(distances)

    def take(rows: slice) -> None:
        fallen_in_place(np.divide(distances[rows], scale, out=found[rows]), q)

    threads.over_rows(take, len(found), max(1, threads.WORTH // max(distances.shape[1], 1)))
    return found


def fallen_in_place(found: Array, q: float) -> Array:
    """The same at distances over the bandwidth, in their place."""
    if q == 2.0:
        found *= found
    elif q != 1.0:
        found **= q
    found *= -1.0
    namespace(found).exp(found, out=found)
    return found


def kernel_between(kernel: Stable, Z: Array, centres: Array) -> Array:
    """Its values (n, m)."""
    return fallen(ops.distances(Z, centres, kernel.p), kernel.scale, kernel.q)


@dataclass(frozen=True, eq=False)
class Expansion:
    """A function of encoded rows: kernels at centres, a linear part and an intercept."""

    setting: Setting
    kernel: Stable
    centres: Array  # in the metric (m, d)
    coefficients: Array  # (m, outputs)
    slopes: Array  # of x - middle (d, outputs)
    middle: Array
    intercept: Array
    slopes_at: ClassVar[int] = 300  # rows by which columns are explained

    def __call__(self, X: Array) -> Array:
        """Scores (n, outputs), never more than a tile of the kernel at a time."""
        out = (X - self.middle) @ self.slopes + self.intercept
        rows = max(1, tile_of(X) // max(len(self.centres), 1))
        for start in range(0, len(X) if len(self.centres) else 0, rows):
            part = slice(start, start + rows)
            out[part] += kernel_between(self.kernel, self.setting.metric(X[part]), self.centres) @ self.coefficients
        return out

    def gradients(self, X: Array) -> Array:
        """Slopes (n, d, outputs) at rows, in each column of x; for p = 1 by symmetric differences of a step."""
        setting, kernel, xp = self.setting, self.kernel, namespace(X)
        Z, s, q = setting.metric(X), kernel.scale, kernel.q
        values = kernel_between(kernel, Z, self.centres).clip(min=1e-300)
        # (r/s)^q = -log k, so that d k / d r = -q k (-log k) / r.
        powers = -xp.log(values)
        distance = (s * powers ** (1.0 / q)).clip(min=1e-3 * s)
        fall = q * values * powers / distance
        out = empty((*Z.shape, self.coefficients.shape[1]), Z)
        if kernel.p == 2.0:
            fall = fall / distance
            for k, a in enumerate(self.coefficients.T):
                weighted = fall * a
                out[:, :, k] = weighted @ self.centres - weighted.sum(axis=1)[:, None] * Z
        else:
            steps = STEP * (np.ones(Z.shape[1]) if setting.root is None else setting.root)
            kinks = kinked_on_device if is_torch(Z) else kinked
            kinks(fall, Z, self.centres, np.maximum(steps, 1e-12), self.coefficients, out)
        if setting.root is not None:
            R = like(setting.root, X)
            out = out * R[:, None] if R.ndim == 1 else xp.einsum("ij,njk->nik", R, out)
        return out + self.slopes

    def metric(self, X: Array) -> np.ndarray:
        """The average gradient outer product at rows (d, d), its largest diagonal entry 1."""
        return average_product(self.gradients(X))


def kinked(fall: Array, Z: Array, centres: Array, steps: np.ndarray, coefficients: Array, out: Array) -> None:
    """Slopes of distances |z - c|_1, by symmetric differences of these steps, column by column."""
    for j in range(Z.shape[1]):
        signs = np.clip((Z[:, j, None] - centres[:, j]) / steps[j], -1.0, 1.0)
        out[:, j] = -(fall * signs) @ coefficients


def kinked_on_device(fall: Array, Z: Array, centres: Array, steps: np.ndarray, coefficients: Array, out: Array) -> None:
    """The same with as many columns at a time as find room: a product of matrices for each row."""
    weighted = -fall[:, :, None] * coefficients  # (n, m, outputs)
    columns, width = max(1, TILE_OF_TENSORS // max(fall.shape[0] * fall.shape[1], 1)), like(steps, Z)
    for start in range(0, Z.shape[1], columns):
        part = slice(start, start + columns)
        signs = (Z[:, part, None] - centres.T[part]) / width[part, None]  # (n, columns, m)
        out[:, part] = signs.clip(-1.0, 1.0) @ weighted


def tile_of(X: Array) -> int:
    """Kernel values that are held at once where the rows are."""
    return TILE_OF_TENSORS if is_torch(X) else TILE


def average_product(slopes: Array) -> np.ndarray:
    """The mean of g g' over rows and outputs, its largest diagonal entry 1; slopes are (n, d, outputs)."""
    if is_torch(slopes):
        flat = namespace(slopes).swapaxes(slopes, 0, 1).reshape(slopes.shape[1], -1)
        found = to_host(flat @ flat.T)
    else:
        found = np.einsum("nik,njk->ij", slopes, slopes, optimize=True)
    largest = float(found.diagonal().max(initial=0.0))
    return found / largest if largest > 0 else np.eye(len(found))


def with_metric(setting: Setting, metric: np.ndarray, full: bool) -> Setting:
    """The setting in another metric, by its root."""
    if not full:
        return replace(setting, root=np.sqrt(metric.diagonal() + RIDGE))
    values, vectors = np.linalg.eigh(metric + RIDGE * np.eye(len(metric)))
    return replace(setting, root=(vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)

"""Sums that add and subtract: n, sum z, sum y, Z'Z, Z'Y, Y'Y, weighted or not.

For integer features without weights the sums of z are exact int64, whatever the size of blocks and the order of
additions, and what was added can be taken away without a trace. Float weights or targets make their own sums inexact.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from . import ops
from .ops import threads
from .ops.blas import symmetric_product

NEVER_ADDED = "the rows to take away were not all added before, with these features and weights."
SLAB = 32  # rows of a matrix worked on at a time: they stay in a cache


class Rows(NamedTuple):
    """Rows whose moments are yet to be taken: features (n, m) dense or CSR, y (n, k), weights (n,) or None."""

    features: Any
    y: np.ndarray
    weight: np.ndarray | None = None


class Centered(NamedTuple):
    """The least-squares problem after the intercept is taken out: minimise |y - Z b|^2 + alpha |b|^2."""

    gram: np.ndarray
    cross: np.ndarray
    square: np.ndarray  # Y'Y, one number per output
    mean_z: np.ndarray
    mean_y: np.ndarray
    weight: float
    rows: int

    def observations(self, unit: float | None) -> float:
        """How many rows these are if a weight of `unit`, or the mean weight, is one; never less than there are."""
        return max(self.weight / unit, float(self.rows)) if unit else float(self.rows)

    def columns(self, factors: np.ndarray, first: int = 0) -> Centered:
        """The problem of the features from number `first` on, each times its factor."""
        f = factors[first:]
        gram = self.gram[first:, first:] * f[:, None] * f
        return self._replace(gram=gram, cross=self.cross[first:] * f[:, None], mean_z=self.mean_z[first:] * f)

    def errors_of(self, b: np.ndarray, others: Centered) -> np.ndarray:
        """The squared errors (k,) on these rows of the model b that others gave, and whose means it goes through."""
        offset = self.mean_y - others.mean_y - (self.mean_z - others.mean_z) @ b
        errors = self.square + np.sum(b * (symmetric_product(self.gram, b) - 2.0 * self.cross), axis=0)
        return np.maximum(errors + self.weight * offset**2, 0.0)


@dataclass
class Moments:
    """rows is how many were added; weight is the sum of their weights (rows if there are none)."""

    rows: int
    weight: Any
    sum_z: np.ndarray
    sum_y: np.ndarray
    gram: np.ndarray
    cross: np.ndarray
    square: np.ndarray

    @classmethod
    def of(cls, features: Any, y: np.ndarray, weight: np.ndarray | None = None) -> Moments:
        """The moments of some rows, as Rows has them."""
        n = features.shape[0]
        if weight is not None:
            root = np.sqrt(weight)
            weighted = cls.of(times_rows(features, root), y * root[:, None])
            sums = np.asarray(features.T @ weight, dtype=np.float64), weight @ y
            return cls(n, float(weight.sum()), *sums, weighted.gram, weighted.cross, weighted.square)
        if scipy.sparse.issparse(features):
            features = features.astype(wide(features))
            gram = (features.T @ features).toarray()
        else:
            gram = ops.gram(features)
        sum_z, sum_y, cross, square = small_sums(features, y)
        return cls(n, n, sum_z, sum_y, gram, cross, square)

    @staticmethod
    def plus_rows(total: Moments | None, rows: Rows) -> Moments:
        """The moments with those of more rows, in place: integers are summed where the sums are, in no other matrix."""
        if total is None:
            return Moments.of(*rows)
        features, y, weight = rows
        kinds = total.gram.dtype.kind, total.square.dtype.kind
        if weight is not None or scipy.sparse.issparse(features) or kinds != (features.dtype.kind, y.dtype.kind):
            total += Moments.of(*rows)
            return total
        ops.gram(features, total.gram)
        for sums, more in zip(
            (total.sum_z, total.sum_y, total.cross, total.square), small_sums(features, y), strict=True
        ):
            sums += more
        total.rows += len(y)
        total.weight += len(y)
        return total._guarded()

    @property
    def is_exact(self) -> bool:
        """Whether the sums of features are exact integers."""
        return self.gram.dtype.kind == "i"

    def __add__(self, other: Moments) -> Moments:
        return Moments(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))._guarded()

    def __sub__(self, other: Moments) -> Moments:
        if other.rows > self.rows:
            raise ValueError(f"cannot take {other.rows} rows away from {self.rows}.")
        left = Moments(*(getattr(self, f.name) - getattr(other, f.name) for f in fields(self)))
        squares = np.diagonal(left.gram)
        if left.rows and (left.weight <= 0 or squares.min() < -1e-9 * np.abs(np.diagonal(self.gram)).max()):
            raise ValueError(NEVER_ADDED)
        return left

    def shifted_targets(self, by: np.ndarray) -> Moments:
        """The moments if `by` (k,) had been added to every target."""
        sum_y = self.sum_y + self.weight * by
        square = self.square + np.outer(self.sum_y, by) + np.outer(by, sum_y)
        cross = self.cross + np.outer(self.sum_z, by)
        return Moments(self.rows, self.weight, self.sum_z, sum_y, self.gram, cross, square)

    def __iadd__(self, other: Moments) -> Moments:
        if self.gram.dtype != other.gram.dtype or self.cross.dtype != other.cross.dtype:
            return self + other
        for f in fields(self):
            value = getattr(self, f.name)
            value += getattr(other, f.name)
            setattr(self, f.name, value)
        return self._guarded()

    def _guarded(self) -> Moments:
        """Refuse before int64 can overflow: the next sum as large as this one must still fit."""
        if self.is_exact and len(self.gram) and int(np.abs(np.diagonal(self.gram)).max()) > 2**61:
            raise OverflowError(f"after {self.rows} rows the integer sums are near the limit of 64 bits; use floats.")
        return self

    def prefix(self, columns: int) -> Moments:
        """The moments of the first columns alone."""
        part = slice(None, columns)
        parts = self.sum_z[part], self.sum_y, self.gram[part, part], self.cross[part], self.square
        return Moments(self.rows, self.weight, *parts)

    def centered(self, scale: Any = 1.0, intercept: bool = True) -> Centered:
        """The problem in float64, features times `scale`: a number, or one for each of them."""
        weight = float(self.weight)
        square = np.diagonal(self.square).astype(np.float64)
        if not intercept:
            means = np.zeros(len(self.sum_z)), np.zeros(len(self.sum_y))
            gram = times_both(self.gram.astype(np.float64), scale)
            return Centered(gram, (self.cross.T * scale).T, square, *means, weight, self.rows)
        mean_z, mean_y = self.sum_z / weight, self.sum_y / weight
        gram = times_both(self._centered_gram(mean_z), scale)
        cross = ((self.cross - np.outer(self.sum_z, mean_y)).T * scale).T
        square = np.maximum(square - weight * mean_y**2, 0.0)
        return Centered(gram, cross, square, mean_z * scale, mean_y, weight, self.rows)

    def _centered_gram(self, mean_z: np.ndarray) -> np.ndarray:
        """Z'Z - n mean mean'. Exact integers are subtracted as integers where they fit, so nothing cancels badly."""
        fits = self.is_exact and float(self.rows) * float(np.abs(np.diagonal(self.gram)).max(initial=0)) < 2**62
        centered = np.empty(self.gram.shape)

        def centre(rows: slice) -> None:
            for start in range(rows.start, rows.stop, SLAB):  # the matrix may fill the memory: no second one
                part = slice(start, min(start + SLAB, rows.stop))
                if fits:
                    products = np.outer(self.sum_z[part], self.sum_z)
                    centered[part] = (self.gram[part] * self.rows - products) / self.rows
                else:
                    centered[part] = self.gram[part] - np.outer(self.sum_z[part], mean_z)

        threads.over_rows(centre, len(centered), SLAB)
        return centered

    def deviations(self) -> np.ndarray:
        """The standard deviation of each feature, in its own units."""
        weight = float(self.weight)
        return np.sqrt(np.maximum(np.diagonal(self.gram) / weight - (self.sum_z / weight) ** 2, 0.0))


@dataclass
class FoldedMoments:
    """Moments of each fold apart; all but one are the total less that one."""

    folds: list[Moments | None]

    @staticmethod
    def plus_rows(total: FoldedMoments | None, parts: list[Rows | None]) -> FoldedMoments:
        """The moments with those of more rows of each fold."""
        folds = [None] * len(parts) if total is None else total.folds
        return FoldedMoments(
            [mine if rows is None else Moments.plus_rows(mine, rows) for mine, rows in zip(folds, parts, strict=True)]
        )

    def __iadd__(self, other: FoldedMoments) -> FoldedMoments:
        for k, part in enumerate(other.folds):
            mine = self.folds[k]
            if mine is None or part is None:
                self.folds[k] = part if mine is None else mine
            else:
                mine += part
                self.folds[k] = mine
        return self

    def __add__(self, other: FoldedMoments) -> FoldedMoments:
        if len(self.folds) != len(other.folds):  # sums that were not parted alike have no folds together
            return FoldedMoments([self.total() + other.total()])
        both = zip(self.folds, other.folds, strict=True)
        return FoldedMoments([a + b if a is not None and b is not None else a or b for a, b in both])

    def __sub__(self, other: FoldedMoments) -> FoldedMoments:
        """Less rows that were added before; what can be proved not to be among them is refused."""
        if len(self.folds) != len(other.folds):
            return FoldedMoments([self.total() - other.total()])
        left = []
        for mine, part in zip(self.folds, other.folds, strict=True):
            if part is not None and (mine is None or part.rows > mine.rows):
                raise ValueError(NEVER_ADDED)
            rest = mine if mine is None or part is None else mine - part
            left.append(None if rest is None or rest.rows == 0 else rest)
        return FoldedMoments(left)

    def prefix(self, columns: int) -> FoldedMoments:
        """The moments of the first columns alone."""
        return FoldedMoments([None if part is None else part.prefix(columns) for part in self.folds])

    def shifted_targets(self, by: np.ndarray) -> FoldedMoments:
        return FoldedMoments([None if part is None else part.shifted_targets(by) for part in self.folds])

    @property
    def rows(self) -> int:
        return sum(part.rows for part in self._parts)

    @property
    def features(self) -> int:
        return len(self._parts[0].sum_z)

    def total(self) -> Moments:
        """The moments of all rows: the part itself if there is but one."""
        return reduce(add, self._parts)

    def square_sum(self, scale: Any, intercept: bool) -> float:
        """The sum of squared (centred) features of all folds, weighted, each feature times its scale."""
        weight = float(sum(part.weight for part in self._parts))
        squares = np.sum([np.diagonal(part.gram).astype(np.float64) for part in self._parts], axis=0)
        if intercept:
            squares = squares - np.sum([part.sum_z for part in self._parts], axis=0) ** 2.0 / weight
        return float(np.sum(np.maximum(squares, 0.0) * np.square(scale)))

    @property
    def _parts(self) -> list[Moments]:
        return [part for part in self.folds if part is not None]


def require_squares(left: Moments, before: Moments) -> None:
    """Refuse what is left of sums if it is not a sum of squares of rows: then other rows were taken away."""
    for gram, whole in ((left.centered().gram, before.gram), (left.square, before.square)):
        noise = 1e-9 * float(np.abs(np.diagonal(whole)).max(initial=0.0))
        if np.linalg.eigvalsh(gram.astype(np.float64)).min(initial=0.0) < -noise:
            raise ValueError(NEVER_ADDED)


def small_sums(features: Any, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Sums of features and of targets, Z'Y and Y'Y; exact for integers."""
    if scipy.sparse.issparse(features):
        sum_z, cross = features.sum(axis=0, dtype=wide(features)), features.T @ y.astype(wide(y))
    elif features.dtype.kind == "i" and y.dtype == np.int8:
        both = ops.cross(features, np.column_stack([y, np.ones_like(y[:, :1])]))  # ones: sums in the same pass
        sum_z, cross = both[:, -1], both[:, :-1]
    else:
        sum_z, cross = features.sum(axis=0, dtype=wide(features)), ops.cross(features, y)
    y = y.astype(wide(y))
    return np.array(sum_z).ravel(), y.sum(axis=0), np.ascontiguousarray(cross), y.T @ y


def times_both(gram: np.ndarray, scale: Any) -> np.ndarray:
    """The Gram matrix of features times `scale`, a number or one for each of them, in the place of `gram`."""
    if np.ndim(scale) == 0:
        gram *= scale**2
    else:
        gram *= scale[:, None]
        gram *= scale
    return gram


def wide(numbers: Any) -> Any:
    """The type that sums of such numbers have."""
    return np.int64 if numbers.dtype.kind == "i" else np.float64


def times_rows(features: Any, factor: np.ndarray) -> Any:
    """Each row times its factor, in float64."""
    if scipy.sparse.issparse(features):
        return scipy.sparse.diags_array(factor) @ features.astype(np.float64)
    return features.astype(np.float64) * factor[:, None]

"""Sums that add and subtract: n, sum z, sum y, Z'Z, Z'Y, Y'Y, weighted or not.

For integer features without weights the sums of z are exact int64, whatever the size of blocks and the order of
additions, and what was added can be taken away without a trace. Float weights or targets make their own sums inexact.
Sums are arrays of the library that the features are of, numpy or torch, and stay on their device.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from . import ops
from .arrays import Array, cast, constant, contiguous, dtype_name, empty, is_csr, is_integer, like, namespace
from .ops import threads

NEVER_ADDED = "the rows to take away were not all added before, with these features and weights."
LIMIT = 2**61  # of exact sums
SLAB, SLAB_OF_TENSORS = 8, 1024  # rows of a matrix worked on at a time: they stay in a cache, or fill a device


class Rows(NamedTuple):
    """Rows whose moments are yet to be taken: features (n, m) dense or CSR, y (n, k), weights (n,) or None."""

    features: Array
    y: Array
    weight: Array | None = None


class Centered(NamedTuple):
    """The least-squares problem after the intercept is taken out: minimise |y - Z b|^2 + alpha |b|^2."""

    gram: Array
    cross: Array
    square: Array  # Y'Y, one number per output
    mean_z: Array
    mean_y: Array
    weight: float
    rows: int

    def observations(self, unit: float | None) -> float:
        """How many rows these are if a weight of `unit`, or the mean weight, is one; never less than there are."""
        return max(self.weight / unit, float(self.rows)) if unit else float(self.rows)

    def columns(self, factors: Array, first: int = 0) -> Centered:
        """The problem of the features from number `first` on, each times its factor."""
        f = factors[first:]
        gram = self.gram[first:, first:] * f[:, None] * f
        return self._replace(gram=gram, cross=self.cross[first:] * f[:, None], mean_z=self.mean_z[first:] * f)

    def errors_of(self, b: Array, others: Centered) -> Array:
        """The squared errors (k,) on these rows of the model b that others gave, and whose means it goes through."""
        offset = self.mean_y - others.mean_y - (self.mean_z - others.mean_z) @ b
        errors = self.square + (b * (ops.symmetric_product(self.gram, b) - 2.0 * self.cross)).sum(axis=0)
        return (errors + self.weight * offset**2).clip(min=0.0)


@dataclass
class Moments:
    """Sums over rows of features z and targets y, from which ridge coefficients follow; they add and subtract.

    Attributes
    ----------
    rows : int
        How many rows were added.
    weight : float
        Sum of their weights; their number if there are none.
    sum_z : ndarray of shape (n_components,)
        Sum of the features.
    sum_y : ndarray of shape (n_outputs,)
        Sum of the targets.
    gram : ndarray of shape (n_components, n_components)
        Z'Z, integers if the features are.
    cross : ndarray of shape (n_components, n_outputs)
        Z'Y.
    square : ndarray of shape (n_outputs, n_outputs)
        Y'Y.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.moments import Moments
    >>> Z, Y = np.array([[1.0], [2.0], [3.0]]), np.ones((3, 1))
    >>> whole, parts = Moments.of(Z, Y), Moments.of(Z[:1], Y[:1]) + Moments.of(Z[1:], Y[1:])
    >>> whole.gram, bool((whole.gram == parts.gram).all())
    (array([[14.]]), True)
    """

    rows: int
    weight: Array | float
    sum_z: Array
    sum_y: Array
    gram: Array
    cross: Array
    square: Array

    @classmethod
    def of(cls, features: Array, y: Array, weight: Array | None = None) -> Moments:
        """Sum some rows.

        Parameters
        ----------
        features : ndarray, CSR matrix or tensor of shape (n_samples, n_components)
            The features.
        y : ndarray or tensor of shape (n_samples, n_outputs)
            The targets.
        weight : ndarray or tensor of shape (n_samples,), default=None
            Weights of the rows; None is 1 for each.

        Returns
        -------
        Moments
            Their sums.
        """
        n = features.shape[0]
        if weight is not None:
            root = namespace(weight).sqrt(weight)
            weighted = cls.of(times_rows(features, root), y * root[:, None])
            wide_z = features if scipy.sparse.issparse(features) else cast(features, "float64")
            sums = cast(wide_z.T @ weight, "float64"), weight @ cast(y, dtype_name(weight))
            return cls(n, float(weight.sum()), *sums, weighted.gram, weighted.cross, weighted.square)
        if is_csr(features):
            features = features.astype(wide(features))
            gram = (features.T @ features).toarray()
        else:
            gram = ops.gram(features)
        sum_z, sum_y, cross, square = small_sums(features, y)
        return cls(n, n, sum_z, sum_y, gram, cross, square)

    @staticmethod
    def plus_rows(total: Moments | None, rows: Rows) -> Moments:
        """Add more rows in place: integers are summed where the sums are, in no other matrix.

        Parameters
        ----------
        total : Moments or None
            Sums so far, which are changed.
        rows : Rows
            The rows to add.

        Returns
        -------
        Moments
            The sums of all.
        """
        if total is None:
            return Moments.of(*rows)
        features, y, weight = rows
        alike = total.is_exact == is_integer(features) and is_integer(total.square) == is_integer(y)
        if weight is not None or scipy.sparse.issparse(features) or not alike:
            total += Moments.of(*rows)
            return total
        ops.gram(features, total.gram)
        for sums, more in zip(
            (total.sum_z, total.sum_y, total.cross, total.square), small_sums(features, y), strict=True
        ):
            sums += more
        total.rows += len(y)
        total.weight += len(y)
        # No sum of so few products can overflow; on a device, to look at the sums is to wait for them.
        safe = total.is_exact and total.rows << (16 * features.dtype.itemsize - 2) <= LIMIT
        return total if safe else total._guarded()

    @property
    def is_exact(self) -> bool:
        """Whether the sums of features are exact integers."""
        return is_integer(self.gram)

    def __add__(self, other: Moments) -> Moments:
        return Moments(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))._guarded()

    def __sub__(self, other: Moments) -> Moments:
        if other.rows > self.rows:
            raise ValueError(f"cannot take {other.rows} rows away from {self.rows}.")
        left = Moments(*(getattr(self, f.name) - getattr(other, f.name) for f in fields(self)))
        smallest = float(left.gram.diagonal().min()) if len(left.gram) else 0.0
        if left.rows and (left.weight <= 0 or smallest < -1e-9 * _largest(self.gram)):
            raise ValueError(NEVER_ADDED)
        return left

    def shifted_targets(self, by: Array) -> Moments:
        """Return the sums if some numbers had been added to every target.

        Parameters
        ----------
        by : ndarray of shape (n_outputs,)
            The numbers.

        Returns
        -------
        Moments
            The sums.
        """
        outer, by = namespace(self.gram).outer, like(by, self.gram)
        sum_y = self.sum_y + self.weight * by
        square = self.square + outer(self.sum_y, by) + outer(by, sum_y)
        cross = self.cross + outer(self.sum_z, by)
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
        if self.is_exact and _largest(self.gram) > LIMIT:
            raise OverflowError(f"after {self.rows} rows the integer sums are near the limit of 64 bits; use floats.")
        return self

    def beside(self, other: Moments) -> Moments:
        """Return the same sums in the library of other ones, on their device.

        Parameters
        ----------
        other : Moments
            Sums that these are to be added to.

        Returns
        -------
        Moments
            The sums.
        """
        return Moments(*(like(getattr(self, f.name), other.gram) for f in fields(self)))

    def prefix(self, columns: int) -> Moments:
        """Return the sums of the first features alone.

        Parameters
        ----------
        columns : int
            Number of features.

        Returns
        -------
        Moments
            The sums.
        """
        part = slice(None, columns)
        parts = self.sum_z[part], self.sum_y, self.gram[part, part], self.cross[part], self.square
        return Moments(self.rows, self.weight, *parts)

    def centered(self, scale: float | np.ndarray = 1.0, intercept: bool = True) -> Centered:
        """Return the least-squares problem after the intercept is taken out, in float64.

        Parameters
        ----------
        scale : float or ndarray of shape (n_components,), default=1.0
            Factor of the features.
        intercept : bool, default=True
            Whether there is an intercept.

        Returns
        -------
        Centered
            The problem: minimise |y - Z b|^2 + alpha |b|^2.
        """
        return _centered(self, [self.gram], scale, intercept)

    def deviations(self) -> Array:
        """Return the standard deviation of each feature, in its own units.

        Returns
        -------
        ndarray of shape (n_components,)
            The standard deviations.
        """
        squares, sums = (cast(part, "float64") / float(self.weight) for part in (self.gram.diagonal(), self.sum_z))
        return namespace(squares).sqrt((squares - sums**2).clip(min=0.0))


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

    def beside(self, other: FoldedMoments) -> FoldedMoments:
        """The same sums in the library of other ones, on their device."""
        return FoldedMoments([None if part is None else part.beside(other._parts[0]) for part in self.folds])

    def prefix(self, columns: int) -> FoldedMoments:
        """The moments of the first columns alone."""
        return FoldedMoments([None if part is None else part.prefix(columns) for part in self.folds])

    def shifted_targets(self, by: Array) -> FoldedMoments:
        """The moments if `by` (k,) had been added to every target."""
        return FoldedMoments([None if part is None else part.shifted_targets(by) for part in self.folds])

    @property
    def rows(self) -> int:
        """Number of rows of all folds."""
        return sum(part.rows for part in self._parts)

    @property
    def gram(self) -> Array:
        """Z'Z of the first fold that has rows, whose library and device are those of all."""
        return self._parts[0].gram

    @property
    def features(self) -> int:
        """Number of features."""
        return len(self._parts[0].sum_z)

    def total(self) -> Moments:
        """The moments of all rows: the part itself if there is but one."""
        return reduce(add, self._parts)

    def centered(self, scale: float | np.ndarray = 1.0, intercept: bool = True) -> Centered:
        """The problem of all rows, as `total().centered` has it, without another Gram matrix."""
        parts = self._parts

        def whole(name: str) -> Any:
            return reduce(add, (getattr(part, name) for part in parts))

        sums = whole("sum_z"), whole("sum_y"), parts[0].gram, whole("cross"), whole("square")
        total = Moments(whole("rows"), whole("weight"), *sums)
        return _centered(total, [part.gram for part in parts], scale, intercept)

    def square_sum(self, scale: float | np.ndarray, intercept: bool) -> float:
        """The sum of squared (centred) features of all folds, weighted, each feature times its scale."""
        weight = float(sum(part.weight for part in self._parts))
        squares = reduce(add, (cast(part.gram.diagonal(), "float64") for part in self._parts))
        if intercept:
            squares = squares - cast(reduce(add, (part.sum_z for part in self._parts)), "float64") ** 2.0 / weight
        return float((squares.clip(min=0.0) * like(scale, squares) ** 2).sum())

    @property
    def _parts(self) -> list[Moments]:
        return [part for part in self.folds if part is not None]


def require_squares(left: Moments, before: Moments) -> None:
    """Refuse what is left of sums if it is not a sum of squares of rows: then other rows were taken away."""
    for gram, whole in ((left.centered().gram, before.gram), (left.square, before.square)):
        noise = 1e-9 * _largest(whole)
        if len(gram) and float(ops.eigvalsh(cast(gram, "float64"))[0]) < -noise:
            raise ValueError(NEVER_ADDED)


def small_sums(features: Array, y: Array) -> tuple[Array, Array, Array, Array]:
    """Sums of features and of targets, Z'Y and Y'Y; exact for integers."""
    xp = namespace(features)
    if scipy.sparse.issparse(features):
        sum_z = np.array(features.sum(axis=0, dtype=wide(features))).ravel()
        cross = features.T @ cast(y, wide(y))
    elif is_integer(features) and dtype_name(y) == "int8":
        both = ops.cross(features, xp.column_stack([y, xp.ones_like(y[:, :1])]))  # ones: sums in the same pass
        sum_z, cross = xp.asarray(both[:, -1], copy=True), both[:, :-1]
    else:
        sum_z, cross = features.sum(axis=0, dtype=getattr(xp, wide(features))), ops.cross(features, y)
    wide_y = cast(y, wide(y))
    square = ops.cross(y, y) if dtype_name(y) == "int8" else wide_y.T @ wide_y
    return sum_z, wide_y.sum(axis=0), contiguous(cross), square


def _centered(sums: Moments, grams: list[Array], scale: float | np.ndarray, intercept: bool) -> Centered:
    """Z'Z - n mean mean' and its like, features times `scale`. Z'Z is the sum of `grams`, whatever `sums` has."""
    first, weight = grams[0], float(sums.weight)
    xp, scale = namespace(first), like(scale, first)
    cross, square = cast(sums.cross, "float64"), cast(sums.square.diagonal(), "float64")
    mean_z, mean_y = cast(sums.sum_z, "float64") / weight, cast(sums.sum_y, "float64") / weight
    if intercept:
        cross, square = cross - xp.outer(sums.sum_z, mean_y), (square - weight * mean_y**2).clip(min=0.0)
    else:
        mean_z, mean_y = (constant(0.0, mean.shape, first) for mean in (mean_z, mean_y))
    # Exact integers are subtracted as integers where they fit, so nothing cancels badly.
    largest = float(reduce(add, (abs(gram.diagonal()) for gram in grams)).max()) if len(first) else 0.0
    fits = intercept and all(map(is_integer, grams)) and float(sums.rows) * largest < 2**62
    out, slab_rows = empty(first.shape, first), SLAB if xp is np else SLAB_OF_TENSORS

    def centre(rows: slice) -> None:
        for start in range(rows.start, rows.stop, slab_rows):  # the matrix may fill the memory: no second one
            part = slice(start, min(start + slab_rows, rows.stop))
            gram = reduce(add, (gram[part] for gram in grams))
            if fits:
                gram = gram * sums.rows
                gram -= xp.outer(sums.sum_z[part], sums.sum_z)
                slab = cast(gram, "float64")
                slab /= sums.rows
            else:
                slab = gram - xp.outer(sums.sum_z[part], mean_z) if intercept else cast(gram, "float64", copy=True)
            out[part] = times_both(slab, scale, part)

    threads.over_rows(centre, len(out), slab_rows)
    return Centered(out, (cross.T * scale).T, square, mean_z * scale, mean_y, weight, sums.rows)


def _largest(matrix: Array) -> float:
    """The largest number on the diagonal, by size; 0 if there is none."""
    return float(abs(matrix.diagonal()).max()) if len(matrix) else 0.0


def times_both(gram: Array, scale: Any, rows: slice = slice(None)) -> Array:
    """Some rows of the Gram matrix of features times `scale`, a number or one for each of them, in their place."""
    if np.ndim(scale) == 0:
        gram *= scale**2
    else:
        gram *= scale[rows, None]
        gram *= scale
    return gram


def wide(numbers: Array) -> str:
    """The type that sums of such numbers have."""
    return "int64" if is_integer(numbers) else "float64"


def times_rows(features: Array, factor: Array) -> Array:
    """Each row times its factor, in float64."""
    if is_csr(features):
        return scipy.sparse.diags_array(factor) @ features.astype(np.float64)
    return cast(features, "float64") * factor[:, None]


def times_columns(scale: Array | float, coefficients: Array) -> Array:
    """Coefficients (m, k) times a number, or each row times its own."""
    return (like(scale, coefficients) * coefficients.T).T

"""Targets as matrices (n, k): labels become +-1 codes, numbers are measured from their mean.

What is learned about targets is a sum over rows, so it does not matter whether they come at once or in blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.utils.validation import column_or_1d

from ..arrays import Array, arange, cast, is_float, is_torch, like, namespace, to_host
from ..validation import require_finite, require_squares

MOST_CLASSES = 100_000
FEW = 20  # different whole numbers that are taken for labels where nobody says


@dataclass
class LabelCounts:
    """The different labels in order, and the total weight of the rows of each."""

    labels: np.ndarray
    weights: np.ndarray
    rows: int = 0

    @classmethod
    def of(cls, y: Array, weight: Array | None) -> LabelCounts:
        y = as_column(y, warn=True)
        if is_float(y):
            require_finite(y, "y")
            if (y != namespace(y).round(y)).any():
                raise ValueError(
                    "Unknown label type: continuous. y holds fractions, which are no labels: use a regressor."
                )
        labels, index = sorted_labels(y)
        if len(labels) > MOST_CLASSES:
            raise ValueError(f"y has more than {MOST_CLASSES:,} different labels: it does not look like classes.")
        weights = namespace(index).bincount(index, weight, minlength=len(labels))
        return cls(to_host(labels), to_host(cast(weights, "float64")), len(y))

    def __iadd__(self, other: LabelCounts) -> LabelCounts:
        both = np.concatenate([self.labels, other.labels])
        joined = LabelCounts.of(both, np.concatenate([self.weights, other.weights]))
        self.labels, self.weights, self.rows = joined.labels, joined.weights, self.rows + other.rows
        return self


@dataclass
class TargetSums:
    """The shape of a target, the sum of all, and the smallest and largest."""

    shape: tuple[int, ...]
    rows: int
    total: np.ndarray
    ends: np.ndarray

    @classmethod
    def of(cls, y: Array) -> TargetSums:
        if not is_torch(y) and y.dtype.kind not in "biuf":
            raise ValueError(f"y must hold numbers; its type is {y.dtype}: use a classifier for labels.")
        y = cast(y, "float64")
        require_finite(y, "y")
        flat, xp = y.reshape(len(y), -1), namespace(y)
        require_squares(float(abs(flat).max()) if min(flat.shape) else 0.0, "y")
        ends = xp.stack([xp.amin(flat, axis=0), xp.amax(flat, axis=0)])
        return cls(tuple(y.shape[1:]), len(y), to_host(flat.sum(axis=0)), to_host(ends))

    def __iadd__(self, other: TargetSums) -> TargetSums:
        self.rows, self.total = self.rows + other.rows, self.total + other.total
        self.ends = np.stack([np.minimum(self.ends[0], other.ends[0]), np.maximum(self.ends[1], other.ends[1])])
        return self


class TargetCoding(Protocol):
    """Targets as a matrix (n, k), and weights with whatever the class of a row adds."""

    def code(self, y: Array) -> Array: ...
    def weigh(self, y: Array, weight: Array | None) -> Array | None: ...


@dataclass(frozen=True)
class LabelCoding:
    """Labels as +-1 codes, and their weights times those of their classes, if classes have some."""

    classes: np.ndarray
    factors: np.ndarray | None = None

    def code(self, y: Array) -> Array:
        index = self.class_of(as_column(y))
        if len(self.classes) == 2:
            return cast(2 * index[:, None] - 1, "int8")
        return 2 * cast(index[:, None] == arange(len(self.classes), index), "int8") - 1

    def weigh(self, y: Array, weight: Array | None) -> Array | None:
        if self.factors is None:
            return weight
        extra = like(self.factors, y)[self.class_of(as_column(y))]
        return extra if weight is None else weight * extra

    def class_of(self, y: Array) -> Array:
        classes, y = comparable(self.classes, y)
        index = namespace(y).searchsorted(classes, y)
        known = classes[index.clip(max=len(classes) - 1)] == y
        if not known.all():
            raise ValueError(
                f"y has the label {y[~known][:1].tolist()[0]!r}, which is not among the classes of the first call."
            )
        return index


@dataclass(frozen=True)
class NumberCoding:
    """Numbers measured from their mean; their shape is that of the first ones."""

    outputs: tuple[int, ...]
    offset: Any

    def code(self, y: Array) -> Array:
        y = cast(y if is_torch(y) else np.asarray(y), "float64")
        shape = tuple(y.shape[1:])
        if shape != self.outputs:
            raise ValueError(
                f"y has {np.prod(shape, dtype=int)} output(s); the model was fitted with "
                f"{np.prod(self.outputs, dtype=int)}, and takes y of shape {('n_samples', *self.outputs)}."
            )
        return y.reshape(len(y), -1) - like(self.offset, y)

    def weigh(self, y: Array, weight: Array | None) -> Array | None:
        return weight


def as_column(y: Array, warn: bool = False) -> Array:
    """Labels (n,), which may come as a column (n, 1)."""
    if not is_torch(y):
        return column_or_1d(y, warn=warn)
    if y.ndim != 1 and not (y.ndim == 2 and y.shape[1] == 1):
        raise ValueError(f"y should be a 1d array, got an array of shape {tuple(y.shape)} instead.")
    return y.reshape(-1)


def comparable(classes: np.ndarray, y: Array) -> tuple[Array, Array]:
    """Classes and labels in one library, and of one type where the library compares no others."""
    if not is_torch(y):
        return classes, y
    dtype = "float64" if classes.dtype.kind == "f" or is_float(y) else "int64"
    return cast(like(classes, y), dtype), cast(y, dtype)


def sorted_labels(y: Array) -> tuple[Array, Array]:
    """The different labels in order, and the place of each y among them."""
    try:
        labels, index = namespace(y).unique(y, return_inverse=True)
    except TypeError:
        raise ValueError("labels of mixed types cannot be sorted: make them all text or all numbers.") from None
    return labels, index


def looks_like_labels(y: np.ndarray) -> bool:
    """Text, truth values, or at most FEW different whole numbers."""
    if y.dtype.kind not in "iuf":
        return True
    return bool(y.ndim == 1 and (y == np.rint(y)).all() and len(np.unique(y)) <= FEW)

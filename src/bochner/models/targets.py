"""Targets as matrices (n, k): labels become +-1 codes, numbers are measured from their mean.

What is learned about targets is a sum over rows, so it does not matter whether they come at once or in blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import column_or_1d

from ..arrays import Array, arange, cast, constant, is_float, is_torch, like, namespace, to_host, to_numpy
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


class TargetKind(Protocol):
    """What the first pass asks about targets."""

    def summarize(self, y: Array, weight: Array | None) -> Any:
        """What some targets tell about all of them: a sum over rows."""

    def is_weightless(self, y: Array) -> Array:
        """Which rows have a class of weight zero."""


class TargetCoding(Protocol):
    """Targets as a matrix (n, k), and weights with whatever the class of a row adds."""

    def code(self, y: Array) -> Array: ...
    def weigh(self, y: Array, weight: Array | None) -> Array | None: ...


@dataclass(frozen=True)
class Labels:
    """Targets that are labels, of which some may be of classes of weight zero."""

    weightless: tuple[Any, ...] = ()

    def summarize(self, y: Array, weight: Array | None) -> LabelCounts:
        return LabelCounts.of(y, weight)

    def is_weightless(self, y: Array) -> Array:
        y = as_column(y)
        if not self.weightless:
            return constant(False, (len(y),), y, "bool")
        return namespace(y).isin(y, like(np.array(self.weightless), y) if is_torch(y) else list(self.weightless))


@dataclass(frozen=True)
class Numbers:
    """Targets that are numbers, one or several per row."""

    def summarize(self, y: Array, weight: Array | None) -> TargetSums:
        return TargetSums.of(y)

    def is_weightless(self, y: Array) -> Array:
        return constant(False, (len(y),), y, "bool")


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


class Labelled:
    """A model whose targets are labels."""

    _classifies = True
    classes_: np.ndarray
    class_weight: Any
    _scores: Callable[[Any], Array]  # of rows, (n, outputs)

    def decision_function(self, X: Any) -> Array:
        """Compute the scores of the classes.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, tensor or Blocks of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Scores; for two classes one number a row, positive for the second class.
        """
        scores = self._scores(X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> Array:
        """Return the label of the largest score of each row.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, torch.Tensor or Blocks of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray or torch.Tensor of shape (n_samples,)
            Labels, in the library of X; text always as an array.
        """
        scores = self.decision_function(X)
        index = cast(scores > 0, "int64") if scores.ndim == 1 else scores.argmax(axis=1)
        if self.classes_.dtype.kind not in "biuf":  # text, which no tensor holds
            return self.classes_[to_numpy(index)]
        return like(self.classes_, index)[index]

    def _target_kind(self) -> Labels:
        given = self.class_weight if isinstance(self.class_weight, dict) else {}
        return Labels(tuple(label for label, weight in given.items() if weight == 0))

    def _learn(self, summary: LabelCounts, classes: Any = None) -> None:
        if classes is None and FEW < len(summary.labels) == summary.rows:
            raise ValueError(
                f"y has {summary.rows:,} different labels in {summary.rows:,} rows, so no class can be learned from "
                "another row: these are identifiers or numbers, not classes; choose another target, or a regressor."
            )
        self.classes_ = summary.labels if classes is None else sorted_labels(np.asarray(to_host(classes)))[0]
        if len(self.classes_) < 2:
            raise ValueError(
                f"y has one class only ({self.classes_.tolist()[0]!r}); a classifier needs at least two classes."
            )
        self._outputs: Any = tuple(self.classes_.tolist())

    def _require_same(self, classes: Any) -> None:
        if classes is not None and not np.array_equal(sorted_labels(np.asarray(to_host(classes)))[0], self.classes_):
            raise ValueError(f"classes differ from those of the first call, {self.classes_.tolist()}.")

    def _target_coding(self, summary: LabelCounts | None = None) -> LabelCoding:
        """How labels become codes; `summary` is of all rows, or None if there may be more."""
        if self.class_weight is None:
            return LabelCoding(self.classes_)
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            if summary is None:
                raise ValueError("class_weight='balanced' needs all rows at once: give a dictionary instead.")
            factors, there = np.zeros(len(self.classes_)), summary.weights > 0  # a class of no weight stays so
            shares = len(self.classes_) * summary.weights[there]
            factors[LabelCoding(self.classes_).class_of(summary.labels[there])] = summary.weights.sum() / shares
        else:
            factors = compute_class_weight(self.class_weight, classes=self.classes_, y=self.classes_)
        return LabelCoding(self.classes_, factors)

    def _output_count(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _require_outputs(self, outputs: int) -> None:
        """Refuse a number of scores that the classes do not have."""
        if not np.array_equal(sorted_labels(self.classes_)[0], self.classes_):
            raise ValueError("the classes must be different, and in order")
        if outputs != self._output_count():
            raise ValueError(f"{len(self.classes_)} classes cannot have {outputs} scores")


class Numeric:
    """A model whose targets are numbers, one or several per row."""

    _classifies = False
    fit_intercept: bool
    _offset: Any

    def _target_kind(self) -> Numbers:
        return Numbers()

    def _learn(self, summary: TargetSums, classes: Any = None) -> None:
        """Measure targets from the mean of the first ones: squares of a large constant would swamp the rest."""
        self._outputs: Any = tuple(summary.shape)
        self._offset = summary.total / summary.rows if self.fit_intercept else np.zeros(len(summary.total))
        self._ends: np.ndarray | None = summary.ends

    def _require_same(self, classes: Any) -> None:
        """Numbers need no agreement."""

    def _target_coding(self, summary: Any = None) -> NumberCoding:
        return NumberCoding(tuple(self._outputs), self._offset)

    def _output_count(self) -> int:
        return int(np.prod(self._outputs, dtype=int))

    def _require_outputs(self, outputs: int) -> None:
        """Refuse a number of outputs that the targets did not have."""
        if self._output_count() != outputs or np.shape(self._offset) != (outputs,):
            raise ValueError(f"{outputs} outputs are not what was learned")

    def _shaped(self, values: np.ndarray) -> Any:
        """Numbers of outputs as the targets were: a plain number for a single one."""
        if self._outputs:
            return values
        return float(values[0]) if values.ndim == 1 else values[0]


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

"""Target encoders, which every model has one of: labels or numbers, what is learned of them, and scores read again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol, Self, TypeAlias

import numpy as np
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from ..arrays import Array, Same, cast, constant, is_torch, like, namespace, to_host, to_numpy
from ..typing import ClassWeight
from .target_codes import (
    FEW,
    LabelCoding,
    LabelCounts,
    NumberCoding,
    TargetCoding,
    TargetSums,
    as_column,
    sorted_labels,
)

Summary: TypeAlias = LabelCounts | TargetSums  # what the rows of a fit tell of their targets


class TargetEncoder(Protocol):
    """How targets become a matrix (n, outputs) and scores become targets again.

    As it is made, it knows the parameters of a model alone; `learn` returns one that knows the targets of a fit too.
    Encoders are small and never change, so that they travel with the passes over rows.
    """

    @property
    def classifies(self) -> bool:
        """Whether targets are labels."""

    @property
    def outputs(self) -> int:
        """Number of scores of a row."""

    @property
    def offset(self) -> Array | float:
        """What targets are measured from."""

    def check(self, y: Array) -> None:
        """Refuse targets that are of another kind."""

    def summarize(self, y: Array, weight: Array | None) -> LabelCounts | TargetSums:
        """What some targets tell about all of them: a sum over rows."""

    def is_weightless(self, y: Array) -> Array:
        """Which rows have a class of weight zero."""

    def learn(self, summary: Summary | None, classes: Array | None = None) -> TargetEncoder:
        """The encoder of targets with this summary; `classes`, if given, are all there will be."""

    def require_classes(self, classes: Array | None) -> None:
        """Refuse classes that are not those of the first call."""

    def require_same(self, other: Self) -> None:
        """Refuse the targets of another model, if they cannot be added to these."""

    def shift_from(self, other: Self) -> Array | None:
        """What to add to the targets of another model so that they are measured as these; None is nothing."""

    def coding(self, summary: Summary | None = None) -> TargetCoding:
        """How targets are coded; `summary` is that of all rows, or None if there may be more."""

    def shaped(self, values: Array) -> Array:
        """Numbers of outputs, the first axis, as the targets were."""

    def numbers(self, values: Array) -> Array | float:
        """One number for each output, as the target of a row was."""

    def without_range(self) -> TargetEncoder:
        """The encoder after rows came or went: it no longer knows between which ends targets lie."""

    def to_fields(self) -> dict[str, Any]:
        """What was learned, under the names that files have for it."""

    def with_fields(self, fitted: dict[str, Any], outputs: int) -> TargetEncoder:
        """The encoder that a file tells, if it goes with so many outputs."""


@dataclass(frozen=True, eq=False)
class LabelTargets:
    """Targets that are labels: +-1 codes, one column for each class, or one in all for two classes."""

    class_weight: ClassWeight = None
    known: np.ndarray | None = None

    classifies = True
    offset = 0.0

    @property
    def classes(self) -> np.ndarray:
        """The labels in order."""
        if self.known is None:
            raise AttributeError("the classes are known after fit.")
        return self.known

    @property
    def outputs(self) -> int:
        return 1 if len(self.classes) == 2 else len(self.classes)

    def check(self, y: Array) -> None:
        if not is_torch(y):
            check_classification_targets(y)

    def summarize(self, y: Array, weight: Array | None) -> LabelCounts:
        return LabelCounts.of(y, weight)

    def is_weightless(self, y: Array) -> Array:
        given = self.class_weight if isinstance(self.class_weight, dict) else {}
        none = [label for label, weight in given.items() if weight == 0]
        y = as_column(y)
        if not none:
            return constant(False, (len(y),), y, "bool")
        return namespace(y).isin(y, like(np.array(none), y) if is_torch(y) else none)

    def learn(self, summary: Summary | None, classes: Array | None = None) -> LabelTargets:
        assert isinstance(summary, LabelCounts)
        if classes is None and FEW < len(summary.labels) == summary.rows:
            raise ValueError(
                f"y has {summary.rows:,} different labels in {summary.rows:,} rows, so no class can be learned from "
                "another row: these are identifiers or numbers, not classes; choose another target, or a regressor."
            )
        known = summary.labels if classes is None else sorted_labels(np.asarray(to_host(classes)))[0]
        if len(known) < 2:
            raise ValueError(f"y has one class only ({known.tolist()[0]!r}); a classifier needs at least two classes.")
        return replace(self, known=np.asarray(known))

    def require_classes(self, classes: Array | None) -> None:
        if classes is not None and not np.array_equal(sorted_labels(np.asarray(to_host(classes)))[0], self.classes):
            raise ValueError(f"classes differ from those of the first call, {self.classes.tolist()}.")

    def require_same(self, other: LabelTargets) -> None:
        if not np.array_equal(self.classes, other.classes):
            raise ValueError("the two models have different classes: give `classes` to partial_fit of both.")

    def shift_from(self, other: LabelTargets) -> None:
        return None

    def coding(self, summary: Summary | None = None) -> LabelCoding:
        if self.class_weight is None:
            return LabelCoding(self.classes)
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            if not isinstance(summary, LabelCounts):
                raise ValueError("class_weight='balanced' needs all rows at once: give a dictionary instead.")
            factors, there = np.zeros(len(self.classes)), summary.weights > 0  # a class of no weight stays so
            shares = len(self.classes) * summary.weights[there]
            factors[LabelCoding(self.classes).class_of(summary.labels[there])] = summary.weights.sum() / shares
        else:
            factors = compute_class_weight(self.class_weight, classes=self.classes, y=self.classes)
        return LabelCoding(self.classes, factors)

    def decision(self, scores: Same) -> Same:
        """Scores (n, outputs) as `decision_function` returns them: (n,) for two classes."""
        return scores[:, 0] if len(self.classes) == 2 else scores

    def decode(self, scores: Same) -> Same:
        """The label of the largest of the scores that `decision` gives, in their library; text as an array."""
        index = cast(scores > 0, "int64") if scores.ndim == 1 else scores.argmax(axis=1)
        if self.classes.dtype.kind not in "biuf":  # text, which no tensor holds
            return self.classes[to_numpy(index)]
        return like(self.classes, index)[index]

    def shaped(self, values: Array) -> Array:
        return values

    def numbers(self, values: Array) -> Array:
        return values

    def without_range(self) -> LabelTargets:
        return self

    def to_fields(self) -> dict[str, Any]:
        return {"classes_": self.classes}

    def with_fields(self, fitted: dict[str, Any], outputs: int) -> LabelTargets:
        found = replace(self, known=fitted["classes_"])
        if not np.array_equal(sorted_labels(found.classes)[0], found.classes):
            raise ValueError("the classes must be different, and in order")
        if outputs != found.outputs:
            raise ValueError(f"{len(found.classes)} classes cannot have {outputs} scores")
        return found


@dataclass(frozen=True, eq=False)
class NumericTargets:
    """Targets that are numbers, one or several per row, measured from their mean where there is an intercept.

    Squares of a large constant would swamp the rest.
    """

    fit_intercept: bool = True
    shape: tuple[int, ...] = ()  # of the target of one row
    offset: Any = 0.0
    ends: np.ndarray | None = None  # the smallest and the largest (2, outputs)

    classifies = False

    @property
    def outputs(self) -> int:
        return int(np.prod(self.shape, dtype=int))

    def check(self, y: Array) -> None:
        """The summary refuses what are no numbers."""

    def summarize(self, y: Array, weight: Array | None) -> TargetSums:
        return TargetSums.of(y)

    def is_weightless(self, y: Array) -> Array:
        return constant(False, (len(y),), y, "bool")

    def learn(self, summary: Summary | None, classes: Array | None = None) -> NumericTargets:
        assert isinstance(summary, TargetSums)
        offset = summary.total / summary.rows if self.fit_intercept else np.zeros(len(summary.total))
        return replace(self, shape=tuple(summary.shape), offset=offset, ends=summary.ends)

    def require_classes(self, classes: Array | None) -> None:
        """Numbers have none."""

    def require_same(self, other: NumericTargets) -> None:
        if self.shape != other.shape:
            raise ValueError("the two models were fitted with different numbers of outputs.")

    def shift_from(self, other: NumericTargets) -> Array:
        return other.offset - self.offset

    def coding(self, summary: Summary | None = None) -> NumberCoding:
        return NumberCoding(self.shape, self.offset)

    def decode(self, scores: Same) -> Same:
        """Scores (n, outputs) in the shape of the targets."""
        return scores.reshape(-1, *self.shape)

    def shaped(self, values: Array) -> Array:
        return values if self.shape else values[0]

    def numbers(self, values: Array) -> Array | float:
        return values if self.shape else float(values[0])

    def without_range(self) -> NumericTargets:
        return replace(self, ends=None)

    def to_fields(self) -> dict[str, Any]:
        return {"_outputs": self.shape, "_offset": self.offset, "_ends": self.ends}

    def with_fields(self, fitted: dict[str, Any], outputs: int) -> NumericTargets:
        shape = tuple(fitted["_outputs"])
        found = replace(self, shape=shape, offset=fitted["_offset"], ends=fitted.get("_ends"))
        if found.outputs != outputs or np.shape(found.offset) != (outputs,):
            raise ValueError(f"{outputs} outputs are not what was learned")
        return found

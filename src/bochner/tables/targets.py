"""What categories say of the target: counts and sums that add, and the effects that follow from them.

With n_c rows of category c, whose targets sum to S_c, and the mean m of all N rows, the effect of c is
    e_c = (S_c - n_c m) / (n_c + s),
the mean deviation from m, drawn to 0 as if s rows more had none. s is the variance within categories over that between
them, both by the one-way analysis of variance:
    within = (T - B) / (N - C),  between = (B - (C - 1) within) / (N - sum n_c^2 / N),  B = sum (S_c - n_c m)^2 / n_c,
T being the sum of all squared deviations and C the number of categories. Where categories say nothing, `between` is 0,
s infinite, and so is every effect 0. Effects are divided by their own standard deviation over the rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..fields import MOST, names, numbers, require_fields, text, whole

TYPES = ("continuous", "classes")
MANY = 20  # different whole numbers are no classes, but numbers
LEAST_ROWS = 1.0  # that an effect is drawn to 0 by


@dataclass
class Targets:
    """The targets of all rows: what they are, and their sums, less `origin`, which keeps squares from cancelling."""

    kind: str
    classes: list[str] = field(default_factory=list)
    origin: np.ndarray = field(default_factory=lambda: np.zeros(0))
    rows: int = 0
    squares: np.ndarray = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def begin(cls, y: np.ndarray, kind: str) -> Targets:
        """What targets are is decided by the first of them: text, truth values and few whole numbers are classes."""
        if kind == "auto":
            few = y.dtype.kind in "iuf" and len(np.unique(y)) <= MANY and bool((y == np.rint(y)).all())
            kind = "classes" if y.ndim == 1 and (y.dtype.kind not in "iuf" or few) else "continuous"
        if kind == "classes":
            return cls(kind)
        if y.dtype.kind not in "biuf":
            raise ValueError("y must hold numbers for target_type='continuous'.")
        origin = np.atleast_1d(y.astype(np.float64).mean(axis=0))
        return cls(kind, [], origin, 0, np.zeros(len(origin)))

    @property
    def outputs(self) -> int:
        return len(self.classes) if self.kind == "classes" else len(self.origin)

    def columns(self, y: np.ndarray) -> np.ndarray:
        """(n, outputs): deviations from the origin, or a 1 for the class; a new class is a new column."""
        if self.kind == "continuous":
            values = y.astype(np.float64).reshape(len(y), -1)
            if values.shape[1] != self.outputs:
                raise ValueError(f"y has {values.shape[1]} output(s); those before had {self.outputs}.")
            return values - self.origin
        labels, codes = np.unique(y, return_inverse=True)
        known = {label: k for k, label in enumerate(self.classes)}
        places = [known.setdefault(label, len(known)) for label in map(class_name, labels.tolist())]
        self.classes = list(known)
        return (np.array(places)[codes.ravel()][:, None] == np.arange(len(known))).astype(np.float64)

    def add(self, columns: np.ndarray) -> None:
        self.rows += len(columns)
        self.squares = widened(self.squares, self.outputs) + (columns**2).sum(axis=0)

    def aligned(self, other: Targets) -> tuple[np.ndarray, np.ndarray]:
        """(places, shift) of the columns of other targets among these: sums go there, plus count times shift."""
        if self.kind != other.kind or (self.kind == "continuous" and self.outputs != other.outputs):
            raise ValueError("the targets of the two encoders are of different kinds.")
        if self.kind == "continuous":
            return np.arange(self.outputs), other.origin - self.origin
        known = {label: k for k, label in enumerate(self.classes)}
        places = [known.setdefault(label, len(known)) for label in other.classes]
        self.classes = list(known)
        return np.array(places, dtype=np.int64), np.zeros(len(places))

    def merge(self, other: Targets, places: np.ndarray, shift: np.ndarray, sums: np.ndarray) -> None:
        """Join other targets, whose sums over all rows are given."""
        self.squares = widened(self.squares, self.outputs)
        self.squares[places] += other.squares + 2.0 * shift * sums + other.rows * shift**2
        self.rows += other.rows

    def to_state(self) -> dict[str, Any]:
        """What a file keeps."""
        return {**vars(self), "classes": np.array(self.classes, dtype=object)}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Targets:
        """Targets from what a file kept; what no rows give is refused."""
        require_fields(state, FIELDS)
        targets = cls(**{**state, "classes": state["classes"].tolist()})
        if len(targets.squares) != targets.outputs or len(set(targets.classes)) != len(targets.classes):
            raise ValueError("these are no sums of targets")
        return targets


FIELDS = {
    "kind": text(*TYPES), "classes": names(), "origin": numbers(None), "rows": whole(0, MOST),
    "squares": numbers(None, low=0.0, high=1e300),
}  # fmt: skip


def class_name(label: object) -> str:
    """A class as text; whole numbers are the same as integers and as floats."""
    return str(int(label)) if isinstance(label, float) and label == int(label) else str(label)


def widened(sums: np.ndarray, outputs: int) -> np.ndarray:
    """Sums with zeros for outputs that were not known yet."""
    return np.pad(sums, [(0, 0)] * (sums.ndim - 1) + [(0, outputs - sums.shape[-1])])


def effects(counts: np.ndarray, sums: np.ndarray, squares: np.ndarray, smoothing: str | float) -> np.ndarray:
    """Effects (categories, outputs) of categories on targets, as above; 0 for those of no rows.

    counts : (categories,). sums : (categories, outputs). squares : (outputs,), sums of squares over all rows.
    """
    rows, there = counts.sum(), counts > 0
    weight = np.maximum(counts, 1)[:, None]
    mean = sums.sum(axis=0) / max(rows, 1)
    deviations = np.where(there[:, None], sums - counts[:, None] * mean, 0.0)
    drawn = pull(counts, deviations, squares - rows * mean**2) if smoothing == "auto" else np.asarray(float(smoothing))
    with np.errstate(invalid="ignore"):
        found = deviations / (weight + drawn)
    spread = np.sqrt((counts[:, None] * found**2).sum(axis=0) / max(rows, 1))
    # Below this it is rounding: categories whose means are all the same.
    noise = 1e-12 * np.sqrt(np.maximum(squares / max(rows, 1), np.finfo(np.float64).tiny))
    return np.where(spread > noise, found / np.where(spread > noise, spread, 1.0), 0.0)


def pull(counts: np.ndarray, deviations: np.ndarray, total: np.ndarray) -> np.ndarray:
    """s of each output: how many rows an effect is drawn to 0 by."""
    rows, categories = counts.sum(), int(np.count_nonzero(counts))
    if categories < 2 or rows <= categories:  # nothing tells noise from effects
        return np.full(len(total), np.inf)
    between = (deviations**2 / np.maximum(counts, 1)[:, None]).sum(axis=0)
    within = np.maximum(total - between, 0.0) / (rows - categories)
    variance = (between - (categories - 1) * within) / (rows - (counts.astype(np.float64) ** 2).sum() / rows)
    ratio = np.divide(within, variance, out=np.full(len(total), np.inf), where=variance > 0)
    return np.maximum(ratio, LEAST_ROWS)


def out_of_fold(
    codes: np.ndarray, columns: np.ndarray, folds: np.ndarray, slots: int, smoothing: str | float
) -> np.ndarray:
    """The effect of each row's category by the rows of all other folds: none sees its own target."""
    out = np.zeros((len(codes), columns.shape[1]))
    number = int(folds.max(initial=0)) + 1
    place = folds * slots + codes
    counts = np.bincount(place, minlength=number * slots).reshape(number, slots)
    sums = np.stack([np.bincount(place, column, minlength=number * slots) for column in columns.T], axis=-1)
    sums = sums.reshape(number, slots, -1)
    squares = np.stack([(columns[folds == k] ** 2).sum(axis=0) for k in range(number)])
    for k in range(number):
        others = np.arange(number) != k  # added up, and not subtracted from the whole: no rounding tells of the row
        table = effects(counts[others].sum(axis=0), sums[others].sum(axis=0), squares[others].sum(axis=0), smoothing)
        out[folds == k] = table[codes[folds == k]]
    return out

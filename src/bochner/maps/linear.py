"""The columns of the rows themselves, as features beside others: what a line follows, bounded features cannot.

They see rows that are hardly clipped: heavy tails go further out than any bounded feature can follow.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Array, cast, dtype_name, like, namespace
from .quantize import round_digits
from .scaling import FAR, HEAVY, ColumnScaler, require_columns

REACH, STEP = 511.0, 1.0 / 16.0  # in integers of 16 bits, in spreads: how far the linear part goes, and its step
DIGIT = 128  # in files that tell of no unit, a code of the linear part is DIGIT high + low, both of 8 bits
BEYOND, FARTHER = 2.0, 8.0  # times the largest number of a sample: so far 8 bits follow a line, and along heavy tails
LARGEST, PARTS = 127, 254  # the largest integer of 8 bits, and the parts of a unit


@dataclass(frozen=True, eq=False)
class LinearPart:
    """The columns themselves: (x - center) / spread up to FAR spreads, each times a weight.

    A larger weight is a smaller penalty. In integers of 16 bits a number is a code of STEP spreads up to REACH. Where
    features have 8 bits it is two columns, so that their sums are as exact as those of the features: whole units of
    its column, and what is left in parts of a unit. Each column has a slope of its own; as the first one alone goes as
    far as rows do, what a line says of far-out rows does not hang on digits that hardly any row has.
    """

    center: np.ndarray
    spread: np.ndarray
    weight: np.ndarray
    unit: np.ndarray | None = None  # of 8 bits, in spreads

    def __post_init__(self) -> None:
        require_columns(self.spread, self.center, self.weight)
        if self.unit is not None:
            require_columns(self.unit, self.spread)
        if not (self.weight >= 0).all():
            raise ValueError("this is no linear part")

    @classmethod
    def of(cls, rows: np.ndarray, weight: float) -> LinearPart:
        """Columns of deviation 1, times the weight; a column that does not vary gets none."""
        robust = ColumnScaler.robust(rows)
        largest = np.abs(_spreads(rows, robust)).max(axis=0, initial=0.0)
        farthest = np.minimum(np.where(largest > HEAVY, FARTHER, BEYOND) * largest, REACH)
        unit = [round_digits(max(float(f) / LARGEST, STEP / PARTS), 8) for f in farthest]
        part = cls(robust.center, robust.spread, np.ones(rows.shape[1]), np.array(unit))
        deviation = np.std(part.values(rows.astype(np.float64)), axis=0)
        there = deviation > 1e-12
        weights = [round_digits(weight / d, 8) if t else 0.0 for d, t in zip(deviation, there, strict=True)]
        return replace(part, weight=np.array(weights))

    def times(self, factor: float) -> LinearPart:
        return replace(self, weight=self.weight * factor)

    def values(self, X: Array) -> Array:
        """As floats, in the type of X."""
        center, spread, weight = (
            like(part.astype(dtype_name(X)), X) for part in (self.center, self.spread, self.weight)
        )
        with np.errstate(over="ignore"):
            z = (X - center) / spread
        return z.clip(-FAR, FAR) * weight

    def codes(self, X: Array, dtype: np.dtype) -> Array:
        """As integers: units, then parts of them, for int8; whole for int16."""
        z, xp = _spreads(X, self), namespace(X)
        if dtype == np.int8 and self.unit is not None:
            units = (z / like(self.unit, X)).clip(-LARGEST, LARGEST)
            whole = xp.round(units)
            return cast(xp.hstack([whole, xp.round((units - whole) * PARTS)]), "int8")
        code = cast(xp.round(z.clip(-REACH, REACH) / STEP), "int16")
        if dtype != np.int8:
            return code
        high = cast(xp.trunc(code / DIGIT), "int16")  # zero but for far-out numbers: both digits have slopes
        return cast(xp.hstack([high, code - DIGIT * high]), "int8")

    def code_scale(self, dtype: np.dtype) -> np.ndarray:
        """What the columns of codes are to be multiplied by."""
        if dtype == np.int8 and self.unit is not None:
            return np.concatenate([self.weight * self.unit, self.weight * self.unit / PARTS])
        low = self.weight * STEP
        return np.concatenate([DIGIT * low, low]) if dtype == np.int8 else low

    def slopes(self, X: Array) -> Array:
        inside = abs(_spreads(X, self)) < FAR
        return inside * like(self.weight / self.spread, X)


def _spreads(X: Array, columns: LinearPart | ColumnScaler) -> Array:
    """How many spreads numbers are from the centres of their columns."""
    with np.errstate(over="ignore"):
        return (cast(X, "float64") - like(columns.center, X)) / like(columns.spread, X)

"""The columns of the rows themselves, as features beside others: what a line follows, bounded features cannot.

They see rows that are hardly clipped: heavy tails go further out than any bounded feature can follow.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Array, cast, dtype_name, like, namespace
from .quantize import round_digits
from .scaling import FAR, ColumnScaler, require_columns

REACH, STEP = 511.0, 1.0 / 16.0  # in integers, in deviations: how far the linear part goes, and its step
DIGIT = 128  # a code of the linear part is DIGIT high + low, both of 8 bits


@dataclass(frozen=True, eq=False)
class LinearPart:
    """The columns themselves: (x - center) / spread up to FAR spreads, each times a weight.

    A larger weight is a smaller penalty. In integers a number is a code of STEP spreads up to REACH; where features
    have 8 bits, its two digits are two columns, so that their sums are as exact as those of the features.
    """

    center: np.ndarray
    spread: np.ndarray
    weight: np.ndarray

    def __post_init__(self) -> None:
        require_columns(self.spread, self.center, self.weight)
        if not (self.weight >= 0).all():
            raise ValueError("this is no linear part")

    @classmethod
    def of(cls, rows: np.ndarray, weight: float) -> LinearPart:
        """Columns of deviation 1, times the weight; a column that does not vary gets none."""
        robust = ColumnScaler.robust(rows)
        part = cls(robust.center, robust.spread, np.ones(rows.shape[1]))
        deviation = part.values(rows.astype(np.float64)).std(axis=0)
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
        """As integers: high digits, then low ones, for int8; whole for int16."""
        xp = namespace(X)
        with np.errstate(over="ignore"):
            z = (cast(X, "float64") - like(self.center, X)) / like(self.spread, X)
        code = cast(xp.round(z.clip(-REACH, REACH) / STEP), "int16")
        if dtype != np.int8:
            return code
        high = cast(xp.trunc(code / DIGIT), "int16")  # zero but for far-out numbers: both digits have slopes
        return cast(xp.hstack([high, code - DIGIT * high]), "int8")

    def code_scale(self, dtype: np.dtype) -> np.ndarray:
        """What the columns of codes are to be multiplied by."""
        low = self.weight * STEP
        return np.concatenate([DIGIT * low, low]) if dtype == np.int8 else low

    def slopes(self, X: Array) -> Array:
        inside = abs((cast(X, "float64") - like(self.center, X)) / like(self.spread, X)) < FAR
        return inside * like(self.weight / self.spread, X)

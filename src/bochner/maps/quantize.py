"""From real inputs to 8-bit integers: one step for all columns, so that the kernel keeps its shape.

x -> round((x - center) / step), saturated. The step is chosen from the bulk of each column, not from its largest value:
an outlier is clipped rather than allowed to blunt every other number. Numbers learned from data are rounded to a few
digits, so that they do not hang on the last bits of a sum.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .. import ops
from ..arrays import Array, Rows, cast, dtype_name, is_csr
from ..fields import Check, number, numbers, require_sound, whole
from ..streams import int8_normal_deviation

BULK = 0.999  # this quantile of |x - center| ...
HEADROOM = 1.2  # ... times this is the largest number that is not clipped (3.95 deviations for a normal column)
FAR_OUT = 10.0  # but nothing is taken for bulk that lies so many deviations, by quartiles, from those of its column,
ENOUGH = 50  # if there are so many rows
FINITE = float(np.finfo(np.float64).max)
RANGES = ((-127, 127), (-128, 127), (0, 255))
FIELDS: dict[str, Check] = {
    "step": number(np.nextafter(0.0, 1.0), FINITE),
    "low": whole(-128, 0),
    "high": whole(127, 255),
    "center": numbers(None, low=-FINITE, high=FINITE),
}


@dataclass(frozen=True)
class Quantizer:
    step: float
    low: int = -127
    high: int = 127
    center: np.ndarray = field(default_factory=lambda: np.zeros(1))

    def __post_init__(self) -> None:
        require_sound(vars(self), FIELDS)
        if (self.low, self.high) not in RANGES:
            raise ValueError(f"{self.low} to {self.high} is no range of 8-bit codes")

    def __call__(self, X: Array) -> Array:
        """int8 codes, or uint8 if `low` is 0; each depends on its own number alone."""
        dtype = "uint8" if self.low == 0 else "int8"
        if dtype_name(X) == dtype and self.step == 1.0 and self.low in (0, -128) and not self.center.any():
            return X
        return ops.quantize(X, np.asarray(self.center, dtype=np.float64), float(self.step), self.low, self.high)

    def clipped_fraction(self, X: Rows) -> float:
        """The share of numbers outside the range; of a CSR matrix, zeros are inside."""
        values = X.data if is_csr(X) else X
        codes = np.rint((cast(values, "float64") - self.center) / self.step)
        outside = np.count_nonzero((codes < self.low) | (codes > self.high))
        return float(outside / max(X.shape[0] * X.shape[1], 1))


def choose_quantizer(rows: Rows, may_shift: bool) -> Quantizer:
    """A quantizer for data like these rows; `may_shift` says that the kernel does not change if x is shifted."""
    if rows.dtype == np.uint8:
        return Quantizer(step=1.0, low=0, high=255)
    if rows.dtype == np.int8:
        return Quantizer(step=1.0, low=-128, high=127)
    values = cast(rows.data if is_csr(rows) else rows, "float64")
    if not is_csr(rows) and len(values) >= ENOUGH:
        values = without_far_out(np.asarray(values))
    mean = values.mean(axis=0) if may_shift else np.zeros(1)
    size = np.abs(values - mean)
    size = size[size > 0]  # zeros of sparse and one-hot data say nothing about the scale
    if size.size == 0:
        return Quantizer(step=1.0, center=mean)
    reach = min(size.max(), HEADROOM * float(np.quantile(size, BULK)))
    step = round_digits(reach / 127, 3)
    return Quantizer(step=step, center=np.rint(mean / step) * step)


def without_far_out(values: np.ndarray) -> np.ndarray:
    """Columns with what lies far out brought nearer; a column that is mostly one value has nothing far out."""
    low, high = np.quantile(values, [0.25, 0.75], axis=0)
    reach = FAR_OUT * (high - low) / 1.349
    return np.where(reach > 0, np.clip(values, low - reach, high + reach), values)


def round_digits(value: float | np.floating, digits: int) -> float:
    """A positive number rounded to so many significant decimal digits."""
    return float(f"{float(value):.{digits - 1}e}")


def fixed_point(ratio: float, bits: int = 15, largest_shift: int = 40) -> tuple[int, int]:
    """(multiplier, shift) with multiplier / 2^shift close to ratio and a multiplier of at most `bits` bits."""
    shift = int(np.clip(bits - 1 - np.floor(np.log2(ratio)), 1, largest_shift))
    return int(np.clip(ratio * 2.0**shift + 0.5, 1, 2.0**30)), shift  # 31-bit values times this stay in 64 bits


def projection_scale(norms: Array, reach: float, limit: int) -> tuple[int, int, float]:
    """(multiplier, shift, unit) that bring int8 projections of rows of such norms to at most `limit`.

    As many deviations as `reach` fit at a typical large norm; a rescaled number times `unit` is a projection of codes
    by standard normals.
    """
    norm = max(1.0, round_digits(np.quantile(norms, 0.99) + 1e-9, 3))
    multiplier, shift = fixed_point(limit / (int8_normal_deviation() * reach * norm))
    return multiplier, shift, 2.0**shift / (multiplier * int8_normal_deviation())

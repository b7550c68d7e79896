"""Columns of rows brought to one scale, so that none drowns the others and no far-out row reaches far."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array, Rows, cast, dtype_name, is_csr, is_torch, like, namespace
from .quantize import round_digits

CLIP = 3.0  # deviations that a robustly scaled number approaches and never passes
FAR = 1e6  # deviations beyond which nothing more is told apart
LARGEST = 1e300  # that a number of a column may be
HEAVY = 10.0  # deviations beyond which a number is of a heavy tail
BOUNDED, MARGIN = 2.0, 0.4  # deviations within which columns keep to a range, and by which share new rows may leave it
MANY = 200  # rows that know the ends of a column; with fewer, new rows may go further
# Shares of rows between which a column is measured, and how many deviations of a normal law lie between; the first
# that is not zero counts, for a column may be mostly one value.
RANGES = ((0.25, 0.75, 1.349), (0.1, 0.9, 2.563), (0.02, 0.98, 4.107))


@dataclass(frozen=True, eq=False)
class ColumnScaler:
    """z = (x - center) / spread for each column; with a clip c, smoothly bounded: z / sqrt(1 + (z/c)^2).

    Before that, x is put between low and high. Far beyond the rows learned from a model would say anything:
    identifiers that go on counting, or a broken sensor, are taken for numbers near the last one that was known.
    """

    center: np.ndarray
    spread: np.ndarray
    low: np.ndarray
    high: np.ndarray
    clip: float = 0.0

    def __post_init__(self) -> None:
        require_columns(self.spread, self.center, self.low, self.high)
        if not 0.0 <= self.clip < np.inf:
            raise ValueError("this is no scaling of columns")

    def within(self, X: Rows) -> Rows:
        """Rows between low and high, as floats."""
        dtype = "float32" if dtype_name(X) == "float32" else "float64"
        with np.errstate(over="ignore"):
            low, high = (like(end.astype(dtype), X) for end in (self.low, self.high))
        if not is_csr(X):
            return cast(X, dtype).clip(low, high)
        inside = cast(X, np.dtype(dtype).name, copy=True)
        inside.data = np.clip(inside.data, low[inside.indices], high[inside.indices])
        return inside

    @classmethod
    def robust(cls, rows: Rows) -> ColumnScaler:
        """By medians and quartiles, with smooth clipping; sparse rows by the median size of what is not zero."""
        center, spread = medians(rows)
        return cls(center, spread, *ends(rows, center, spread), CLIP)

    @classmethod
    def standard(cls, rows: Rows) -> ColumnScaler:
        """By means and standard deviations; sparse rows are not centred."""
        limits = ends(rows, *medians(rows))
        rows = cast(rows, "float64")
        center = np.asarray(rows.mean(axis=0)).ravel()
        if is_csr(rows):
            square = np.asarray(rows.multiply(rows).mean(axis=0)).ravel()
            return cls(np.zeros(len(center)), _sound(np.sqrt(np.maximum(square - center**2, 0.0)), center), *limits)
        return cls(center, _sound(np.std(rows, axis=0), center), *limits)

    def __call__(self, X: Rows) -> Rows:
        """Scaled rows, float32 if X is, else float64; each number depends on itself alone, by operations that round
        in one way everywhere.
        """
        if is_csr(X) and (self.center.any() or (self.low > 0).any() or (self.high < 0).any()):
            X = X.toarray()  # learned from dense rows: zeros do not stay zeros
        scaled = self.within(X)
        dtype = dtype_name(scaled)
        if is_csr(scaled):
            scaled.data = self._bounded(scaled.data / self.spread.astype(dtype)[scaled.indices])
            return scaled
        with np.errstate(over="ignore"):
            scaled -= like(self.center.astype(dtype), X)
            scaled /= like(self.spread.astype(dtype), X)
        return self._bounded(scaled)

    def is_within(self, X: Array) -> Array:
        """Which numbers the scaling follows."""
        return (like(self.low, X) <= X) & (like(self.high, X) >= X)

    def _bounded(self, z: Array) -> Array:
        xp = namespace(z)
        xp.clip(z, -FAR, FAR, out=z)
        if self.clip:
            clip = like(np.array([self.clip], dtype=dtype_name(z)), z)  # by a mere number a GPU would not divide
            z /= square_roots(1.0 + (z / clip) ** 2)
        return z

    def slopes(self, X: Rows) -> Array:
        """dz/dx of each number (n, d)."""
        dense = X.toarray() if is_csr(X) else X
        spread = like(self.spread, dense)
        z = (cast(dense, "float64") - like(self.center, dense)) / spread
        return self.is_within(dense) * ((1.0 + (z / self.clip) ** 2) ** -1.5 if self.clip else 1.0) / spread

    def farthest(self, X: np.ndarray) -> float:
        """The largest distance of a number from the centre of its column, in spreads."""
        with np.errstate(over="ignore"):
            return float(np.abs((X - self.center) / self.spread).max(initial=0.0))


def square_roots(z: Array) -> Array:
    """sqrt(z), rounded as it should be: of torch's in float32 an eighth has another last bit."""
    xp = namespace(z)
    single = is_torch(z) and dtype_name(z) == "float32"
    return cast(xp.sqrt(cast(z, "float64")), "float32") if single else xp.sqrt(z)


def medians(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Centre and spread of each column that a few far-out numbers do not move."""
    if is_csr(rows):
        columns = rows.tocsc()
        parts = np.split(np.abs(columns.data), columns.indptr[1:-1])
        spread = np.array([np.median(part) if len(part) else 0.0 for part in parts])
        return np.zeros(rows.shape[1]), _sound(spread, 0.0)
    rows = cast(rows, "float64")
    center, spread = np.median(rows, axis=0), np.zeros(rows.shape[1])
    for low, high, deviations in RANGES:
        between = np.quantile(rows, [low, high], axis=0)
        spread = np.where(spread > 0, spread, (between[1] - between[0]) / deviations)
    return center, _sound(np.where(spread > 0, spread, np.std(rows, axis=0)), center)


def ends(rows: Rows, center: np.ndarray, spread: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A little beyond the least and the largest number of each column; of long tails FAR out, for new rows go further.

    The rows are a sample, and all columns that a line leads along must reach as far as new rows mostly do.
    """
    extremes = rows.min(axis=0), rows.max(axis=0)
    low, high = (end.toarray().ravel() if is_csr(end) else end for end in extremes)
    low, high = low.astype(np.float64), high.astype(np.float64)
    with np.errstate(over="ignore"):
        reach = np.where(np.maximum(center - low, high - center) > BOUNDED * spread, FAR * spread, 0.0)
        margin = MARGIN * max(1.0, MANY / rows.shape[0])
        low, high = low - margin * (center - low) - reach, high + margin * (high - center) + reach
    return np.clip(low, -LARGEST, LARGEST), np.clip(high, -LARGEST, LARGEST)


def units_apart(rows: Rows) -> ColumnScaler | None:
    """A robust scaling where columns are measured in units of their own or have heavy tails, else None."""
    robust = ColumnScaler.robust(rows)
    farthest = abs(rows).multiply(1.0 / robust.spread).max() if is_csr(rows) else robust.farthest(np.asarray(rows))
    alike = robust.spread.max() <= HEAVY * robust.spread.min()
    return None if alike and farthest <= HEAVY else robust


def require_columns(spread: np.ndarray, *others: np.ndarray) -> None:
    sound = all(a.ndim == 1 and a.shape == spread.shape and np.isfinite(a).all() for a in (spread, *others))
    if not (sound and (spread > 0).all()):
        raise ValueError("this is no scaling of columns")


def _sound(spread: np.ndarray, center: float | np.ndarray) -> np.ndarray:
    """Spreads to eight digits, so that they do not hang on the last bits of a sum; 1 for a column that is constant."""
    varies = (spread > 1e-12 * np.abs(center)) & np.isfinite(spread)
    return np.array([round_digits(s, 8) if v and s > 1e-300 else 1.0 for s, v in zip(spread, varies, strict=True)])

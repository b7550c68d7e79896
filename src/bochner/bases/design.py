"""From rows to the columns of a linear model: rows are scaled, random features made of them, and beside the features
stand the columns of the rows themselves, if a linear part serves.

The features see scaled rows, so that no column drowns the others and no far-out row reaches far. The linear part sees
rows that are hardly clipped: bounded features cannot follow a line out to where heavy tails go, and it can.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse

from .base import Basis, frozen
from .quantize import round_digits

CLIP = 3.0  # deviations that a robustly scaled number approaches and never passes
FAR = 1e6  # deviations beyond which nothing more is told apart
REACH, STEP = 511.0, 1.0 / 16.0  # of the linear part in integers, in deviations: how far it goes, and its step
LARGEST = 1e300  # that a number of a column may be
HEAVY = 10.0  # deviations beyond which a number is of a heavy tail
BOUNDED, MARGIN = 2.0, 0.4  # deviations within which columns keep to a range, and by which share new rows may leave it
DIGIT = 128  # a code of the linear part is DIGIT high + low, both of 8 bits
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

    def within(self, X: Any) -> Any:
        """Rows between low and high, as floats."""
        dtype = np.float32 if X.dtype == np.float32 else np.float64
        with np.errstate(over="ignore"):
            low, high = self.low.astype(dtype), self.high.astype(dtype)
        if not scipy.sparse.issparse(X):
            return np.clip(X.astype(dtype), low, high)
        inside = X.astype(dtype, copy=True)
        inside.data = np.clip(inside.data, low[inside.indices], high[inside.indices])
        return inside

    @classmethod
    def robust(cls, rows: Any) -> ColumnScaler:
        """By medians and quartiles, with smooth clipping; sparse rows by the median size of what is not zero."""
        center, spread = medians(rows)
        return cls(center, spread, *ends(rows, center, spread), CLIP)

    @classmethod
    def standard(cls, rows: Any) -> ColumnScaler:
        """By means and standard deviations; sparse rows are not centred."""
        limits = ends(rows, *medians(rows))
        rows = rows.astype(np.float64)
        center = np.asarray(rows.mean(axis=0)).ravel()
        if scipy.sparse.issparse(rows):
            square = np.asarray(rows.multiply(rows).mean(axis=0)).ravel()
            return cls(np.zeros(len(center)), _sound(np.sqrt(np.maximum(square - center**2, 0.0)), center), *limits)
        return cls(center, _sound(rows.std(axis=0), center), *limits)

    def __call__(self, X: Any) -> Any:
        """Scaled rows, float32 if X is, else float64; each number depends on itself alone, by operations that round
        in one way everywhere.
        """
        if scipy.sparse.issparse(X) and (self.center.any() or (self.low > 0).any() or (self.high < 0).any()):
            X = X.toarray()  # learned from dense rows: zeros do not stay zeros
        scaled = self.within(X)
        dtype = scaled.dtype
        if scipy.sparse.issparse(scaled):
            scaled.data = self._bounded(scaled.data / self.spread.astype(dtype)[scaled.indices])
            return scaled
        with np.errstate(over="ignore"):
            scaled -= self.center.astype(dtype)
            scaled /= self.spread.astype(dtype)
        return self._bounded(scaled)

    def is_within(self, X: np.ndarray) -> np.ndarray:
        """Which numbers the scaling follows."""
        return (self.low <= X) & (self.high >= X)

    def _bounded(self, z: np.ndarray) -> np.ndarray:
        np.clip(z, -FAR, FAR, out=z)
        if self.clip:
            z /= np.sqrt(1.0 + (z / z.dtype.type(self.clip)) ** 2)
        return z

    def slopes(self, X: Any) -> np.ndarray:
        """dz/dx of each number (n, d)."""
        dense = X.toarray() if scipy.sparse.issparse(X) else X
        z = (dense.astype(np.float64) - self.center) / self.spread
        return self.is_within(dense) * ((1.0 + (z / self.clip) ** 2) ** -1.5 if self.clip else 1.0) / self.spread

    def farthest(self, X: np.ndarray) -> float:
        """The largest distance of a number from the centre of its column, in spreads."""
        with np.errstate(over="ignore"):
            return float(np.abs((X - self.center) / self.spread).max(initial=0.0))


def medians(rows: Any) -> tuple[np.ndarray, np.ndarray]:
    """Centre and spread of each column that a few far-out numbers do not move."""
    if scipy.sparse.issparse(rows):
        columns = rows.tocsc()
        parts = np.split(np.abs(columns.data), columns.indptr[1:-1])
        spread = np.array([np.median(part) if len(part) else 0.0 for part in parts])
        return np.zeros(rows.shape[1]), _sound(spread, 0.0)
    rows = rows.astype(np.float64)
    center, spread = np.median(rows, axis=0), np.zeros(rows.shape[1])
    for low, high, deviations in RANGES:
        between = np.quantile(rows, [low, high], axis=0)
        spread = np.where(spread > 0, spread, (between[1] - between[0]) / deviations)
    return center, _sound(np.where(spread > 0, spread, rows.std(axis=0)), center)


def ends(rows: Any, center: np.ndarray, spread: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A little beyond the least and the largest number of each column; of long tails FAR out, for new rows go further.

    The rows are a sample, and all columns that a line leads along must reach as far as new rows mostly do.
    """
    extremes = rows.min(axis=0), rows.max(axis=0)
    low, high = (end.toarray().ravel() if scipy.sparse.issparse(end) else end for end in extremes)
    low, high = low.astype(np.float64), high.astype(np.float64)
    with np.errstate(over="ignore"):
        reach = np.where(np.maximum(center - low, high - center) > BOUNDED * spread, FAR * spread, 0.0)
        low, high = low - MARGIN * (center - low) - reach, high + MARGIN * (high - center) + reach
    return np.clip(low, -LARGEST, LARGEST), np.clip(high, -LARGEST, LARGEST)


def units_apart(rows: Any) -> ColumnScaler | None:
    """A robust scaling where columns are measured in units of their own or have heavy tails, else None."""
    robust = ColumnScaler.robust(rows)
    farthest = abs(rows).multiply(1.0 / robust.spread).max() if scipy.sparse.issparse(rows) else robust.farthest(rows)
    alike = robust.spread.max() <= HEAVY * robust.spread.min()
    return None if alike and farthest <= HEAVY else robust


def require_columns(spread: np.ndarray, *others: np.ndarray) -> None:
    sound = all(a.ndim == 1 and a.shape == spread.shape and np.isfinite(a).all() for a in (spread, *others))
    if not (sound and (spread > 0).all()):
        raise ValueError("this is no scaling of columns")


def _sound(spread: np.ndarray, center: Any) -> np.ndarray:
    """Spreads to eight digits, so that they do not hang on the last bits of a sum; 1 for a column that is constant."""
    varies = (spread > 1e-12 * np.abs(center)) & np.isfinite(spread)
    return np.array([round_digits(s, 8) if v and s > 1e-300 else 1.0 for s, v in zip(spread, varies, strict=True)])


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

    def values(self, X: np.ndarray) -> np.ndarray:
        """As floats, in the type of X."""
        with np.errstate(over="ignore"):
            z = (X - self.center.astype(X.dtype)) / self.spread.astype(X.dtype)
        return np.clip(z, -FAR, FAR) * self.weight.astype(X.dtype)

    def codes(self, X: np.ndarray, dtype: np.dtype) -> np.ndarray:
        """As integers: high digits, then low ones, for int8; whole for int16."""
        with np.errstate(over="ignore"):
            z = (X.astype(np.float64) - self.center) / self.spread
        code = np.rint(np.clip(z, -REACH, REACH) / STEP).astype(np.int16)
        if dtype != np.int8:
            return code
        high = np.trunc(code / DIGIT).astype(np.int16)  # zero but for far-out numbers: both digits have slopes
        return np.hstack([high, code - DIGIT * high]).astype(np.int8)

    def code_scale(self, dtype: np.dtype) -> np.ndarray:
        """What the columns of codes are to be multiplied by."""
        low = self.weight * STEP
        return np.concatenate([DIGIT * low, low]) if dtype == np.int8 else low

    def slopes(self, X: np.ndarray) -> np.ndarray:
        inside = np.abs((X.astype(np.float64) - self.center) / self.spread) < FAR
        return inside * (self.weight / self.spread)


@dataclass(frozen=True, eq=False)
class Design:
    """A fitted basis with what stands before it and beside it; columns of the linear part come first."""

    basis: Basis
    scaler: ColumnScaler | None = None
    linear: LinearPart | None = None

    def features(self, X: Any) -> Any:
        """All columns of some rows (n, n_components), dense or CSR."""
        features = self.basis.features(self._scaled(X))
        if self.linear is None:
            return features
        columns = self._linear_columns(X, features.dtype)
        if scipy.sparse.issparse(features):
            return scipy.sparse.hstack([scipy.sparse.csr_matrix(columns), features], format="csr")
        return np.hstack([columns, features])

    def column_tiles(self, X: Any, columns: int, first: int = 0) -> Iterator[tuple[slice, Any]]:
        """As those of the basis, after a tile of the linear part."""
        start = self.linear_columns
        if self.linear is not None:
            yield slice(0, start), self._linear_columns(X, self._dtype(X))
        for part, tile in self.basis.column_tiles(self._scaled(X), columns, first):
            yield slice(start + part.start, start + part.stop), tile

    def _scaled(self, X: Any) -> Any:
        return X if self.scaler is None else self.scaler(X)

    def _linear_columns(self, X: Any, dtype: np.dtype) -> np.ndarray:
        assert self.linear is not None
        dense = X.toarray() if scipy.sparse.issparse(X) else X
        dense = dense if self.scaler is None else self.scaler.within(dense)
        return self.linear.codes(dense, dtype) if dtype.kind == "i" else self.linear.values(dense.astype(dtype))

    def _dtype(self, X: Any) -> np.dtype:
        return self.basis.output_dtype(self._scaled(X[:1]))

    @property
    def linear_columns(self) -> int:
        """How many columns the linear part has."""
        if self.linear is None:
            return 0
        return (2 if self._has_bytes else 1) * len(self.linear.center)

    @property
    def _has_bytes(self) -> bool:
        return self.basis.is_integer and self.basis.output_dtype(None) == np.int8

    @property
    def n_components(self) -> int:
        return self.linear_columns + int(self.basis.n_components)

    @property
    def entries(self) -> int:
        return self.linear_columns + int(self.basis.entries)

    @property
    def scale_(self) -> Any:
        """What columns are multiplied by: a number, or one for each column where the linear part has its own."""
        scale = float(self.basis.scale_)
        if self.linear is None:
            return scale
        first = self.linear.code_scale(self.basis.output_dtype(None)) if self.basis.is_integer else 1.0
        return np.concatenate(
            [np.broadcast_to(first, self.linear_columns), np.full(int(self.basis.n_components), scale)]
        )

    @property
    def precision(self) -> str | None:
        return self.basis.precision

    @property
    def quantizes_input(self) -> bool:
        return self.basis.quantizes_input

    @property
    def seed_(self) -> int:
        return self.basis.seed_

    @property
    def n_features_in_(self) -> int:
        return int(self.basis.n_features_in_)

    def truncated(self, n_components: int) -> Design:
        """The design of so many random features, of which there are as many or more."""
        return replace(self, basis=self.basis.truncated(n_components))

    def enlarged(self, n_components: int) -> Design:
        return replace(self, basis=self.basis.enlarged(n_components))

    def prefix_scale(self, widest: Design) -> Any:
        """What the first columns of the sums of a wider design are multiplied by."""
        if self.basis.is_integer or widest.basis is self.basis:
            return self.scale_
        # Float features carry 1/sqrt(number of columns) in themselves.
        factor = float(np.sqrt(int(widest.basis.n_components) / int(self.basis.n_components)))
        scale = self.scale_ * np.ones(self.n_components)
        scale[self.linear_columns :] *= factor
        return scale if self.linear is not None else factor * self.scale_

    def local_linear(self, X: Any, coefficients: np.ndarray) -> np.ndarray:
        """The slopes (n, d, k) of columns times coefficients around each row."""
        local = self.basis.local_linear(self._scaled(X), coefficients[self.linear_columns :])
        if self.scaler is not None:
            local = local * self.scaler.slopes(X)[:, :, None]
        if self.linear is not None:
            dense = X.toarray() if scipy.sparse.issparse(X) else X
            slopes = self.linear.slopes(dense) * (1.0 if self.scaler is None else self.scaler.is_within(dense))
            local = local + slopes[:, :, None] * self.linear_coefficients(coefficients)
        return local

    def linear_coefficients(self, coefficients: np.ndarray) -> np.ndarray:
        """Those (d, k) of the linear part's weighted columns; of two digits the low one's, which most rows have."""
        first = coefficients[: self.linear_columns]
        return first[len(first) // 2 :] if self._has_bytes else first

    def identity(self) -> tuple[Any, ...]:
        parts = (self.scaler, self.linear)
        return self.basis.identity(), *(None if part is None else frozen(vars(part)) for part in parts)


def times_columns(scale: Any, coefficients: np.ndarray) -> np.ndarray:
    """Coefficients (m, k) times a number, or each row times its own."""
    return (scale * coefficients.T).T

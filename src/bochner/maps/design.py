"""From rows to the columns of a linear model: rows are scaled, random features made of them, and beside the features
stand the columns of the rows themselves, if a linear part serves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import scipy.sparse

from ..arrays import Array, Rows, cast, dtype_name, namespace
from .base import FeatureMap
from .linear import LinearPart
from .rows import to_dense
from .scaling import ColumnScaler


@dataclass(frozen=True, eq=False)
class DesignMap(FeatureMap):
    """A map with what stands before it and beside it; columns of the linear part come first."""

    map: FeatureMap
    scaler: ColumnScaler | None = None
    linear: LinearPart | None = None

    columns: int = field(init=False)
    inputs: int = field(init=False)
    precision: str | None = field(init=False)

    def __post_init__(self) -> None:
        derived = {"columns": self.linear_columns + self.map.columns, "inputs": self.map.inputs}
        for name, value in {**derived, "precision": self.map.precision}.items():
            object.__setattr__(self, name, value)

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.map.name

    @property
    def scale(self) -> float | np.ndarray:  # type: ignore[override]
        """Factors of the columns: a number, or one for each."""
        return self._beside(self.map.scale)

    @property
    def linear_columns(self) -> int:
        """How many columns the linear part has."""
        if self.linear is None:
            return 0
        return (2 if self._has_bytes else 1) * len(self.linear.center)

    @property
    def _has_bytes(self) -> bool:
        return self.map.is_integer and self.map.output_dtype(None) == np.int8

    def _beside(self, scale: float | np.ndarray) -> float | np.ndarray:
        """The scales of all columns, from those of the features."""
        if self.linear is None:
            return scale
        first = self.linear.code_scale(self.map.output_dtype(None)) if self.map.is_integer else 1.0
        return np.concatenate([np.broadcast_to(first, self.linear_columns), np.broadcast_to(scale, self.map.columns)])

    # ---- features ----

    def rows(self, X: Rows, finite: bool = True) -> Rows:
        return self.checked(X, bytes_stay=True)  # the parts look closer at what they are given

    def evaluate(self, X: Rows) -> Rows:
        features = self.map(self._scaled(X))
        if self.linear is None:
            return features
        columns = self._linear_values(X, np.dtype(dtype_name(features)))
        if scipy.sparse.issparse(features):
            return scipy.sparse.hstack([scipy.sparse.csr_matrix(columns), features], format="csr")
        return namespace(features).hstack([columns, features])

    def tile_count(self, columns: int) -> int:
        return self._linear_tiles + self.map.tile_count(columns)

    def tiles(self, X: Rows, columns: int, first: int = 0) -> Iterator[tuple[slice, Any]]:
        """The tile of the linear part comes first."""
        X, start = self.rows(X), self.linear_columns
        if first < self._linear_tiles:
            yield slice(0, start), self._linear_values(X, self.output_dtype(X))
        for part, values in self.map.tiles(self._scaled(X), columns, max(0, first - self._linear_tiles)):
            yield slice(start + part.start, start + part.stop), values

    @property
    def _linear_tiles(self) -> int:
        return int(self.linear is not None)

    def _scaled(self, X: Rows) -> Rows:
        return X if self.scaler is None else self.scaler(X)

    def _linear_values(self, X: Rows, dtype: np.dtype) -> Array:
        assert self.linear is not None
        dense = to_dense(X)
        dense = dense if self.scaler is None else self.scaler.within(dense)
        return self.linear.codes(dense, dtype) if dtype.kind == "i" else self.linear.values(cast(dense, dtype.name))

    # ---- facts, prefixes ----

    @property
    def rounds_input(self) -> bool:
        return self.map.rounds_input

    @property
    def has_prefixes(self) -> bool:
        return self.map.has_prefixes

    @property
    def entries(self) -> int:
        return self.linear_columns + self.map.entries

    def output_dtype(self, X: Rows) -> np.dtype:
        return self.map.output_dtype(None if X is None else self._scaled(X[:1]))

    def truncated(self, columns: int) -> DesignMap:
        return replace(self, map=self.map.truncated(columns - self.linear_columns))

    def enlarged(self, columns: int) -> DesignMap:
        return replace(self, map=self.map.enlarged(columns - self.linear_columns))

    def prefix_scale(self, widest: Self) -> float | np.ndarray:
        return self._beside(self.map.prefix_scale(widest.map))

    def exact_gram(self, X: Rows, Z: Rows = None) -> Array:
        X, Z = self.rows(X), None if Z is None else self.rows(Z)
        features = self.map.exact_gram(self._scaled(X), None if Z is None else self._scaled(Z))
        if self.linear is None:
            return features
        left, right = (self._linear_values(rows, np.dtype(np.float64)) for rows in (X, X if Z is None else Z))
        return features + left @ right.T

    def local_linear(self, X: Rows, coefficients: Array) -> Array:
        X = self.rows(X)
        local = self.map.local_linear(self._scaled(X), coefficients[self.linear_columns :])
        if self.scaler is not None:
            local = local * self.scaler.slopes(X)[:, :, None]
        if self.linear is not None:
            dense = to_dense(X)
            slopes = self.linear.slopes(dense) * (1.0 if self.scaler is None else self.scaler.is_within(dense))
            local = local + slopes[:, :, None] * self.linear_coefficients(coefficients)
        return local

    def linear_coefficients(self, coefficients: Array) -> Array:
        """Those (d, k) of the linear part's weighted columns; of two columns that of units, or the low digit's."""
        first = coefficients[: self.linear_columns]
        if not self._has_bytes or self.linear is None:
            return first
        half = len(first) // 2
        return first[half:] if self.linear.unit is None else first[:half]

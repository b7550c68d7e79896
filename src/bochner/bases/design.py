"""A fitted basis as models keep it: with the scaling and the metric before it and the linear part beside it.

The work is done by its `map`; this is what a model shows, cuts and grows, and what a file holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import Array, Rows
from ..maps.base import FeatureMap, frozen
from ..maps.design import DesignMap
from ..maps.linear import LinearPart
from ..maps.metric import Metric
from ..maps.quantize import Quantizer
from ..maps.scaling import ColumnScaler
from ..typing import MatrixLike
from .base import Basis


@dataclass(frozen=True, eq=False)
class Design:
    """A fitted basis with what stands before it and beside it; columns of the linear part come first.

    The basis sees scaled rows times the matrix `metric`, or times its diagonal; integer features work on `codes` of the
    scaled rows where the matrix is full.
    """

    basis: Basis
    scaler: ColumnScaler | None = None
    linear: LinearPart | None = None
    metric: np.ndarray | None = None
    codes: Quantizer | None = None

    @property
    def map(self) -> DesignMap:
        """From rows to all columns."""
        return DesignMap(self._moved, self.scaler, self.linear)

    @cached_property
    def _moved(self) -> FeatureMap:
        """The map of the basis, after the metric."""
        return self.basis.map_ if self.metric is None else Metric(self.basis.map_, self.metric, self.codes)

    def features(self, X: MatrixLike) -> Rows:
        """All columns of some rows (n, n_components), dense or CSR."""
        return self.map(X)

    def column_tiles(self, X: MatrixLike, columns: int, first: int = 0) -> Iterator[tuple[slice, Any]]:
        """All columns from tile `first` on, a tile at a time; that of the linear part comes first."""
        return self.map.tiles(X, columns, first)

    @property
    def linear_columns(self) -> int:
        """How many columns the linear part has."""
        return self.map.linear_columns

    @property
    def n_components(self) -> int:
        return self.map.columns

    @property
    def entries(self) -> int:
        return self.map.entries

    @property
    def scale_(self) -> float | np.ndarray:
        """What columns are multiplied by: a number, or one for each column where the linear part has its own."""
        return self.map.scale

    @property
    def precision(self) -> str | None:
        return self.basis.precision

    @property
    def quantizes_input(self) -> bool:
        return self.map.rounds_input if self.metric is not None else self.basis.quantizes_input

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

    def prefix_scale(self, widest: Design) -> float | np.ndarray:
        """What the first columns of the sums of a wider design are multiplied by."""
        return self.map.prefix_scale(widest.map)

    def local_linear(self, X: MatrixLike, coefficients: Array) -> Array:
        """The slopes (n, d, k) of columns times coefficients around each row."""
        return self.map.local_linear(X, coefficients)

    def linear_coefficients(self, coefficients: Array) -> Array:
        """Those (d, k) of the linear part's weighted columns; of two digits the low one's, which most rows have."""
        return self.map.linear_coefficients(coefficients)

    def identity(self) -> tuple[Any, ...]:
        parts = (self.scaler, self.linear, self.codes)
        shown = (None if part is None else frozen(vars(part)) for part in parts)
        return self.basis.identity(), frozen(self.metric), *shown

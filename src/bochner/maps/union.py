"""Features of several maps side by side: phi(x) = (s_1 phi_1(x), s_2 phi_2(x), ...), whose kernel is sum_p s_p^2 k_p.

The weights s are in `scale`, as all factors of columns are: features are made without them, and sums of features serve
all weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any, Self

import numpy as np
import scipy.sparse

from ..arrays import Array, Rows, is_torch, namespace
from ..validation import require_integer
from .base import FeatureMap
from .rows import to_dense
from .units import Units

SPARSE_BELOW = 8  # times as many columns as are filled make a CSR matrix of dense and sparse parts


@dataclass(frozen=True, eq=False)
class Union(FeatureMap):
    """Several maps side by side: phi(x) = (phi_1(x), phi_2(x), ...), whose kernel is the sum of theirs.

    The columns of the first map come first. `truncated` cuts the map that the last columns belong to and leaves out
    those behind it; `enlarged` gives new columns to the last map.

    Parameters
    ----------
    maps : sequence of FeatureMap
        Maps of the same inputs and of one precision.
    weights : sequence of float, default=None
        Weight s of each map: a linear model penalises its columns by 1 / s^2 as much. None is 1 for all.

    Attributes
    ----------
    columns : int
        Number of features of a row: the sum of those of the maps.
    inputs : int
        Number of columns of a row.
    precision : str or None
        Number type of the features.
    scale : float or ndarray of shape (columns,)
        Factor after which features have `<phi(x), phi(z)> ~ k(x, z)`.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import RandomFourier, RandomStumps
    >>> from bochner.maps import Union
    >>> X = np.eye(3)
    >>> both = Union([RandomFourier(4, random_state=0).fit(X).map_, RandomStumps(2, random_state=0).fit(X).map_])
    >>> both(X).shape, both.truncated(4) == Union(both.maps[:1])
    ((3, 6), True)
    """

    maps: Sequence[FeatureMap]
    weights: Sequence[float] | None = None

    columns: int = field(init=False)
    inputs: int = field(init=False)
    precision: str | None = field(init=False)
    scale: float | np.ndarray = field(init=False)

    name = "this union"

    def __post_init__(self) -> None:
        maps = tuple(self.maps)
        if not maps or not all(isinstance(one, FeatureMap) for one in maps):
            raise ValueError("a union is made of one or more feature maps.")
        for what, values in (("inputs", {one.inputs for one in maps}), ("precision", {one.precision for one in maps})):
            if len(values) > 1:
                raise ValueError(f"maps of a union have the same {what}; these have {sorted(map(str, values))}.")
        weights = None if self.weights is None else tuple(float(weight) for weight in self.weights)
        if weights is not None and (len(weights) != len(maps) or not all(0.0 < w < np.inf for w in weights)):
            raise ValueError(f"weights of a union are {len(maps)} positive numbers, one for each map; got {weights}.")
        derived = {"maps": maps, "columns": sum(one.columns for one in maps), "inputs": maps[0].inputs}
        derived["weights"] = weights
        scale = self._weighted([one.scale for one in maps], maps, weights)
        for name, value in {**derived, "precision": maps[0].precision, "scale": scale}.items():
            object.__setattr__(self, name, value)

    @staticmethod
    def _weighted(
        scales: Sequence[float | np.ndarray], maps: Sequence[FeatureMap], weights: Sequence[float] | None
    ) -> float | np.ndarray:
        """The scales of several maps times their weights."""
        if weights is not None:
            scales = [weight * scale for weight, scale in zip(weights, scales, strict=False)]
        return side_by_side(scales, maps)

    # ---- features ----

    def rows(self, X: Rows, finite: bool = True) -> Rows:
        return self.checked(X, bytes_stay=True)  # each map looks closer at what it is given

    def evaluate(self, X: Rows) -> Rows:
        parts = [one(X) for one in self.maps]
        if is_torch(parts[0]):  # tensors have the rows of a column side by side, as sums want them
            return namespace(parts[0]).concatenate([part.T for part in parts]).T
        if not any(scipy.sparse.issparse(part) for part in parts):
            return namespace(parts[0]).hstack(parts)
        if is_sparse(self.maps):
            return scipy.sparse.hstack(parts, format="csr")
        return np.hstack([to_dense(part) for part in parts])

    def tile_count(self, columns: int) -> int:
        return sum(one.tile_count(columns) for one in self.maps)

    def tiles(self, X: Rows, columns: int, first: int = 0) -> Iterator[tuple[slice, Any]]:
        X, start = self.rows(X), 0
        for one in self.maps:
            for part, values in one.tiles(X, columns, first):
                yield slice(start + part.start, start + part.stop), values
            start, first = start + one.columns, max(0, first - one.tile_count(columns))

    # ---- facts ----

    @property
    def rounds_input(self) -> bool:
        return any(one.rounds_input for one in self.maps)

    @property
    def has_prefixes(self) -> bool:
        return all(one.has_prefixes for one in self.maps)

    @property
    def entries(self) -> int:
        return sum(one.entries for one in self.maps) if is_sparse(self.maps) else self.columns

    @property
    def units(self) -> Units:
        """How many units the maps have, and what the largest costs."""
        numbers, *sizes = zip(*(one.units for one in self.maps), strict=True)  # type: ignore[attr-defined]
        return Units(sum(numbers), *map(max, sizes))

    def output_dtype(self, X: Rows) -> np.dtype:
        return np.result_type(*(one.output_dtype(X) for one in self.maps))

    # ---- prefixes ----

    def truncated(self, columns: int) -> Union:
        columns = require_integer("n_components", columns)
        if columns > self.columns:
            raise ValueError(f"{columns} columns are more than the {self.columns} of this union.")
        kept: list[FeatureMap] = []
        for one in self.maps:
            if columns > 0:
                kept.append(one.truncated(min(columns, one.columns)))
            columns -= one.columns
        return Union(kept, None if self.weights is None else self.weights[: len(kept)])

    def enlarged(self, columns: int) -> Union:
        columns = require_integer("n_components", columns)
        if columns < self.columns:
            raise ValueError(f"{columns} columns are fewer than the {self.columns} of this union.")
        *before, last = self.maps
        return Union([*before, last.enlarged(columns - self.columns + last.columns)], self.weights)

    def prefix_scale(self, widest: Self) -> float | np.ndarray:
        pairs = zip(self.maps, widest.maps, strict=False)
        return self._weighted([one.prefix_scale(wide) for one, wide in pairs], self.maps, self.weights)

    # ---- functions of the features ----

    def exact_gram(self, X: Rows, Z: Rows = None) -> Array:
        weights = self.weights or [1.0] * len(self.maps)
        return reduce(add, (w * w * one.exact_gram(X, Z) for w, one in zip(weights, self.maps, strict=True)))

    def local_linear(self, X: Rows, coefficients: Array) -> Array:
        ends = np.cumsum([0, *(one.columns for one in self.maps)]).tolist()
        parts = zip(self.maps, pairwise(ends), strict=True)
        return reduce(add, (one.local_linear(X, coefficients[slice(*part)]) for one, part in parts))


def is_sparse(parts: Sequence[Any]) -> bool:
    """Whether parts, maps or bases, are a CSR matrix side by side: an eighth of all columns is filled, or less."""
    columns = [int(getattr(part, "columns", 0) or part.n_components) for part in parts]
    # A dense part fills its columns; a sparse one holds two numbers for each that it fills.
    filled = sum(
        min(c, int(part.entries)) if part.entries >= c else part.entries // 2
        for c, part in zip(columns, parts, strict=True)
    )
    return SPARSE_BELOW * filled <= sum(columns)


def side_by_side(scales: Sequence[float | np.ndarray], maps: Sequence[FeatureMap]) -> float | np.ndarray:
    """The scales of several maps as one number, if they are that, or as one number for each column."""
    numbers = {float(scale) for scale in scales if np.ndim(scale) == 0}
    if len(numbers) == 1 and all(np.ndim(scale) == 0 for scale in scales):
        return numbers.pop()
    return np.concatenate([np.broadcast_to(scale, one.columns) for scale, one in zip(scales, maps, strict=True)])

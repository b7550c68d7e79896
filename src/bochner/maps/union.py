"""Features of several maps side by side: phi(x) = (phi_1(x), phi_2(x), ...), whose kernel is the sum of theirs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any

import numpy as np
import scipy.sparse

from ..arrays import Array, namespace
from ..validation import require_integer
from .base import FeatureMap


@dataclass(frozen=True, eq=False)
class Union(FeatureMap):
    """Several maps side by side: phi(x) = (phi_1(x), phi_2(x), ...), whose kernel is the sum of theirs.

    The columns of the first map come first. `truncated` cuts the map that the last columns belong to and leaves out
    those behind it; `enlarged` gives new columns to the last map.

    Parameters
    ----------
    maps : sequence of FeatureMap
        Maps of the same inputs and of one precision.

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
        derived = {"maps": maps, "columns": sum(one.columns for one in maps), "inputs": maps[0].inputs}
        scale = side_by_side([one.scale for one in maps], maps)
        for name, value in {**derived, "precision": maps[0].precision, "scale": scale}.items():
            object.__setattr__(self, name, value)

    # ---- features ----

    def rows(self, X: Any, finite: bool = True) -> Any:
        return self.checked(X, bytes_stay=True)  # each map looks closer at what it is given

    def evaluate(self, X: Any) -> Any:
        parts = [one(X) for one in self.maps]
        if any(scipy.sparse.issparse(part) for part in parts):
            return scipy.sparse.hstack(parts, format="csr")
        return namespace(parts[0]).hstack(parts)

    def tile_count(self, columns: int) -> int:
        return sum(one.tile_count(columns) for one in self.maps)

    def tiles(self, X: Any, columns: int, first: int = 0) -> Iterator[tuple[slice, Any]]:
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
        return sum(one.entries for one in self.maps)

    def output_dtype(self, X: Any) -> np.dtype:
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
        return Union(kept)

    def enlarged(self, columns: int) -> Union:
        columns = require_integer("n_components", columns)
        if columns < self.columns:
            raise ValueError(f"{columns} columns are fewer than the {self.columns} of this union.")
        *before, last = self.maps
        return Union([*before, last.enlarged(columns - self.columns + last.columns)])

    def prefix_scale(self, widest: Union) -> float | np.ndarray:
        pairs = zip(self.maps, widest.maps, strict=False)
        return side_by_side([one.prefix_scale(wide) for one, wide in pairs], self.maps)

    # ---- functions of the features ----

    def exact_gram(self, X: Any, Z: Any = None) -> np.ndarray:
        return np.sum([one.exact_gram(X, Z) for one in self.maps], axis=0)

    def local_linear(self, X: Any, coefficients: Array) -> Array:
        ends = np.cumsum([0, *(one.columns for one in self.maps)]).tolist()
        parts = zip(self.maps, pairwise(ends), strict=True)
        return reduce(add, (one.local_linear(X, coefficients[slice(*part)]) for one, part in parts))


def side_by_side(scales: Sequence[float | np.ndarray], maps: Sequence[FeatureMap]) -> float | np.ndarray:
    """The scales of several maps as one number, if they are that, or as one number for each column."""
    numbers = {float(scale) for scale in scales if np.ndim(scale) == 0}
    if len(numbers) == 1 and all(np.ndim(scale) == 0 for scale in scales):
        return numbers.pop()
    return np.concatenate([np.broadcast_to(scale, one.columns) for scale, one in zip(scales, maps, strict=True)])

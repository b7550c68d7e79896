"""A basis with nothing random in it: the inputs themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...arrays import Array, Rows
from ...bases.base import Basis, Bounds
from ...kernels import Kernel
from ...maps import Drawn, FeatureMap, UnitMap, Units, Weights
from ...maps.rows import to_dense
from ...typing import MatrixLike, RandomStateLike


@dataclass(frozen=True, eq=False, kw_only=True)
class InputsMap(UnitMap):
    """phi(x) = x."""

    name = "LinearBasis"

    def exact_kernel(self) -> Kernel:
        return FeatureKernel(self)

    @property
    def units(self) -> Units:
        return Units(self.columns, 1, 1)

    def first_column(self, unit: int) -> int:
        return unit

    def draw(self, start: int, stop: int) -> Drawn:
        return (np.arange(start, stop),)

    def apply(self, X: Rows, weights: Weights) -> Array:
        return to_dense(X[:, weights[0]])

    def apply_integer(self, X: Rows, weights: Weights) -> np.ndarray:
        raise AssertionError("refused by fit")


class LinearBasis(Basis):
    """phi(x) = x: least squares on the inputs themselves, of which there must be n_components."""

    kind = InputsMap

    def __init__(
        self, n_components: int = 1, *, precision: str | None = None, random_state: RandomStateLike = None
    ) -> None:
        self.n_components = n_components
        self.precision = precision
        self.random_state = random_state

    def _settle(self, rows: MatrixLike, largest: float) -> None:
        if self.is_integer:
            raise ValueError(f"precision={self.precision!r} is for random bases: leave it at None.")
        self.scale_ = 1.0

    def _own_fields(self) -> dict[str, Any]:
        return {}

    def _require_settled(self, example: Basis) -> None:
        if self._m != self.n_features_in_:
            raise ValueError("the inputs are not as many as the features")

    @property
    def bounds(self) -> Bounds:
        raise ValueError("nothing is random here, so there is nothing to bound.")


class FeatureKernel(Kernel):
    """<phi(x), phi(z)> of a map."""

    takes_tensors: ClassVar[bool] = True

    def __init__(self, feature_map: FeatureMap) -> None:
        self.map = feature_map

    def _evaluate(self, X: Array, Z: Array) -> Array:
        return self.map(X) @ self.map(Z).T

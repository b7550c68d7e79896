"""A basis with nothing random in it: the inputs themselves."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...bases.base import Basis, Bounds
from ...kernels import Kernel


class LinearBasis(Basis):
    """phi(x) = x: least squares on the inputs themselves, of which there must be n_components."""

    def __init__(self, n_components: int = 1, *, precision: str | None = None, random_state: Any = None) -> None:
        self.n_components = n_components
        self.precision = precision
        self.random_state = random_state

    def _settle(self, rows: Any, largest: float) -> None:
        if self._is_integer:
            raise ValueError(f"precision={self.precision!r} is for random bases: leave it at None.")
        self.scale_ = 1.0

    def _require_settled(self, example: Any) -> None:
        if self._m != self.n_features_in_:
            raise ValueError("the inputs are not as many as the features")

    def _map_integer(self, X: Any, weights: tuple[np.ndarray, ...]) -> np.ndarray:
        raise AssertionError("refused by _settle")

    def _exact_kernel(self) -> Kernel:
        return FeatureKernel(self)

    @property
    def bounds(self) -> Bounds:
        raise ValueError("nothing is random here, so there is nothing to bound.")

    def _units(self) -> tuple[int, int, int]:
        return self._m, 1, 1

    def _columns(self, unit: int) -> int:
        return unit

    def _draw(self, start: int, stop: int) -> tuple[np.ndarray, ...]:
        return (np.arange(start, stop),)

    def _map(self, X: Any, weights: tuple[np.ndarray, ...]) -> np.ndarray:
        return np.asarray(X[:, weights[0]])


class FeatureKernel(Kernel):
    """<phi(x), phi(z)> of a fitted basis."""

    def __init__(self, basis: Basis) -> None:
        self.basis = basis

    def _evaluate(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        return np.asarray(self.basis.features(X) @ self.basis.features(Z).T)

"""Bases with nothing random in them: the inputs themselves, and waves of given frequencies."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import ops
from ...bases.base import Basis, Bounds
from ...kernels import Kernel


class GivenBasis(Basis):
    """A basis that is known without drawing; its kernel is the product of its features."""

    def __init__(self, n_components: int = 1, *, precision: str | None = None, random_state: Any = None) -> None:
        self.n_components = n_components
        self.precision = precision
        self.random_state = random_state

    def _settle(self, rows: Any, largest: float) -> None:
        if self._is_integer:
            raise ValueError(f"precision={self.precision!r} is for random bases: leave it at None.")
        self.scale_ = 1.0

    def _map_integer(self, X: Any, weights: tuple[np.ndarray, ...]) -> np.ndarray:
        raise AssertionError("refused by _settle")

    def _exact_kernel(self) -> Kernel:
        return FeatureKernel(self)

    @property
    def bounds(self) -> Bounds:
        raise ValueError("nothing is random here, so there is nothing to bound.")


class LinearBasis(GivenBasis):
    """phi(x) = x: least squares on the inputs themselves, of which there must be n_components."""

    def _units(self) -> tuple[int, int, int]:
        return self._m, 1, 1

    def _columns(self, unit: int) -> int:
        return unit

    def _draw(self, start: int, stop: int) -> tuple[np.ndarray, ...]:
        return (np.arange(start, stop),)

    def _map(self, X: Any, weights: tuple[np.ndarray, ...]) -> np.ndarray:
        return np.asarray(X[:, weights[0]])


class GivenFourier(GivenBasis):
    """Interleaved cos<w, x>, sin<w, x> over sqrt(number of frequencies), for given frequencies w, one per row."""

    def __init__(self, frequencies: Any = None, *, precision: str | None = None, random_state: Any = None) -> None:
        self.frequencies = frequencies
        self.precision = precision
        self.random_state = random_state

    @property
    def n_components(self) -> int:  # type: ignore[override]
        return 2 * len(self.frequencies)

    def _units(self) -> tuple[int, int, int]:
        return len(self.frequencies), self.frequencies.shape[1], 2

    def _columns(self, unit: int) -> int:
        return 2 * unit

    def _draw(self, start: int, stop: int) -> tuple[np.ndarray, ...]:
        return (np.asarray(self.frequencies[start:stop], dtype=np.float64),)

    def _map(self, X: Any, weights: tuple[np.ndarray, ...]) -> np.ndarray:
        height = X.dtype.type(1.0 / np.sqrt(len(self.frequencies)))
        return ops.waves(np.asarray(X @ weights[0].T), np.empty(0, dtype=X.dtype), height)


class FeatureKernel(Kernel):
    """<phi(x), phi(z)> of a fitted basis."""

    def __init__(self, basis: Basis) -> None:
        self.basis = basis

    def _evaluate(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        return np.asarray(self.basis.features(X) @ self.basis.features(Z).T)

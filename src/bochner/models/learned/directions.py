"""What is learned of the frequencies: all their coordinates, or of structured ones their lengths alone.

Parameters are plain numbers near 1, whatever the units of X: frequencies are measured in units of 1/bandwidth, and
lengths in units of those that were drawn.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from ... import ops
from ...arrays import Array, Rows, is_torch, like
from ...bases import Basis, Fastfood, FixedFourier, RandomFourier
from ...maps import FixedFourierMap
from ...maps.frequencies import WaveMap
from ...maps.hadamard import Expansion
from ...maps.rows import to_dense
from .layer import frequency_gradient


class Directions(ABC):
    """From parameters to projections <w, x>, and back."""

    start: np.ndarray  # the parameters of the drawn frequencies
    phases: np.ndarray  # of the last frequencies, whose cosines stand alone
    sizes: Any  # |Omega|^2 = sum of sizes * parameters^2

    @abstractmethod
    def project(self, X: Rows, parameters: np.ndarray) -> Array:
        """<w, x> for rows X (n, d): (n, p)."""

    @abstractmethod
    def gradient(self, X: Rows, gradient: Array) -> Array:
        """The gradient with respect to parameters, from that with respect to projections."""

    @abstractmethod
    def frequencies(self, parameters: np.ndarray) -> np.ndarray:
        """The frequencies themselves, (p, d)."""

    @abstractmethod
    def basis(self, parameters: np.ndarray) -> Basis:
        """A basis of these frequencies, not yet fitted."""


class Free(Directions):
    """Every coordinate of every frequency."""

    def __init__(self, drawn: RandomFourier) -> None:
        frequencies, _ = drawn.map_.weights()
        self.unit, self.columns = 1.0 / drawn.bandwidth_, int(drawn.n_features_in_)
        self.start, self.sizes = frequencies.ravel() / self.unit, self.unit**2
        self.phases = phases_of(drawn)

    def project(self, X: Rows, parameters: np.ndarray) -> Array:
        found = X @ like(self.frequencies(parameters), X).T
        return found if is_torch(found) else np.asarray(found)

    def gradient(self, X: Rows, gradient: Array) -> Array:
        return self.unit * frequency_gradient(gradient, X).ravel()

    def frequencies(self, parameters: np.ndarray) -> np.ndarray:
        return self.unit * parameters.reshape(-1, self.columns)

    def basis(self, parameters: np.ndarray) -> FixedFourier:
        return FixedFourier(self.frequencies(parameters), phases=self.phases if len(self.phases) else None)


class Calibrated(Directions):
    """Fastfood with a learned calibration: <w_j, x> = c_j <v_j, x>, the v_j as drawn, in O(p log d)."""

    def __init__(self, drawn: Fastfood) -> None:
        *expansion, self.calibration, _, kept = drawn.map_.weights()
        self.expansion, self.columns, self.drawn = Expansion(*expansion), int(drawn.n_features_in_), drawn
        self.phases = phases_of(drawn)
        self.start = np.ones(int(kept))
        self.sizes = np.sum(self.frequencies(self.start) ** 2, axis=1)

    def _structured(self, X: Rows) -> Array:
        dense = to_dense(X)
        weights = (like(part, dense) for part in (*self.expansion, self.calibration))
        return ops.fastfood(dense, *weights)[:, : len(self.start)]

    def project(self, X: Rows, parameters: np.ndarray) -> Array:
        return self._structured(X) * like(parameters, X)

    def gradient(self, X: Rows, gradient: Array) -> Array:
        return (self._structured(X) * gradient).sum(axis=0)

    def frequencies(self, parameters: np.ndarray) -> np.ndarray:
        return np.asarray(self._structured(np.eye(self.columns)) * parameters).T

    def basis(self, parameters: np.ndarray) -> Fastfood:
        columns, seed = int(self.drawn.n_components), self.drawn.seed_
        return Fastfood(columns, kernel=self.drawn.kernel_, calibration=parameters, random_state=seed)


def phases_of(basis: Basis) -> np.ndarray:
    """The phases of the cosines of a fitted basis of learned frequencies that stand alone."""
    if isinstance(basis.map_, FixedFourierMap):
        return basis.map_.phases
    assert isinstance(basis.map_, WaveMap)
    return basis.map_.wave_phases()

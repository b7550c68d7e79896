"""Kernels of indicator features: stumps, grids and hats."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import ndtr

from ..validation import require_positive
from .base import Kernel, ShiftInvariant
from .shift_invariant import Laplacian


@dataclass(frozen=True)
class UniformStump(Kernel):
    """1 - |x - z|_1 / (a d) for stumps with thresholds uniform on [-a, a]; coordinates beyond +-a count as +-a."""

    radius: float = 1.0

    def __post_init__(self) -> None:
        require_positive("radius", self.radius)

    def _evaluate(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        X, Z = (np.clip(A, -self.radius, self.radius) for A in (X, Z))
        return 1.0 - cdist(X, Z, "cityblock") / (self.radius * X.shape[1])


@dataclass(frozen=True)
class NormalStump(Kernel):
    """1 - (2/d) sum_k |F(x_k) - F(z_k)| for stumps with standard normal thresholds, F the normal cdf."""

    def _evaluate(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        return 1.0 - 2.0 * cdist(ndtr(X), ndtr(Z), "cityblock") / X.shape[1]


@dataclass(frozen=True)
class Hat(ShiftInvariant):
    """prod_k max(0, 1 - |x_k - z_k|/s): the chance to share a cell of a grid of fixed pitch s and uniform shift."""

    def _evaluate(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        value = np.ones((len(X), len(Z)))
        for x, z in zip(X.T, Z.T, strict=True):
            value *= np.maximum(0.0, 1.0 - np.abs(x[:, None] - z[None, :]) / self.scale)
        return value


@dataclass(frozen=True)
class Binning(Laplacian):
    """exp(-|x - z|_1 / s): hats whose pitch in each coordinate is Gamma(2) with scale s."""

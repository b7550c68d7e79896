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
    """The kernel of stumps with uniform thresholds, 1 - |x - z|_1 / (radius n_features).

    Parameters
    ----------
    radius : float, default=1.0
        Thresholds are uniform on [-radius, radius]; coordinates beyond count as at the end.

    Examples
    --------
    >>> from bochner.kernels import UniformStump
    >>> UniformStump()([[0.0, 0.0]], [[0.5, 0.5]])
    array([[0.5]])
    """

    radius: float = 1.0

    def __post_init__(self) -> None:
        require_positive("radius", self.radius)

    def _evaluate(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        X, Z = (np.clip(A, -self.radius, self.radius) for A in (X, Z))
        return 1.0 - cdist(X, Z, "cityblock") / (self.radius * X.shape[1])


@dataclass(frozen=True)
class NormalStump(Kernel):
    """The kernel of stumps with normal thresholds, 1 - (2 / n_features) sum_k |F(x_k) - F(z_k)|, F the normal cdf.

    Examples
    --------
    >>> from bochner.kernels import NormalStump
    >>> NormalStump()([[0.0]], [[10.0]]).round(4)
    array([[0.]])
    """

    def _evaluate(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        return 1.0 - 2.0 * cdist(ndtr(X), ndtr(Z), "cityblock") / X.shape[1]


@dataclass(frozen=True)
class Hat(ShiftInvariant):
    """The hat kernel, prod_k max(0, 1 - |x_k - z_k| / s): the chance to share a cell of a grid of pitch s.

    Parameters
    ----------
    bandwidth : float, default=None
        Length scale s. None is 1 when the kernel is called, and is chosen by the data where a basis or model is given
        the kernel.

    Examples
    --------
    >>> from bochner.kernels import Hat
    >>> Hat(bandwidth=2.0)([[0.0]], [[0.5], [3.0]])
    array([[0.75, 0.  ]])
    """

    def _evaluate(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        value = np.ones((len(X), len(Z)))
        for x, z in zip(X.T, Z.T, strict=True):
            value *= np.maximum(0.0, 1.0 - np.abs(x[:, None] - z[None, :]) / self.scale)
        return value


@dataclass(frozen=True)
class Binning(Laplacian):
    """The kernel of random bins, exp(-|x - z|_1 / s): hats whose pitch in each coordinate is Gamma(2) with scale s.

    Parameters
    ----------
    bandwidth : float, default=None
        Length scale s. None is 1 when the kernel is called, and is chosen by the data where a basis or model is given
        the kernel.

    Examples
    --------
    >>> from bochner.kernels import Binning, Laplacian
    >>> bool(Binning()([[0.0]], [[1.0]]) == Laplacian()([[0.0]], [[1.0]]))
    True
    """

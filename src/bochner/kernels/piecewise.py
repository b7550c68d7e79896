"""Kernels of indicator features: stumps, grids and hats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .. import ops
from ..arrays import Array, constant, special
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
    takes_tensors: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_positive("radius", self.radius)

    def _evaluate(self, X: Array, Z: Array) -> Array:
        X, Z = (A.clip(-self.radius, self.radius) for A in (X, Z))
        return 1.0 - ops.distances(X, Z, 1.0) / (self.radius * X.shape[1])


@dataclass(frozen=True)
class NormalStump(Kernel):
    """The kernel of stumps with normal thresholds, 1 - (2 / n_features) sum_k |F(x_k) - F(z_k)|, F the normal cdf.

    Examples
    --------
    >>> from bochner.kernels import NormalStump
    >>> NormalStump()([[0.0]], [[10.0]]).round(4)
    array([[0.]])
    """

    takes_tensors: ClassVar[bool] = True

    def _evaluate(self, X: Array, Z: Array) -> Array:
        normal_cdf = special(X).ndtr
        return 1.0 - 2.0 * ops.distances(normal_cdf(X), normal_cdf(Z), 1.0) / X.shape[1]


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

    takes_tensors: ClassVar[bool] = True

    def _evaluate(self, X: Array, Z: Array) -> Array:
        value = constant(1.0, (len(X), len(Z)), X)
        for x, z in zip(X.T, Z.T, strict=True):
            value *= (1.0 - abs(x[:, None] - z[None, :]) / self.scale).clip(min=0.0)
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

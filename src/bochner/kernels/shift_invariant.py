"""Kernels of x - z, each with the law of its frequencies (Bochner: k(x - z) = E cos(w'(x - z)))."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.special import gammaln

from .. import ops, portable
from ..arrays import Array, Same, constant, namespace
from ..streams import Stream, uniform_from_bits
from ..validation import require_integer, require_positive
from .base import NormalMixture, Product, Radial
from .bessel import ball_characteristic, log_bessel_k


@dataclass(frozen=True)
class Gaussian(NormalMixture):
    """The Gaussian kernel (RBF), exp(-|x - z|^2 / (2 s^2)): for smooth functions.

    Its frequencies are normal, w ~ N(0, I / s^2). scikit-learn's gamma is 1 / (2 s^2).

    Parameters
    ----------
    bandwidth : float, default=None
        Length scale s. None is 1 when the kernel is called, and is chosen by the data where a basis or model is given
        the kernel.

    Examples
    --------
    >>> from bochner.kernels import Gaussian
    >>> Gaussian(bandwidth=2.0)([[0.0]], [[2.0]]).round(4)
    array([[0.6065]])
    """

    takes_tensors: ClassVar[bool] = True

    def profile(self, distance: Same) -> Same:
        return namespace(distance).exp(-0.5 * distance**2)


@dataclass(frozen=True)
class Matern(NormalMixture):
    """The Matern kernel: for functions that are differentiable ceil(nu) - 1 times, rougher than the Gaussian kernel's.

        k = 2^(1-nu) / Gamma(nu) (sqrt(2 nu) r)^nu K_nu(sqrt(2 nu) r),   r = |x - z| / s.

    Its frequencies are multivariate t with 2 nu degrees of freedom: one common denominator for all coordinates.
    (Student t for each coordinate, a common mistake, belongs to a product of one-dimensional Matern kernels.)

    Parameters
    ----------
    bandwidth : float, default=None
        Length scale s. None is 1 when the kernel is called, and is chosen by the data where a basis or model is given
        the kernel.
    nu : float, default=1.5
        Smoothness; 0.5 is exp(-r), and infinity would be the Gaussian kernel.

    Examples
    --------
    >>> from bochner.kernels import Matern
    >>> Matern(nu=0.5)([[0.0]], [[1.0]]).round(4)
    array([[0.3679]])
    """

    nu: float = 1.5
    takes_tensors: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive("nu", self.nu)

    def profile(self, distance: Same) -> Same:
        xp = namespace(distance)
        r = float(np.sqrt(2.0 * self.nu)) * distance
        positive = xp.where(r > 0, r, 1.0)
        logarithm = float((1.0 - self.nu) * np.log(2.0) - gammaln(self.nu))
        value = xp.exp(logarithm + self.nu * xp.log(positive) + log_bessel_k(self.nu, positive))
        # The Bessel function overflows near 0, where the kernel is 1, and is lost far out, where it is 0.
        return xp.where((r > 0) & xp.isfinite(value), value, xp.where(r < 1.0, 1.0, 0.0))

    def mixing(self, stream_seed: int, start: int, stop: int) -> np.ndarray:
        """Draw the numbers that normal vectors are multiplied by: sqrt(nu / Gamma(nu)).

        Parameters
        ----------
        stream_seed : int
            Seed of the draws.
        start : int
            Number of the first frequency.
        stop : int
            Number after the last one.

        Returns
        -------
        ndarray of shape (stop - start,)
            The factors.
        """
        gamma = Stream(stream_seed, "mixing").gamma(self.nu, start, stop)[:, 0]
        # For tiny nu the law reaches beyond all floats; there a phase is uniform, and so it is at the cap.
        return np.sqrt(self.nu / np.maximum(gamma, 1e-24 * self.nu))


@dataclass(frozen=True)
class Laplacian(Product):
    """The Laplacian kernel, exp(-|x - z|_1 / s): for rough functions and for columns that matter one by one.

    Each coordinate of a frequency has the Cauchy law with scale 1 / s.

    Parameters
    ----------
    bandwidth : float, default=None
        Length scale s. None is 1 when the kernel is called, and is chosen by the data where a basis or model is given
        the kernel.

    Examples
    --------
    >>> from bochner.kernels import Laplacian
    >>> Laplacian(bandwidth=1.0)([[0.0, 0.0]], [[1.0, 1.0]]).round(4)
    array([[0.1353]])
    """

    takes_tensors: ClassVar[bool] = True

    @property
    def order(self) -> float:
        return 1.0

    def _evaluate(self, X: Array, Z: Array) -> Array:
        return namespace(X).exp(-ops.distances(X, Z, 1.0) / self.scale)

    def quantile(self, p: np.ndarray) -> np.ndarray:
        return portable.cauchy_quantile(p)


@dataclass(frozen=True)
class Cauchy(Product):
    """The product of Cauchy kernels, prod_k 1 / (1 + ((x_k - z_k) / s)^2): smooth, with heavy tails.

    Each coordinate of a frequency has the Laplace law, of density s exp(-s |w|) / 2.

    Parameters
    ----------
    bandwidth : float, default=None
        Length scale s. None is 1 when the kernel is called, and is chosen by the data where a basis or model is given
        the kernel.

    Examples
    --------
    >>> from bochner.kernels import Cauchy
    >>> Cauchy(bandwidth=1.0)([[0.0]], [[1.0]])
    array([[0.5]])
    """

    takes_tensors: ClassVar[bool] = True

    def _evaluate(self, X: Array, Z: Array) -> Array:
        xp, total = namespace(X), constant(0.0, (len(X), len(Z)), X)
        for x, z in zip(X.T, Z.T, strict=True):
            total += xp.log1p(((x[:, None] - z[None, :]) / self.scale) ** 2)
        return xp.exp(-total)

    def quantile(self, p: np.ndarray) -> np.ndarray:
        return portable.laplace_quantile(p)


@dataclass(frozen=True)
class BallMatern(Radial):
    """The RBF-Matern kernel of McKernel: a frequency is the sum of t points that are uniform in the unit ball, over s.

        k = [Gamma(n/2 + 1) (2/r)^(n/2) J_(n/2)(r)]^t,   r = |x - z| / s.

    The kernel depends on the number n of coordinates, which in Fastfood is the padded one, the next power of two.

    Parameters
    ----------
    bandwidth : float, default=None
        Length scale s. None is 1 when the kernel is called, and is chosen by the data where a basis or model is given
        the kernel.
    degree : int, default=40
        Number t of points.
    dimension : int, default=None
        Number n of coordinates; a basis sets it.

    Examples
    --------
    >>> from bochner.kernels import BallMatern
    >>> BallMatern(bandwidth=10.0, dimension=4)([[0.0] * 4], [[1.0] * 4]).round(3)
    array([[0.875]])
    """

    degree: int = 40
    dimension: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        require_integer("degree", self.degree)
        if self.dimension is not None:
            require_integer("dimension", self.dimension)

    def in_dimension(self, dimension: int) -> BallMatern:
        return replace(self, dimension=dimension) if self.dimension is None else self

    def profile(self, distance: Same) -> Same:
        if self.dimension is None:
            raise ValueError("BallMatern depends on the dimension of the frequencies: give it as `dimension`.")
        return ball_characteristic(distance, self.dimension) ** self.degree

    def radii(self, stream_seed: int, start: int, stop: int, dimension: int) -> np.ndarray:
        """Draw the lengths of frequencies, for a bandwidth of 1.

        Points are added one after another; only the angle to the sum so far matters, so that n draws a point become
        three: |a + b|^2 = |a|^2 + |b|^2 + 2 |a||b| c, with |b| = U^(1/n) and c one coordinate of a uniform direction.

        Parameters
        ----------
        stream_seed : int
            Seed of the draws.
        start : int
            Number of the first frequency.
        stop : int
            Number after the last one.
        dimension : int
            Number of coordinates of a frequency.

        Returns
        -------
        ndarray of shape (stop - start,)
            The lengths.
        """
        if dimension != self.dimension:
            raise ValueError(f"this kernel is that of dimension {self.dimension}, but frequencies have {dimension}.")
        n, t = dimension, self.degree
        lengths = portable.exp(portable.log(Stream(stream_seed, "lengths").uniform(start, stop, t)) / n)
        if n == 1:
            cosine = Stream(stream_seed, "angles").sign(start, stop, t).astype(np.float64)
        else:
            g = portable.normal_quantile(uniform_from_bits(Stream(stream_seed, "angles").bits(start, stop, t)))
            others = 2.0 * Stream(stream_seed, "other coordinates").gamma(0.5 * (n - 1), start, stop, t)
            cosine = g / np.sqrt(g * g + others)
        square = np.zeros(stop - start)
        for k in range(t):
            b = lengths[:, k]
            square = square + b * b + 2.0 * np.sqrt(square) * b * cosine[:, k]
            square = np.maximum(square, 0.0)  # rounding, where a and b nearly cancel
        return np.sqrt(square)

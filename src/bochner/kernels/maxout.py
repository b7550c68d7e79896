"""The kernels of maxout units, of gates, and the collision probability behind both.

kappa_q(rho) = P[argmax_j <w_j, x> = argmax_j <w_j, z>] = q E[Phi2(g, g'; rho)^(q-1)], and by Gaussian integration by
parts E[h(x) h(z)] = |x||z| (mu_q^2 + integral_0^rho kappa_q). The paper's Theorem 1 is wrong: see docs/errata.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.polynomial import Chebyshev
from scipy.special import ndtr, owens_t

from ..arrays import Array, is_torch, namespace
from ..validation import require_integer
from .base import Kernel, cosines

NODES = 41  # Chebyshev nodes in theta = arccos rho, where kappa is smooth
STEP = 0.125
# The trapezoid rule converges geometrically for these integrands; off the axes, where Owen's formula divides by zero.
GRID = np.arange(-9.0, 9.0, STEP) + 1e-3
WEIGHTS = np.exp(-0.5 * GRID**2) / np.sqrt(2.0 * np.pi) * STEP


def maximum_moment(pool_size: int, power: int) -> float:
    """Compute E (max of q standard normal numbers)^power.

    Parameters
    ----------
    pool_size : int
        Number q of normal numbers.
    power : int
        The power; 1 gives the mean mu_q.

    Returns
    -------
    float
        The moment.

    Examples
    --------
    >>> from bochner.kernels import maximum_moment
    >>> round(maximum_moment(2, 1), 4)  # 1 / sqrt(pi)
    0.5642
    """
    # Steps shrink for huge pools, whose maximum is concentrated.
    grid = np.linspace(-12.0, 40.0, 20001)
    density = pool_size * np.exp(-0.5 * grid**2) / np.sqrt(2.0 * np.pi) * ndtr(grid) ** (pool_size - 1)
    return float(np.sum(grid**power * density) * (grid[1] - grid[0]))


@lru_cache(maxsize=256)
def maximum_mean(pool_size: int) -> float:
    """Compute mu_q, the mean of the largest of q standard normal numbers.

    Parameters
    ----------
    pool_size : int
        Number q of normal numbers.

    Returns
    -------
    float
        The mean; exactly 0 for q = 1.

    Examples
    --------
    >>> from bochner.kernels import maximum_mean
    >>> round(maximum_mean(2), 4)  # 1 / sqrt(pi)
    0.5642
    """
    return 0.0 if pool_size == 1 else maximum_moment(pool_size, 1)


def bivariate_normal_cdf(h: np.ndarray, k: np.ndarray, rho: float) -> np.ndarray:
    """P[g <= h, g' <= k] for correlation rho, by Owen's T function; h and k must not be 0."""
    root = np.sqrt(1.0 - rho * rho)
    first = owens_t(h, (k - rho * h) / (h * root))
    second = owens_t(k, (h - rho * k) / (k * root))
    return 0.5 * (ndtr(h) + ndtr(k)) - first - second - np.where(h * k < 0, 0.5, 0.0)


def collision_by_quadrature(theta: float, pool_size: int) -> float:
    """kappa_q at one angle, by a trapezoid rule over g and t, g' = rho g + sin(theta) t."""
    if pool_size == 1 or theta <= 0.0:
        return 1.0
    if theta >= np.pi:
        return 0.0
    rho, root = np.cos(theta), np.sin(theta)
    g = GRID[:, None]
    other = rho * g + root * GRID[None, :]
    other = np.where(np.abs(other) < 1e-12, 1e-12, other)
    both = np.clip(bivariate_normal_cdf(g, other, rho), 0.0, 1.0)
    return float(pool_size * WEIGHTS @ both ** (pool_size - 1) @ WEIGHTS)


@lru_cache(maxsize=64)
def _interpolants(pool_size: int) -> tuple[Chebyshev, Chebyshev]:
    """kappa_q as a polynomial of theta, and the antiderivative of kappa_q(cos theta) sin theta."""
    domain = (0.0, np.pi)
    kappa = Chebyshev.interpolate(
        np.vectorize(lambda theta: collision_by_quadrature(theta, pool_size)), NODES - 1, domain
    )
    sine = Chebyshev.interpolate(np.sin, 24, domain)
    return kappa, (kappa * sine).integ()


def evaluated(polynomial: Chebyshev, theta: Array) -> Array:
    """A polynomial at numbers; of tensors by Clenshaw's recurrence, as numpy does it of arrays."""
    if not is_torch(theta):
        return polynomial(theta)
    shift, stretch = polynomial.mapparms()
    x = float(shift) + float(stretch) * theta
    *others, before, last = polynomial.coef.tolist()
    for coefficient in reversed(others):
        before, last = coefficient - last, before + last * 2.0 * x
    return before + last * x


def collision_probability(rho: Array | float, pool_size: int) -> Array:
    """Compute kappa_q(rho): the probability that two rows have the same winner among q random projections.

    Parameters
    ----------
    rho : float, ndarray or tensor
        Cosine of the angle between the rows.
    pool_size : int
        Number q of projections.

    Returns
    -------
    ndarray
        The probability, elementwise, to about 1e-10.

    Examples
    --------
    >>> from bochner.kernels import collision_probability
    >>> float(collision_probability(0.0, 2))  # the signs of two orthogonal rows agree half of the time
    0.5
    """
    require_integer("pool_size", pool_size)
    xp = namespace(rho)
    theta = xp.arccos(xp.clip(rho, -1.0, 1.0))
    if pool_size == 1:
        return xp.ones_like(theta)
    if pool_size == 2:
        return 1.0 - theta / np.pi
    return evaluated(_interpolants(pool_size)[0], theta).clip(0.0, 1.0)


def collision_integral(rho: Array | float, pool_size: int) -> Array:
    """Compute the integral of kappa_q from 0 to rho.

    Parameters
    ----------
    rho : float, ndarray or tensor
        Cosine of the angle between two rows.
    pool_size : int
        Number q of projections.

    Returns
    -------
    ndarray
        The integral, elementwise.

    Examples
    --------
    >>> from bochner.kernels import collision_integral
    >>> float(collision_integral(0.25, 1))
    0.25
    """
    require_integer("pool_size", pool_size)
    xp = namespace(rho)
    rho = xp.clip(rho, -1.0, 1.0)
    if pool_size == 1:
        return rho if is_torch(rho) else np.asarray(rho, dtype=np.float64)
    theta = xp.arccos(rho)
    if pool_size == 2:  # rho - (rho arccos rho - sqrt(1 - rho^2) + 1)/pi
        return rho - (rho * theta - xp.sin(theta) + 1.0) / np.pi
    antiderivative = _interpolants(pool_size)[1]
    return float(antiderivative(0.5 * np.pi)) - evaluated(antiderivative, theta)


@dataclass(frozen=True)
class Maxout(Kernel):
    """The kernel of maxout features: |x||z| (mu_q^2 + integral of kappa_q from 0 to rho), rho the cosine of the angle.

    Parameters
    ----------
    pool_size : int, default=4
        Number q of projections of which the largest is taken.
    center : bool, default=True
        Whether features are centred, which takes away mu_q^2.

    Examples
    --------
    >>> from bochner.kernels import Maxout
    >>> Maxout(pool_size=2)([[2.0, 0.0]], [[3.0, 0.0]]).round(4)  # 6 (1 - 1 / pi)
    array([[4.0901]])
    """

    pool_size: int = 4
    center: bool = True
    takes_tensors: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_integer("pool_size", self.pool_size)

    def _evaluate(self, X: Array, Z: Array) -> Array:
        rho, norms = cosines(X, Z)
        constant = 0.0 if self.center else maximum_mean(self.pool_size) ** 2
        return norms * (constant + collision_integral(rho, self.pool_size))


@dataclass(frozen=True)
class Gated(Kernel):
    """The kernel of gated linear features: <x, z> times the probability that both have the same winner.

    Parameters
    ----------
    pool_size : int, default=4
        Number q of gates.

    Examples
    --------
    >>> from bochner.kernels import Gated
    >>> Gated()([[2.0, 0.0]], [[3.0, 0.0], [0.0, 3.0]]).round(4)
    array([[6., 0.]])
    """

    pool_size: int = 4
    takes_tensors: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_integer("pool_size", self.pool_size)

    def _evaluate(self, X: Array, Z: Array) -> Array:
        rho, norms = cosines(X, Z)
        return rho * norms * collision_probability(rho, self.pool_size)


@dataclass(frozen=True)
class Collision(Kernel):
    """The kernel of maxout codes: the probability that two rows have the same winner.

    Parameters
    ----------
    pool_size : int, default=8
        Number q of projections of a code.

    Examples
    --------
    >>> from bochner.kernels import Collision
    >>> Collision(pool_size=2)([[1.0, 0.0]], [[1.0, 1.0]])
    array([[0.75]])
    """

    pool_size: int = 8
    takes_tensors: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_integer("pool_size", self.pool_size)

    def _evaluate(self, X: Array, Z: Array) -> Array:
        return collision_probability(cosines(X, Z)[0], self.pool_size)

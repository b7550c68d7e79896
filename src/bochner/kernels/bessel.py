"""Bessel functions of Matern kernels and of balls, where scipy has none: for large orders, and for tensors."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln, hyp0f1, jv, kve

from ..arrays import Array, Same, constant, is_torch, namespace

LARGE = 50.0  # orders beyond which Debye's expansion is exact to rounding
STEPS, LOST = 256, 40.0  # of the integral of K; exp(-40) of its largest term is nothing beside it


def debye_series(t: Same, v: float) -> Same:
    """1 + u_1(t)/v + u_2(t)/v^2 + u_3(t)/v^3 (Abramowitz and Stegun 9.3.9): Bessel functions of large order v."""
    t2 = t * t
    series = 1.0 + t * (3.0 - 5.0 * t2) / (24.0 * v)
    series += t2 * (81.0 + t2 * (-462.0 + 385.0 * t2)) / (1152.0 * v**2)
    series += t * t2 * (30375.0 + t2 * (-369603.0 + t2 * (765765.0 - 425425.0 * t2))) / (414720.0 * v**3)
    return series


def log_bessel_k(v: float, r: Array) -> Array:
    """log K_v(r), by Debye's expansion in logarithms where the order is large (9.7.8)."""
    if v <= LARGE:
        if is_torch(r):
            return _log_half_integer(int(v), r) if v % 1.0 == 0.5 else _log_integral(v, r)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(kve(v, r)) - r
    xp = namespace(r)
    root = xp.sqrt(1.0 + (r / v) ** 2)
    exponent = root + xp.log(r / v / (1.0 + root))
    return 0.5 * np.log(0.5 * np.pi / v) - v * exponent - 0.5 * xp.log(root) + xp.log(debye_series(1.0 / root, -v))


def _log_half_integer(p: int, r: Array) -> Array:
    """log K_v(r) for v = p + 1/2: sqrt(pi/2r) exp(-r) sum_k (p + k)!/(k! (p - k)!) (2r)^-k, a sum of positive terms."""
    xp, total = namespace(r), constant(0.0, r.shape, r)
    for k in reversed(range(p + 1)):  # by Horner's rule
        total /= 2.0 * r
        total += math.factorial(p + k) / (math.factorial(k) * math.factorial(p - k))
    return xp.log(total) - r - 0.5 * xp.log(r * (2.0 / np.pi))


def _log_integral(v: float, r: Array) -> Array:
    """log K_v(r) = log of the integral of exp(f(t)) (1 + exp(-2 v t))/2 over t > 0, f(t) = v t - r cosh t.

    By the trapezoid rule, whose error shrinks exponentially with the step. f is largest at asinh(v/r), where it is
    v t - sqrt(r^2 + v^2), and falls by that root times cosh(u) - 1 or more when t goes on by u: so far the steps reach.
    """
    xp = namespace(r)
    root = xp.sqrt(r * r + v * v)
    top = xp.arcsinh(v / r)
    largest = v * top - v * v / (root + r)  # of f(t) + r
    step = (top + xp.arccosh(1.0 + LOST / root)) / STEPS
    total = 0.5 * xp.exp(-largest)
    for k in range(1, STEPS + 1):
        t = k * step
        total += xp.exp(v * t - 2.0 * r * xp.sinh(0.5 * t) ** 2 - largest) * (0.5 + 0.5 * xp.exp(-2.0 * v * t))
    return xp.log(step * total) + largest - r


def ball_characteristic(r: Same, n: int) -> Same:
    """Gamma(v + 1) (2/r)^v J_v(r), v = n/2: the characteristic function of the unit ball of R^n.

    It is 0F1(; v + 1; -r^2/4), which scipy has for moderate n. For large n, J_v underflows while the product does
    not, so Debye's expansion of J_v (Abramowitz and Stegun 9.3.7) is added up in logarithms.
    """
    v = 0.5 * n
    if n <= 200:
        return hyp0f1(v + 1.0, -0.25 * r**2)
    near = np.clip(r, 1e-9 * v, 0.9 * v)
    alpha = np.arccosh(v / near)
    tanh = np.tanh(alpha)
    logarithm = gammaln(v + 1.0) + v * np.log(2.0 / near) + v * (tanh - alpha)
    value = np.exp(logarithm - 0.5 * np.log(2.0 * np.pi * v * tanh)) * debye_series(1.0 / tanh, v)
    far = np.maximum(r, 0.9 * v)
    with np.errstate(divide="ignore"):
        bessel = jv(v, far)
        beyond = np.sign(bessel) * np.exp(gammaln(v + 1.0) + v * np.log(2.0 / far) + np.log(np.abs(bessel)))
    return np.where(r < 0.9 * v, value, beyond)

"""The law of a sum of squares of normal numbers with different variances, by its saddlepoint."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

NEAR = 1e-3  # standard deviations from the mean, where the formula is 0/0


def chi_square_tail(variances: np.ndarray, value: float) -> float:
    """P(sum_k v_k g_k^2 >= value) for standard normal g_k.

    Lugannani and Rice's formula, with the cumulants K(s) = -1/2 sum log(1 - 2 s v_k): K'(s) = value gives s, and
    with w = sign(s) sqrt(2 (s value - K)) and u = s sqrt(K'') the tail is 1 - Phi(w) + phi(w) (1/u - 1/w).
    """
    v = variances[variances > 1e-12 * variances.max(initial=0.0)]
    if not len(v):
        return float(value <= 0)
    if value <= 0:
        return 1.0
    mean, deviation = float(v.sum()), float(np.sqrt(2 * np.sum(v**2)))
    if abs(value - mean) < NEAR * deviation:
        low, high = (chi_square_tail(v, mean + side * NEAR * deviation) for side in (-1.5, 1.5))
        return low + (high - low) * (0.5 + (value - mean) / (3 * NEAR * deviation))

    def slope(s: float) -> float:
        return float(np.sum(v / (1 - 2 * s * v))) - value

    # K' is 0 at minus infinity and infinite at 1/(2 max v); its value at s is at least max v/(1 - 2 s max v).
    top = 0.5 / v.max()
    s = brentq(slope, -len(v) / (2 * value) - top, top * (1 - 0.5 * min(1.0, v.max() / value)), xtol=1e-14 * top)
    cumulant = -0.5 * float(np.sum(np.log1p(-2 * s * v)))
    w = float(np.sign(s) * np.sqrt(2 * (s * value - cumulant)))
    u = s * float(np.sqrt(2 * np.sum((v / (1 - 2 * s * v)) ** 2)))
    return float(np.clip(norm.sf(w) + norm.pdf(w) * (1 / u - 1 / w), 0.0, 1.0))

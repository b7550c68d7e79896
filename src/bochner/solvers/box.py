"""Least squares within a box: minimise |y - Z b|^2 + alpha |b|^2 over |b_j| <= bound, from Z'Z and Z'Y alone."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from .base import Solution
from .factor import factor_gram
from .minimise import minimise


class Quadratic:
    """b'(G + alpha I) b - 2 c'b"""

    rounding, separable = 1e-14, True

    def __init__(self, gram: np.ndarray, cross: np.ndarray, alpha: float) -> None:
        self.gram, self.cross, self.alpha = gram, cross, alpha
        shift = max(alpha, 1e-10 * float(np.trace(gram)) / max(len(gram), 1), np.finfo(float).tiny)
        self._factor = factor_gram(gram, shift)

    def value_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        image = self.gram @ x + self.alpha * x
        return float(np.sum(x * (image - 2.0 * self.cross))), 2.0 * (image - self.cross)

    def hessian_product(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        return 2.0 * (self.gram @ v + self.alpha * v)

    def update_preconditioner(self, x: np.ndarray) -> None:
        """The preconditioner is exact as it is."""

    def precondition(self, v: np.ndarray) -> np.ndarray:
        return v / 2.0 if self._factor is None else self._factor.solve(v) / 2.0


def solve_box(gram: Array, cross: Array, alpha: float, bound: float) -> Solution:
    """The coefficients within the bounds, from Z'Z (m, m) and Z'Y (m, k)."""
    found = minimise(
        Quadratic(np.asarray(gram), np.asarray(cross), alpha), np.zeros(cross.shape), bound=bound, tolerance=1e-10
    )
    status = f"{found.status}; {at_bounds(found.x, bound)}"
    return Solution(found.x, "projected Newton", alpha, status, found.residual, found.iterations)


def at_bounds(coefficients: np.ndarray, bound: float) -> str:
    """In words, how many coefficients are at the bound."""
    there = int(np.sum(np.abs(coefficients) >= bound))
    return f"{there:,} of {coefficients.size:,} coefficients at the bound {bound:.3g}"

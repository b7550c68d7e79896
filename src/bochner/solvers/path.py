"""The whole penalty path of a ridge problem from one reduction to tridiagonal form.

G = Q T Q' once, in O(m^3); then every penalty costs O(m): coefficients, residual sum of squares, degrees of freedom
and log-determinant. Generalised cross-validation and the marginal likelihood follow from the moments alone.
"""

from __future__ import annotations

import numpy as np

from .. import ops
from ..arrays import Array, namespace
from ..validation import require_finite


class RidgePath:
    """minimise |y - Z b|^2 + alpha |b|^2 for any alpha, from G = Z'Z (m, m), c = Z'Y (m, k) and Y'Y (k,)."""

    def __init__(self, gram: Array, cross: Array, square: Array) -> None:
        require_finite(gram, "the Gram matrix")
        self.square = square
        self._form = ops.tridiagonal_form(gram)
        self.eigenvalues = self._form.eigenvalues.clip(min=0.0)
        self._rotated = self._form.rotate(cross)

    def _solve(self, alpha: float) -> Array:
        return self._form.solve(alpha, self._rotated)

    def coefficients(self, alpha: float) -> Array:
        """The coefficients at one penalty."""
        return self._form.rotate_back(self._solve(alpha))

    def errors(self, alpha: float) -> tuple[Array, Array]:
        """|y - Z b|^2 and alpha |b|^2, per output."""
        solution = self._solve(alpha)
        penalty = alpha * (solution**2).sum(axis=0)
        fitted = (self._rotated * solution).sum(axis=0)
        return (self.square - fitted - penalty).clip(min=0.0), penalty

    def degrees(self, alpha: float) -> float:
        """The trace of Z (G + alpha I)^-1 Z'."""
        return float((self.eigenvalues / (self.eigenvalues + alpha)).sum())

    def generalised_cross_validation(self, alpha: float, rows: float, intercept: bool) -> float:
        """rows RSS / (rows - degrees)^2, summed over outputs; an intercept is one more degree."""
        left = rows - self.degrees(alpha) - float(intercept)
        if left <= 1e-9 * rows:
            return float("inf")
        try:
            return float(rows * self.errors(alpha)[0].sum() / left**2)
        except np.linalg.LinAlgError:  # not positive definite in floating point: no model there
            return float("inf")

    def log_marginal_likelihood(self, alpha: float, rows: float, intercept: bool) -> tuple[float, Array]:
        """log p(y) of the Bayesian linear model with its best noise variance; and that variance, per output.

        y ~ N(0, s^2 (I + Z Z'/alpha)); s^2 = (RSS + alpha |b|^2)/rows at its maximum.
        """
        xp, rows = namespace(self.eigenvalues), max(rows - float(intercept), 1.0)
        error, penalty = self.errors(alpha)
        noise = ((error + penalty) / rows).clip(min=float(np.finfo(float).tiny))
        determinant = float(xp.log1p(self.eigenvalues / alpha).sum())
        total = -0.5 * (rows * (xp.log(2.0 * np.pi * noise) + 1.0) + determinant).sum()
        return float(total), noise


class DualPath(RidgePath):
    """The same from K = Z Z' (n, n) and y itself: (K + alpha I) a = y, y - Z b = alpha a."""

    def __init__(self, kernel: Array, target: Array) -> None:
        super().__init__(kernel, target, (target**2).sum(axis=0))

    def errors(self, alpha: float) -> tuple[Array, Array]:
        solution = self._solve(alpha)
        size = (solution**2).sum(axis=0)
        return alpha**2 * size, (alpha * ((self._rotated * solution).sum(axis=0) - alpha * size)).clip(min=0.0)

"""The whole penalty path of a ridge problem from one reduction to tridiagonal form.

G = Q T Q' once, in O(m^3); then every penalty costs O(m): coefficients, residual sum of squares, degrees of freedom
and log-determinant. Generalised cross-validation and the marginal likelihood follow from the moments alone.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, eigvalsh_tridiagonal, lapack, solveh_banded

from ..validation import require_finite


class RidgePath:
    """minimise |y - Z b|^2 + alpha |b|^2 for any alpha, from G = Z'Z (m, m), c = Z'Y (m, k) and Y'Y (k,)."""

    def __init__(self, gram: np.ndarray, cross: np.ndarray, square: np.ndarray) -> None:
        require_finite(gram, "the Gram matrix")
        self.square = square
        if len(gram) == 1:
            self._reflectors, self._diagonal, self._off = None, gram[0].copy(), np.empty(0)
        else:
            work = int(lapack.dsytrd_lwork(len(gram), lower=1)[0])
            reflectors, self._diagonal, self._off, tau, _ = lapack.dsytrd(gram, lower=1, lwork=work)
            self._reflectors = np.asfortranarray(reflectors[1:, :-1]), tau
        values = eigvalsh_tridiagonal(self._diagonal, self._off) if len(gram) > 1 else self._diagonal
        self.eigenvalues = np.maximum(values, 0.0)
        self._rotated = self._rotate(cross, "T")

    def _rotate(self, columns: np.ndarray, transposed: str) -> np.ndarray:
        """Q' C ("T") or Q C ("N"): the first row stays, the reflectors act on the others."""
        out = np.array(columns, dtype=np.float64, order="F")
        if self._reflectors is not None:
            reflectors, tau = self._reflectors
            rest = np.asfortranarray(out[1:])
            work = max(1, int(lapack.dormqr("L", transposed, reflectors, tau, rest, -1)[1][0]))
            out[1:] = lapack.dormqr("L", transposed, reflectors, tau, rest, work)[0]
        return out

    def _solve(self, alpha: float) -> np.ndarray:
        if self._reflectors is None:
            return self._rotated / (self._diagonal + alpha)
        bands = np.zeros((2, len(self._diagonal)))
        bands[0, 1:], bands[1] = self._off, self._diagonal + alpha
        return solveh_banded(bands, self._rotated, check_finite=False)

    def coefficients(self, alpha: float) -> np.ndarray:
        return self._rotate(self._solve(alpha), "N")

    def errors(self, alpha: float) -> tuple[np.ndarray, np.ndarray]:
        """|y - Z b|^2 and alpha |b|^2, per output."""
        solution = self._solve(alpha)
        penalty = alpha * np.sum(solution**2, axis=0)
        fitted = np.sum(self._rotated * solution, axis=0)
        return np.maximum(self.square - fitted - penalty, 0.0), penalty

    def degrees(self, alpha: float) -> float:
        """The trace of Z (G + alpha I)^-1 Z'."""
        return float(np.sum(self.eigenvalues / (self.eigenvalues + alpha)))

    def generalised_cross_validation(self, alpha: float, rows: float, intercept: bool) -> float:
        """rows RSS / (rows - degrees)^2, summed over outputs; an intercept is one more degree."""
        left = rows - self.degrees(alpha) - float(intercept)
        if left <= 1e-9 * rows:
            return float("inf")
        try:
            return float(rows * np.sum(self.errors(alpha)[0]) / left**2)
        except LinAlgError:  # not positive definite in floating point: no model there
            return float("inf")

    def log_marginal_likelihood(self, alpha: float, rows: float, intercept: bool) -> tuple[float, np.ndarray]:
        """log p(y) of the Bayesian linear model with its best noise variance; and that variance, per output.

        y ~ N(0, s^2 (I + Z Z'/alpha)); s^2 = (RSS + alpha |b|^2)/rows at its maximum.
        """
        rows = max(rows - float(intercept), 1.0)
        error, penalty = self.errors(alpha)
        noise = np.maximum((error + penalty) / rows, np.finfo(float).tiny)
        determinant = float(np.sum(np.log1p(self.eigenvalues / alpha)))
        total = -0.5 * np.sum(rows * (np.log(2.0 * np.pi * noise) + 1.0) + determinant)
        return float(total), noise


class DualPath(RidgePath):
    """The same from K = Z Z' (n, n) and y itself: (K + alpha I) a = y, y - Z b = alpha a."""

    def __init__(self, kernel: np.ndarray, target: np.ndarray) -> None:
        super().__init__(kernel, target, np.sum(target**2, axis=0))

    def errors(self, alpha: float) -> tuple[np.ndarray, np.ndarray]:
        solution = self._solve(alpha)
        size = np.sum(solution**2, axis=0)
        return alpha**2 * size, np.maximum(alpha * (np.sum(self._rotated * solution, axis=0) - alpha * size), 0.0)

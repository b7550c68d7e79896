"""(G + alpha I) b = c by Cholesky with iterative refinement; by eigen-decomposition where that fails."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky, eigh, solve_triangular

from .base import Solution, relative_residual

REFINEMENTS = 3
GOOD = 1e-13
LARGEST, BLOCK = 12_000, 2_048  # rows that LAPACK is given at once: with threads it has crashed at 20,000


def solve_gram(gram: np.ndarray, cross: np.ndarray, alpha: float) -> Solution:
    """The ridge coefficients from a symmetric positive semi-definite Gram matrix (m, m) and Z'Y (m, k)."""
    factor = factor_gram(gram, alpha)
    if factor is None:
        return _recover(gram, cross, alpha)
    coefficients = cho_solve(factor, cross)
    best, size = coefficients, np.inf
    for steps in range(REFINEMENTS + 1):
        remainder = cross - gram @ coefficients - alpha * coefficients
        residual = relative_residual(remainder, cross)
        if not residual < size:
            break
        best, size, taken = coefficients, residual, steps
        if residual < GOOD:
            break
        coefficients = coefficients + cho_solve(factor, remainder)
    if not np.isfinite(best).all() or size > 1e-4:
        return _recover(gram, cross, alpha)
    status = "solved" if taken == 0 else f"solved, refined {taken} times"
    return Solution(best, "cholesky", alpha, status, size, 1 + taken)


def solve_or_none(gram: np.ndarray, cross: np.ndarray, alpha: float) -> np.ndarray | None:
    """The coefficients by Cholesky alone, for trying penalties; None where the matrix is not positive definite."""
    factor = factor_gram(gram, alpha)
    return None if factor is None else cho_solve(factor, cross)


def factor_gram(gram: np.ndarray, alpha: float) -> tuple[np.ndarray, bool] | None:
    """The Cholesky factor of G + alpha I, or None if it is not positive definite in floating point."""
    shifted = gram.copy()
    shifted.flat[:: len(gram) + 1] += alpha
    try:
        if len(gram) > LARGEST:
            factor = factor_by_blocks(shifted.T), False
        else:
            # The transpose is the same matrix in LAPACK's order of numbers, so that nothing is copied.
            factor = cho_factor(shifted.T, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return None
    pivots = np.diagonal(factor[0])
    # A pivot at rounding level means that the factor is noise: the matrix is singular to working precision.
    if len(pivots) and pivots.min() ** 2 <= 4 * len(gram) * np.finfo(float).eps * pivots.max() ** 2:
        return None
    return factor


def factor_by_blocks(a: np.ndarray, size: int = BLOCK) -> np.ndarray:
    """The upper factor R of A = R'R, in place of A: some rows of R at a time, which are then taken out of the rest."""
    for start in range(0, len(a), size):
        here, rest = slice(start, start + size), slice(start + size, None)
        corner = a[here, here] = cholesky(a[here, here], check_finite=False)
        rows = a[here, rest] = solve_triangular(corner, a[here, rest], trans="T", check_finite=False)
        for first in range(0, rows.shape[1], size):
            part, right = slice(first, first + size), slice(first, None)
            a[rest, rest][part, right] -= rows[:, part].T @ rows[:, right]
    return a


def _recover(gram: np.ndarray, cross: np.ndarray, alpha: float) -> Solution:
    """The solution of smallest norm on the directions whose eigenvalue is above rounding."""
    values, vectors = eigh(gram)
    floor = len(gram) * np.finfo(float).eps * max(values.max(initial=0.0), 0.0)
    kept = values > floor
    rotated = vectors[:, kept].T @ cross
    coefficients = vectors[:, kept] @ (rotated / (values[kept] + alpha)[:, None])
    remainder = cross - gram @ coefficients - alpha * coefficients
    dropped = int(len(values) - kept.sum())
    status = "recovered: the matrix is not positive definite at this penalty; "
    status += f"{dropped} of {len(values)} directions dropped"
    return Solution(coefficients, "eigen-decomposition", alpha, status, relative_residual(remainder, cross))

"""(G + alpha I) b = c by Cholesky with iterative refinement; by eigen-decomposition where that fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky, eigh, solve_triangular

from ..ops import threads
from .base import Solution, relative_residual

REFINEMENTS = 3
GOOD = 1e-13
LARGEST, BLOCK = 12_000, 2_048  # rows that LAPACK is given at once: with threads it has crashed at 20,000


def solve_gram(gram: np.ndarray, cross: np.ndarray, alpha: float) -> Solution:
    """The ridge coefficients from a symmetric positive semi-definite Gram matrix (m, m) and Z'Y (m, k)."""
    return solve_factored(gram, cross, alpha, factor_gram(gram, alpha))


def solve_factored(gram: np.ndarray, cross: np.ndarray, alpha: float, factor: Factor | None) -> Solution:
    """The same with the factor of G + alpha I, or None if it has none."""
    if factor is None:
        return _recover(gram, cross, alpha)
    coefficients = factor.solve(cross)
    best, size = coefficients, np.inf
    for steps in range(REFINEMENTS + 1):
        remainder = cross - gram @ coefficients - alpha * coefficients
        residual = relative_residual(remainder, cross)
        if not residual < size:
            break
        best, size, taken = coefficients, residual, steps
        if residual < GOOD:
            break
        coefficients = coefficients + factor.solve(remainder)
    if not np.isfinite(best).all() or size > 1e-4:
        return _recover(gram, cross, alpha)
    status = "solved" if taken == 0 else f"solved, refined {taken} times"
    return Solution(best, "cholesky", alpha, status, size, 1 + taken)


def solve_or_none(gram: np.ndarray, cross: np.ndarray, alpha: float) -> np.ndarray | None:
    """The coefficients by Cholesky alone, for trying penalties; None where the matrix is not positive definite."""
    factor = factor_gram(gram, alpha)
    return None if factor is None else factor.solve(cross)


@dataclass(frozen=True)
class Factor:
    """R of A = R'R, in the upper triangle of a matrix; what stands below means nothing."""

    upper: np.ndarray

    def solve(self, columns: np.ndarray) -> np.ndarray:
        """A^-1 times these columns, or one column."""
        columns = columns.astype(self.upper.dtype, copy=False)  # or a float32 factor would be copied to float64
        if len(self.upper) > LARGEST:
            return solve_by_blocks(self.upper, columns)
        return cho_solve((self.upper, False), columns, check_finite=False)

    def half_solve(self, columns: np.ndarray) -> np.ndarray:
        """R'^-1 times these columns, whose squared lengths are c'A^-1 c."""
        if len(self.upper) > LARGEST:
            return forwards(self.upper, np.array(columns, dtype=self.upper.dtype))
        return np.asarray(solve_triangular(self.upper, columns, trans="T", check_finite=False))

    def leading(self, rows: int) -> Factor:
        """The factor of the leading rows and columns of A."""
        return Factor(self.upper[:rows, :rows])

    @property
    def log_determinant(self) -> float:
        return 2.0 * float(np.sum(np.log(np.diagonal(self.upper))))


def factor_gram(gram: np.ndarray, alpha: float) -> Factor | None:
    """The Cholesky factor of G + alpha I, or None if it is not positive definite in floating point."""
    shifted = gram.copy()
    shifted.flat[:: len(gram) + 1] += alpha
    upper = factored(shifted)
    if upper is None:
        return None
    pivots = np.diagonal(upper)
    # A pivot at rounding level means that the factor is noise: the matrix is singular to working precision.
    if len(pivots) and pivots.min() ** 2 <= 4 * len(gram) * np.finfo(float).eps * pivots.max() ** 2:
        return None
    return Factor(upper)


def preconditioner(gram: np.ndarray, alpha: float, room: np.ndarray) -> Callable[[np.ndarray], np.ndarray] | None:
    """About (G + alpha I)^-1 times columns, by a float32 factor that is made in `room`; None if there is none.

    It may be noise: only the residual that it leads to can tell.
    """
    size = float(np.trace(gram)) / max(len(gram), 1)
    if not 0.0 < size < np.inf:
        return None

    def scale(rows: slice) -> None:  # so that no number is too large
        np.multiply(gram[rows], 1.0 / size, out=room[rows], casting="same_kind")

    threads.over_rows(scale, len(gram), 64)
    room.flat[:: len(gram) + 1] += np.float32(alpha / size)
    upper = factored(room)
    if upper is None:
        return None
    factor = Factor(upper)
    return lambda columns: factor.solve(columns / size).astype(np.float64)


def factored(a: np.ndarray) -> np.ndarray | None:
    """The upper factor in place of a symmetric matrix, or None if it is not positive definite in floating point."""
    try:
        if len(a) > LARGEST:
            return factor_by_blocks(a.T)
        # The transpose is the same matrix in LAPACK's order of numbers, so that nothing is copied.
        return cho_factor(a.T, overwrite_a=True, check_finite=False)[0]
    except LinAlgError:
        return None


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


def solve_by_blocks(upper: np.ndarray, columns: np.ndarray, size: int = BLOCK) -> np.ndarray:
    """R'R x = c, forwards through the rows of R' and backwards through those of R."""
    x = forwards(upper, np.array(columns, dtype=upper.dtype), size)
    for start in reversed(range(0, len(x), size)):
        here, done = slice(start, start + size), slice(start + size, None)
        x[here] = solve_triangular(upper[here, here], x[here] - upper[here, done] @ x[done], check_finite=False)
    return x


def forwards(upper: np.ndarray, x: np.ndarray, size: int = BLOCK) -> np.ndarray:
    """R'^-1 x in the place of x."""
    for start in range(0, len(x), size):
        here, done = slice(start, start + size), slice(0, start)
        left = x[here] - upper[done, here].T @ x[done]
        x[here] = solve_triangular(upper[here, here], left, trans="T", check_finite=False)
    return x


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

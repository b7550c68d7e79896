"""Cholesky factors of G + alpha I: in float64, or in float32 for half the time and memory; large ones by blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky, solve_triangular

from ..ops import threads

LARGEST, BLOCK = 12_000, 2_048  # rows that LAPACK is given at once: with threads it has crashed at 20,000


@dataclass(frozen=True)
class Factor:
    """R of A = scale R'R, in the upper triangle of a matrix; what stands below means nothing."""

    upper: np.ndarray
    scale: float = 1.0

    def solve(self, columns: np.ndarray) -> np.ndarray:
        """A^-1 times these columns, or one column."""
        # In the factor's own precision, or one of float32 would be copied to float64.
        columns = np.asarray(columns / self.scale, dtype=self.upper.dtype)
        if len(self.upper) > LARGEST:
            x = solve_by_blocks(self.upper, columns)
        else:
            x = cho_solve((self.upper, False), columns, check_finite=False)
        return x.astype(np.float64, copy=False)

    def half_solve(self, columns: np.ndarray) -> np.ndarray:
        """R'^-1 times these columns over the root of the scale; their squared lengths are c'A^-1 c."""
        columns = np.asarray(columns / np.sqrt(self.scale), dtype=self.upper.dtype)
        if len(self.upper) > LARGEST:
            x = forwards(self.upper, columns)
        else:
            x = solve_triangular(self.upper, columns, trans="T", check_finite=False)
        return x.astype(np.float64, copy=False)

    def leading(self, rows: int) -> Factor:
        """The factor of the leading rows and columns of A."""
        return Factor(self.upper[:rows, :rows], self.scale)

    @property
    def log_determinant(self) -> float:
        return 2.0 * float(np.sum(np.log(np.diagonal(self.upper)))) + len(self.upper) * float(np.log(self.scale))


def factor_gram(gram: np.ndarray, alpha: float) -> Factor | None:
    """The factor of G + alpha I, or None if it is not positive definite in floating point."""
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


def rough_factor(gram: np.ndarray, alpha: float, room: np.ndarray | None = None) -> Factor | None:
    """The same in float32, made in `room`; it may be noise: only the residual that it leads to can tell."""
    size = float(np.trace(gram)) / max(len(gram), 1)
    if not 0.0 < size < np.inf:
        return None
    rough = np.empty(gram.shape, dtype=np.float32) if room is None else room

    def scale(rows: slice) -> None:  # so that no number is too large
        np.multiply(gram[rows], 1.0 / size, out=rough[rows], casting="same_kind")

    threads.over_rows(scale, len(gram), 64)
    rough.flat[:: len(gram) + 1] += np.float32(alpha / size)
    upper = factored(rough)
    return None if upper is None else Factor(upper, size)


def factored(a: np.ndarray) -> np.ndarray | None:
    """The upper factor in place of a symmetric matrix, or None if it is not positive definite in floating point."""
    try:
        if len(a) > LARGEST:
            return factor_by_blocks(a.T)
        # The transpose is the same matrix in LAPACK's order of numbers, so that nothing is copied.
        return cho_factor(a.T, overwrite_a=True, check_finite=False)[0]
    except LinAlgError:
        return None


# ---- by blocks ----


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
    x = forwards(upper, columns, size)
    for start in reversed(range(0, len(x), size)):
        here, done = slice(start, start + size), slice(start + size, None)
        x[here] = solve_triangular(upper[here, here], x[here] - upper[here, done] @ x[done], check_finite=False)
    return x


def forwards(upper: np.ndarray, columns: np.ndarray, size: int = BLOCK) -> np.ndarray:
    """R'^-1 c."""
    x = np.array(columns, dtype=upper.dtype)
    for start in range(0, len(x), size):
        here, done = slice(start, start + size), slice(0, start)
        left = x[here] - upper[done, here].T @ x[done]
        x[here] = solve_triangular(upper[here, here], left, trans="T", check_finite=False)
    return x

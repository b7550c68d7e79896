"""Cholesky factors of G + alpha I, in float64, or in float32 for half the time and memory.

A factor is made some rows at a time, of which only the part from the diagonal on is kept: half of a square matrix, and
no call of LAPACK is ever large (with threads it has crashed on 20,000 rows).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg.blas import get_blas_funcs
from scipy.linalg.lapack import get_lapack_funcs

from ..ops import threads

ROWS = 768  # of a lot: enough for BLAS to be at its best


@dataclass(frozen=True)
class Factor:
    """R of A = scale R'R in lots of rows, the first column of a lot being that of its first row.

    They are in Fortran order, so that BLAS takes any columns of them where they are. Below the diagonal is rubbish.
    """

    lots: list[np.ndarray]
    scale: float = 1.0

    def solve(self, columns: np.ndarray) -> np.ndarray:
        """A^-1 times these columns, or one column."""
        parts = self._forwards(columns / self.scale)
        multiply, solve = self._functions()
        for k in reversed(range(len(parts))):
            lot, part = self.lots[k], parts[k]
            for j in range(k + 1, len(parts)):
                part = multiply(-1.0, self._columns(k, j), parts[j], beta=1.0, c=part, overwrite_c=1)
            parts[k] = solve(1.0, lot[:, : len(lot)], part, overwrite_b=1)
        return _joined(parts, columns)

    def half_solve(self, columns: np.ndarray) -> np.ndarray:
        """R'^-1 times these columns over the root of the scale; their squared lengths are c'A^-1 c."""
        return _joined(self._forwards(columns / np.sqrt(self.scale)), columns)

    def leading(self, rows: int) -> Factor:
        """The factor of the leading rows and columns of A."""
        kept = [(lot, rows - k * len(self.lots[0])) for k, lot in enumerate(self.lots)]
        return Factor([np.asfortranarray(lot[:left, :left]) for lot, left in kept if left > 0], self.scale)

    @property
    def diagonal(self) -> np.ndarray:
        return np.concatenate([np.zeros(0), *(np.diagonal(lot) for lot in self.lots)])

    @property
    def log_determinant(self) -> float:
        diagonal = self.diagonal
        return 2.0 * float(np.sum(np.log(diagonal))) + len(diagonal) * float(np.log(self.scale))

    def _forwards(self, columns: np.ndarray) -> list[np.ndarray]:
        """R'^-1 times columns, as many rows at a time as the lots have."""
        multiply, solve = self._functions()
        columns = columns if columns.ndim == 2 else columns[:, None]
        parts: list[np.ndarray] = []
        for k, lot in enumerate(self.lots):
            start = k * len(self.lots[0])
            part = np.array(columns[start : start + len(lot)], dtype=lot.dtype, order="F")
            for j, done in enumerate(parts):
                part = multiply(-1.0, self._columns(j, k), done, beta=1.0, c=part, trans_a=1, overwrite_c=1)
            parts.append(solve(1.0, lot[:, : len(lot)], part, trans_a=1, overwrite_b=1))
        return parts

    def _columns(self, lot: int, other: int) -> np.ndarray:
        """The columns of a lot that another one begins with."""
        start = (other - lot) * len(self.lots[0])
        return self.lots[lot][:, start : start + len(self.lots[other])]

    def _functions(self) -> Any:
        return get_blas_funcs(("gemm", "trsm"), dtype=self.lots[0].dtype if self.lots else np.float64)


def _joined(parts: list[np.ndarray], like: np.ndarray) -> np.ndarray:
    """In float64, in the shape of `like`."""
    return np.concatenate([np.zeros(0), *(part.ravel() for part in parts)]).reshape(like.shape)


def factor_gram(gram: np.ndarray, alpha: float) -> Factor | None:
    """The factor of G + alpha I, or None if it is not positive definite in floating point."""
    factor = _factored(gram, alpha, 1.0, np.float64)
    if factor is None:
        return None
    pivots = factor.diagonal
    # A pivot at rounding level means that the factor is noise: the matrix is singular to working precision.
    if len(pivots) and pivots.min() ** 2 <= 4 * len(gram) * np.finfo(float).eps * pivots.max() ** 2:
        return None
    return factor


def rough_factor(gram: np.ndarray, alpha: float) -> Factor | None:
    """The same in float32; it may be noise: only the residual that it leads to can tell."""
    size = float(np.trace(gram)) / max(len(gram), 1)
    return _factored(gram, alpha, size, np.float32) if 0.0 < size < np.inf else None


def _factored(gram: np.ndarray, alpha: float, scale: float, dtype: Any) -> Factor | None:
    """Of (G + alpha I)/scale: each lot, once it is made, is taken out of those below."""
    (multiply, solve), factor = get_blas_funcs(("gemm", "trsm"), dtype=dtype), get_lapack_funcs("potrf", dtype=dtype)
    made = Factor([_scaled(gram, start, alpha, scale, dtype) for start in range(0, len(gram), ROWS)], scale)
    for k, lot in enumerate(made.lots):
        rows = len(lot)
        if factor(lot[:, :rows], clean=0, overwrite_a=1)[1]:
            return None
        if rows < lot.shape[1]:
            solve(1.0, lot[:, :rows], lot[:, rows:], trans_a=1, overwrite_b=1)
        for j, below in enumerate(made.lots[k + 1 :], k + 1):
            right = lot[:, lot.shape[1] - below.shape[1] :]
            multiply(-1.0, made._columns(k, j), right, beta=1.0, c=below, trans_a=1, overwrite_c=1)
    return made


def _scaled(gram: np.ndarray, start: int, alpha: float, scale: float, dtype: Any) -> np.ndarray:
    """A lot of rows of (G + alpha I)/scale from the diagonal on: for G is symmetric, as many columns of it, turned."""
    columns = gram[start:, start : start + ROWS]
    turned = np.empty(columns.shape, dtype=dtype)

    def take(rows: slice) -> None:
        np.multiply(columns[rows], 1.0 / scale, out=turned[rows], casting="same_kind")

    threads.over_rows(take, len(turned), 64)
    turned[: columns.shape[1]].flat[:: columns.shape[1] + 1] += np.asarray(alpha / scale, dtype=dtype)
    return turned.T

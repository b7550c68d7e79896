"""Cholesky factors of G + alpha I, in float64, or in float32 for half the time and memory.

A factor is made some rows at a time, of which only the part from the diagonal on is kept: half of a large matrix, and
no call of LAPACK is ever large (with threads it has crashed on 20,000 rows).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg.blas import get_blas_funcs
from scipy.linalg.lapack import get_lapack_funcs

from ..ops import threads

TILE = 512  # columns that are the work of one thread
ROWS = 768  # of a lot: enough for BLAS to be at its best


@dataclass(frozen=True, eq=False)
class Factor:
    """R of A = scale R'R in lots of rows, the first column of a lot being that of its first row.

    They are in Fortran order, so that BLAS takes any columns of them where they are. Below the diagonal is rubbish.
    """

    lots: list[np.ndarray] = field(repr=False)
    scale: float = 1.0

    def solve(self, columns: np.ndarray) -> np.ndarray:
        """A^-1 times these columns, or one column."""
        size = _largest(columns)
        parts = self._forwards(columns, size)
        multiply, divide = _products(self.lots)
        for k in reversed(range(len(parts))):
            for j in range(k + 1, len(parts)):
                parts[k] = multiply(-1.0, self.columns(k, j), parts[j], beta=1.0, c=parts[k], overwrite_c=1)
            parts[k] = divide(1.0, self.columns(k, k), parts[k], overwrite_b=1)
        return _joined(parts, size / self.scale, columns)

    def half_solve(self, columns: np.ndarray) -> np.ndarray:
        """R'^-1 times these columns over the root of the scale; their squared lengths are c'A^-1 c."""
        size = _largest(columns)
        return _joined(self._forwards(columns, size), size / np.sqrt(self.scale), columns)

    def leading(self, rows: int) -> Factor:
        """The factor of the leading rows and columns of A."""
        kept = [(lot, rows - k * len(self.lots[0])) for k, lot in enumerate(self.lots)]
        return Factor([np.asfortranarray(lot[:left, :left]) for lot, left in kept if left > 0], self.scale)

    def columns(self, lot: int, other: int) -> np.ndarray:
        """The columns of a lot that another one, or itself, begins with."""
        start = (other - lot) * len(self.lots[0])
        return self.lots[lot][:, start : start + len(self.lots[other])]

    @property
    def diagonal(self) -> np.ndarray:
        return np.concatenate([np.zeros(0), *(np.diagonal(lot) for lot in self.lots)])

    @property
    def smallest_pivot(self) -> float:
        """The smallest squared number of the diagonal, in proportion to the largest; NaN if one of them is."""
        pivots = self.diagonal**2
        return float(pivots.min() / pivots.max()) if len(pivots) else 1.0

    @property
    def log_determinant(self) -> float:
        diagonal = self.diagonal
        return 2.0 * float(np.sum(np.log(diagonal))) + len(diagonal) * float(np.log(self.scale))

    def _forwards(self, columns: np.ndarray, size: np.ndarray) -> list[np.ndarray]:
        """R'^-1 times columns over their sizes, as many rows at a time as the lots have."""
        multiply, divide = _products(self.lots)
        parts: list[np.ndarray] = []
        for k, lot in enumerate(self.lots):
            start = k * len(self.lots[0])
            rows = columns[start : start + len(lot)]
            part = np.array((rows if rows.ndim == 2 else rows[:, None]) / size, dtype=lot.dtype, order="F")
            for j, done in enumerate(parts):
                part = multiply(-1.0, self.columns(j, k), done, beta=1.0, c=part, trans_a=1, overwrite_c=1)
            parts.append(divide(1.0, self.columns(k, k), part, trans_a=1, overwrite_b=1))
        return parts


def _products(lots: list[np.ndarray]) -> Any:
    """BLAS for a matrix times columns, and for a triangular one into columns."""
    return get_blas_funcs(("gemm", "trsm"), dtype=lots[0].dtype if lots else np.float64)


def _largest(columns: np.ndarray) -> np.ndarray:
    """The largest number of each column, by which it is divided: float32 would lose very small or large ones."""
    largest = np.abs(columns).max(axis=0, initial=0.0)
    return np.where((largest > 0.0) & np.isfinite(largest), largest, 1.0)


def _joined(parts: list[np.ndarray], size: np.ndarray, like: np.ndarray) -> np.ndarray:
    """The parts times the sizes of their columns, in float64 and in the shape of `like`; they are used up."""
    out, start = np.empty(like.shape), 0
    while parts:
        part = parts.pop(0)
        rows = out[start : start + len(part)]
        np.multiply(part.reshape(rows.shape), size, out=rows)
        start += len(part)
    return out


def factor_gram(gram: np.ndarray, alpha: float) -> Factor | None:
    """The factor of G + alpha I, or None if it is not positive definite in floating point."""
    factor = _factored(gram, alpha, 1.0, np.float64)
    # A pivot at rounding level means that the factor is noise: the matrix is singular to working precision.
    noise = 4 * len(gram) * np.finfo(float).eps
    return factor if factor is not None and factor.smallest_pivot > noise else None


def rough_factor(gram: np.ndarray, alpha: float) -> Factor | None:
    """The same in float32; it may be noise: only the residual that it leads to can tell."""
    size = float(np.trace(gram)) / max(len(gram), 1) + alpha
    return _factored(gram, alpha, size, np.float32) if 1e-300 < size < np.inf else None


def _factored(gram: np.ndarray, alpha: float, scale: float, dtype: Any) -> Factor | None:
    """Of (G + alpha I)/scale: each lot, once it is made, is taken out of those below."""
    with threads.blas_limited():
        return _factor_lots(gram, alpha, scale, dtype)


def _factor_lots(gram: np.ndarray, alpha: float, scale: float, dtype: Any) -> Factor | None:
    made = Factor([_scaled(gram, start, alpha, scale, dtype) for start in range(0, len(gram), ROWS)], scale)
    (multiply, divide), factorise = _products(made.lots), get_lapack_funcs("potrf", dtype=dtype)
    for k, lot in enumerate(made.lots):
        corner, right = made.columns(k, k), lot[:, len(lot) :]
        if factorise(corner, clean=0, overwrite_a=1)[1]:
            return None
        # Tiles of columns, each by one thread of BLAS: so the bits do not hang on how many there are.
        threads.run([partial(divide, 1.0, corner, tile, trans_a=1, overwrite_b=1) for tile in _tiles(right)])
        threads.run([
            partial(multiply, -1.0, made.columns(k, j), beyond, beta=1.0, c=tile, trans_a=1, overwrite_c=1)
            for j, below in enumerate(made.lots[k + 1 :], k + 1)
            for beyond, tile in zip(_tiles(lot[:, lot.shape[1] - below.shape[1] :]), _tiles(below), strict=True)
        ])  # fmt: skip
    return made


def _tiles(columns: np.ndarray) -> list[np.ndarray]:
    """Columns in tiles of as many as a lot has rows, at most."""
    return [columns[:, start : start + TILE] for start in range(0, columns.shape[1], TILE)]


def _scaled(gram: np.ndarray, start: int, alpha: float, scale: float, dtype: Any) -> np.ndarray:
    """A lot of rows of (G + alpha I)/scale from the diagonal on: for G is symmetric, as many columns of it, turned."""
    columns = gram[start:, start : start + ROWS]
    turned = np.empty(columns.shape, dtype=dtype)

    def take(rows: slice) -> None:
        np.multiply(columns[rows], 1.0 / scale, out=turned[rows], casting="same_kind")

    threads.over_rows(take, len(turned), 64)
    turned[: columns.shape[1]].flat[:: columns.shape[1] + 1] += np.asarray(alpha / scale, dtype=dtype)
    return turned.T

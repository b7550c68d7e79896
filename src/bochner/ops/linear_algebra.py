"""Dense linear algebra of symmetric matrices, by numpy and scipy: products, Cholesky factors, eigenvalues.

A factor is made some rows at a time, of which only the part from the diagonal on is kept: half of a large matrix, and
no call of LAPACK is ever large (with threads it has crashed on 20,000 rows).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

from ..arrays import Array
from . import threads
from .blas import divide_by_triangle, subtract_product
from .blas import product as tiled_product
from .dispatch import op

TILE = 512  # columns that are the work of one thread
SWEPT = 1024  # columns of a lot that a thread passes over at a time in a solution
ROWS = 384  # of a lot: enough for BLAS to be near its best, few enough for their corner, which one thread makes


@op
def symmetric_product(matrix: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """matrix (m, m) @ columns (m, k), both float64."""
    return np.asarray(tiled_product(matrix, np.ascontiguousarray(columns)))


@op
def eigh(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The eigenvalues of a symmetric matrix, ascending, and their vectors in columns."""
    values, vectors = scipy.linalg.eigh(matrix)
    return values, vectors


@op
def eigvalsh(matrix: np.ndarray) -> np.ndarray:
    """The eigenvalues of a symmetric matrix, ascending."""
    return np.linalg.eigvalsh(matrix)


@op
def shifted_solutions(matrices: np.ndarray, shifts: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """(A + s I)^-1 Y for each shift s and each of several symmetric A (t, n, n) with their Y (t, n, k), as (shifts, t,
    n, k): not numbers where A + s I is not positive definite."""
    found = np.full((len(shifts), *columns.shape), np.nan)
    for s, t in np.ndindex(found.shape[:2]):
        factor, failed = lapack.dpotrf(matrices[t] + shifts[s] * np.eye(matrices.shape[1]), lower=1)
        if not failed:
            found[s, t] = lapack.dpotrs(factor, columns[t], lower=1)[0]
    return found


# ---- Cholesky factors ----


class Factor(ABC):
    """R of A = scale R'R, upper triangular, in float64 or float32; what it solves is in float64."""

    scale: float

    @abstractmethod
    def solve(self, columns: Array) -> Array:
        """A^-1 times these columns, or one column."""

    @abstractmethod
    def half_solve(self, columns: Array) -> Array:
        """R'^-1 times these columns over the root of the scale; their squared lengths are c'A^-1 c."""

    @abstractmethod
    def leading(self, rows: int) -> Factor:
        """The factor of the leading rows and columns of A."""

    @property
    @abstractmethod
    def diagonal(self) -> Array:
        """The diagonal of R."""

    @property
    def smallest_pivot(self) -> float:
        """The smallest squared number of the diagonal, in proportion to the largest; NaN if one of them is."""
        pivots = self.diagonal**2
        return float(pivots.min() / pivots.max()) if len(pivots) else 1.0

    @property
    @abstractmethod
    def log_determinant(self) -> float:
        """log |A|."""


@op
def cholesky(matrix: np.ndarray, shift: float, scale: float, dtype: str) -> Factor | None:
    """The factor of matrix + shift I, made of that over `scale` in float64 or float32; None if it is not positive
    definite there. Each lot of rows, once it is made, is taken out of those below."""
    with threads.blas_limited():
        return _factor_lots(matrix, shift, scale, dtype)


def _factor_lots(matrix: np.ndarray, shift: float, scale: float, dtype: str) -> FactorInLots | None:
    lots = [_scaled(matrix, start, shift, scale, dtype) for start in range(0, len(matrix), ROWS)]
    return factor_in_place(FactorInLots(lots, scale))


def factor_in_place(made: FactorInLots) -> FactorInLots | None:
    """The factor of a matrix whose lots are given, in their place; None if it is not positive definite."""
    for k, lot in enumerate(made.lots):
        factorise = lapack.get_lapack_funcs("potrf", dtype=lot.dtype)
        corner, right = made.columns(k, k), lot[:, len(lot) :]
        if factorise(corner, clean=0, overwrite_a=1)[1]:
            return None
        # Tiles of columns, each by one thread of BLAS: so the bits do not hang on how many there are.
        threads.run([partial(divide_by_triangle, corner, tile) for tile in _tiles(right)])
        threads.run([
            partial(subtract_product, made.columns(k, j), beyond, tile)
            for j, below in enumerate(made.lots[k + 1 :], k + 1)
            for beyond, tile in zip(_tiles(lot[:, lot.shape[1] - below.shape[1] :]), _tiles(below), strict=True)
        ])  # fmt: skip
    return made


def _tiles(columns: np.ndarray) -> list[np.ndarray]:
    """Columns in tiles, each the work of one thread."""
    return [columns[:, start : start + TILE] for start in range(0, columns.shape[1], TILE)]


@dataclass(frozen=True, eq=False)
class FactorInLots(Factor):
    """A factor in lots of rows, the first column of a lot being that of its first row.

    They are in Fortran order, so that BLAS takes any columns of them where they are. Below the diagonal is rubbish.
    """

    lots: list[np.ndarray] = field(repr=False)
    scale: float = 1.0

    def solve(self, columns: Array) -> np.ndarray:
        size = _largest(columns)
        with threads.blas_limited():
            made = self._backwards(self._forwards(columns, size))
        return _enlarged(made, size / self.scale, columns)

    def half_solve(self, columns: Array) -> np.ndarray:
        size = _largest(columns)
        with threads.blas_limited():
            made = self._forwards(columns, size)
        return _enlarged(made, size / np.sqrt(self.scale), columns)

    def leading(self, rows: int) -> FactorInLots:
        kept = [(lot, rows - k * len(self.lots[0])) for k, lot in enumerate(self.lots)]
        return FactorInLots([np.asfortranarray(lot[:left, :left]) for lot, left in kept if left > 0], self.scale)

    def columns(self, lot: int, other: int) -> np.ndarray:
        """The columns of a lot that another one, or itself, begins with."""
        start = (other - lot) * len(self.lots[0])
        return self.lots[lot][:, start : start + len(self.lots[other])]

    @property
    def diagonal(self) -> np.ndarray:
        return np.concatenate([np.zeros(0), *(np.diagonal(lot) for lot in self.lots)])

    @property
    def log_determinant(self) -> float:
        diagonal = self.diagonal
        return 2.0 * float(np.sum(np.log(diagonal))) + len(diagonal) * float(np.log(self.scale))

    def _around(self, k: int, made: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of what is solved for, the rows of a lot, and those below; and what of the lot is right of its corner."""
        start, height = k * len(self.lots[0]), len(self.lots[k])
        return made[start : start + height], made[start + height :], self.lots[k][:, height:]

    def _divided(self, k: int, rows: np.ndarray, turned: bool) -> np.ndarray:
        found = np.array(rows, order="F")
        divide_by_triangle(self.columns(k, k), found, turned)
        return found

    def _forwards(self, columns: Array, size: np.ndarray) -> np.ndarray:
        """R'^-1 times columns over their sizes: what a lot has found is taken out of all rows below."""
        dtype = self.lots[0].dtype if self.lots else np.float64
        made = np.array((columns if columns.ndim == 2 else columns[:, None]) / size, dtype=dtype, order="C")
        for k in range(len(self.lots)):
            here, below, right = self._around(k, made)
            here[:] = self._divided(k, here, turned=True)
            threads.run([partial(_subtract, right, here, below, start) for start in range(0, len(below), SWEPT)])
        return made

    def _backwards(self, made: np.ndarray) -> np.ndarray:
        """R^-1 times what was made, in its place."""
        for k in reversed(range(len(self.lots))):
            here, below, right = self._around(k, made)
            parts: dict[int, np.ndarray] = {}
            threads.run([partial(_multiply, right, below, start, parts) for start in range(0, len(below), SWEPT)])
            for _, part in sorted(parts.items()):  # in order, so that the bits do not hang on threads
                here -= part
            here[:] = self._divided(k, here, turned=False)
        return made


def _subtract(right: np.ndarray, here: np.ndarray, below: np.ndarray, start: int) -> None:
    """What a lot has found, taken out of some rows below."""
    below[start : start + SWEPT] -= right[:, start : start + SWEPT].T @ here


def _multiply(right: np.ndarray, below: np.ndarray, start: int, parts: dict[int, np.ndarray]) -> None:
    """What some rows below have found, as the rows of a lot will have it."""
    parts[start] = right[:, start : start + SWEPT] @ below[start : start + SWEPT]


def _largest(columns: Array) -> np.ndarray:
    """The largest number of each column, by which it is divided: float32 would lose very small or large ones."""
    largest = np.abs(columns).max(axis=0, initial=0.0)
    return np.where((largest > 0.0) & np.isfinite(largest), largest, 1.0)


def _enlarged(made: np.ndarray, size: np.ndarray, like: Array) -> np.ndarray:
    """Columns times their sizes, in float64 and in the shape of `like`."""
    out = np.empty(like.shape)
    np.multiply(made.reshape(like.shape), size, out=out)
    return out


def _scaled(matrix: np.ndarray, start: int, shift: float, scale: float, dtype: str) -> np.ndarray:
    """A lot of rows of (A + shift I)/scale from the diagonal on: for A is symmetric, as many columns of it, turned."""
    columns = matrix[start:, start : start + ROWS]
    turned = np.empty(columns.shape, dtype=dtype)

    def take(rows: slice) -> None:
        np.multiply(columns[rows], 1.0 / scale, out=turned[rows], casting="same_kind")

    threads.over_rows(take, len(turned), threads.WORTH_PASSING // columns.shape[1])
    turned[: columns.shape[1]].flat[:: columns.shape[1] + 1] += np.asarray(shift / scale, dtype=dtype)
    return turned.T


# ---- all shifts of a matrix at once ----


class TridiagonalForm(ABC):
    """A = Q T Q', Q orthogonal, T tridiagonal or even diagonal: A + alpha I is solved in O(m) for every alpha."""

    eigenvalues: Array

    @abstractmethod
    def rotate(self, columns: Array) -> Array:
        """Q'C."""

    @abstractmethod
    def rotate_back(self, columns: Array) -> Array:
        """Q C."""

    @abstractmethod
    def solve(self, alpha: float, rotated: Array) -> Array:
        """(T + alpha I)^-1 times columns; LinAlgError if that is not positive definite."""


@op
def tridiagonal_form(matrix: np.ndarray) -> TridiagonalForm:
    """The form of a symmetric matrix of one row or more, in O(m^3)."""
    return ReducedForm(matrix)


class ReducedForm(TridiagonalForm):
    """By Householder reflections, which LAPACK keeps as they are."""

    def __init__(self, matrix: np.ndarray) -> None:
        if len(matrix) == 1:
            self._reflectors, self._diagonal, self._off = None, matrix[0].copy(), np.empty(0)
        else:
            work = int(lapack.dsytrd_lwork(len(matrix), lower=1)[0])
            reflectors, self._diagonal, self._off, tau, _ = lapack.dsytrd(matrix, lower=1, lwork=work)
            self._reflectors = np.asfortranarray(reflectors[1:, :-1]), tau
        few = len(matrix) == 1
        self.eigenvalues = self._diagonal if few else scipy.linalg.eigvalsh_tridiagonal(self._diagonal, self._off)

    def rotate(self, columns: Array) -> np.ndarray:
        return self._rotated(columns, "T")

    def rotate_back(self, columns: Array) -> np.ndarray:
        return self._rotated(columns, "N")

    def solve(self, alpha: float, rotated: Array) -> np.ndarray:
        if self._reflectors is None:
            return rotated / (self._diagonal + alpha)
        bands = np.zeros((2, len(self._diagonal)))
        bands[0, 1:], bands[1] = self._off, self._diagonal + alpha
        return scipy.linalg.solveh_banded(bands, rotated, check_finite=False)

    def _rotated(self, columns: Array, transposed: str) -> np.ndarray:
        """Q'C ("T") or Q C ("N"): the first row stays, the reflectors act on the others."""
        out = np.array(columns, dtype=np.float64, order="F")
        if self._reflectors is not None:
            reflectors, tau = self._reflectors
            rest = np.asfortranarray(out[1:])
            work = max(1, int(lapack.dormqr("L", transposed, reflectors, tau, rest, -1)[1][0]))
            out[1:] = lapack.dormqr("L", transposed, reflectors, tau, rest, work)[0]
        return out

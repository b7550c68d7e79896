"""The meaning of the ops that add up: Gram matrices, products with targets, scores. Sums of integers are exact."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg.blas import dsyrk, ssyrk

from . import blas
from .dispatch import op

LOT = 384  # columns of a triangle that are kept together, as factors have them
MANY_COLUMNS, STRIPE = 12_000, 2_048  # that BLAS is given at once: with threads it has crashed on 20,000


@op
def gram(z: np.ndarray, total: np.ndarray | None = None) -> np.ndarray:
    """Z'Z: int64 and exact for int8 and int16, float64 for floats; added in place to a symmetric `total`, if given.

    Exact because every partial sum is an integer that the float type holds: float32 for 1024 rows of int8, float64 for
    2^53 / 2^30 rows of int16. Only the upper triangle is computed, then mirrored. Float32 is summed in float64 too:
    small penalties live on digits that float32 sums would lose.
    """
    if total is not None:
        total += gram(z)
        return total
    if z.dtype.kind == "f":
        return mirrored(blas.upper_gram(z.astype(np.float64, copy=False)))
    rows, work, product = (1024, np.float32, ssyrk) if z.dtype == np.int8 else (1 << 22, np.float64, dsyrk)
    total = np.zeros((z.shape[1], z.shape[1]), dtype=np.int64, order="F")
    for start in range(0, len(z), rows):
        total += upper_gram(z[start : start + rows].astype(work), product).astype(np.int64)
    return mirrored(total)


@op
def add_to_triangle(z: np.ndarray, total: np.ndarray | None = None) -> np.ndarray:
    """Z'Z added in place to one triangle of a symmetric matrix (m, m), in lots of LOT columns from the diagonal on.

    `total` is flat: lot k is triangle_lots(total, m)[k], C-ordered (m - LOT k, LOT), the rows from LOT k on of columns
    LOT k, LOT k + 1, ... Above the diagonal of a lot are zeros. Integers must fit the type of the sums; those of a new
    triangle are int64, or float64 of floats.
    """
    if total is None:
        total = np.zeros(triangle_size(z.shape[1]), dtype=np.float64 if z.dtype.kind == "f" else np.int64)
    wide = z.astype(np.float64)
    for start, lot in zip(range(0, z.shape[1], LOT), triangle_lots(total, z.shape[1]), strict=True):
        lower = np.tril(wide[:, start:].T @ wide[:, start : start + LOT])
        lot += lower.astype(total.dtype)
    return total


def triangle_size(columns: int) -> int:
    """How many numbers one triangle of a matrix takes."""
    return sum((columns - start) * min(LOT, columns - start) for start in range(0, columns, LOT))


def triangle_lots(total: np.ndarray, columns: int) -> list[np.ndarray]:
    """The lots of a flat triangle, as views."""
    lots, place = [], 0
    for start in range(0, columns, LOT):
        shape = columns - start, min(LOT, columns - start)
        lots.append(total[place : place + shape[0] * shape[1]].reshape(shape))
        place += shape[0] * shape[1]
    return lots


@op
def float_gram(z: np.ndarray, rounded: bool, total: np.ndarray | None = None) -> np.ndarray:
    """Z'Z of float32 numbers, rounded to bfloat16 first if asked; added in place to `total`, as in gram.

    This is the sum in float64. A fast version may add up two thousand rows in float32 before, and take numbers too
    small for normal floats as zero: for sums that nothing is to be subtracted from or solved with at small penalties.
    """
    return gram(to_bfloat16(z) if rounded else z, total)


def to_bfloat16(z: np.ndarray) -> np.ndarray:
    """The nearest float32 numbers of 8 significant bits, halves to even."""
    bits = np.ascontiguousarray(z, dtype=np.float32).view(np.uint32)
    nearest = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(z), np.float32(np.nan), nearest.view(np.float32))


def upper_gram(z: np.ndarray, product: Callable[..., np.ndarray]) -> np.ndarray:
    """The upper triangle of Z'Z; of many columns a stripe at a time."""
    columns = z.shape[1]
    if columns <= MANY_COLUMNS:
        return product(1.0, z.T)
    upper = np.zeros((columns, columns), dtype=z.dtype, order="F")
    for start in range(0, columns, STRIPE):
        stripe = slice(start, start + STRIPE)
        upper[stripe, start:] = z[:, stripe].T @ z[:, start:]
    return upper


@op
def cross(z: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Z'Y: int64 and exact if both are integers of at most 16 bits, else float64.

    Float32 products of 1024 rows of 8-bit numbers are exact; other integers are multiplied in float64.
    """
    exact = z.dtype.kind == "i" and y.dtype.kind == "i"
    work = np.float32 if z.dtype == y.dtype == np.int8 else np.float64
    total = np.zeros((y.shape[1], z.shape[1]), dtype=np.int64 if exact else np.float64)
    for start in range(0, len(z), 1024):
        rows = slice(start, start + 1024)
        total += (y[rows].T.astype(work) @ z[rows].astype(work)).astype(total.dtype)  # Y'Z: turning z would take longer
    return np.ascontiguousarray(total.T)


@op
def normal_product(z: np.ndarray, v: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Z'W Z v of integer features, a float64 matrix v (m, k) and weights of the rows, or none: float64."""
    wide = z.astype(np.float64)
    image = wide @ v
    return wide.T @ (image if weight is None else image * weight[:, None])


@op
def scores(z: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Z W of features, dense or CSR, and few float columns; integers are multiplied in the precision of these."""
    if isinstance(z, np.ndarray) and z.dtype.kind == "i":
        z = z.astype(weights.dtype)
    return np.asarray(z @ weights)


def mirrored(upper: np.ndarray) -> np.ndarray:
    """A symmetric matrix from its upper triangle, a stripe at a time."""
    for start in range(0, len(upper), 512):
        stripe = slice(start, start + 512)
        upper[stripe, :start] = upper[:start, stripe].T
        corner = upper[stripe, stripe]
        corner[:] = np.triu(corner) + np.triu(corner, 1).T
    return upper

"""The meaning of every op, in numpy: slow, obvious, and the definition that the fast versions must equal.

`@op` declares an op by its definition; what it calls here are definitions too.

Float ops are defined up to rounding, except the Hadamard transform and Fastfood, whose order of additions is fixed.
Integer ops are defined bit for bit. Rows are independent in every op here, so any partition of them gives the same;
`reference_sums` has the ops that add up over rows or features.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import scipy.sparse

from .. import portable
from ..streams import Stream, philox, row_hashes
from .dispatch import op
from .reference_pictures import patches, pooled, standardize, threshold
from .reference_sums import add_to_triangle, cross, float_gram, gram, scores

# Defined with the streams that it feeds, and in rooms of their own.
__all__ = [
    "add_to_triangle", "cross", "float_gram", "gram", "patches", "philox", "pooled", "scores", "standardize",
    "threshold",
]  # fmt: skip

op(philox)
EXACT_TERMS = 256  # products of 8-bit numbers (each below 2^16) that float32 adds without rounding


class NotFiniteError(ValueError):
    """Rows that an op looked at hold NaN or infinity."""

    def __init__(self) -> None:
        super().__init__("X contains NaN or infinity; impute or drop such rows first.")


@op
def normal_int8(template: np.ndarray, key: tuple[int, int], start: int, stop: int, width: int) -> np.ndarray:
    """`Stream.normal_int8` of the stream with this key, beside the template: weights are drawn where rows are."""
    return Stream.of_key(key).normal_int8(start, stop, width)


@op
def row_words(x: np.ndarray) -> np.ndarray:
    """`streams.row_hashes`: 64 bits for each row, dense or CSR, that equal rows share; as int64, as torch has it."""
    return row_hashes(x).view(np.int64)


@op
def row_folds(x: np.ndarray, folds: int) -> np.ndarray:
    """The fold of each row, 0 to folds - 1, dense or CSR, by what the row holds: its hash modulo their number."""
    return (row_hashes(x) % np.uint64(folds)).astype(np.int64)


@op
def fwht(x: np.ndarray) -> np.ndarray:
    """H x along the last axis: the unnormalised Walsh-Hadamard transform in natural order, strides 1, 2, 4, ..."""
    shape, size = x.shape, x.shape[-1]
    x = x.reshape(-1, size).copy()
    stride = 1
    while stride < size:
        pairs = x.reshape(len(x), -1, 2, stride)
        low, high = pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]
        pairs[:, :, 0], pairs[:, :, 1] = low, high
        stride *= 2
    return x.reshape(shape)


@op
def fastfood(
    x: np.ndarray, signs: np.ndarray, permutation: np.ndarray, gaussian: np.ndarray, calibration: np.ndarray
) -> np.ndarray:
    """C H G Pi H B x for each of E expansions: x (n, d), weights (E, size), result (n, E size). d is padded to size."""
    expansions, size = signs.shape
    padded = np.zeros((len(x), size), dtype=x.dtype)
    padded[:, : x.shape[1]] = x
    out = np.empty((len(x), expansions, size), dtype=x.dtype)
    for e in range(expansions):
        mixed = fwht(padded * signs[e].astype(x.dtype))[:, permutation[e]]
        out[:, e] = fwht(mixed * gaussian[e]) * calibration[e]
    return out.reshape(len(x), -1)


@op
def maxout(projections: np.ndarray, pool_size: int) -> np.ndarray:
    """The largest of each `pool_size` neighbouring columns."""
    return projections.reshape(len(projections), projections.shape[1] // pool_size, pool_size).max(axis=2)


@op
def winners(projections: np.ndarray, pool_size: int) -> np.ndarray:
    """Which of each `pool_size` neighbouring columns is largest, the first of equals; int32."""
    return projections.reshape(len(projections), -1, pool_size).argmax(axis=2).astype(np.int32)


@op
def gates(winners: np.ndarray, through: np.ndarray, pool_size: int) -> np.ndarray:
    """through[i, u] in column pool_size u + winners[i, u], and zero in the others."""
    out = np.zeros((*winners.shape, pool_size), dtype=through.dtype)
    np.put_along_axis(out, winners[:, :, None], through[:, :, None], axis=2)
    return out.reshape(len(winners), -1)


@op
def stumps(x: np.ndarray, coordinates: np.ndarray, thresholds: np.ndarray, height: np.number) -> np.ndarray:
    """+height where x[:, coordinate] > threshold, else -height; in the dtype of height. x must be finite."""
    if not np.isfinite(x).all():
        raise NotFiniteError
    return np.where(x[:, coordinates] > thresholds, height, -height)


@op
def cells(x: np.ndarray, coordinates: np.ndarray, thresholds: np.ndarray, flips: np.ndarray) -> np.ndarray:
    """The cell of each row in each of T trees, int32: bit j tells whether x[coordinate] > threshold in comparison j,
    and is turned where `flips` has that bit. coordinates, thresholds (T, depth); flips (T,)."""
    out = np.repeat(flips[None].astype(np.int32), len(x), axis=0)
    for j in range(coordinates.shape[1]):
        out ^= (x[:, coordinates[:, j]] > thresholds[:, j]).astype(np.int32) << j
    return out


@op
def matches(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """In how many columns each row of a equals each row of b; int32."""
    return np.array([(row == b).sum(axis=1) for row in a], dtype=np.int32).reshape(len(a), len(b))


@op
def distances(x: np.ndarray, z: np.ndarray, p: float) -> np.ndarray:
    """|x - z|_p of every row of x (n, d) and every row of z (m, d), as (n, m); or of those of several tables, (t, n, d)
    and (t, m, d), as (t, n, m). Columns are added up in their order."""
    total = np.zeros((*x.shape[:-1], z.shape[-2]), dtype=np.result_type(x, z))
    for column, other in zip(np.moveaxis(x, -1, 0), np.moveaxis(z, -1, 0), strict=True):
        total += np.abs(column[..., :, None] - other[..., None, :]) ** p
    found: np.ndarray = total ** (1.0 / p)
    return found


@op
def cos_sin(
    projections: np.ndarray, phases: np.ndarray, height: np.number, out: np.ndarray | None = None
) -> np.ndarray:
    """height cos p, height sin p in neighbouring columns; with one phase b more projection at the end: cos(p + b)."""
    pairs = projections.shape[1] - len(phases)
    if out is None:
        out = np.empty((len(projections), 2 * pairs + len(phases)), dtype=projections.dtype)
    # cos and sin of contiguous numbers are vectorised; writing straight into every other column would not be.
    np.multiply(np.cos(projections[:, :pairs]), height, out=out[:, 0 : 2 * pairs : 2])
    np.multiply(np.sin(projections[:, :pairs]), height, out=out[:, 1 : 2 * pairs : 2])
    np.multiply(np.cos(projections[:, pairs:] + phases), height, out=out[:, 2 * pairs :])
    return out


@op
def bins(x: np.ndarray, shift: np.ndarray, pitch: np.ndarray, multipliers: np.ndarray, columns: int) -> np.ndarray:
    """The hashed cell of each row in each of P grids, as 2 column + (1 if the sign is +).

    shift, pitch (P, d); multipliers uint64 (P, d + 1). Cell coordinates floor((x - shift)/pitch) modulo 2^32 are hashed
    by the top half of a_0 + sum_k a_k c_k modulo 2^64, which is strongly universal (pairs of cells are independent).
    """
    out = np.empty((len(x), len(shift)), dtype=np.int64)
    for grid in range(len(shift)):
        cell = np.clip(np.floor((x.astype(np.float64) - shift[grid]) / pitch[grid]), -(2.0**62), 2.0**62)
        cell = cell.astype(np.int64).astype(np.uint64) & np.uint64(0xFFFFFFFF)
        code = ((cell * multipliers[grid, 1:]).sum(axis=1, dtype=np.uint64) + multipliers[grid, 0]) >> np.uint64(32)
        column = ((code >> np.uint64(1)) * np.uint64(columns)) >> np.uint64(31)
        out[:, grid] = 2 * column + (code & np.uint64(1))
    return out


@op
def binned(cells: np.ndarray, columns: int, height: np.number) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rows that such cells make, as data, indices and indptr of a CSR matrix: in each column the sum of its signs,
    times height; int8 saturates. Columns ascend, and a sum of zero is kept."""
    n, grids = cells.shape
    signs = (2 * (cells & 1) - 1).astype(np.int32).ravel()
    matrix = scipy.sparse.csr_matrix((signs, (cells >> 1).ravel(), np.arange(0, n * grids + 1, grids)), (n, columns))
    matrix.sum_duplicates()
    sums = np.clip(matrix.data, -127, 127) if height.dtype.kind == "i" else matrix.data
    return sums.astype(height.dtype) * height, matrix.indices, matrix.indptr


@op
def quantize(x: np.ndarray, center: np.ndarray, step: float, low: int, high: int) -> np.ndarray:
    """round((x - center) / step), halves to even, saturated: int8, or uint8 if `low` is 0."""
    codes = np.rint((x.astype(np.float64) - center) / step)
    return np.clip(codes, low, high).astype(np.uint8 if low == 0 else np.int8)


@op
def project(x: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """x W' in int32, exact in any order: x is int8 or uint8 (n, d), W is int8 (m, d).

    Float32 products of chunks of 256 columns are exact (every partial sum is an integer below 2^24).
    """
    out = np.zeros((len(x), len(directions)), dtype=np.int32)
    for start in range(0, x.shape[1], EXACT_TERMS):
        chunk = slice(start, start + EXACT_TERMS)
        out += (x[:, chunk].astype(np.float32) @ directions[:, chunk].astype(np.float32).T).astype(np.int32)
    return out


@op
def project_phase(x: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
    """x F' modulo 2^32, as uint32: x is int8 or uint8, F uint32 (m, d) in units of 2^-32 turns.

    The two 16-bit halves of F are multiplied in float64, where every partial sum is an integer below 2^53.
    """
    wide = x.astype(np.float64)
    low = (wide @ (frequencies & 0xFFFF).astype(np.float64).T).astype(np.int64)
    high = (wide @ (frequencies >> 16).astype(np.float64).T).astype(np.int64)
    return ((low + (high << 16)) & 0xFFFFFFFF).astype(np.uint32)


@op
def phase(projections: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
    """Phase in units of 2^-32 turns, P M modulo 2^32: the wrap is the range reduction. P int32, M uint32 per column."""
    return projections.view(np.uint32) * multipliers


@lru_cache(maxsize=4)
def cosine_table(index_bits: int, amplitude: int) -> np.ndarray:
    """round(amplitude cos(2 pi k / 2^bits)), an integer table, the same everywhere."""
    turns = np.arange(1 << index_bits) / (1 << index_bits)
    dtype = np.int8 if amplitude <= 127 else np.int16
    return np.rint(amplitude * portable.cosine_of_turns(turns)).astype(dtype)


@op
def cos_sin_integer(phases: np.ndarray, offsets: np.ndarray, table: np.ndarray) -> np.ndarray:
    """`cos_sin` from uint32 phases: round to the table's index bits, look up; sine is the table three quarters on."""
    bits = len(table).bit_length() - 1
    pairs, mask = phases.shape[1] - len(offsets), np.uint32(len(table) - 1)
    phases = phases.copy()
    phases[:, pairs:] += offsets
    index = ((phases + np.uint32(1 << (31 - bits))) >> np.uint32(32 - bits)) & mask
    out = np.empty((len(phases), 2 * pairs + len(offsets)), dtype=table.dtype)
    out[:, 0 : 2 * pairs : 2] = table[index[:, :pairs]]
    out[:, 1 : 2 * pairs : 2] = table[(index[:, :pairs] + np.uint32(3 * len(table) // 4)) & mask]
    out[:, 2 * pairs :] = table[index[:, pairs:]]
    return out


@op
def fastfood_integer(
    x: np.ndarray, signs: np.ndarray, permutation: np.ndarray, gaussian: np.ndarray, shift: int
) -> np.ndarray:
    """H round((G Pi H B x) / 2^shift) in int32: x int8 or uint8 (n, d), gaussian int8; the caller bounds the sums."""
    expansions, size = signs.shape
    padded = np.zeros((len(x), size), dtype=np.int32)
    padded[:, : x.shape[1]] = x
    half = np.int32((1 << shift) >> 1)
    out = np.empty((len(x), expansions, size), dtype=np.int32)
    for e in range(expansions):
        mixed = fwht(padded * signs[e].astype(np.int32))[:, permutation[e]] * gaussian[e].astype(np.int32)
        out[:, e] = fwht((mixed + half) >> shift)
    return out.reshape(len(x), -1)


@op
def calibrate(values: np.ndarray, multipliers: np.ndarray, shift: int) -> np.ndarray:
    """round(v multiplier / 2^shift), halves upwards, with a multiplier per column; int32."""
    return ((values.astype(np.int64) * multipliers + (1 << (shift - 1))) >> shift).astype(np.int32)


@op
def rescale(values: np.ndarray, multiplier: int, shift: int, limit: int) -> np.ndarray:
    """Fixed point: round(v multiplier / 2^shift), halves upwards, saturated at +-limit; int8, or int16 past 127."""
    scaled = (values.astype(np.int64) * multiplier + (1 << (shift - 1))) >> shift
    return np.clip(scaled, -limit, limit).astype(np.int8 if limit <= 127 else np.int16)


@op
def largest_chosen(values: np.ndarray, choices: np.ndarray) -> np.ndarray:
    """max_j values[:, choices[:, j]]: of each row the largest of q chosen columns, for each of m choices (m, q)."""
    best = values[:, choices[:, 0]]
    for j in range(1, choices.shape[1]):
        np.maximum(best, values[:, choices[:, j]], out=best)
    return best


@op
def lookup(values: np.ndarray, multiplier: int, shift: int, offsets: np.ndarray, table: np.ndarray) -> np.ndarray:
    """table[round((v multiplier + offset) / 2^shift) + half the table's length], saturated at its ends."""
    index = (values.astype(np.int64) * multiplier + offsets + (1 << (shift - 1))) >> shift
    return table[np.clip(index + len(table) // 2, 0, len(table) - 1)]


# ---- several of the above in one: fast versions do the second while the tile of the first is in cache ----


@op
def dense_cos_sin(
    x: np.ndarray, directions: np.ndarray, phases: np.ndarray, height: np.number, out: np.ndarray | None = None
) -> np.ndarray:
    """Cosines and sines of float projections; x may be sparse."""
    return cos_sin(np.asarray(x @ directions.T), phases, height, out)


@op
def dense_maxout(
    x: np.ndarray,
    directions: np.ndarray,
    pool_size: int,
    centre: np.ndarray,
    scale: np.number,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """The largest of each pool of float projections less the row's centre, times `scale`; x may be sparse."""
    best = maxout(np.asarray(x @ directions.T), pool_size)
    best -= centre[:, None]
    return np.multiply(best, scale, out=best if out is None else out)


@op
def dense_winners(x: np.ndarray, directions: np.ndarray, pool_size: int) -> np.ndarray:
    return winners(np.asarray(x @ directions.T), pool_size)


@op
def fastfood_cos_sin(
    x: np.ndarray,
    signs: np.ndarray,
    permutation: np.ndarray,
    gaussian: np.ndarray,
    calibration: np.ndarray,
    kept: int,
    phases: np.ndarray,
    height: np.number,
) -> np.ndarray:
    """Cosines and sines of the first `kept` structured projections."""
    return cos_sin(fastfood(x, signs, permutation, gaussian, calibration)[:, :kept], phases, height)


@op
def fastfood_cos_sin_integer(
    x: np.ndarray,
    signs: np.ndarray,
    permutation: np.ndarray,
    gaussian: np.ndarray,
    shift: int,
    multipliers: np.ndarray,
    kept: int,
    offsets: np.ndarray,
    table: np.ndarray,
) -> np.ndarray:
    projections = fastfood_integer(x, signs, permutation, gaussian, shift)
    return cos_sin_integer(phase(projections, multipliers)[:, :kept], offsets, table)


@op
def project_cos_sin(
    x: np.ndarray, directions: np.ndarray, multipliers: np.ndarray, offsets: np.ndarray, table: np.ndarray
) -> np.ndarray:
    return cos_sin_integer(phase(project(x, directions), multipliers), offsets, table)


@op
def project_maxout(
    x: np.ndarray, directions: np.ndarray, pool_size: int, centre: np.ndarray, multiplier: int, shift: int, limit: int
) -> np.ndarray:
    """The largest of each pool of projections less the row's centre, rescaled."""
    return rescale(maxout(project(x, directions), pool_size) - centre[:, None], multiplier, shift, limit)


@op
def project_winners(x: np.ndarray, directions: np.ndarray, pool_size: int) -> np.ndarray:
    return winners(project(x, directions), pool_size)


@op
def project_lookup(
    x: np.ndarray, directions: np.ndarray, multiplier: int, shift: int, offsets: np.ndarray, table: np.ndarray
) -> np.ndarray:
    return lookup(project(x, directions), multiplier, shift, offsets, table)


@op
def project_threshold(x: np.ndarray, directions: np.ndarray, shift: int, least: int, limit: int) -> np.ndarray:
    return threshold(project(x, directions), shift, least, limit)


@op
def pooled_threshold(
    x: np.ndarray,
    directions: np.ndarray,
    shift: int,
    least: int,
    limit: int,
    cells: np.ndarray,
    grid: int,
    largest: bool,
) -> np.ndarray:
    """Thresholds of projected patches, pooled."""
    return pooled(project_threshold(x, directions, shift, least, limit), cells, grid, largest)


@op
def pooled_maxout(
    x: np.ndarray,
    directions: np.ndarray,
    pool_size: int,
    centre: np.ndarray,
    multiplier: int,
    shift: int,
    limit: int,
    cells: np.ndarray,
    grid: int,
    largest: bool,
) -> np.ndarray:
    """Maxout of projected patches, pooled."""
    return pooled(project_maxout(x, directions, pool_size, centre, multiplier, shift, limit), cells, grid, largest)

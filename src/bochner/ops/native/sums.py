"""Gram matrices, exact ones of integers and quick ones of float32 numbers; integer features times few columns."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from .. import threads
from ..reference_sums import triangle_size
from ..threads import over_rows, run
from .backend import FEATURES, FLOATS, serves
from .instruction_sets import _native

MOST_ROWS = 1 << 14  # whose products of 8-bit numbers add up to less than 2^31
MOST_COLUMNS = 64  # that are few: with more, BLAS is faster
PRODUCTS = 1 << 19  # that are worth a thread
FLOAT_ROWS = 1 << 13  # that are packed at once
MOST_OF_14 = 8191  # the largest number of 14 bits


def _takes(total: np.ndarray | None, dtype: DTypeLike, columns: int) -> bool:
    """Whether sums can be added to `total` where it is."""
    return total is None or (total.dtype == dtype and total.flags.c_contiguous and total.shape == (columns, columns))


def _fits(z: np.ndarray, total: np.ndarray | None = None) -> bool:
    """Whether integers are of 8 or 14 bits, and can be added to `total`."""
    small = z.dtype == np.int8 or (z.max(initial=0) <= MOST_OF_14 and z.min(initial=0) >= -MOST_OF_14)
    return small and _takes(total, np.int64, z.shape[1])


def _has_few(z: np.ndarray, others: np.ndarray) -> bool:
    """Whether there are few enough columns for the kernels of such products."""
    return others.ndim == 2 and others.shape[1] <= MOST_COLUMNS


@serves(dtypes=FEATURES, when=_fits, note=f"int16 within {MOST_OF_14}; added to C-ordered int64")
def gram(z: np.ndarray, total: np.ndarray | None = None) -> np.ndarray:
    # Of 14 bits z = 128 h + l, and h l' + l h' = (h + l)(h + l)' - h h' - l l'.
    parts = [(0, 1)] if z.dtype == np.int8 else [(0, 2**14 - 2**7), (1, 1 - 2**7), (2, 2**7)]
    if total is None:
        total = np.zeros((z.shape[1], z.shape[1]), dtype=np.int64)
    lots = [(start, *part) for start in range(0, len(z), MOST_ROWS) for part in parts]
    for start, part, coefficient in lots:
        rows = np.ascontiguousarray(z[start : start + MOST_ROWS])
        _add_gram(rows, part, coefficient, (start, part, coefficient) == lots[-1], total)
    return total


@serves(
    dtypes=("int8",),
    when=lambda z, total=None: total is None or total.dtype in (np.int32, np.int64),
    note="added to int32 or int64",
)
def add_to_triangle(z: np.ndarray, total: np.ndarray | None = None) -> np.ndarray:
    if total is None:
        total = np.zeros(triangle_size(z.shape[1]), dtype=np.int64)
    for start in range(0, len(z), MOST_ROWS):
        rows = np.ascontiguousarray(z[start : start + MOST_ROWS])
        words, sums, block = _packed(rows, 0)
        _by_blocks(z.shape[1], block, partial(_native.gram_to_triangle, words, sums, *rows.shape, triangle=total))
    return total


def _add_gram(z: np.ndarray, part: int, coefficient: int, last: bool, total: np.ndarray) -> None:
    """The upper triangle of total += coefficient Z'Z; with `last`, the lower one too."""
    words, sums, block = _packed(z, part)
    _by_blocks(z.shape[1], block, lambda b: _native.gram_block(words, sums, len(z), b, coefficient, last, total))


def _packed(z: np.ndarray, part: int) -> tuple[np.ndarray, np.ndarray, int]:
    """The numbers in words, as both factors of a block have them; their sums over rows; and the size of a block."""
    panel, block, size = _native.gram_sizes(*z.shape)
    panels = -(-z.shape[1] // panel)
    words, sums = _on_lines(size, np.int32), np.empty(panels * panel, dtype=np.int32)
    over_rows(lambda p: _native.gram_pack(z, part, p.start, p.stop, words, sums), panels, 1)
    return words, sums, block


@serves(
    dtypes=FEATURES,
    when=lambda z, y: y.dtype == np.int8 and _has_few(z, y),
    note=f"times int8 of at most {MOST_COLUMNS} columns",
)
def cross(z: np.ndarray, y: np.ndarray) -> np.ndarray:
    z, y = np.ascontiguousarray(z), np.ascontiguousarray(y)
    turned = np.empty((y.shape[1], z.shape[1]), dtype=np.int64)
    over_rows(
        lambda part: _native.cross(z, y, part.start, part.stop, turned), z.shape[1], 64 + PRODUCTS // max(y.size, 1)
    )
    return np.ascontiguousarray(turned.T)


@serves(
    dtypes=FEATURES,
    when=lambda z, weights: weights.dtype.name in FLOATS and _has_few(z, weights),
    note=f"times floats of at most {MOST_COLUMNS} columns",
)
def scores(z: np.ndarray, weights: np.ndarray) -> np.ndarray:
    z, weights = np.ascontiguousarray(z), np.ascontiguousarray(weights)
    out = np.empty((len(z), weights.shape[1]), dtype=weights.dtype)
    over_rows(lambda part: _native.scores(z[part], weights, out[part]), len(z), 1 + PRODUCTS // max(weights.size, 1))
    return out


@serves(
    dtypes=("float32",),
    when=lambda z, rounded, total=None: _takes(total, np.float64, z.shape[1]),
    note="added to C-ordered float64",
)
def float_gram(z: np.ndarray, rounded: bool, total: np.ndarray | None = None) -> np.ndarray:
    if total is None:
        total = np.zeros((z.shape[1], z.shape[1]))
    room = _on_lines(_native.float_gram_sizes(min(len(z), FLOAT_ROWS), z.shape[1], rounded)[2], np.float32)
    for start in range(0, len(z), FLOAT_ROWS):
        rows, last = np.ascontiguousarray(z[start : start + FLOAT_ROWS]), start + FLOAT_ROWS >= len(z)
        _add_float_gram(rows, rounded, last, total, room)
    return total


def _add_float_gram(z: np.ndarray, rounded: bool, last: bool, total: np.ndarray, room: np.ndarray) -> None:
    """The upper triangle of total += Z'Z; with `last`, the lower one too. Numbers are packed in `room`."""
    panel, block, size = _native.float_gram_sizes(*z.shape, rounded)
    words = room[:size]
    over_rows(lambda p: _native.float_gram_pack(z, rounded, p.start, p.stop, words), -(-z.shape[1] // panel), 1)
    _by_blocks(z.shape[1], block, lambda b: _native.float_gram_block(words, len(z), rounded, b, last, total))


def _by_blocks(columns: int, block: int, multiply: Callable[[np.ndarray], Any]) -> None:
    """Multiply all blocks (i, j) of columns on and above the diagonal, by all threads."""
    if not columns:
        return
    count = -(-columns // block)
    places = np.array([(i, j) for j in range(count) for i in range(j + 1)], dtype=np.int32).reshape(-1, 2)
    # More lots than threads, so that none waits long for the last.
    lots = np.array_split(places, min(len(places), 8 * threads.count()))
    run([partial(multiply, lot) for lot in lots])


def _on_lines(size: int, dtype: DTypeLike) -> np.ndarray:
    """Words of 32 bits that start on a cache line: a row of a tile that crosses two costs two loads."""
    room = np.empty(size + 16, dtype=dtype)
    start = -room.ctypes.data % 64 // 4
    return room[start : start + size]

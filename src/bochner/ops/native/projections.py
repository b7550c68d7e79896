"""Projections, with what follows while they are in cache: of float32 numbers, and exact ones of 8-bit numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import reference
from ..threads import over_rows
from .instruction_sets import PLAIN, _native, instruction_set
from .rows import ROWS, cos_sin, winners

PACKED_ROWS = 512  # whose float projections cost much more than packing the directions


# ---- projections of float32 ----


def projects(dtype: Any) -> bool:
    """Whether floats of that dtype are projected here: without wide registers, BLAS knows better ones."""
    return dtype == np.float32 and instruction_set() != PLAIN


def _can_project(x: Any, directions: np.ndarray) -> bool:
    """Whether x is dense, and has rows enough to pay for packing the directions."""
    is_dense = isinstance(x, np.ndarray) and x.dtype == directions.dtype
    return is_dense and projects(x.dtype) and len(x) >= PACKED_ROWS


def dense_cos_sin(
    x: Any, directions: np.ndarray, phases: np.ndarray, height: np.number, out: np.ndarray | None = None
) -> np.ndarray:
    if not _can_project(x, directions):
        return cos_sin(np.asarray(x @ directions.T), phases, height, out)
    x, directions = np.ascontiguousarray(x), np.ascontiguousarray(directions)
    phases = np.ascontiguousarray(phases, dtype=np.float32)
    made = np.empty((len(x), 2 * len(directions) - len(phases)), dtype=np.float32) if out is None else out

    def part(rows: slice) -> None:
        _native.dense_cos_sin(x[rows], directions, phases, height.item(), made[rows])

    over_rows(part, len(x), PACKED_ROWS)
    return made


def dense_maxout(
    x: Any,
    directions: np.ndarray,
    pool_size: int,
    centre: np.ndarray,
    scale: np.number,
    out: np.ndarray | None = None,
) -> np.ndarray:
    if not _can_project(x, directions):
        return reference.dense_maxout(x, directions, pool_size, centre, scale, out)
    x, directions, centre = map(np.ascontiguousarray, (x, directions, centre))
    made = np.empty((len(x), len(directions) // pool_size), dtype=np.float32) if out is None else out

    def part(rows: slice) -> None:
        _native.dense_maxout(x[rows], directions, pool_size, centre[rows], scale.item(), made[rows])

    over_rows(part, len(x), PACKED_ROWS)
    return made


def dense_winners(x: Any, directions: np.ndarray, pool_size: int) -> np.ndarray:
    if not _can_project(x, directions):
        return winners(np.asarray(x @ directions.T), pool_size)
    x, directions = np.ascontiguousarray(x), np.ascontiguousarray(directions)
    out = np.empty((len(x), len(directions) // pool_size), dtype=np.int32)
    over_rows(lambda rows: _native.dense_winners(x[rows], directions, pool_size, out[rows]), len(x), PACKED_ROWS)
    return out


# ---- projections of 8-bit numbers ----


def project(x: np.ndarray, directions: np.ndarray) -> np.ndarray:
    x, directions = np.ascontiguousarray(x), np.ascontiguousarray(directions)
    out = np.empty((len(x), len(directions)), dtype=np.int32)
    over_rows(lambda rows: _native.project(x[rows], directions, out[rows]), len(x), ROWS)
    return out


def project_winners(x: np.ndarray, directions: np.ndarray, pool_size: int) -> np.ndarray:
    x, directions = np.ascontiguousarray(x), np.ascontiguousarray(directions)
    out = np.empty((len(x), len(directions) // pool_size), dtype=np.int32)
    over_rows(lambda rows: _native.project_winners(x[rows], directions, pool_size, out[rows]), len(x), ROWS)
    return out


def project_cos_sin(
    x: np.ndarray, directions: np.ndarray, multipliers: np.ndarray, offsets: np.ndarray, table: np.ndarray
) -> np.ndarray:
    x, directions, multipliers, offsets, table = map(np.ascontiguousarray, (x, directions, multipliers, offsets, table))
    out = np.empty((len(x), 2 * len(directions) - len(offsets)), dtype=table.dtype)

    def part(rows: slice) -> None:
        _native.project_cos_sin(x[rows], directions, multipliers, offsets, table, out[rows])

    over_rows(part, len(x), ROWS)
    return out


def project_maxout(
    x: np.ndarray, directions: np.ndarray, pool_size: int, centre: np.ndarray, multiplier: int, shift: int, limit: int
) -> np.ndarray:
    x, directions, centre = map(np.ascontiguousarray, (x, directions, centre))
    out = np.empty((len(x), len(directions) // pool_size), dtype=np.int8 if limit <= 127 else np.int16)

    def part(rows: slice) -> None:
        _native.project_maxout(x[rows], directions, pool_size, centre[rows], multiplier, shift, limit, out[rows])

    over_rows(part, len(x), ROWS)
    return out


def project_lookup(
    x: np.ndarray, directions: np.ndarray, multiplier: int, shift: int, offsets: np.ndarray, table: np.ndarray
) -> np.ndarray:
    x, directions, offsets, table = map(np.ascontiguousarray, (x, directions, offsets.astype(np.int64), table))
    out = np.empty((len(x), len(directions)), dtype=table.dtype)

    def part(rows: slice) -> None:
        _native.project_lookup(x[rows], directions, multiplier, shift, offsets, table, out[rows])

    over_rows(part, len(x), ROWS)
    return out

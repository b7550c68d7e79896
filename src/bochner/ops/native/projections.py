"""Projections, with what follows while they are in cache: of float32 numbers, and exact ones of 8-bit numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from ..dispatch import DENSE, SPARSE
from ..threads import over_rows
from .backend import CODES, FLOATS, serves
from .instruction_sets import PLAIN, _native, instruction_set
from .rows import ROWS, cos_sin, winners

PACKED_ROWS = 512  # whose float projections cost much more than packing the directions


# ---- projections of float32 ----


def projects(dtype: DTypeLike) -> bool:
    """Whether floats of that dtype are projected here: without wide registers, BLAS knows better ones."""
    return dtype == np.float32 and instruction_set() != PLAIN


def _pays(x: np.ndarray, directions: np.ndarray, *others: object) -> bool:
    """Whether x has rows enough to pay for packing the directions."""
    return x.dtype == directions.dtype and len(x) >= PACKED_ROWS and instruction_set() != PLAIN


FUSED: dict[str, Any] = {
    "dtypes": ("float32",),
    "when": _pays,
    "note": f"{PACKED_ROWS} rows or more, wide registers",
}
PROJECTED: dict[str, Any] = {
    "dtypes": ("float32",),
    "layouts": (DENSE, SPARSE),
    "when": lambda x, directions, *others: x.dtype == directions.dtype,
    "note": "projections by BLAS",
}


@serves(**FUSED)
def dense_cos_sin(
    x: np.ndarray, directions: np.ndarray, phases: np.ndarray, height: np.number, out: np.ndarray | None = None
) -> np.ndarray:
    x, directions = np.ascontiguousarray(x), np.ascontiguousarray(directions)
    phases = np.ascontiguousarray(phases, dtype=np.float32)
    made = np.empty((len(x), 2 * len(directions) - len(phases)), dtype=np.float32) if out is None else out

    def part(rows: slice) -> None:
        _native.dense_cos_sin(x[rows], directions, phases, height.item(), made[rows])

    over_rows(part, len(x), PACKED_ROWS)
    return made


@serves("dense_cos_sin", **PROJECTED)
def project_then_cos_sin(
    x: np.ndarray, directions: np.ndarray, phases: np.ndarray, height: np.number, out: np.ndarray | None = None
) -> np.ndarray:
    return cos_sin(np.asarray(x @ directions.T), phases, height, out)


@serves(**FUSED)
def dense_maxout(
    x: np.ndarray,
    directions: np.ndarray,
    pool_size: int,
    centre: np.ndarray,
    scale: np.number,
    out: np.ndarray | None = None,
) -> np.ndarray:
    x, directions, centre = map(np.ascontiguousarray, (x, directions, centre))
    made = np.empty((len(x), len(directions) // pool_size), dtype=np.float32) if out is None else out

    def part(rows: slice) -> None:
        _native.dense_maxout(x[rows], directions, pool_size, centre[rows], scale.item(), made[rows])

    over_rows(part, len(x), PACKED_ROWS)
    return made


@serves(**FUSED)
def dense_winners(x: np.ndarray, directions: np.ndarray, pool_size: int) -> np.ndarray:
    x, directions = np.ascontiguousarray(x), np.ascontiguousarray(directions)
    out = np.empty((len(x), len(directions) // pool_size), dtype=np.int32)
    over_rows(lambda rows: _native.dense_winners(x[rows], directions, pool_size, out[rows]), len(x), PACKED_ROWS)
    return out


@serves("dense_winners", **{**PROJECTED, "dtypes": FLOATS})
def project_then_winners(x: np.ndarray, directions: np.ndarray, pool_size: int) -> np.ndarray:
    return winners(np.asarray(x @ directions.T), pool_size)


# ---- projections of 8-bit numbers ----


@serves(dtypes=CODES)
def project(x: np.ndarray, directions: np.ndarray) -> np.ndarray:
    x, directions = np.ascontiguousarray(x), np.ascontiguousarray(directions)
    out = np.empty((len(x), len(directions)), dtype=np.int32)
    over_rows(lambda rows: _native.project(x[rows], directions, out[rows]), len(x), ROWS)
    return out


@serves(dtypes=CODES)
def project_winners(x: np.ndarray, directions: np.ndarray, pool_size: int) -> np.ndarray:
    x, directions = np.ascontiguousarray(x), np.ascontiguousarray(directions)
    out = np.empty((len(x), len(directions) // pool_size), dtype=np.int32)
    over_rows(lambda rows: _native.project_winners(x[rows], directions, pool_size, out[rows]), len(x), ROWS)
    return out


@serves(dtypes=CODES)
def project_cos_sin(
    x: np.ndarray, directions: np.ndarray, multipliers: np.ndarray, offsets: np.ndarray, table: np.ndarray
) -> np.ndarray:
    x, directions, multipliers, offsets, table = map(np.ascontiguousarray, (x, directions, multipliers, offsets, table))
    out = np.empty((len(x), 2 * len(directions) - len(offsets)), dtype=table.dtype)

    def part(rows: slice) -> None:
        _native.project_cos_sin(x[rows], directions, multipliers, offsets, table, out[rows])

    over_rows(part, len(x), ROWS)
    return out


@serves(dtypes=CODES)
def project_maxout(
    x: np.ndarray, directions: np.ndarray, pool_size: int, centre: np.ndarray, multiplier: int, shift: int, limit: int
) -> np.ndarray:
    x, directions, centre = map(np.ascontiguousarray, (x, directions, centre))
    out = np.empty((len(x), len(directions) // pool_size), dtype=np.int8 if limit <= 127 else np.int16)

    def part(rows: slice) -> None:
        _native.project_maxout(x[rows], directions, pool_size, centre[rows], multiplier, shift, limit, out[rows])

    over_rows(part, len(x), ROWS)
    return out


@serves(dtypes=CODES)
def project_lookup(
    x: np.ndarray, directions: np.ndarray, multiplier: int, shift: int, offsets: np.ndarray, table: np.ndarray
) -> np.ndarray:
    x, directions, offsets, table = map(np.ascontiguousarray, (x, directions, offsets.astype(np.int64), table))
    out = np.empty((len(x), len(directions)), dtype=table.dtype)

    def part(rows: slice) -> None:
        _native.project_lookup(x[rows], directions, multiplier, shift, offsets, table, out[rows])

    over_rows(part, len(x), ROWS)
    return out

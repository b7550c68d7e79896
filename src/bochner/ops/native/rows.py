"""Work on rows of numbers, each row or number by itself: transforms, pools, comparisons, codes and random bits."""

from __future__ import annotations

import numpy as np

from .. import reference
from ..threads import over_rows
from .backend import CODES, FEATURES, FLOATS, NUMBERS, serves
from .instruction_sets import _native

ROWS = 64  # that are worth a thread
WIDE = 1 << 16  # numbers that are worth a thread, where a row is cheap
BINNED = (np.int8, np.float32, np.float64)
GATED = (*FEATURES, *FLOATS)


@serves(dtypes=NUMBERS)
def fwht(x: np.ndarray) -> np.ndarray:
    out = np.array(x, order="C")
    rows = out.reshape(-1, out.shape[-1])
    over_rows(lambda part: _native.fwht(rows[part]), len(rows), WIDE // rows.shape[1] + 1)
    return out


@serves(dtypes=FLOATS)
def fastfood(
    x: np.ndarray, signs: np.ndarray, permutation: np.ndarray, gaussian: np.ndarray, calibration: np.ndarray
) -> np.ndarray:
    x, out = np.ascontiguousarray(x), np.empty((len(x), signs.size), dtype=x.dtype)
    weights = [np.ascontiguousarray(w, dtype=x.dtype) for w in (gaussian, calibration)]
    over_rows(lambda part: _native.fastfood(x[part], signs, permutation, *weights, out[part]), len(x), ROWS)
    return out


@serves(dtypes=("float32",))
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
    x, out = np.ascontiguousarray(x), np.empty((len(x), 2 * kept - len(phases)), dtype=np.float32)
    weights = [np.ascontiguousarray(w, dtype=np.float32) for w in (gaussian, calibration)]
    phases = np.ascontiguousarray(phases, dtype=np.float32)

    def part(rows: slice) -> None:
        _native.fastfood_cos_sin(x[rows], signs, permutation, *weights, phases, height.item(), out[rows])

    over_rows(part, len(x), ROWS)
    return out


@serves("fastfood_cos_sin", dtypes=("float64",), note="cosines by numpy")
def fastfood_then_cos_sin(
    x: np.ndarray,
    signs: np.ndarray,
    permutation: np.ndarray,
    gaussian: np.ndarray,
    calibration: np.ndarray,
    kept: int,
    phases: np.ndarray,
    height: np.number,
) -> np.ndarray:
    return reference.cos_sin(fastfood(x, signs, permutation, gaussian, calibration)[:, :kept], phases, height)


@serves(dtypes=CODES)
def fastfood_integer(
    x: np.ndarray, signs: np.ndarray, permutation: np.ndarray, gaussian: np.ndarray, shift: int
) -> np.ndarray:
    x, out = np.ascontiguousarray(x, dtype=np.int32), np.empty((len(x), signs.size), dtype=np.int32)
    over_rows(
        lambda rows: _native.fastfood_integer(x[rows], signs, permutation, gaussian, shift, out[rows]), len(x), ROWS
    )
    return out


@serves(dtypes=CODES)
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
    x, out = np.ascontiguousarray(x, dtype=np.int32), np.empty((len(x), 2 * kept - len(offsets)), dtype=table.dtype)
    multipliers, offsets, table = map(np.ascontiguousarray, (multipliers, offsets, table))

    def part(rows: slice) -> None:
        _native.fastfood_cos_sin_integer(
            x[rows], signs, permutation, gaussian, shift, multipliers, offsets, table, out[rows]
        )

    over_rows(part, len(x), ROWS)
    return out


@serves(dtypes=("float32",))
def cos_sin(
    projections: np.ndarray, phases: np.ndarray, height: np.number, out: np.ndarray | None = None
) -> np.ndarray:
    x, phases = np.ascontiguousarray(projections), np.ascontiguousarray(phases, dtype=np.float32)
    fits = out is not None and out.flags.c_contiguous
    made = out if fits and out is not None else np.empty((len(x), 2 * x.shape[1] - len(phases)), dtype=np.float32)
    over_rows(lambda rows: _native.cos_sin(x[rows], phases, height.item(), made[rows]), len(x), ROWS)
    if out is not None and not fits:
        out[:] = made
    return made if out is None else out


@serves(dtypes=NUMBERS)
def maxout(projections: np.ndarray, pool_size: int) -> np.ndarray:
    x = np.ascontiguousarray(projections)
    out = np.empty((len(x), x.shape[1] // pool_size), dtype=x.dtype)
    over_rows(lambda rows: _native.maxout(x[rows], pool_size, out[rows]), len(x), ROWS)
    return out


@serves(dtypes=NUMBERS)
def winners(projections: np.ndarray, pool_size: int) -> np.ndarray:
    x = np.ascontiguousarray(projections)
    out = np.empty((len(x), x.shape[1] // pool_size), dtype=np.int32)
    over_rows(lambda rows: _native.winners(x[rows], pool_size, out[rows]), len(x), ROWS)
    return out


@serves(
    dtypes=("int32",),
    when=lambda winners, through, pool_size: through.dtype.name in GATED,
    note=f"letting {', '.join(GATED)} through",
)
def gates(winners: np.ndarray, through: np.ndarray, pool_size: int) -> np.ndarray:
    winners, through = np.ascontiguousarray(winners), np.ascontiguousarray(through)
    out = np.empty((len(winners), winners.shape[1] * pool_size), dtype=through.dtype)
    over_rows(lambda rows: _native.gates(winners[rows], through[rows], pool_size, out[rows]), len(out), ROWS)
    return out


@serves(dtypes=CODES, when=lambda x, c, t, height: height.dtype == np.int8, note="to int8")
@serves(
    dtypes=FLOATS,
    when=lambda x, c, t, height: height.dtype in (np.int8, x.dtype),
    note="to int8 or the same dtype",
)
def stumps(x: np.ndarray, coordinates: np.ndarray, thresholds: np.ndarray, height: np.number) -> np.ndarray:
    x, coordinates = map(np.ascontiguousarray, (x, coordinates))
    if x.dtype.kind == "f":
        thresholds = np.ascontiguousarray(thresholds, dtype=x.dtype)
    else:  # a byte is above a threshold if it is above the integer below that
        least, most = np.iinfo(x.dtype).min, np.iinfo(x.dtype).max
        thresholds = np.clip(np.floor(np.nan_to_num(thresholds, nan=most)), least - 1, most).astype(np.int16)
    out = np.empty((len(x), len(coordinates)), dtype=height.dtype)
    finite: list[bool] = []

    def part(rows: slice) -> None:
        finite.append(_native.stumps(x[rows], coordinates, thresholds, height.item(), out[rows]))

    over_rows(part, len(x), ROWS)
    if not all(finite):
        raise reference.NotFiniteError
    return out


@serves(
    dtypes=NUMBERS, when=lambda x, c, thresholds, f: x.dtype == thresholds.dtype, note="thresholds of the same dtype"
)
def cells(x: np.ndarray, coordinates: np.ndarray, thresholds: np.ndarray, flips: np.ndarray) -> np.ndarray:
    x, coordinates, thresholds, flips = map(np.ascontiguousarray, (x, coordinates, thresholds, flips))
    out = np.empty((len(x), len(flips)), dtype=np.int32)
    over_rows(lambda rows: _native.cells(x[rows], coordinates, thresholds, flips, out[rows]), len(x), ROWS)
    return out


@serves(dtypes=("uint8", "int32"), when=lambda a, b: a.dtype == b.dtype)
def matches(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    a, b = map(np.ascontiguousarray, (a, b))
    out = np.empty((len(a), len(b)), dtype=np.int32)
    over_rows(lambda rows: _native.matches(a[rows], b, out[rows]), len(a), ROWS)
    return out


@serves(
    dtypes=FLOATS, when=lambda x, z, p: x.ndim == 2 and x.dtype == z.dtype and p in (1.0, 2.0),
    note="p = 1 and 2, one table at a time",
)  # fmt: skip
def distances(x: np.ndarray, z: np.ndarray, p: float) -> np.ndarray:
    x, z = map(np.ascontiguousarray, (x, z))
    out = np.empty((len(x), len(z)), dtype=x.dtype)

    def fill(rows: slice) -> None:
        _native.distances(x[rows], z, p == 2.0, out[rows])
        if p == 2.0:
            np.sqrt(out[rows], out=out[rows])

    over_rows(fill, len(x), WIDE // max(z.size, 1) + 1)
    return out


@serves(dtypes=FLOATS)
def quantize(x: np.ndarray, center: np.ndarray, step: float, low: int, high: int) -> np.ndarray:
    x, out = np.ascontiguousarray(x), np.empty(x.shape, dtype=np.uint8 if low == 0 else np.int8)
    least = WIDE // max(x.shape[1], 1) + 1
    over_rows(lambda rows: _native.quantize(x[rows], center, step, low, high, out[rows]), len(x), least)
    return out


@serves(dtypes=FLOATS)
def bins(x: np.ndarray, shift: np.ndarray, pitch: np.ndarray, multipliers: np.ndarray, columns: int) -> np.ndarray:
    x, shift, pitch, multipliers = map(np.ascontiguousarray, (x, shift, pitch, multipliers))
    out = np.empty((len(x), len(shift)), dtype=np.int64)
    over_rows(lambda rows: _native.bins(x[rows], shift, pitch, multipliers, columns, out[rows]), len(x), ROWS)
    return out


@serves(
    dtypes=("int64",),
    when=lambda cells, columns, height: max(columns, cells.size) < 2**31 and height.dtype in BINNED,
    note="to int8, float32 or float64, with indices of 32 bits",
)
def binned(cells: np.ndarray, columns: int, height: np.number) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    cells, (n, grids) = np.ascontiguousarray(cells), cells.shape
    data, indices = np.empty(cells.size, dtype=height.dtype), np.empty(cells.size, dtype=np.int32)
    starts, parts = np.zeros(n + 1, dtype=np.int64), []

    def part(rows: slice) -> None:
        here, ends = slice(rows.start * grids, rows.stop * grids), starts[1:][rows]
        made = _native.binned(cells[rows], columns, height.item(), data[here], indices[here], ends)
        parts.append((rows.start, rows.stop, made))

    over_rows(part, n, ROWS)
    total = 0
    for start, stop, made in sorted(parts):  # each began where its rows would without columns that are met twice
        for numbers in (data, indices):
            numbers[total : total + made] = numbers[start * grids : start * grids + made]
        starts[start + 1 : stop + 1] += total
        total += made
    return data[:total], indices[:total], starts.astype(np.int32)


@serves(dtypes=("uint32",))
def philox(counter: np.ndarray, key: tuple[int, int]) -> np.ndarray:
    out = counter.copy()
    over_rows(lambda rows: _native.philox(out[rows], *key), len(out), 1 << 14)
    return out

"""The door to the C++ kernels: numpy arrays in, numpy arrays out. Empty if the extension was not built.

The C++ functions take contiguous arrays, work on one thread and release the GIL. The best instruction set of this
machine is chosen at import; BOCHNER_INSTRUCTION_SET (amx, vnni, avx512, avx2, baseline) asks for another.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .. import reference, threads
from ..threads import over_rows, run

try:
    from bochner.ops import _native  # type: ignore[attr-defined]
except ImportError:
    _native = None


PLAIN = "baseline"
EMULATED = "amx_emulated"  # the code of amx with tiles in plain C++: slow, for tests on machines without


def instruction_sets() -> list[str]:
    """Those that are compiled in and that this machine can run, best first."""
    return [name for name in _native.instruction_sets() if name != EMULATED] if _native else []


def instruction_set() -> str | None:
    return str(_native.instruction_set()) if _native else None


def use_instruction_set(name: str) -> None:
    if _native is None:
        raise ValueError("an instruction set was asked for, but the extension is not installed.")
    if name not in (*instruction_sets(), EMULATED):
        reason = f" ({_native.amx_refusal()})" if name == "amx" else ""
        raise ValueError(
            f"instruction set {name!r} is not available here{reason}: choose from {', '.join(instruction_sets())}."
        )
    _native.use_instruction_set(name)


def leave_if_wrong(instead: str) -> None:
    """Use another instruction set if this one fails two small products: virtual machines may promise what they lack."""
    z = (np.arange(70 * 37) * 41 % 256).astype(np.uint8).reshape(70, 37)  # two left-hand tiles and odd ends
    signed = z.view(np.int8)
    wide = signed.astype(np.int32)
    with threads.limited(1):  # an import should start none
        right = np.array_equal(gram(signed), wide.T @ wide) and np.array_equal(project(z, signed), z @ wide.T)
    if not right:
        warnings.warn(
            f"the {instruction_set()} kernels give wrong products on this machine: {instead} is used instead.",
            RuntimeWarning,
            stacklevel=2,
        )
        use_instruction_set(instead)


ROWS = 64  # that are worth a thread
PACKED_ROWS = 512  # whose float projections cost much more than packing the directions
MOST_ROWS = 1 << 14  # whose products of 8-bit numbers add up to less than 2^31
GATED = (np.int8, np.int16, np.float32, np.float64)
WIDE = 1 << 16  # numbers that are worth a thread, where a row is cheap


def fwht(x: np.ndarray) -> np.ndarray:
    out = np.array(x, order="C")
    rows = out.reshape(-1, out.shape[-1])
    over_rows(lambda part: _native.fwht(rows[part]), len(rows), WIDE // rows.shape[1] + 1)
    return out


def fastfood(
    x: np.ndarray, signs: np.ndarray, permutation: np.ndarray, gaussian: np.ndarray, calibration: np.ndarray
) -> np.ndarray:
    x, out = np.ascontiguousarray(x), np.empty((len(x), signs.size), dtype=x.dtype)
    weights = [np.ascontiguousarray(w, dtype=x.dtype) for w in (gaussian, calibration)]
    over_rows(lambda part: _native.fastfood(x[part], signs, permutation, *weights, out[part]), len(x), ROWS)
    return out


def fastfood_waves(
    x: np.ndarray,
    signs: np.ndarray,
    permutation: np.ndarray,
    gaussian: np.ndarray,
    calibration: np.ndarray,
    kept: int,
    phases: np.ndarray,
    height: np.number,
) -> np.ndarray:
    if x.dtype != np.float32:
        return reference.waves(fastfood(x, signs, permutation, gaussian, calibration)[:, :kept], phases, height)
    x, out = np.ascontiguousarray(x), np.empty((len(x), 2 * kept - len(phases)), dtype=np.float32)
    weights = [np.ascontiguousarray(w, dtype=np.float32) for w in (gaussian, calibration)]
    phases = np.ascontiguousarray(phases, dtype=np.float32)

    def part(rows: slice) -> None:
        _native.fastfood_waves(x[rows], signs, permutation, *weights, phases, height.item(), out[rows])

    over_rows(part, len(x), ROWS)
    return out


def fastfood_integer(
    x: np.ndarray, signs: np.ndarray, permutation: np.ndarray, gaussian: np.ndarray, shift: int
) -> np.ndarray:
    x, out = np.ascontiguousarray(x, dtype=np.int32), np.empty((len(x), signs.size), dtype=np.int32)
    over_rows(
        lambda rows: _native.fastfood_integer(x[rows], signs, permutation, gaussian, shift, out[rows]), len(x), ROWS
    )
    return out


def fastfood_waves_integer(
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
        _native.fastfood_waves_integer(
            x[rows], signs, permutation, gaussian, shift, multipliers, offsets, table, out[rows]
        )

    over_rows(part, len(x), ROWS)
    return out


def waves(projections: np.ndarray, phases: np.ndarray, height: np.number, out: np.ndarray | None = None) -> np.ndarray:
    if projections.dtype != np.float32:
        return reference.waves(projections, phases, height, out)
    x, phases = np.ascontiguousarray(projections), np.ascontiguousarray(phases, dtype=np.float32)
    fits = out is not None and out.flags.c_contiguous
    made = out if fits and out is not None else np.empty((len(x), 2 * x.shape[1] - len(phases)), dtype=np.float32)
    over_rows(lambda rows: _native.waves(x[rows], phases, height.item(), made[rows]), len(x), ROWS)
    if out is not None and not fits:
        out[:] = made
    return made if out is None else out


def maxout(projections: np.ndarray, pool_size: int) -> np.ndarray:
    x = np.ascontiguousarray(projections)
    out = np.empty((len(x), x.shape[1] // pool_size), dtype=x.dtype)
    over_rows(lambda rows: _native.maxout(x[rows], pool_size, out[rows]), len(x), ROWS)
    return out


def winners(projections: np.ndarray, pool_size: int) -> np.ndarray:
    x = np.ascontiguousarray(projections)
    out = np.empty((len(x), x.shape[1] // pool_size), dtype=np.int32)
    over_rows(lambda rows: _native.winners(x[rows], pool_size, out[rows]), len(x), ROWS)
    return out


def gates(winners: np.ndarray, through: np.ndarray, pool_size: int) -> np.ndarray:
    if winners.dtype != np.int32 or through.dtype not in GATED:
        return reference.gates(winners, through, pool_size)
    winners, through = np.ascontiguousarray(winners), np.ascontiguousarray(through)
    out = np.empty((len(winners), winners.shape[1] * pool_size), dtype=through.dtype)
    over_rows(lambda rows: _native.gates(winners[rows], through[rows], pool_size, out[rows]), len(out), ROWS)
    return out


def stumps(x: np.ndarray, coordinates: np.ndarray, thresholds: np.ndarray, height: np.number) -> np.ndarray:
    if x.dtype.kind != "f" and height.dtype != np.int8:
        return reference.stumps(x, coordinates, thresholds, height)
    x, coordinates = map(np.ascontiguousarray, (x, coordinates))
    if x.dtype.kind == "f":
        thresholds = np.ascontiguousarray(thresholds, dtype=x.dtype)
    else:  # a byte is above a threshold if it is above the integer below that
        least, most = np.iinfo(x.dtype).min, np.iinfo(x.dtype).max
        thresholds = np.clip(np.floor(np.nan_to_num(thresholds, nan=most)), least - 1, most).astype(np.int16)
    out = np.empty((len(x), len(coordinates)), dtype=height.dtype)
    over_rows(lambda rows: _native.stumps(x[rows], coordinates, thresholds, height.item(), out[rows]), len(x), ROWS)
    return out


# ---- projections of float32 ----


def projects(dtype: Any) -> bool:
    """Whether floats of that dtype are projected here: without wide registers, BLAS knows better ones."""
    return dtype == np.float32 and instruction_set() != PLAIN


def _can_project(x: Any, directions: np.ndarray) -> bool:
    """Whether x is dense, and has rows enough to pay for packing the directions."""
    is_dense = isinstance(x, np.ndarray) and x.dtype == directions.dtype
    return is_dense and projects(x.dtype) and len(x) >= PACKED_ROWS


def dense_waves(
    x: Any, directions: np.ndarray, phases: np.ndarray, height: np.number, out: np.ndarray | None = None
) -> np.ndarray:
    if not _can_project(x, directions):
        return waves(np.asarray(x @ directions.T), phases, height, out)
    x, directions = np.ascontiguousarray(x), np.ascontiguousarray(directions)
    phases = np.ascontiguousarray(phases, dtype=np.float32)
    made = np.empty((len(x), 2 * len(directions) - len(phases)), dtype=np.float32) if out is None else out

    def part(rows: slice) -> None:
        _native.dense_waves(x[rows], directions, phases, height.item(), made[rows])

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


def project_waves(
    x: np.ndarray, directions: np.ndarray, multipliers: np.ndarray, offsets: np.ndarray, table: np.ndarray
) -> np.ndarray:
    x, directions, multipliers, offsets, table = map(np.ascontiguousarray, (x, directions, multipliers, offsets, table))
    out = np.empty((len(x), 2 * len(directions) - len(offsets)), dtype=table.dtype)

    def part(rows: slice) -> None:
        _native.project_waves(x[rows], directions, multipliers, offsets, table, out[rows])

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


# ---- Gram ----


def gram(z: np.ndarray, total: np.ndarray | None = None) -> np.ndarray:
    if total is not None and not (total.dtype == np.int64 and total.flags.c_contiguous):
        return reference.gram(z, total)
    if z.dtype == np.int8:
        parts = [(0, 1)]
    elif z.dtype == np.int16 and z.max(initial=0) <= 8191 and z.min(initial=0) >= -8191:
        # z = 128 h + l, and h l' + l h' = (h + l)(h + l)' - h h' - l l'.
        parts = [(0, 2**14 - 2**7), (1, 1 - 2**7), (2, 2**7)]
    else:
        return reference.gram(z, total)
    if total is None:
        total = np.zeros((z.shape[1], z.shape[1]), dtype=np.int64)
    lots = [(start, *part) for start in range(0, len(z), MOST_ROWS) for part in parts]
    for start, part, coefficient in lots:
        rows = np.ascontiguousarray(z[start : start + MOST_ROWS])
        _add_gram(rows, part, coefficient, (start, part, coefficient) == lots[-1], total)
    return total


def _add_gram(z: np.ndarray, part: int, coefficient: int, last: bool, total: np.ndarray) -> None:
    """The upper triangle of total += coefficient Z'Z; with `last`, the lower one too."""
    m = z.shape[1]
    panel, block, size = _native.gram_sizes(len(z), m)
    panels, blocks = -(-m // panel), -(-m // block)
    words = _on_lines(size)
    sums = np.empty(panels * panel, dtype=np.int32)
    over_rows(lambda p: _native.gram_pack(z, part, p.start, p.stop, words, sums), panels, 1)
    places = np.array([(i, j) for j in range(blocks) for i in range(j + 1)], dtype=np.int32).reshape(-1, 2)
    # More lots than threads, so that none waits long for the last.
    lots = np.array_split(places, min(len(places), 8 * threads.count()))
    run([partial(_native.gram_block, words, sums, len(z), lot, coefficient, last, total) for lot in lots])


def _on_lines(size: int) -> np.ndarray:
    """Words of 32 bits that start on a cache line: a row of a tile that crosses two costs two loads."""
    room = np.empty(size + 16, dtype=np.int32)
    start = -room.ctypes.data % 64 // 4
    return room[start : start + size]


# ---- number by number ----


def quantize(x: np.ndarray, center: np.ndarray, step: float, low: int, high: int) -> np.ndarray:
    if x.dtype.kind != "f":
        return reference.quantize(x, center, step, low, high)
    x, out = np.ascontiguousarray(x), np.empty(x.shape, dtype=np.uint8 if low == 0 else np.int8)
    least = WIDE // max(x.shape[1], 1) + 1
    over_rows(lambda rows: _native.quantize(x[rows], center, step, low, high, out[rows]), len(x), least)
    return out


def bins(x: np.ndarray, shift: np.ndarray, pitch: np.ndarray, multipliers: np.ndarray, columns: int) -> np.ndarray:
    x, shift, pitch, multipliers = map(np.ascontiguousarray, (x, shift, pitch, multipliers))
    out = np.empty((len(x), len(shift)), dtype=np.int64)
    over_rows(lambda rows: _native.bins(x[rows], shift, pitch, multipliers, columns, out[rows]), len(x), ROWS)
    return out


def philox(counter: np.ndarray, key: tuple[int, int]) -> np.ndarray:
    out = counter.copy()
    over_rows(lambda rows: _native.philox(out[rows], *key), len(out), 1 << 14)
    return out


FUNCTIONS: dict[str, Callable[..., Any]] = {}
if _native is not None:
    FUNCTIONS = {
        f.__name__: f
        for f in (
            fwht, fastfood, fastfood_waves, fastfood_integer, fastfood_waves_integer, waves, maxout, winners, gates,
            stumps, dense_waves, dense_maxout, dense_winners, project, project_winners, project_waves, project_maxout,
            project_lookup, gram, quantize, bins, philox,
        )
    }  # fmt: skip
    if os.environ.get("BOCHNER_INSTRUCTION_SET"):
        use_instruction_set(os.environ["BOCHNER_INSTRUCTION_SET"])
    if instruction_set() == "amx":
        leave_if_wrong("vnni")

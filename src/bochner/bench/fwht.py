"""The Walsh-Hadamard transform on one thread, timed inside native code where there is any."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..ops import native, reference
from .limits import ONE_THREAD
from .timing import Entry, best_time, check

SLOW = ("numpy", "scikit-learn-extra")  # one shape tells enough of them
SIZES = (4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24)


def bench_fwht(quick: bool = False) -> list[Entry]:
    """Batches of 1024 numbers, one vector of 2^20, and all sizes."""
    shapes = [(4096, 1024), (1, 1 << 20)]
    if not quick:
        shapes += [(max(1, (1 << 20) >> k), 1 << k) for k in SIZES if (1 << k) not in (1024, 1 << 20)]
    return [
        entry
        for dtype in (np.float32, np.float64)
        for shape in shapes
        # The definition is too slow to be of interest everywhere.
        for entry in time_shape(*shape, dtype, least=0.1 if quick else 0.3, definition=shape == (4096, 1024))
    ]


def time_shape(
    rows: int, size: int, dtype: type[np.floating], *, least: float, definition: bool = False
) -> list[Entry]:
    """Each contestant on `rows` vectors of `size` numbers, for at least `least` seconds; with numpy if `definition`."""
    work = f"fwht {np.dtype(dtype).name} {rows:,} x {size:,}"
    entries: list[Entry] = []
    x = np.random.default_rng(0).standard_normal((rows, size)).astype(dtype)
    buffer = x.copy()  # one for all: pages and caches favour some places of memory
    for who, kind, transform in contestants(size, dtype):
        if who in SLOW and not definition:
            continue
        if kind != "limit":
            check(f"{who} on {work}", is_transform(transform, x[: max(1, 4096 // size)]))
        buffer[:] = x
        with np.errstate(over="ignore", invalid="ignore"):  # again and again in place, numbers outgrow their type
            seconds = best_time(lambda t=transform: t(buffer), least=least)  # type: ignore[misc]
        # Of the first of ours, which the library takes by itself; a number of 64 bits takes two places of a register.
        costs = {} if entries else {ONE_THREAD: float(x.size * np.log2(size) * x.itemsize / 4)}
        entries.append(Entry(work, who, kind, seconds, x.size / seconds / 1e9, "numbers/ns", note_of(who), costs))
    return entries


def contestants(size: int, dtype: type[np.floating]) -> Iterator[tuple[str, str, Callable[[np.ndarray], Any]]]:
    """(name, kind, transform in place)."""
    if native.INSTALLED:
        before = native.instruction_set()
        for name in native.instruction_sets():
            if name in ("amx", "vnni"):  # the same code as avx512 here
                continue
            native.use_instruction_set(name)
            yield f"bochner {name}", "ours", native._native.fwht
        native.use_instruction_set(str(before))
    try:
        import fht_cpu

        rows = fht_cpu.fht_2d_f32_rows if np.dtype(dtype) == np.float32 else fht_cpu.fht_2d_f64_rows
        yield "fht-cpu", "peer", lambda x: rows(x, 1)
    except ImportError:
        pass
    try:
        from sklearn_extra.utils._cyfht import fht2

        if np.dtype(dtype) == np.float64:
            yield "scikit-learn-extra", "peer", fht2
    except (ImportError, ValueError):  # its wheels are of an older numpy, which a ValueError says
        pass
    yield "numpy", "peer", lambda x: x.__setitem__(slice(None), reference.fwht(x))
    yield "touch", "limit", lambda x: np.multiply(x, dtype(1), out=x)


def is_transform(transform: Callable[[np.ndarray], Any], x: np.ndarray) -> bool:
    mine = x.copy()
    transform(mine)
    expected = reference.fwht(x.astype(np.float64))
    scale = np.abs(expected).max()
    return bool(np.abs(mine - expected).max() <= scale * 64 * np.finfo(x.dtype).eps)


def note_of(who: str) -> str:
    return {"touch": "every number read, multiplied and written back in place"}.get(who, "")

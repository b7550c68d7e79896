"""What this machine can do: bytes through memory, and operations in registers that memory does not touch.

Entries of other benches say what they cost in these units; cost over rate is the least time that they could take.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..ops import native, threads
from .timing import Entry, best_time

BYTES, FLOATS, CODES, SUMS = "bytes", "float32 operations", "8-bit operations", "32-bit additions"
DIVISIONS = "float64 divisions"
ONE_THREAD = f"{SUMS}, one thread"
STEPS = 50_000_000  # long enough for the threads to be up to speed


def bench_limits(quick: bool = False) -> list[Entry]:
    rates = {BYTES: (copied_bytes(1 << (24 if quick else 28)), "a copy reads and writes")}
    if native.INSTALLED:
        steps, workers = STEPS // (10 if quick else 1), threads.count()
        peaks = native._native
        dense, sums, codes, quotients = peaks.peak_dense, peaks.peak_sums, peaks.peak_products, peaks.peak_divisions
        rates |= {
            FLOATS: (2 * products(dense, workers, steps), "a multiply-add is two"),
            CODES: (2 * products(codes, workers, steps), "a multiply-add is two"),
            DIVISIONS: (products(quotients, workers, steps // 10), "in registers"),
            SUMS: (products(sums, workers, steps), "every other one by a multiply-add"),
            ONE_THREAD: (products(sums, 1, steps), "every other one by a multiply-add"),
        }
    return [
        Entry("this machine", of, "limit", 1e9 / rate, rate / 1e9, "G/s", note) for of, (rate, note) in rates.items()
    ]


def copied_bytes(size: int) -> float:
    """Bytes that all threads read and write in a second, where nothing is in a cache."""
    source, target = np.ones(size, np.uint8), np.ones(size, np.uint8)

    def copy(part: slice) -> None:
        target[part] = source[part]

    return 2.0 * size / best_time(lambda: threads.over_rows(copy, size, 1), runs=10)


def products(peak: Callable[[int], float], workers: int, steps: int = STEPS) -> float:
    """Products of two numbers, or sums, in registers alone that so many threads make in a second."""
    done: list[float] = []
    seconds = best_time(lambda: threads.run([lambda: done.append(peak(steps))] * workers), runs=3)
    return workers * done[-1] / seconds

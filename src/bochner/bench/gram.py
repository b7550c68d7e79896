"""Z'Z of all rows, lot by lot: exact integers against float32 by BLAS, counted on the full square."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.linalg.blas import ssyrk

from .. import ops
from ..ops import native, reference, threads
from .limits import BYTES, CODES, FLOATS, products
from .timing import Entry, best_time, check

LOT = 15_000  # rows at a time, as a block has


def bench_gram(quick: bool = False) -> list[Entry]:
    rows, m = (15_000, 1024) if quick else (60_000, 4096)
    eight, fourteen, floats = drawn(m)
    work, lots = f"gram {rows:,} x {m:,}", rows // LOT
    count = 2.0 * rows * m * m

    def entry(who: str, kind: str, seconds: float, note: str = "", costs: dict[str, float] | None = None) -> Entry:
        return Entry(work, who, kind, seconds, count / seconds / 1e9, "G operations/s", note, costs or {})

    def ours(
        precision: str, z: np.ndarray, operations: str, times: float, note: str = "", rounded: bool | None = None
    ) -> Entry:
        # A triangle is half of the square; the sums are read and written once a lot.
        costs = {operations: times * count / 2, BYTES: lots * (z.nbytes + 16.0 * m * m)} if times else {}
        total = np.zeros((m, m), dtype=np.int64 if z.dtype.kind == "i" else np.float64)
        sums = partial(ops.gram, z) if rounded is None else partial(ops.float_gram, z, rounded)
        seconds = best_time(lambda: sums(total), runs)
        return entry(f"bochner {precision}", "ours", lots * seconds, note, costs)

    def syrk() -> None:
        ssyrk(1.0, floats.T, 1.0, square, overwrite_c=True)

    square = np.zeros((m, m), dtype=np.float32, order="F")
    runs = 1 if quick else 4
    entries = [
        ours("int8", eight, CODES, 1),
        ours("int14", fourteen, CODES, 3),
        ours("float32", floats, FLOATS, 2, "summed in float64, half as fast"),
        ours("float32, quick", floats, FLOATS, 1, "1,024 rows at a time in float32, then float64", False),
        # Units for bfloat16 have no limit here.
        ours("bfloat16", floats, FLOATS, 0, "rounded, then the same with twice the rows", True),
        entry("ssyrk (BLAS)", "peer", lots * best_time(syrk, runs), "one triangle"),
    ]
    seconds = torch_seconds(floats, runs)
    if seconds is not None:
        entries.append(entry("torch bfloat16", "peer", lots * seconds))
    # A triangle is half of the square, and a product with its addition two operations.
    fastest = count / 4 / products(native._native.peak_products, threads.count())
    entries.append(entry("multiply-adds in registers", "limit", fastest, "all threads"))
    return entries


def drawn(m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of 8 and of 14 bits, and the first ones as floats; some of their sums are held to the definitions."""
    rng = np.random.default_rng(0)
    eight = rng.integers(-127, 128, (LOT, m)).astype(np.int8)
    fourteen = rng.integers(-8191, 8192, (LOT, m)).astype(np.int16)
    floats, some = eight.astype(np.float32), slice(0, 97)
    for z in (eight, fourteen):
        part = z[:2000, some]
        check(f"gram of {z.dtype}", bool(np.array_equal(ops.gram(part), reference.gram(part))))
        few = z[:64]
        exact = (few.astype(np.float64).T @ few).astype(np.int64)
        check(f"gram of {z.dtype}", bool(np.array_equal(ops.gram(few), exact)))
    for rounded in (False, True):  # of numbers this small every sum is exact
        made = ops.float_gram(floats[:500, some], rounded)
        check("quick gram", bool(np.array_equal(made, reference.float_gram(floats[:500, some], rounded))))
    return eight, fourteen, floats


def torch_seconds(floats: np.ndarray, runs: int) -> float | None:
    """What torch takes for a lot in bfloat16; None without it."""
    try:
        import torch
    except ImportError:
        return None
    brain = torch.from_numpy(floats).bfloat16()
    return best_time(lambda: brain.T @ brain, runs)

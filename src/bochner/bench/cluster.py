"""A Dask cluster on this machine: what a task costs, how work grows with workers, and what a worker holds.

Rows are made where they are worked on, so that no disk and no wire is measured. Every fit must have the bits of the
single machine, or no number is reported.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..bases import RandomFourier
from ..blocks import Block, Blocks, SumOf
from ..lazy import collections
from ..models import RandomFeatureRegressor
from ..streams import Stream
from .timing import Entry, check

COLUMNS, FEATURES = 20, 256
PARTITION = 8 << 20  # bytes


class MadeRows(Blocks):
    """Uniform rows with a smooth target, the same wherever they are made."""

    n_columns = COLUMNS

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows

    def read(self, start: int, stop: int) -> Block:
        bits = Stream(0, "rows of the bench").bits(start, stop, COLUMNS)
        X = bits.astype(np.float32) * np.float32(2.0**-32)
        y = np.sin(4.0 * X[:, 0].astype(np.float64)) + X[:, 1] * X[:, 2]
        return Block(X, y, None, start)

    def part(self, start: int, stop: int, rows: int) -> list[Block] | None:
        return None


@dataclass(frozen=True)
class ColumnSums(SumOf):
    """Next to nothing for each row."""

    def of(self, block: Block) -> np.ndarray:
        return np.asarray(block.X).sum(axis=0)


def bench_cluster(quick: bool = False) -> list[Entry]:
    many = 10**6 if quick else 10**8
    return [*overhead(16 if quick else 64), *growth(many // 10), *large(many)]


def overhead(partitions: int) -> list[Entry]:
    """A pass that does next to nothing, over partitions of 8 MB that a worker holds."""
    rows = PARTITION // (8 * COLUMNS)
    with collections().local_cluster(1) as client:
        array = collections().da.random.default_rng(0)
        made = array.random((rows * partitions, COLUMNS), chunks=(rows, COLUMNS)).persist()
        blocks = collections().blocks_of(made)
        found = blocks.reduce(ColumnSums())
        there = best(lambda: blocks.reduce(ColumnSums()))
        pieces = [np.asarray(piece) for piece in made.blocks]
        check("a pass of the cluster", bool(np.allclose(found, sum(piece.sum(axis=0) for piece in pieces))))
        assert client.status == "running"
    here = best(lambda: [piece.sum(axis=0) for piece in pieces])
    work = "overhead of a partition of 8 MB"
    each = f"{partitions} partitions, one worker of one thread: {1e3 * (there - here) / partitions:.2f} ms each over"
    return [
        Entry(work, "cluster", "ours", there, 1e-6 * made.nbytes / there, "MB/s", each),
        Entry(work, "the bare sums", "limit", here, 1e-6 * made.nbytes / here, "MB/s", "numpy, the same arrays"),
    ]  # fmt: skip


def growth(rows: int) -> list[Entry]:
    """Twice the workers with twice the rows should take the same time, and hold as much each."""
    entries = []
    for workers, count in ((1, rows // 2), (2, rows // 2), (2, rows)):
        with collections().local_cluster(workers) as client:
            client.run(peak_memory)  # who is there has imported everything
            seconds, _ = timed(lambda: fitted(MadeRows(count).on(client)))  # noqa: B023
            peak = max(client.run(peak_memory).values())
        who, rate = f"{workers} workers, {count:,} rows", count / seconds / workers
        note = f"{FEATURES} features, int8; at most {1e-6 * peak:.0f} MB in a worker"
        entries.append(Entry("weak scaling", who, "ours", seconds, rate, "rows/s and worker", note))
    return entries


def large(rows: int) -> list[Entry]:
    """One large fit by two processes of one thread, and by one process of two."""
    here, single = timed(lambda: fitted(MadeRows(rows), n_jobs=2))
    with collections().local_cluster(2) as client:
        client.run(peak_memory)
        there, cluster = timed(lambda: fitted(MadeRows(rows).on(client)))
        peak = max(client.run(peak_memory).values())
    check("the fit of the cluster", bool(np.array_equal(single.coef_, cluster.coef_)))
    work = f"fit of {rows:,} rows x {COLUMNS}"
    return [
        Entry(work, "cluster, 2 workers", "ours", there, rows / there, "rows/s",
              f"{1e9 * there / rows:.0f} ns a row; at most {1e-6 * peak:.0f} MB in a worker; the same bits"),
        Entry(work, "one process, 2 threads", "peer", here, rows / here, "rows/s", f"{1e9 * here / rows:.0f} ns a row"),
    ]  # fmt: skip


def fitted(blocks: Blocks, n_jobs: int | None = None) -> RandomFeatureRegressor:
    basis = RandomFourier(FEATURES, precision="int8", random_state=0)
    model: RandomFeatureRegressor = RandomFeatureRegressor(
        basis, alpha=1.0, scale=None, linear=False, n_jobs=n_jobs
    ).fit(blocks)
    return model


def timed(action: Callable[[], Any]) -> tuple[float, Any]:
    begun = time.perf_counter()
    found = action()
    return time.perf_counter() - begun, found


def best(action: Callable[[], Any], runs: int = 5) -> float:
    return min(timed(action)[0] for _ in range(runs))


def peak_memory() -> int:
    """The most memory that this process ever had, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

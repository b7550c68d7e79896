"""What stays with a block from one pass to the next: the form it was made into, and a state of its own.

It is known by the pass's key and by the first row of the block, and it stays where the block is folded: in this
process, or in the worker process that has the partition.
"""

from __future__ import annotations

import itertools
import os
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..config import get_config
from .aggregate import Aggregate, P, Wrapped
from .base import Block, Blocks
from .engine import reduce

_stores: dict[str, dict[int, Any]] = {}
_numbers = itertools.count()
released: list[str] = []  # keys that nobody needs any more; worker processes are told


def drop(key: str) -> None:
    """Let go of what was kept under a key in this process."""
    _stores.pop(key, None)


def release(key: str) -> None:
    """The same here, and in worker processes when they are next spoken to."""
    drop(key)
    if get_config()["engine"] != "threads":
        released.append(key)


@dataclass(frozen=True)
class StepWithStore(Wrapped[P]):
    """The aggregate of blocks made into another form; the blocks are kept if `keeps`, and their states always."""

    make: Callable[[Block], Block]
    key: str
    size: int
    keeps: bool

    @property
    def rows(self) -> int:
        return self.size

    @property
    def takes_empty(self) -> bool:
        return True  # so that it is known of every block what became of it

    def step(self, partial: P | None, block: Block) -> P:
        store = _stores.setdefault(self.key, {})
        known = store.get(block.start)
        if isinstance(known, Block):
            made = known
        elif block.X is None:
            raise RuntimeError("what was kept of some rows is gone with the worker process that had them: fit again.")
        else:
            made = self.make(block)._replace(state={} if known is None else known)
            store[block.start] = made if self.keeps else made.state
        return self.inner.step(partial, made) if made.X.shape[0] else partial  # type: ignore[return-value]


class KeptBlocks:
    """Blocks made into another form for many passes, all of the same partitions.

    Where the made blocks are kept, rows are read in the first pass alone; unless a checkpoint keeps a record of the
    sums, for then a pass may be read back instead of made.
    """

    def __init__(
        self, blocks: Blocks, make: Callable[[Block], Block], rows: int, keeps: bool, recorded: bool = True
    ) -> None:
        self.blocks, self.make, self.rows, self.keeps = blocks, make, rows, keeps
        self.recorded = blocks.is_recorded and (recorded or not keeps)
        self.key = f"{os.getpid()}-{next(_numbers)}"
        self._complete = False
        weakref.finalize(self, release, self.key)

    def reduce(self, aggregate: Aggregate[P], title: str = "") -> P:
        """The one verb, on the made blocks."""
        step = StepWithStore(aggregate, self.make, self.key, self.rows, self.keeps)
        if self._complete:
            return reduce(Placeholders(self.blocks.n_rows), step)
        if self.recorded and not aggregate.leaves_state:
            return self.blocks.reduce(step, title=title)
        total = self.blocks.unrecorded().reduce(step, title=title)
        self._complete = self.keeps and not self.recorded
        return total


class Placeholders(Blocks):
    """Blocks of which nothing is read, for whoever has kept what they became."""

    n_columns = 0

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows

    def read(self, start: int, stop: int) -> Block:
        return Block(None, None, None, start)

    def ahead(self, start: int, stop: int, rows: int) -> Iterator[Block]:
        return (self.read(first, min(first + rows, stop)) for first in range(start, stop, rows))

    def take(self, numbers: np.ndarray) -> Block:
        raise NotImplementedError("there are no rows here.")

    def part(self, start: int, stop: int, rows: int) -> list[Block] | None:
        return None

    def stream(self, start: int, rows: int) -> Iterator[Block]:
        return self.ahead(start, self.n_rows, rows)

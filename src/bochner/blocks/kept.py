"""What stays with a block from one pass to the next: the form it was made into, and a state of its own.

It is known by the pass's key and by the first row of the block, and it stays where the block is folded: in this
process, or in the worker process that has the partition. Workers of a cluster come and go: what they keep only saves
work there, and states travel with the partition, to and fro.
"""

from __future__ import annotations

import itertools
import os
import uuid
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .aggregate import Aggregate, P, Wrapped
from .base import Block, Blocks
from .engine import Engine, engine_of, reduce

State = dict[str, Any]
_stores: dict[str, dict[int, Any]] = {}
_numbers = itertools.count()
alive: set[str] = set()  # keys that passes of this program go on with
process = uuid.uuid4().hex  # worker processes of several machines keep things for several programs


def drop(key: str) -> None:
    """Let go of what was kept under a key in this process."""
    _stores.pop(key, None)


def release(key: str, engine: Engine) -> None:
    """The same here, and where else the engine keeps things."""
    drop(key)
    alive.discard(key)
    engine.release(key)


def keys_of(process: str) -> set[str]:
    """The keys of a program under which something is kept here."""
    return {key for key in _stores if key.startswith(process)}


def is_kept(key: str, starts: Iterable[int]) -> bool:
    """Whether the made blocks that begin with these rows are all here."""
    store = _stores.get(key, {})
    return all(isinstance(store.get(start), Block) for start in starts)


def lasting(key: str, starts: Iterable[int]) -> dict[int, State]:
    """The states of blocks, without what only saves work."""
    store, found = _stores.get(key, {}), {}
    for start in starts:
        known = store.get(start)
        state = known.state if isinstance(known, Block) else known
        found[start] = {name: value for name, value in (state or {}).items() if not is_fleeting(name)}
    return found


def receive(key: str, states: dict[int, State]) -> None:
    """Set the states of blocks to those of the last pass, wherever that was."""
    store = _stores.setdefault(key, {})
    for start, state in states.items():
        known = store.get(start)
        if not isinstance(known, Block):
            store[start] = dict(state)
        elif known.state is not None:
            for name in [name for name in known.state if not is_fleeting(name)]:
                del known.state[name]
            known.state.update(state)


def is_fleeting(name: object) -> bool:
    return isinstance(name, str) and name.startswith("_")


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

    def on_kept_blocks(self) -> StepWithStore[P]:
        return self

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
        self.key = f"{process}-{os.getpid()}-{next(_numbers)}"
        alive.add(self.key)
        self._complete = False
        self.engine = engine_of(blocks)
        weakref.finalize(self, release, self.key, self.engine)

    def reduce(self, aggregate: Aggregate[P], title: str = "") -> P:
        """The one verb, on the made blocks."""
        step = StepWithStore(aggregate, self.make, self.key, self.rows, self.keeps)
        if self._complete:
            return reduce(Placeholders(self.blocks.n_rows), step)
        if self.recorded and not aggregate.leaves_state:
            return self.blocks.reduce(step, title=title)
        total = self.blocks.unrecorded().reduce(step, title=title)
        self._complete = self.keeps and not self.recorded and self.engine.keeps
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

"""What a worker of a cluster does: it folds neighbouring partitions into one node of the tree, and joins two nodes.

A worker is lost at any time, and its work done again by another: nothing here hangs on what was done before, and what a
task is given it never changes. Partials travel as bytes, so that each has an owner.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from ..arrays import Rows
from ..config import config_context
from ..ops import dispatch
from ..ops import threads as threading_of_ops
from . import kept
from .aggregate import Aggregate, Wrapped
from .base import Block, Blocks
from .partitions import Node, Plan, Tree
from .regroup import Piece, regroup
from .threads import engine as threads

_turn = threading.Lock()  # one task at a time, with all threads of the worker


class ClusterError(OSError):
    """A cluster is not as it should be: workers died, or have another version, or rows are gone."""


class CancelledError(RuntimeError):
    """Nobody waits for this task any more."""


class Answer(NamedTuple):
    """A node's partial as bytes; the states that its blocks were left in; who folded it, and whether by native code."""

    partial: bytes
    states: dict[int, kept.State] | None
    worker: str
    native: bool


@dataclass(frozen=True)
class Job:
    """One reduce as it travels: settings, aggregate and plan, and the rows if a worker can read them, as bytes."""

    version: str
    process: str  # of which some keys are alive
    alive: frozenset[str]
    payload: bytes

    def opened(self, version: str, worker: str) -> tuple[dict[str, Any], Aggregate[Any], Plan, Blocks | None]:
        """All of it, in a worker of the same version."""
        if version != self.version:
            raise ClusterError(
                f"the worker {worker} has bochner {version}, and this is {self.version}: install the same there."
            )
        found: tuple[dict[str, Any], Aggregate[Any], Plan, Blocks | None] = pickle.loads(self.payload)
        return found


@dataclass(frozen=True)
class Source:
    """The rows of a task: pieces of a collection, the first of which begins with row `start` and has that number.

    `sizes` are the rows that each piece is known to have. Blocks that were sent stand for themselves.
    """

    name: str
    start: int
    number: int
    sizes: tuple[int, ...]
    columns: int
    pieces: list[Any]

    def rows(self) -> Iterator[Piece]:
        for k, piece in enumerate(self.pieces):
            if self.sizes[k]:
                yield self.checked(k, piece)

    def checked(self, k: int, piece: Piece) -> Piece:
        """A piece as arrays, of the shape that was expected."""
        X = plain_array(piece[0])
        y, weight = (None if part is None else plain_array(part) for part in piece[1:])
        if X.ndim != 2 or X.shape[1] != self.columns:
            width = f"{X.shape[1]} columns" if X.ndim == 2 else f"{X.ndim} dimensions"
            raise ValueError(f"{self.told(k)} has {width}, and {self.columns} columns were expected.")
        for part, what in ((X, "rows"), (y, "targets"), (weight, "weights")):
            if part is not None and part.shape[0] != self.sizes[k]:
                raise ValueError(f"{self.told(k)} has {part.shape[0]} {what}, and {self.sizes[k]} were expected.")
        return X, y, weight

    def told(self, k: int) -> str:
        """The name of a piece in a sentence."""
        first = self.start + sum(self.sizes[:k])
        rows = f" (rows {first} to {first + self.sizes[k] - 1})" if self.sizes[k] else ""
        return f"partition {self.number + k} of the {self.name}{rows}"

    def culprit(self) -> str | None:
        """The first piece with a number that is not finite, in a sentence; None if there is none."""
        for k, piece in enumerate(self.pieces):
            for part, what in zip(piece, ("X", "y", "the weights"), strict=True):
                array = None if part is None else plain_array(part)
                numbers = getattr(array, "data", array) if scipy.sparse.issparse(array) else array
                if numbers is not None and numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
                    kind = "NaN" if np.isnan(numbers).any() else "infinite numbers"
                    return f"{self.told(k)} has {kind} in {what}."
        return None


class RowsAtHand(Blocks):
    """The rows of a task, under the numbers that they have in the whole."""

    def __init__(self, source: Source | list[Block], n_rows: int) -> None:
        self.source, self.n_rows = source, n_rows
        self.n_columns = source.columns if isinstance(source, Source) else int(source[0].X.shape[1])

    def read(self, start: int, stop: int) -> Block:
        return next(self.stream(start, stop - start))

    def stream(self, start: int, rows: int) -> Iterator[Block]:
        if isinstance(self.source, list):
            return iter([block for block in self.source if block.start >= start])
        return regroup(self.source.rows(), start, rows, skip=start - self.source.start)


def plain_array(part: object) -> Rows:
    """A piece of a collection as numpy has it, or CSR."""
    if hasattr(part, "tocsr"):
        return scipy.sparse.csr_matrix(part.tocsr())
    return part.to_numpy() if hasattr(part, "to_numpy") else np.asarray(part)


# ---- tasks ----


def fold(
    job: Job, node: Node, source: Source | list[Block] | None, states: dict[int, kept.State] | None, version: str,
    worker: str, count: int, is_cancelled: Callable[[], bool],
) -> Answer:  # fmt: skip
    """The partial of a node, by `count` threads of this worker."""
    settings, aggregate, plan, blocks = job.opened(version, worker)
    for key in kept.keys_of(job.process) - job.alive:
        kept.drop(key)
    if source is not None:
        blocks = RowsAtHand(source, plan.n_rows)
    assert blocks is not None
    tree = Tree(len(plan), aggregate.combine)
    numbers = list(tree.inside(*node))
    starts = range(plan[numbers[0]].start, plan[numbers[-1]].stop, plan.rows)
    step = step_with_store(aggregate)
    with _turn, config_context(**settings), threading_of_ops.limited(count):
        if step is not None:
            kept.receive(step.key, states or {})
            if kept.is_kept(step.key, starts):
                aggregate, blocks = aggregate.on_kept_blocks(), kept.Placeholders(plan.n_rows)
        try:
            for part in threads.fold(blocks, aggregate, plan, numbers, None):
                if is_cancelled():
                    raise CancelledError("nobody waits for this any more.")
                if part.finished:
                    tree.add(part.number, part.partial)
        except (ValueError, FloatingPointError):
            culprit = source.culprit() if isinstance(source, Source) else None
            if culprit is None:
                raise
            raise ValueError(culprit) from None
    left = kept.lasting(step.key, starts) if step is not None and step.leaves_state else None
    (partial,) = tree.nodes.values()
    native = dispatch.has_fast("philox")
    return Answer(pickle.dumps(partial, protocol=pickle.HIGHEST_PROTOCOL), left, worker, native)


def join(job: Job, left: Answer, right: Answer, version: str, worker: str) -> Answer:
    """Two neighbouring nodes as one."""
    aggregate = job.opened(version, worker)[1]
    mine, other = pickle.loads(left.partial), pickle.loads(right.partial)
    both = Tree(2, aggregate.combine).both(mine, other)
    native = left.native and right.native
    return Answer(pickle.dumps(both, protocol=pickle.HIGHEST_PROTOCOL), None, worker, native)


def step_with_store(aggregate: Aggregate[Any]) -> kept.StepWithStore[Any] | None:
    """The part of an aggregate that keeps blocks, if there is one."""
    while not isinstance(aggregate, kept.StepWithStore):
        if not isinstance(aggregate, Wrapped):
            return None
        aggregate = aggregate.inner
    return aggregate

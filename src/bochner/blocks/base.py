"""Rows in pieces, with one verb: `reduce`. Blocks know rows, their order and memory; not features, not what y means."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import numpy as np
import scipy.sparse

from ..config import get_config, memory_budget
from ..streams import Stream
from .progress import Progress

T = TypeVar("T")
LARGEST = 1 << 14  # rows; more than this gains nothing


class Block(NamedTuple):
    """Some neighbouring rows: X, y and weight (or None), and the number of the first row in the whole.

    Where rows were left out, `kept` holds the places of those that are here, counted from `start`.
    """

    X: Any
    y: Any
    weight: Any
    start: int
    kept: np.ndarray | None = None

    def only(self, chosen: np.ndarray) -> Block:
        """The block of some of its rows, by mask or by index."""
        X, y, weight = (None if part is None else part[chosen] for part in self[:3])
        kept = np.arange(self.X.shape[0]) if self.kept is None else self.kept
        return Block(X, y, weight, self.start, kept[chosen])


def plus(total: Any, part: Any) -> Any:
    """total += part, of which the first total is None."""
    if total is None:
        return part
    total += part
    return total


class Blocks(ABC):
    """Rows that come in blocks and can be read again and again."""

    n_rows: int
    n_columns: int
    recipe: Any = None  # how columns of a table became numbers, if they did

    @abstractmethod
    def read(self, start: int, stop: int) -> Block:
        """The rows start..stop-1."""

    def stream(self, start: int, rows: int) -> Iterator[Block]:
        """All rows from `start` on, `rows` at a time."""
        for first in range(start, self.n_rows, rows):
            yield self.read(first, min(first + rows, self.n_rows))

    def take(self, numbers: np.ndarray) -> Block:
        """The rows of these numbers, which ascend; nothing is read after the last of them."""
        parts = []
        for block in self.stream(int(numbers[0]), rows_per_block(4 * self.n_columns)):
            stop = block.start + block.X.shape[0]
            inside = (numbers >= block.start) & (numbers < stop)
            if inside.any():
                parts.append(block.only(numbers[inside] - block.start)[:3])
            if stop > numbers[-1]:
                break
        X, y, weight = (None if part[0] is None else stack(part) for part in zip(*parts, strict=True))
        return Block(X, y, weight, 0)

    def shuffled(self, rows: int, stream: Stream, without: np.ndarray) -> Iterator[Block]:
        """All rows but some, in an order that is random as far as reading them in order allows: within blocks."""
        for block in self.stream(0, rows):
            numbers = block.start + (np.arange(block.X.shape[0]) if block.kept is None else block.kept)
            yield block.only(shuffle(np.flatnonzero(~np.isin(numbers, without)), stream, block.start))

    @property
    def present(self) -> int:
        """Rows that come, where some of n_rows are left out on the way."""
        return self.n_rows

    def map(self, function: Callable[[Block], Block], present: int | None = None) -> Blocks:
        """The same rows, each block changed by `function`; `present` says how many it leaves, if not all."""
        return MappedBlocks(self, function, present)

    def fingerprint(self) -> dict[str, Any]:
        """What tells these rows from others, in a few words."""
        return {"rows": self.n_rows, "columns": self.n_columns}

    def reduce(
        self,
        function: Callable[[Block], Any],
        *,
        add: Callable[[Any, Any], Any] = plus,
        width: int = 1,
        rows: int = 0,
        title: str = "",
        workers: int = 1,
    ) -> Any:
        """The sum of function(block) over all blocks; `width` is the number of float64 a row becomes in function.

        Blocks take what the memory budget allows, or have `rows` rows if that is given.
        The next block is read while this one is worked on. Several workers take a block each; the sum is in the order
        of the blocks all the same, so it has the same bits for any number of them. add(total, part) adds in another
        way than by +=; the first total is None.
        """
        rows = rows or rows_per_block(width * workers)
        return self.accumulate(function, rows, add=add, title=title, workers=workers)

    def accumulate(
        self,
        function: Callable[[Block], Any],
        rows: int,
        *,
        add: Callable[[Any, Any], Any] = plus,
        start: int = 0,
        total: Any = None,
        title: str = "",
        workers: int = 1,
        after: Callable[[Any, int], None] | None = None,
    ) -> Any:
        """`total` and function(block) of the rows from `start` on; `after` is told each new total and its rows."""
        done = start
        for part in self._parts(function, start, rows, title, workers):
            if part is not None:
                total = add(total, part)
            part = None  # it may be as large as a block, and the next one is about to be made
            done = min(done + rows, self.n_rows)
            if after is not None:
                after(total, done)
        return total

    def _parts(self, function: Callable[[Block], T], start: int, rows: int, title: str, workers: int) -> Iterator[T]:
        blocks = self.walk(rows, start, title)
        if workers == 1:
            yield from map(function, blocks)
            return
        with ThreadPoolExecutor(workers) as pool:
            waiting: deque[Future[T]] = deque()
            for block in blocks:
                waiting.append(pool.submit(function, block))
                if len(waiting) >= workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

    def walk(self, rows: int, start: int = 0, title: str = "") -> Iterator[Block]:
        """The blocks in order, the next one read ahead by a thread."""
        pieces = self.stream(start, rows)
        with ThreadPoolExecutor(1) as reader, Progress(title, self.n_rows, start) as progress:
            ahead = reader.submit(next, pieces, None)
            while (block := ahead.result()) is not None:
                ahead = reader.submit(next, pieces, None)
                yield block
                progress.advance(min(rows, self.n_rows - block.start))


class MappedBlocks(Blocks):
    """Blocks changed one by one as they come."""

    def __init__(self, blocks: Blocks, function: Callable[[Block], Block], present: int | None = None) -> None:
        self.blocks, self.function, self._present = blocks, function, present
        self.n_rows, self.n_columns, self.recipe = blocks.n_rows, blocks.n_columns, blocks.recipe

    @property
    def present(self) -> int:
        return self.blocks.present if self._present is None else self._present

    def read(self, start: int, stop: int) -> Block:
        return self.function(self.blocks.read(start, stop))

    def stream(self, start: int, rows: int) -> Iterator[Block]:
        return map(self.function, self.blocks.stream(start, rows))

    def take(self, numbers: np.ndarray) -> Block:
        return self.function(self.blocks.take(numbers))

    def shuffled(self, rows: int, stream: Stream, without: np.ndarray) -> Iterator[Block]:
        return map(self.function, self.blocks.shuffled(rows, stream, without))

    def fingerprint(self) -> dict[str, Any]:
        return self.blocks.fingerprint()

    def reduce(self, function: Callable[[Block], T], **settings: Any) -> T:
        def part(block: Block) -> Any:
            mapped = self.function(block)
            return function(mapped) if mapped.X.shape[0] else None  # all its rows may have been left out

        # By way of the blocks themselves: they may keep a record of their sums.
        return self.blocks.reduce(part, **settings)


def shuffle(numbers: np.ndarray, stream: Stream, start: int = 0) -> np.ndarray:
    """The numbers in an order that the stream gives; `start` tells one use of it from the next."""
    words = stream.bits(start, start + len(numbers), 2).astype(np.uint64)
    return numbers[np.argsort((words[:, 0] << np.uint64(32)) | words[:, 1], kind="stable")]


def stack(parts: Any) -> Any:
    """Rows below one another, dense or CSR."""
    return scipy.sparse.vstack(parts, format="csr") if scipy.sparse.issparse(parts[0]) else np.concatenate(parts)


def rows_per_block(width: int) -> int:
    """Rows of `width` float64 numbers that take a sixteenth of the memory budget; or the setting block_rows."""
    chosen = get_config()["block_rows"]
    if chosen != "auto":
        return int(chosen)
    return int(np.clip(memory_budget() // (16 * 8 * max(width, 1)), 1, LARGEST))

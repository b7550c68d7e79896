"""Rows in pieces, with one verb: `reduce`. Blocks know rows, their order and memory; not features, not what y means."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..config import get_config, memory_budget
from .progress import Progress

T = TypeVar("T")
LARGEST = 1 << 14  # rows; more than this gains nothing


class Block(NamedTuple):
    """Some neighbouring rows: X, y and weight (or None), and the number of the first row in the whole."""

    X: Any
    y: Any
    weight: Any
    start: int


class Blocks(ABC):
    """Rows that come in blocks and can be read again and again."""

    n_rows: int
    n_columns: int

    @abstractmethod
    def read(self, start: int, stop: int) -> Block:
        """The rows start..stop-1."""

    def reduce(self, function: Callable[[Block], T], *, width: int, title: str = "", workers: int = 1) -> T:
        """The sum of function(block) over all blocks; `width` is the number of float64 a row becomes in function.

        The next block is read while this one is worked on. Several workers take a block each; the sum is in the order
        of the blocks all the same, so it has the same bits for any number of them.
        """
        total: Any = None
        for part in self._parts(function, width, title, workers):
            if total is None:
                total = part
            else:
                total += part
        return total

    def _parts(self, function: Callable[[Block], T], width: int, title: str, workers: int) -> Iterator[T]:
        blocks = self.walk(width * workers, title)
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

    def walk(self, width: int, title: str = "") -> Iterator[Block]:
        """The blocks in order, the next one read ahead; their size comes from the memory budget."""
        rows = rows_per_block(width)
        starts = range(0, self.n_rows, rows)
        with ThreadPoolExecutor(1) as reader, Progress(title, len(starts)) as progress:
            ahead = None
            for start in starts:
                block = (ahead or reader.submit(self._piece, start, rows)).result()
                following = start + rows
                ahead = reader.submit(self._piece, following, rows) if following < self.n_rows else None
                yield block
                progress.step()

    def _piece(self, start: int, rows: int) -> Block:
        return self.read(start, min(start + rows, self.n_rows))


def rows_per_block(width: int) -> int:
    """Rows of `width` float64 numbers that take a sixteenth of the memory budget; or the setting block_rows."""
    chosen = get_config()["block_rows"]
    if chosen != "auto":
        return int(chosen)
    return int(np.clip(memory_budget() // (16 * 8 * max(width, 1)), 1, LARGEST))

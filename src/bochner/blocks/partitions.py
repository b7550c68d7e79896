"""How rows are parted, and how what the parts gave is put together: the same for any number of workers.

A partition is some neighbouring blocks. Its bounds follow from the rows, from what an aggregate declares and from the
settings, never from threads or workers. Partials are combined along a fixed binary tree over the partitions, so that
float sums too have the same bits whoever made them, and in whatever order they came.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple

import numpy as np

from ..config import device_room, get_config, memory_budget
from .aggregate import Aggregate, P

LARGEST = 1 << 14  # rows of a block; more than this gains nothing
LARGEST_ON_DEVICE = 1 << 16  # there a block is a handful of launches; sums of so many 8-bit products fit 32 bits
TOGETHER = 4  # blocks that have the room of one where several are folded side by side
SHARE = 16  # of the memory budget, this part at most may be partials that wait to be combined
LEVELS = 11  # of a tree of partials that have room: with 1024 partitions, many workers have some each
SMALL = 1 << 24  # bytes of a partial that are nothing


def rows_per_block(width: float) -> int:
    """Rows of `width` float64 numbers that take a sixteenth of the memory budget; or the setting block_rows."""
    chosen = get_config()["block_rows"]
    if chosen != "auto":
        return int(chosen)
    largest = LARGEST_ON_DEVICE if device_room() else LARGEST
    return int(np.clip(memory_budget() // int(16 * 8 * max(width, 1)), 1, largest))


class Partition(NamedTuple):
    """The rows start..stop-1, the piece of that number."""

    number: int
    start: int
    stop: int


@dataclass(frozen=True)
class Plan:
    """Rows in partitions of `blocks` blocks of `rows` rows each; the last ones may be shorter."""

    n_rows: int
    rows: int
    blocks: int = 1

    @classmethod
    def of(cls, aggregate: Aggregate[Any], n_rows: int) -> Plan:
        """Light steps have a block to a partition. Steps that use all threads have as few as the tree has room for:

        it keeps one partial for each of its levels, and of a large Gram matrix there is room for one alone.
        """
        if not aggregate.is_parallel:
            return cls(n_rows, aggregate.rows or rows_per_block(TOGETHER * aggregate.width))
        rows = aggregate.rows or rows_per_block(aggregate.width)
        room = max(memory_budget() // SHARE, SMALL) // max(aggregate.partial_bytes, 1)
        most = 1 << max(min(room, LEVELS) - 1, 0)  # a tree over 2^k partitions keeps k + 1 partials
        return cls(n_rows, rows, max(1, -(-n_rows // (rows * most))))

    def __len__(self) -> int:
        return max(1, -(-self.n_rows // (self.rows * self.blocks)))

    def __getitem__(self, number: int) -> Partition:
        size = self.rows * self.blocks
        return Partition(number, number * size, min((number + 1) * size, self.n_rows))

    def __iter__(self) -> Iterator[Partition]:
        return (self[number] for number in range(len(self)))

    def of_row(self, row: int) -> int:
        return row // (self.rows * self.blocks)


Node = tuple[int, int]  # the level above the partitions, and the place in it: it stands for 2^level of them


class Tree(Generic[P]):
    """Partials of finished partitions, combined as soon as both halves of a node are there."""

    def __init__(self, count: int, combine: Callable[[P, P], P], nodes: dict[Node, P | None] | None = None) -> None:
        self.count, self.combine = count, combine
        self.nodes: dict[Node, P | None] = dict(nodes or {})

    def add(self, number: int, partial: P | None, level: int = 0) -> None:
        """The partial of one partition, or of a node of that level; None if it had no rows."""
        place = number
        while self._size(level) > 1:
            other = place ^ 1
            if other >= self._size(level):  # nothing beside it: it goes up as it is
                pass
            elif (level, other) in self.nodes:
                beside = self.nodes.pop((level, other))
                partial = self.both(beside, partial) if other < place else self.both(partial, beside)
            else:
                break
            level, place = level + 1, place // 2
        self.nodes[level, place] = partial

    def both(self, left: P | None, right: P | None) -> P | None:
        """Two partials as one; None is that of no rows."""
        if left is None or right is None:
            return right if left is None else left
        return self.combine(left, right)

    def _size(self, level: int) -> int:
        return -(-self.count >> level)

    def inside(self, level: int, place: int) -> range:
        """The partitions that a node stands for."""
        return range(place << level, min((place + 1) << level, self.count))

    def covering(self, numbers: list[int], level: int) -> list[Node]:
        """Nodes up to this level that stand for these partitions, which ascend, and no others."""
        left, found = set(numbers), []
        for number in numbers:
            if number not in left:
                continue
            highest = level
            while number % (1 << highest) or not left.issuperset(self.inside(highest, number >> highest)):
                highest -= 1
            found.append((highest, number >> highest))
            left.difference_update(self.inside(*found[-1]))
        return found

    def missing(self) -> list[int]:
        """The partitions that are not yet there."""
        there: set[int] = set()
        for level, place in self.nodes:
            there.update(self.inside(level, place))
        return [number for number in range(self.count) if number not in there]

    @property
    def is_complete(self) -> bool:
        return self._top in self.nodes

    @property
    def root(self) -> P | None:
        """What all partitions gave together; None if there were no rows."""
        return self.nodes.get(self._top)

    @property
    def _top(self) -> Node:
        return (self.count - 1).bit_length(), 0

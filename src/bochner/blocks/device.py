"""Rows on a device: blocks travel there while the one before is worked on, or all rows stay there if they fit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np

from ..streams import Stream
from .aggregate import Aggregate, P
from .base import Block, Blocks, WrappedBlocks
from .engine import reduce
from .memory import MemoryBlocks


class Carries(Protocol):
    """Moves arrays to a device; what was moved last is there once `arrived` was called."""

    @property
    def on_host(self) -> bool: ...
    def carry(self, arrays: list[Any]) -> list[Any]: ...
    def arrived(self, tensors: list[Any]) -> None: ...
    def room(self) -> AbstractContextManager[None]: ...


class DeviceBlocks(WrappedBlocks):
    """The rows of other blocks as tensors on a device.

    They are read and sent by the thread that reads ahead; the device waits for them only when they are used. Nothing
    but the blocks on their way is held there.
    """

    def __init__(self, blocks: Blocks, carrier: Carries) -> None:
        super().__init__(blocks)
        self.carrier = carrier

    def read(self, start: int, stop: int) -> Block:
        return self._arrived(self._sent(self.blocks.read(start, stop)))

    def take(self, numbers: np.ndarray) -> Block:
        return self._arrived(self._sent(self.blocks.take(numbers)))

    def stream(self, start: int, rows: int) -> Iterator[Block]:
        return map(self._arrived, self._on_their_way(start, rows))

    def shuffled(self, rows: int, stream: Stream, without: np.ndarray) -> Iterator[Block]:
        return (self._arrived(self._sent(block)) for block in self.blocks.shuffled(rows, stream, without))

    def ahead(self, start: int, stop: int, rows: int) -> Iterator[Block]:
        return map(self._arrived, SentBlocks(self).ahead(start, stop, rows))

    def reduce(self, aggregate: Aggregate[P], *, title: str = "") -> P:
        return reduce(self, aggregate, title)

    @property
    def is_recorded(self) -> bool:
        return False

    def unrecorded(self) -> Blocks:
        return self

    def _on_their_way(self, start: int, rows: int) -> Iterator[Block]:
        return map(self._sent, self.blocks.stream(start, rows))

    def _sent(self, block: Block) -> Block:
        return sent(block, self.carrier)

    def _arrived(self, block: Block) -> Block:
        self.carrier.arrived(carried(block))
        return block


class SentBlocks(WrappedBlocks):
    """The same blocks, which may still be on their way: what is read ahead."""

    blocks: DeviceBlocks

    def stream(self, start: int, rows: int) -> Iterator[Block]:
        return self.blocks._on_their_way(start, rows)


def on_device(blocks: Blocks, carrier: Carries, stays: bool) -> Blocks:
    """The blocks with their rows on a device; all at once if they may stay there and are in memory."""
    if stays and isinstance(blocks, MemoryBlocks):
        X, y, weight = parts = carrier.carry([blocks.X, blocks.y, blocks.weight])
        carrier.arrived(parts)
        return MemoryBlocks(X, y, weight, recipe=blocks.recipe)
    return DeviceBlocks(blocks, carrier)


def carried(block: Block) -> list[Any]:
    """What of a block goes to the device."""
    return [block.X, block.y, block.weight, block.kept, block.originals]


def sent(block: Block, carrier: Carries) -> Block:
    """The block on its way to the device."""
    X, y, weight, kept, originals = carrier.carry(carried(block))
    return Block(X, y, weight, block.start, kept, block.state, originals)

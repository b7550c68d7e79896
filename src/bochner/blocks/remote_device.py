"""Workers with devices of their own: blocks are carried there by whoever folds them, and sums come home to the host."""

from __future__ import annotations

import io
import pickle
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Generic

import numpy as np

from ..arrays import Array, is_torch, to_numpy
from ..validation import FitWarning
from .aggregate import Aggregate, P, Wrapped
from .base import Block, Blocks, WrappedBlocks
from .device import Carries, carried, sent
from .engine import engine_of


def works_elsewhere(rows: object) -> bool:
    """Whether rows are worked through by others, who have devices of their own or none."""
    blocks = rows if isinstance(rows, Blocks) else None
    return not is_torch(getattr(blocks, "X", rows)) and engine_of(blocks).is_remote


class HostPickler(pickle.Pickler):
    """Tensors travel as arrays, and are tensors of the host where they arrive: not all have the same devices."""

    def reducer_override(self, value: object) -> tuple[Callable[..., Array], tuple[np.ndarray]]:
        return (host_tensor, (to_numpy(value),)) if is_torch(value) else NotImplemented


def host_tensor(array: np.ndarray) -> Array:
    tensor: Array = import_module("torch").from_numpy(array)
    return tensor


class Travelling(Generic[P]):
    """A partial with tensors, which pickle brings to the host; whether a worker without a device had a part in it."""

    def __init__(self, value: P, without_device: bool, landed: bool = False) -> None:
        self.value, self.without_device, self.landed = value, without_device, landed

    def __reduce__(self) -> tuple[object, ...]:
        packed = io.BytesIO()
        HostPickler(packed, protocol=pickle.HIGHEST_PROTOCOL).dump(self.value)
        return Travelling.unpacked, (packed.getvalue(), self.without_device)

    @staticmethod
    def unpacked(value: bytes, without_device: bool) -> Travelling[Any]:
        return Travelling(pickle.loads(value), without_device, landed=True)


@dataclass(frozen=True)
class OnDevice(Wrapped[Travelling[P]]):
    """The aggregate on the device of whoever folds; a carrier that travels finds the one that is there."""

    inner: Aggregate[P]  # type: ignore[assignment]
    carrier: Carries

    @property
    def is_parallel(self) -> bool:
        return True  # a device works through what it is given in order

    def on_kept_blocks(self) -> Aggregate[Travelling[P]]:
        return OnDevice(self.inner.on_kept_blocks(), self.carrier)

    def step(self, partial: Travelling[P] | None, block: Block) -> Travelling[P]:
        with self.carrier.room():
            if block.X is not None:  # else it is kept, and was carried before
                block = sent(block, self.carrier)
                self.carrier.arrived(carried(block))
            value = self.inner.step(None if partial is None else partial.value, block)
        return Travelling(value, self.carrier.on_host)

    def combine(self, left: Travelling[P], right: Travelling[P]) -> Travelling[P]:
        value = self.inner.combine(left.value, right.value)
        return Travelling(value, left.without_device or right.without_device, left.landed and right.landed)


class RemoteDeviceBlocks(WrappedBlocks):
    """Rows that workers carry to their devices; samples of them and what is reduced are tensors of this host."""

    def __init__(self, blocks: Blocks, there: Carries, here: Carries) -> None:
        super().__init__(blocks)
        self.there, self.here, self.told = there, here, False

    def reduce(self, aggregate: Aggregate[P], *, title: str = "") -> P:
        found = self.blocks.reduce(OnDevice(aggregate, self.there), title=title)
        if not found.landed:  # the client itself made it of few rows, perhaps on a device of its own
            found = pickle.loads(pickle.dumps(found))
        if found.without_device and not self.told:
            self.told = True
            warnings.warn(
                "some workers of the cluster have no GPU that torch sees: they work on their CPU, which takes longer.",
                FitWarning,
                stacklevel=2,
            )
        return found.value

    @property
    def is_recorded(self) -> bool:
        return False

    def unrecorded(self) -> Blocks:
        return self

    def read(self, start: int, stop: int) -> Block:
        return self._here(self.blocks.read(start, stop))

    def take(self, numbers: np.ndarray) -> Block:
        return self._here(self.blocks.take(numbers))

    def stream(self, start: int, rows: int) -> Iterator[Block]:
        return map(self._here, self.blocks.stream(start, rows))

    def _here(self, block: Block) -> Block:
        return sent(block, self.here)

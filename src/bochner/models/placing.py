"""Where models work: where the rows are, or on the device that was asked for."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from ..arrays import Array, Rows, is_csr, is_torch, like, to_host
from ..blocks import Block, Blocks, MemoryBlocks, RemoteDeviceBlocks, on_device, works_elsewhere
from ..ops.devices import Carrier, carrier_here, device_of, fits, placed, require_device
from ..streams import sample_rows

Part = TypeVar("Part")


def device_for(asked: object, *rows: object) -> str | None:
    """The device that was asked for, or else the GPU that rows are on; workers of a cluster have their own."""
    if any(works_elsewhere(part) for part in rows):
        return None
    return require_device(asked) or device_of(*(getattr(part, "X", part) for part in rows))


def block_on(block: Block, device: str | None) -> Block:
    """The rows, targets and weights of a block on a device."""
    if device not in (None, "cpu") and is_csr(block.X):
        raise ValueError(f"there are no sparse rows on {device}: give dense ones, X.toarray().")
    X, y, weight = (placed(part, device) for part in block[:3])
    return block._replace(X=X, y=y, weight=weight)


def blocks_on(blocks: Blocks, device: str | None) -> Blocks:
    """Rows in blocks that come to a device, and stay there if they fit."""
    if isinstance(blocks, MemoryBlocks) and is_torch(blocks.X):
        X, y, weight = (placed(part, device) for part in (blocks.X, blocks.y, blocks.weight))
        return blocks if X is blocks.X else MemoryBlocks(X, y, weight, recipe=blocks.recipe)
    if device in (None, "cpu"):
        return blocks
    if works_elsewhere(blocks):
        return RemoteDeviceBlocks(blocks, carrier_here(str(device)), Carrier("cpu"))
    stays = isinstance(blocks, MemoryBlocks) and fits([blocks.X, blocks.y, blocks.weight], str(device))
    return on_device(blocks, Carrier(str(device)), stays)


def sampled(X: Rows, most: int, seed: int) -> np.ndarray:
    """At most so many rows, on the host: what is settled by them has the same bits wherever the rows are."""
    rows: np.ndarray = to_host(X[like(sample_rows(X.shape[0], most, seed=seed), X)])
    return rows


def beside(template: Array, *parts: Part) -> list[Part]:
    """What a model holds, beside the rows that it is given."""
    return [like(part, template) for part in parts]

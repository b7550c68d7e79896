"""Blocks of what is addressed as an array: numpy (memory-mapped too), CSR, torch tensors."""

from __future__ import annotations

from typing import Any

from ..arrays import to_numpy
from .base import Block, Blocks


class MemoryBlocks(Blocks):
    """X with y and sample weights, sliced by rows. A memory map is read a block at a time."""

    def __init__(self, X: Any, y: Any = None, weight: Any = None) -> None:
        self.X, self.y, self.weight = X, y, weight
        self.n_rows, self.n_columns = (int(size) for size in X.shape)
        for name, other in (("y", y), ("sample_weight", weight)):
            if other is not None and len(other) != self.n_rows:
                raise ValueError(f"X has {self.n_rows} rows but {name} has {len(other)}.")

    def read(self, start: int, stop: int) -> Block:
        rows = slice(start, stop)
        y, weight = (None if part is None else part[rows] for part in (self.y, self.weight))
        return Block(to_numpy(self.X[rows]), to_numpy(y), to_numpy(weight), start)

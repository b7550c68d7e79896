"""Blocks of what is addressed as an array: numpy (memory-mapped too), CSR, torch tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import to_numpy
from .base import Block, Blocks


class MemoryBlocks(Blocks):
    """X with y and sample weights, sliced by rows. A memory map is read a block at a time."""

    def __init__(self, X: Any, y: Any = None, weight: Any = None) -> None:
        self.X, self.y, self.weight = X, y, weight
        self.n_rows, self.n_columns = (int(size) for size in X.shape)
        self._mapped = is_mapped(X)
        for name, other in (("y", y), ("sample_weight", weight)):
            if other is not None and len(other) != self.n_rows:
                raise ValueError(f"X has {self.n_rows} rows but {name} has {len(other)}.")

    def read(self, start: int, stop: int) -> Block:
        rows = slice(start, stop)
        y, weight = (None if part is None else part[rows] for part in (self.y, self.weight))
        # A slice of a memory map reads nothing yet; its copy does, here, while another block is worked on.
        X = np.array(self.X[rows]) if self._mapped else to_numpy(self.X[rows])
        return Block(X, to_numpy(y), to_numpy(weight), start)


def is_mapped(array: Any) -> bool:
    """Whether an array is a view of a memory map."""
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap):
            return True
        array = array.base
    return False

"""Blocks of what is addressed as an array: numpy (memory-mapped too), CSR, torch tensors."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, TypeGuard

import numpy as np

from ..arrays import Rows, like, to_numpy
from ..streams import Stream, sample_rows
from ..tables.recipe import Recipe, SparseRecipe
from ..typing import VectorLike
from .base import Block, Blocks, shuffle

LOOKED_AT = 1000  # rows that stand for all when memory maps are told apart


class MemoryBlocks(Blocks):
    """X with y and sample weights, sliced by rows. A memory map is read a block at a time.

    Rows that are copies of others may come with these as `originals`.
    """

    def __init__(
        self, X: Rows, y: VectorLike | None = None, weight: VectorLike | None = None, *,
        recipe: Recipe | SparseRecipe | None = None, originals: Rows | None = None,
    ) -> None:  # fmt: skip
        self.X, self.recipe, self.originals = X, recipe, originals
        self.y: Any = y
        self.weight: Any = weight
        self.n_rows, self.n_columns = (int(size) for size in X.shape)
        self._mapped = is_mapped(X)
        beside: list[tuple[str, Any]] = [("y", y), ("sample_weight", weight)]
        for name, other in beside:
            if other is not None and len(other) != self.n_rows:
                raise ValueError(f"X has {self.n_rows} rows but {name} has {len(other)}.")

    def read(self, start: int, stop: int) -> Block:
        rows = slice(start, stop)
        parts = (self.y, self.weight, self.originals)
        y, weight, originals = (None if part is None else part[rows] for part in parts)
        # A slice of a memory map reads nothing yet; its copy does, here, while another block is worked on.
        X = np.array(self.X[rows]) if self._mapped else self.X[rows]
        return Block(X, y, weight, start, originals=originals)

    def take(self, numbers: np.ndarray) -> Block:
        parts = (self.X, self.y, self.weight, self.originals)
        X, y, weight, originals = (None if part is None else part[like(numbers, part)] for part in parts)
        return Block(X, y, weight, 0, originals=originals)

    def shuffled(self, rows: int, stream: Stream, without: np.ndarray) -> Iterator[Block]:
        """Every order of all rows is as likely as any other."""
        if self._mapped:  # rows from all over a file are slow to read
            yield from super().shuffled(rows, stream, without)
            return
        order = shuffle(np.setdiff1d(np.arange(self.n_rows), without, assume_unique=True), stream)
        for start in range(0, len(order), rows):
            yield self.take(order[start : start + rows])

    def fingerprint(self) -> dict[str, Any]:
        """A digest of all rows, targets and weights; of a memory map, of all targets and of some rows."""
        digest = hashlib.sha256()
        X = self.X[sample_rows(self.n_rows, LOOKED_AT, seed=4)] if self._mapped else to_numpy(self.X)
        for part in (X, to_numpy(self.y), to_numpy(self.weight)):
            for array in (part.data, part.indices, part.indptr) if hasattr(part, "indptr") else (part,):
                digest.update(f"{getattr(array, 'dtype', None)}{np.shape(array)}".encode())
                # An array of objects holds addresses, which are others next time.
                is_object = array is None or np.asarray(array).dtype.kind == "O"
                digest.update(repr(None if array is None else np.asarray(array).tolist()).encode() if is_object
                              else np.ascontiguousarray(array).tobytes())  # fmt: skip
        return {**super().fingerprint(), "data": digest.hexdigest()}


def is_mapped(array: object) -> TypeGuard[np.ndarray]:
    """Whether an array is a view of a memory map."""
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap):
            return True
        array = array.base
    return False

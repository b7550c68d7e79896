"""Some rows of both samples together, chosen by what they hold: what is learned of them cannot know whose they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from ..bases.heuristics import largest_size
from ..blocks import Block, Blocks, SumOf
from ..blocks.base import stack
from ..models.unlabelled import rows_of_lot
from ..streams import row_hashes
from ..typing import MatrixLike


@dataclass
class Pooled:
    """At most `most` different rows, those of smallest hash, in its order; and the largest |x| of all rows.

    Neither the order of rows, nor blocks, nor which sample a row is of matters: a permutation test of features that
    were settled by these rows is exact.
    """

    rows: Any
    hashes: np.ndarray
    largest: float
    most: int

    @classmethod
    def of(cls, rows: MatrixLike, most: int) -> Pooled:
        return cls(rows, row_hashes(rows), largest_size(rows), most)._shortened()

    def __iadd__(self, other: Pooled) -> Pooled:
        both = self.rows, other.rows
        if scipy.sparse.issparse(both[0]) != scipy.sparse.issparse(both[1]):
            both = scipy.sparse.csr_matrix(both[0]), scipy.sparse.csr_matrix(both[1])
        hashes, largest = np.concatenate([self.hashes, other.hashes]), max(self.largest, other.largest)
        return Pooled(stack(both), hashes, largest, self.most)._shortened()

    def _shortened(self) -> Pooled:
        hashes, first = np.unique(self.hashes, return_index=True)
        return Pooled(self.rows[first[: self.most]], hashes[: self.most], self.largest, self.most)


def pooled(first: Blocks, second: Blocks, most: int) -> Pooled:
    """The sample of both."""
    lot = PooledRows(first.n_columns, most)
    sample: Pooled = first.reduce(lot, title="survey")
    sample += second.reduce(lot, title="survey")
    return sample


@dataclass(frozen=True)
class PooledRows(SumOf):
    """The sample of the rows of one."""

    columns: int
    most: int

    @property
    def rows(self) -> int:
        return rows_of_lot(self.columns)

    def of(self, block: Block) -> Pooled:
        return Pooled.of(block.X, self.most)

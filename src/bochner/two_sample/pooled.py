"""Some rows of both samples together, chosen by what they hold: what is learned of them cannot know whose they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from .. import ops
from ..arrays import Rows, like, to_host
from ..bases.heuristics import largest_size
from ..blocks import Block, Blocks, SumOf
from ..blocks.base import stack
from ..models.unlabelled import rows_of_lot


@dataclass
class Pooled:
    """At most `most` different rows, those of smallest hash, in its order, on the host; and the largest |x| of all.

    Neither the order of rows, nor blocks, nor which sample a row is of matters: a permutation test of features that
    were settled by these rows is exact.
    """

    rows: Any
    hashes: np.ndarray
    largest: float
    most: int

    @classmethod
    def of(cls, rows: Rows, most: int) -> Pooled:
        words = ops.row_words(rows)
        hashes: np.ndarray = to_host(words).view(np.uint64)
        kept = smallest_different(hashes, most)
        return cls(to_host(rows[like(kept, words)]), hashes[kept], largest_size(rows), most)

    def __iadd__(self, other: Pooled) -> Pooled:
        both = self.rows, other.rows
        if scipy.sparse.issparse(both[0]) != scipy.sparse.issparse(both[1]):
            both = scipy.sparse.csr_matrix(both[0]), scipy.sparse.csr_matrix(both[1])
        hashes, largest = np.concatenate([self.hashes, other.hashes]), max(self.largest, other.largest)
        return Pooled(stack(both), hashes, largest, self.most)._shortened()

    def _shortened(self) -> Pooled:
        kept = smallest_different(self.hashes, self.most)
        return Pooled(self.rows[kept], self.hashes[kept], self.largest, self.most)


def smallest_different(hashes: np.ndarray, most: int) -> np.ndarray:
    """The places of the smallest hashes, ascending, each where it stands first."""
    return np.unique(hashes, return_index=True)[1][:most]


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

"""Some of the rows, chosen by number: what a basis settles on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from ..arrays import Array, like, namespace, to_host
from ..bases.heuristics import largest_size
from ..blocks import Block
from ..blocks.base import stack
from ..streams import priorities
from ..typing import MatrixLike

# Of a round of learning a metric: most rows and numbers in them, fewest rows of wide ones, and the seed of the rows.
ROUND, NUMBERS, LEAST, SEED = 1 << 14, 1 << 24, 1 << 10, 13


def sampled_for_rounds(columns: int) -> tuple[int, int]:
    """How many rows the rounds of learning a metric take at most, and the seed that chooses them."""
    return min(ROUND, max(LEAST, NUMBERS // max(columns, 1))), SEED


@dataclass
class RowsByNumber:
    """The rows of some numbers, which ascend, with targets and weights."""

    numbers: Array
    X: Any
    y: Any
    weight: Any

    @classmethod
    def of(cls, block: Block, wanted: np.ndarray) -> RowsByNumber:
        """Those of a block; `wanted` are the numbers of all."""
        stop = block.start + block.X.shape[0]
        numbers = wanted[np.searchsorted(wanted, block.start) : np.searchsorted(wanted, stop)]
        return cls(numbers, *block.only(numbers - block.start)[:3])

    def __iadd__(self, other: RowsByNumber) -> RowsByNumber:
        """The rows of the other one come after these."""
        pairs = ((self.X, other.X), (self.y, other.y), (self.weight, other.weight))
        parts = (None if mine is None else stack((mine, more)) for mine, more in pairs)
        return RowsByNumber(np.concatenate([self.numbers, other.numbers]), *parts)


@dataclass
class Sample:
    """At most `most` of the rows: those of smallest random priority; and the largest |x| of all rows.

    The priority belongs to the row's number, so that neither blocks nor calls matter to which rows these are.
    """

    rows: Any
    numbers: Array
    priorities: Array
    largest: float
    most: int

    @classmethod
    def of(cls, rows: MatrixLike, numbers: Array, most: int) -> Sample:
        """The sample of these rows; numbers ascend."""
        first, last = (int(numbers[0]), int(numbers[-1]) + 1) if len(numbers) else (0, 0)
        order = like(priorities(first, last, seed=0), numbers)[numbers - first]
        return cls(rows, numbers, order, largest_size(rows), most).shortened(most)

    def __iadd__(self, other: Sample) -> Sample:
        both = self.rows, other.rows
        if scipy.sparse.issparse(both[0]) != scipy.sparse.issparse(both[1]):
            both = scipy.sparse.csr_matrix(both[0]), scipy.sparse.csr_matrix(both[1])
        return Sample(
            stack(both), stack((self.numbers, other.numbers)), stack((self.priorities, other.priorities)),
            max(self.largest, other.largest), self.most,
        ).shortened(self.most)  # fmt: skip

    def on_host(self) -> Sample:
        """The same rows as numpy has them: what is settled by them has the same bits wherever the rows are."""
        rows, numbers, order = (to_host(part) for part in (self.rows, self.numbers, self.priorities))
        return Sample(rows, numbers, order, self.largest, self.most)

    def shortened(self, most: int) -> Sample:
        """The sample that would have been taken with a smaller `most`."""
        xp = namespace(self.numbers)
        kept = xp.argsort(self.priorities, stable=True)[:most]  # ties are broken by the number, and numbers ascend
        kept = kept[xp.argsort(kept)]
        return Sample(self.rows[kept], self.numbers[kept], self.priorities[kept], self.largest, most)

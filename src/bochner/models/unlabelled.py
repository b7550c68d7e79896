"""Rows without targets, as arrays or Blocks: checked, and sampled to settle a basis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import clone
from sklearn.utils.validation import check_array

from ..arrays import to_numpy
from ..bases import Basis, RandomFourier
from ..bases.settle import SAMPLE, draw_seed, largest_size
from ..blocks import Block, Blocks, MemoryBlocks
from ..blocks.base import stack
from ..blocks.memory import is_mapped
from ..streams import priorities
from ..validation import require_finite, require_numbers

LOT = 1 << 20  # numbers looked at together, whatever the memory budget


def dtypes_for(basis: Basis | None) -> list[Any]:
    """The types of rows that this basis takes as they are."""
    eight_bits = [np.uint8, np.int8] if str(getattr(basis, "precision", None)).startswith("int") else []
    return [np.float64, np.float32, *eight_bits]


def require_basis(basis: Any) -> None:
    if basis is not None and not isinstance(basis, Basis):
        raise ValueError(f"basis must be one of bochner's bases; got {basis!r}.")


def in_blocks(X: Any, dtypes: list[Any], name: str = "X") -> Any:
    """Blocks that are checked as they come; or, if they are in memory, the array that is to be checked as a whole."""
    if isinstance(X, MemoryBlocks) and X.recipe is None and X.weight is None:
        X = X.X
    if is_mapped(X) and X.dtype not in dtypes:  # a block at a time, never converted as a whole
        X = MemoryBlocks(X).map(lambda block: block)
    if not isinstance(X, Blocks):
        return X
    if X.n_rows == 0:
        raise ValueError(f"{name} has no rows: at least one is needed.")

    def check(block: Block) -> Block:
        if block.weight is not None:
            raise ValueError(f"{name} has weights, which are not taken here: read it without them.")
        rows = block.X if block.X.dtype in dtypes else block.X.astype(np.float64)
        require_finite(rows, f"{name}, in the block from row {block.start} on,")
        return Block(rows, None, None, block.start)

    return X.map(check)


def valid_rows(X: Any, name: str, basis: Basis | None) -> Blocks:
    """Rows that no estimator remembers, checked: arrays at once, Blocks as they come."""
    dtypes = dtypes_for(basis)
    X = in_blocks(to_numpy(X), dtypes, name)
    if isinstance(X, Blocks):
        return X
    require_numbers(X)
    X = check_array(
        X, accept_sparse="csr", dtype=dtypes, ensure_all_finite=False, ensure_min_samples=0, input_name=name
    )
    if X.shape[0] == 0:
        raise ValueError(f"{name} has no rows: at least one is needed.")
    require_finite(X, name)
    return MemoryBlocks(X)


@dataclass
class Sample:
    """At most `most` of the rows: those of smallest random priority; and the largest |x| of all rows.

    The priority belongs to the row's number, so that neither blocks nor calls matter to which rows these are.
    """

    rows: Any
    numbers: np.ndarray
    priorities: np.ndarray
    largest: float
    most: int

    @classmethod
    def of(cls, blocks: Blocks, most: int, first: int = 0) -> Sample:
        """The sample of these rows, which are numbered from `first` on."""

        def part(block: Block) -> Sample:
            numbers = first + block.start + np.arange(block.X.shape[0])
            order = priorities(int(numbers[0]), int(numbers[-1]) + 1, seed=0)
            return cls(block.X, numbers, order, largest_size(block.X), most).shortened(most)

        rows = max(1, min(1 << 14, LOT // max(blocks.n_columns, 1)))
        return blocks.reduce(part, rows=rows, title="survey")

    def __iadd__(self, other: Sample) -> Sample:
        both = self.rows, other.rows
        if scipy.sparse.issparse(both[0]) != scipy.sparse.issparse(both[1]):
            both = scipy.sparse.csr_matrix(both[0]), scipy.sparse.csr_matrix(both[1])
        return Sample(
            stack(both), np.concatenate([self.numbers, other.numbers]),
            np.concatenate([self.priorities, other.priorities]), max(self.largest, other.largest), self.most,
        ).shortened(self.most)  # fmt: skip

    def shortened(self, most: int) -> Sample:
        """The sample that would have been taken with a smaller `most`."""
        kept = np.sort(np.lexsort((self.numbers, self.priorities))[:most])  # ties are broken by the number
        return Sample(self.rows[kept], self.numbers[kept], self.priorities[kept], self.largest, most)

    def settle(self, basis: Basis | None, random_state: Any) -> Basis:
        """The basis fitted to these rows; without one, a thousand Fourier features."""
        basis = RandomFourier(1000) if basis is None else clone(basis)
        seed = draw_seed(random_state if basis.random_state is None else basis.random_state)
        return basis.set_params(random_state=seed).fit_sample(self.shortened(SAMPLE).rows, self.largest)

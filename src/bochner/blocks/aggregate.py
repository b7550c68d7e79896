"""What is computed over rows: an aggregate folds blocks into a partial result, and combines two of them into one.

An aggregate is small, pure and pickles: it holds a feature map, coefficients and settings, never a model, the data or a
closure. Whatever runs it (threads here, processes here, another machine) needs nothing else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from .base import Block

P = TypeVar("P")


class Aggregate(ABC, Generic[P]):
    """`step` adds a block to a partial result, `combine` makes one of two; both may work in place of the first.

    What it declares beside them says how rows are parted, and so must follow from the data and the settings alone.
    """

    @property
    def name(self) -> str:
        """What tells this aggregate from others in a checkpoint."""
        return type(self).__name__

    @property
    def width(self) -> float:
        """Float64 numbers that a row becomes in a step."""
        return 1.0

    @property
    def rows(self) -> int:
        """Rows of a block, where they do not follow from the memory budget; else 0."""
        return 0

    @property
    def partial_bytes(self) -> int:
        """The size of a partial result, if it is large."""
        return 0

    @property
    def is_parallel(self) -> bool:
        """Whether a step itself uses all threads: then blocks are folded one after another."""
        return False

    @property
    def leaves_state(self) -> bool:
        """Whether a step writes to the state of its block: then the pass is made even if its result is known."""
        return False

    @property
    def takes_empty(self) -> bool:
        """Whether a step wants to see blocks of which no row is left, too."""
        return False

    @abstractmethod
    def step(self, partial: P | None, block: Block) -> P:
        """The partial result with one more block; the first one is None."""

    def on_kept_blocks(self) -> Aggregate[P]:
        """The same on blocks that were made into their last form already."""
        return self

    def combine(self, left: P, right: P) -> P:
        """The result of both; the rows of the left one come first."""
        left += right  # type: ignore[operator]
        return left


class SumOf(Aggregate[P]):
    """The sum of something that each block gives."""

    @abstractmethod
    def of(self, block: Block) -> P:
        """The share of one block."""

    def step(self, partial: P | None, block: Block) -> P:
        part = self.of(block)
        if partial is None:
            return part
        partial += part  # type: ignore[operator]
        return partial


@dataclass(frozen=True)
class Wrapped(Aggregate[P]):
    """An aggregate that sees blocks in another form; all else is as it says."""

    inner: Aggregate[P]

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def width(self) -> float:
        return self.inner.width

    @property
    def rows(self) -> int:
        return self.inner.rows

    @property
    def partial_bytes(self) -> int:
        return self.inner.partial_bytes

    @property
    def is_parallel(self) -> bool:
        return self.inner.is_parallel

    @property
    def leaves_state(self) -> bool:
        return self.inner.leaves_state

    @property
    def takes_empty(self) -> bool:
        return self.inner.takes_empty

    def on_kept_blocks(self) -> Aggregate[P]:
        return self.inner.on_kept_blocks()

    def combine(self, left: P, right: P) -> P:
        return self.inner.combine(left, right)


@dataclass(frozen=True)
class AfterMap(Wrapped[P]):
    """The aggregate of blocks that a function changes first; blocks of which it leaves no row are passed over."""

    function: Callable[[Block], Block]

    def step(self, partial: P | None, block: Block) -> P:
        mapped = self.function(block)
        if not (mapped.X.shape[0] or self.takes_empty):
            return partial  # type: ignore[return-value]
        return self.inner.step(partial, mapped)

"""Copies of pictures as further rows of a fit, whose sums simply add; predictions are means over the copies.

Copies share the fold of their picture, so that none of them judges a model that has seen another.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..arrays import Rows, like, namespace
from ..bases import Basis
from ..blocks import Block, Blocks
from ..losses import Loss
from ..maps.rows import to_dense
from ..validation import option


@dataclass(frozen=True)
class CopiedRows:
    """A block with the copies of its pictures below them; which pixel stands where is `places` (n_copies, n_pixels)."""

    places: np.ndarray

    def __call__(self, block: Block) -> Block:
        count, X = len(self.places), to_dense(block.X)
        repeat = namespace(X).concatenate
        parts = (block.y, block.weight, block.numbers - block.start)
        y, weight, kept = (None if part is None else repeat([part] * count) for part in parts)
        return Block(repeat(list(copies(X, self.places))), y, weight, block.start, kept, originals=repeat([X] * count))


def copies(X: Rows, places: np.ndarray | None) -> Iterator[Rows]:
    """The rows, or each copy of them; the first are the rows themselves."""
    if places is None:
        yield X
        return
    X = to_dense(X)
    for order in places:
        yield X[:, like(order, X)]


def copied(blocks: Blocks, basis: Basis, loss: Loss) -> Blocks:
    """The rows with their copies, if the basis asks for some."""
    places = basis.copied_places
    if places is None:
        return blocks
    if not loss.quadratic:
        raise ValueError(f"copies of pictures are rows of sums, and those need {option('loss', 'squared')}.")
    return blocks.map(CopiedRows(places), present=len(places) * blocks.present)

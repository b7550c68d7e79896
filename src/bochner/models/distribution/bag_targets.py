"""The target of each bag, where every row has one: found in the first pass over the points, whatever that is for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ...blocks import Block
from ...blocks.aggregate import Wrapped

DIFFERENT = "has rows with different targets: a bag has one target."


class BagTargets(NamedTuple):
    """Bags in order, the target of each, and the first bag that was met with two different ones."""

    bags: np.ndarray
    values: np.ndarray
    odd: int | None

    @classmethod
    def of(cls, y: np.ndarray, owner: np.ndarray) -> BagTargets:
        bags, first, place = np.unique(owner, return_index=True, return_inverse=True)
        differs = np.asarray(y != y[first][place.reshape(-1)]).reshape(len(y), -1).any(axis=1)
        return cls(bags, y[first], int(owner[np.argmax(differs)]) if differs.any() else None)

    def joined(self, other: BagTargets) -> BagTargets:
        """Those of both; the rows of the other come later."""
        values, owner = np.concatenate([self.values, other.values]), np.concatenate([self.bags, other.bags])
        both = BagTargets.of(values, owner)
        odd = (found.odd for found in (self, other, both) if found.odd is not None)
        return both._replace(odd=next(odd, None))


Pair: TypeAlias = tuple[Any, BagTargets | None]  # what the aggregate makes of points, and the targets of their bags


@dataclass(frozen=True)
class WithTargets(Wrapped[Any]):
    """What an aggregate makes of the points, and the targets of their bags; None if there are none."""

    def step(self, partial: Pair | None, block: Block) -> Pair:
        before, targets = (None, None) if partial is None else partial
        result = self.inner.step(before, block)
        if block.y is None:
            return result, None
        found = BagTargets.of(np.asarray(block.y), block.X.owner)
        return result, found if targets is None else targets.joined(found)

    def combine(self, left: Pair, right: Pair) -> Pair:
        (before, targets), (after, others) = left, right
        joined = targets if targets is None or others is None else targets.joined(others)
        return self.inner.combine(before, after), joined

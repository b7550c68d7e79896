"""A look at the points before anything is fitted: a sample of them, chosen by what they are, not by where they stand."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...bases.settle import SAMPLE
from ...blocks import rows_per_block
from .bags import Bags, Piece

KEPT = 2000  # points from which it is learned how features vary


class Survey(NamedTuple):
    """Some points with their bags, chosen by what they are and not by where they stand, and the largest |x| of all."""

    points: np.ndarray
    owner: np.ndarray
    largest: float

    @property
    def few(self) -> np.ndarray:
        """As many as bandwidths and scales are learned from."""
        return self.points[:SAMPLE]


def survey(bags: Bags) -> Survey:
    """A pass over all points: the KEPT ones of the least priority, in the order of their priorities."""
    points, owner = np.empty((0, bags.n_columns)), np.empty(0, dtype=np.int64)
    priority, largest = np.empty(0, dtype=np.uint64), 0.0
    for piece in bags.walk(rows_per_block(8 * bags.n_columns), "survey"):
        largest = max(largest, float(piece.points.max()), -float(piece.points.min()))
        new = priorities(piece)
        if len(priority) == KEPT:
            wanted = new <= priority[-1]
            piece, new = Piece(piece.points[wanted], piece.owner[wanted]), new[wanted]
        priority = np.concatenate([priority, new])
        kept = np.argsort(priority, kind="stable")[:KEPT]
        points, owner = np.concatenate([points, piece.points])[kept], np.concatenate([owner, piece.owner])[kept]
        priority = priority[kept]
    return Survey(points, owner, largest)


def priorities(piece: Piece) -> np.ndarray:
    """A pseudo-random number for each point, made of its own digits and the number of its bag.

    So the choice is the same whatever the order of the points within a bag; a repeated point counts once among the
    different ones that bandwidths are learned from.
    """
    words = (piece.points.astype(np.float64) + 0.0).view(np.uint64)  # + 0.0 makes -0.0 into 0.0
    mixed = mix(piece.owner.astype(np.uint64))
    for k in range(words.shape[1]):
        mixed = mix(mixed ^ words[:, k])
    return mixed


def mix(words: np.ndarray) -> np.ndarray:
    """A bijection of 64-bit words that spreads every bit (the finaliser of SplitMix64)."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))

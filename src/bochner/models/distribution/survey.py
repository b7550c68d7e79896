"""A look at the points before anything is fitted: a sample, chosen by what points are and not by where they stand."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...bases.heuristics import SAMPLE
from ...blocks import rows_per_block
from .bags import Bags, Piece


class SampledPoints(NamedTuple):
    """Sampled points, in the order of their priorities, and the largest |x| of all."""

    points: np.ndarray
    largest: float


def survey(bags: Bags, present: np.ndarray | None = None) -> SampledPoints:
    """A pass over the points of all bags, or of those that are `present`: the points of the least priority."""
    points, priority, largest = np.empty((0, bags.n_columns)), np.empty(0, dtype=np.uint64), 0.0
    for piece in bags.walk(rows_per_block(8 * bags.n_columns), "survey"):
        if present is not None:
            piece = only(piece, present[piece.owner])
        if not len(piece.points):
            continue
        largest = max(largest, float(piece.points.max()), -float(piece.points.min()))
        new = priorities(piece)
        if len(priority) == SAMPLE:
            wanted = new < priority[-1]
            piece, new = only(piece, wanted), new[wanted]
        priority = np.concatenate([priority, new])
        kept = np.argsort(priority, kind="stable")[:SAMPLE]
        points, priority = np.concatenate([points, piece.points])[kept], priority[kept]
    return SampledPoints(points, largest)


def only(piece: Piece, wanted: np.ndarray) -> Piece:
    return Piece(piece.points[wanted], piece.owner[wanted])


def priorities(piece: Piece) -> np.ndarray:
    """A pseudo-random number for each point, made of its own digits, as many as float32 has, and the number of its bag.

    So the choice is the same whatever the order of the points within a bag.
    """
    with np.errstate(over="ignore"):
        words = np.ascontiguousarray(piece.points, dtype=np.float32) + np.float32(0)  # which makes -0.0 into 0.0
    mixed = mix(piece.owner.astype(np.uint64))
    for column in words.view(np.uint32).T:
        mixed = mix(mixed ^ column)
    return mixed


def mix(words: np.ndarray) -> np.ndarray:
    """A bijection of 64-bit words that spreads every bit (the finaliser of SplitMix64)."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))

"""A look at the points before anything is fitted: a sample, chosen by what points are and not by where they stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...bases.heuristics import SAMPLE
from ...blocks import Block, SumOf
from .bags import Bags, Piece


class SampledPoints(NamedTuple):
    """Sampled points, in the order of their priorities, and the largest |x| of all."""

    points: np.ndarray
    largest: float


@dataclass
class Lot:
    """The points of the least priorities so far, in their order, and the largest |x| of all."""

    points: np.ndarray
    priority: np.ndarray
    largest: float

    def __iadd__(self, other: Lot) -> Lot:
        """Of equal priorities, those met first come first."""
        priority = np.concatenate([self.priority, other.priority])
        kept = np.argsort(priority, kind="stable")[:SAMPLE]
        points = np.concatenate([self.points, other.points])[kept]
        return Lot(points, priority[kept], max(self.largest, other.largest))


@dataclass(frozen=True)
class SampleOf(SumOf):
    """The points of the least priority, of all bags or of those that are `present`."""

    columns: int
    present: np.ndarray | None

    @property
    def width(self) -> float:
        return 2.0 * self.columns

    def of(self, block: Block) -> Lot:
        piece = block.X if self.present is None else only(block.X, self.present[block.X.owner])
        priority = priorities(piece)
        kept = np.argsort(priority, kind="stable")[:SAMPLE]
        largest = float(np.abs(piece.points).max(initial=0.0))
        return Lot(piece.points[kept].astype(np.float64), priority[kept], largest)


def survey(bags: Bags, present: np.ndarray | None = None) -> SampledPoints:
    """A pass over the points of all bags, or of those that are `present`."""
    lot = bags.reduce(SampleOf(bags.n_columns, present), title="survey")
    return SampledPoints(lot.points, lot.largest)


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

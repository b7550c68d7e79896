"""Random labels that come row by row: permutations with their exact counts, and signs shared by neighbouring rows.

Every number belongs to the number of a row, or of the first row of a chunk, so the size of blocks does not matter.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from ..streams import Stream

CHUNK = 4096  # rows whose labels are drawn together
GROUP = 256  # relabelings that are drawn together
DEVIATIONS = 9  # beyond so many standard deviations a count has a chance below 1e-18

Weigher = Callable[[int, int], np.ndarray]


class Permutations:
    """Relabelings of rows in chunks of these bounds, `marked` being of the first sample: call with any of the chunks.

    A chunk's number of marked rows has the hypergeometric law given those before it; which rows they are is uniform.
    """

    def __init__(self, seed: int, count: int, bounds: list[int], marked: int) -> None:
        self.words = [Stream(seed, f"permutations from {begin}") for begin in range(0, count, GROUP)]
        chances, left = Stream(seed, "counts"), np.full(count, marked)
        self.starts = np.array(bounds[:-1])
        self.chosen = np.empty((len(self.starts), count), dtype=np.int16)  # marked rows of each chunk
        for k, (start, stop) in enumerate(pairwise(bounds)):
            chance = chances.uniform(start, start + 1, count)[0]
            self.chosen[k] = hypergeometric(chance, bounds[-1] - start, left, stop - start)
            left = left - self.chosen[k]

    def __call__(self, start: int, stop: int) -> np.ndarray:
        """Whether the rows of a chunk are of the first sample: (count, stop - start)."""
        chosen = self.chosen[np.searchsorted(self.starts, start)].astype(np.int64)
        labels = np.empty((len(chosen), stop - start), dtype=bool)
        for k, words in enumerate(self.words):
            some = chosen[GROUP * k : GROUP * (k + 1)]
            keys = np.ascontiguousarray(words.bits(start, stop, len(some)).T)
            last = np.sort(keys, axis=1)[np.arange(len(some)), np.maximum(some - 1, 0)]
            labels[GROUP * k : GROUP * (k + 1)] = (keys <= last[:, None]) & (some > 0)[:, None]
        for row in np.flatnonzero(labels.sum(axis=1) > chosen):  # two equal words (chance 1e-6) may add a row
            labels[row, np.flatnonzero(labels[row])[chosen[row] :]] = False
        return labels


def chunk_bounds(first: int, second: int) -> list[int]:
    """The bounds of the chunks in which the rows of two samples come."""
    return [*range(0, first, CHUNK), *range(first, first + second, CHUNK), first + second]


def hypergeometric(chance: np.ndarray, total: int, marked: np.ndarray, drawn: int) -> np.ndarray:
    """The quantile at each chance of how many of `drawn` rows are marked, if `marked` of `total` are."""
    share = marked / total
    spread = np.sqrt(drawn * share * (1 - share) * (total - drawn) / max(total - 1, 1))
    width = int(np.ceil(DEVIATIONS * spread.max())) + 2
    least, most = np.maximum(0, drawn - (total - marked)), np.minimum(drawn, marked)
    first = np.clip(np.floor(drawn * share).astype(np.int64) - width, least, most)[:, None]
    x = first + np.arange(2 * width + 2)
    marked = marked[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        # P(x + 1) / P(x), which is 0 at the end of the support
        steps = np.log(np.maximum((marked - x) * (drawn - x), 0)) - np.log((x + 1.0) * (total - marked - drawn + x + 1))
    logs = np.cumsum(np.column_stack([np.zeros(len(x)), np.where(x < most[:, None], steps, -np.inf)]), axis=1)
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    below = np.cumsum(weights, axis=1)
    found = np.sum(below < chance[:, None] * below[:, -1:], axis=1)
    return np.minimum(first[:, 0] + found, most)


class Signs:
    """Random signs, one for each `length` neighbouring rows: call with any rows."""

    def __init__(self, seed: int, name: str, count: int, length: int) -> None:
        self.stream, self.count, self.length = Stream(seed, f"signs of {name}"), count, length

    def __call__(self, start: int, stop: int) -> np.ndarray:
        """-1 or 1: (count, stop - start)."""
        group = np.arange(start, stop) // self.length
        return self.stream.sign(int(group[0]), int(group[-1]) + 1, self.count)[group - group[0]].T

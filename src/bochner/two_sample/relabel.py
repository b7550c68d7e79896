"""Random labels that come row by row: permutations with their exact counts, and signs shared by neighbouring rows.

Every number belongs to the number of a row, or of the first row of a chunk, so the size of blocks does not matter.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..streams import Stream

CHUNK = 4096  # rows whose labels are drawn together
GROUP = 256  # relabelings that are drawn together
DEVIATIONS = 9  # beyond so many standard deviations a count has a chance below 1e-18

Weigher = Callable[[int, int], np.ndarray]


class Permutations:
    """Relabelings of all rows, `marked` of `rows` being of the first sample: call with each chunk, in order.

    A chunk's number of marked rows has the hypergeometric law given those before it; which rows they are is uniform.
    """

    def __init__(self, seed: int, count: int, rows: int, marked: int) -> None:
        self.words = [Stream(seed, f"permutations from {first}") for first in range(0, count, GROUP)]
        self.chances = Stream(seed, "counts")
        self.left, self.marked = rows, np.full(count, marked)

    def __call__(self, start: int, stop: int) -> np.ndarray:
        """Whether rows are of the first sample: (count, stop - start)."""
        rows, count = stop - start, len(self.marked)
        chance = self.chances.uniform(start, start + 1, count)[0]
        chosen = hypergeometric(chance, self.left, self.marked, rows)
        labels = np.empty((count, rows), dtype=bool)
        for k, words in enumerate(self.words):
            some = chosen[GROUP * k : GROUP * (k + 1)]
            keys = np.ascontiguousarray(words.bits(start, stop, len(some)).T)
            last = np.sort(keys, axis=1)[np.arange(len(some)), np.maximum(some - 1, 0)]
            labels[GROUP * k : GROUP * (k + 1)] = (keys <= last[:, None]) & (some > 0)[:, None]
        # Two equal words (chance 1e-6) may add a row; then later chunks have one less.
        self.left, self.marked = self.left - rows, np.maximum(self.marked - labels.sum(axis=1), 0)
        return labels


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

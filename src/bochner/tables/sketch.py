"""Quantiles of a column whose rows come in parts: sums of sketches are sketches, and each knows how wrong it may be.

As long as a column has at most SIZE different values, they and their counts are kept: all is exact. Beyond that there
are levels of values, each of which stands for 2^h rows. A level that is full is sorted, and every other value moves up
to stand for two. That moves the rank of no number by more than 2^h, and there are at most n / (2^h SIZE) such moves of
level h, so that with L levels ranks are wrong by at most a share L / SIZE of all rows (Munro and Paterson, 1980; Manku,
Rajagopalan and Lindsay, 1998): 0.2 % for a million rows in parts, far less in practice. `error` counts what was done.

No random bits: the same rows in the same parts give the same sketch, which those of the libraries for it do not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..fields import MOST, numbers, require_fields, whole

SIZE = 4096  # different values that are kept as they are, and values of a level


class QuantileSketch:
    """What is known of the order of some finite numbers."""

    def __init__(self) -> None:
        self.values, self.counts = np.empty(0), np.empty(0, dtype=np.int64)  # while it is exact
        self.levels: list[np.ndarray] = []  # afterwards
        self.error = 0  # rows by which a rank may be wrong
        self.moves = 0

    @property
    def is_exact(self) -> bool:
        return not self.levels

    @property
    def count(self) -> int:
        return int(self.counts.sum()) + sum(len(level) << h for h, level in enumerate(self.levels))

    @property
    def rank_error(self) -> float:
        """The share of rows by which the rank of a number may be wrong at most."""
        return self.error / max(self.count, 1)

    def add(self, numbers: np.ndarray) -> None:
        """Take in more numbers, all of them finite."""
        self.add_counted(*np.unique(numbers, return_counts=True))

    def add_counted(self, values: np.ndarray, counts: np.ndarray) -> None:
        """Take in different numbers in order, and how often each is there."""
        self._join(values.astype(np.float64), counts)

    def merge(self, other: QuantileSketch) -> None:
        """Take in all that another sketch has seen."""
        for h, level in enumerate(other.levels):
            self._begin_levels(h)
            self.levels[h] = np.concatenate([self.levels[h], level])
        self.error, self.moves = self.error + other.error, self.moves + other.moves
        self._join(other.values, other.counts)

    def _join(self, values: np.ndarray, counts: np.ndarray) -> None:
        if len(self.values):
            counts = np.concatenate([self.counts, counts])
            values, places = np.unique(np.concatenate([self.values, values]), return_inverse=True)
            counts = np.bincount(places, counts, minlength=len(values)).astype(np.int64)
        self.values, self.counts = values, counts
        if len(self.values) > SIZE or self.levels:
            self._begin_levels(int(self.counts.max(initial=1)).bit_length() - 1)
            for h in range(len(self.levels)):  # a count is a sum of powers of 2
                self.levels[h] = np.concatenate([self.levels[h], self.values[(self.counts >> h) & 1 == 1]])
            self.values, self.counts = self.values[:0], self.counts[:0]
            self._compact()

    def _begin_levels(self, highest: int) -> None:
        self.levels += [np.empty(0) for _ in range(highest + 1 - len(self.levels))]

    def _compact(self) -> None:
        h = 0
        while h < len(self.levels):
            if len(self.levels[h]) > SIZE:
                self._begin_levels(h + 1)
                level = np.sort(self.levels[h])
                left = len(level) % 2  # one that has no partner stays
                start = left + self.moves % 2  # the lower of each two and the upper by turns, for errors to cancel
                self.levels[h], up = level[:left], level[start::2]
                self.levels[h + 1] = np.concatenate([self.levels[h + 1], up])
                self.error, self.moves = self.error + (1 << h), self.moves + 1
            h += 1

    def weighted(self) -> tuple[np.ndarray, np.ndarray]:
        """Different values in order, and how many rows each stands for."""
        if self.is_exact:
            return self.values, self.counts
        weights = np.concatenate([np.full(len(level), 1 << h) for h, level in enumerate(self.levels)])
        values, places = np.unique(np.concatenate(self.levels), return_inverse=True)
        return values, np.bincount(places, weights).astype(np.int64)

    def quantiles(self, shares: object) -> np.ndarray:
        """What `np.quantile` gives for all numbers, if the sketch is exact."""
        values, weights = self.weighted()
        ends = np.cumsum(weights)
        places = np.asarray(shares, dtype=np.float64) * (ends[-1] - 1)
        below = np.floor(places).astype(np.int64)
        share = places - below
        low, high = (values[np.searchsorted(ends, np.minimum(k, ends[-1] - 1), "right")] for k in (below, below + 1))
        return (1.0 - share) * low + share * high

    def to_state(self) -> dict[str, Any]:
        """What a file keeps."""
        return {
            "values": self.values, "counts": self.counts, "levels": tuple(self.levels), "error": self.error,
            "moves": self.moves,
        }  # fmt: skip

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> QuantileSketch:
        """A sketch from what a file kept; what no rows give is refused."""
        require_fields(state, FIELDS)
        sketch = cls()
        sketch.__dict__.update(state, levels=list(state["levels"]))
        exact, values = sketch.is_exact, sketch.values
        if len(values) != len(sketch.counts) or len(values) > SIZE or not (np.diff(values) > 0).all():
            raise ValueError("these are no quantiles of a column")
        full = len(sketch.levels) > 53 or any(len(level) > SIZE for level in sketch.levels) or sketch.count > MOST
        if (not exact and len(values)) or full:
            raise ValueError("these are no quantiles of a column")
        return sketch


FARTHEST = 1e150  # beyond which a number is taken for infinite, as its square nearly is
FIELDS = {
    "values": numbers(None, low=-FARTHEST, high=FARTHEST),
    "counts": numbers(None, dtypes=("int64",), low=1, high=MOST),
    "levels": lambda value: (
        type(value) is tuple and all(numbers(None, low=-FARTHEST, high=FARTHEST)(level) for level in value)
    ),
    "error": whole(),
    "moves": whole(),
}

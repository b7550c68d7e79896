"""What the value of a column says of the targets by itself: jumps and bumps that no line has, in one number.

The values of a column fall into bins, whose rows have the mean targets m. A category is a bin, and so is a number that
few others stand beside; other numbers share one between two quantiles. Four neighbouring bins of numbers have a parent,
four parents one of their own, and so on to all rows. From there down to the bins, with n rows in each,

    e = e_parent + n / (n + s) (m - e_parent),        s = within / between,

so that a bin without many rows says what its neighbours say. `within` is the variance of targets in bins, and `between`
that of true means about the parents', both by the nested analysis of variance, level by level:

    between = (sum n (m - e_parent)^2 - (G - P) within) / (N - sum n^2 / n_parent)

for G bins of P parents with N rows. Where that is not positive, the level says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .chunk import Text
from .statistics import CategoryStatistics, NumberStatistics

MOST_BINS = 256
CHILDREN = 4


@dataclass(frozen=True, eq=False)
class Bins:
    """How values become bins: 0 for a missing or unknown one; numbers count the edges below them, from 1."""

    edges: np.ndarray
    places: dict[str, int] | None = None  # of categories

    @classmethod
    def of_column(cls, found: CategoryStatistics | NumberStatistics, edges: np.ndarray | None = None) -> Bins:
        """Bins for the values of a column of which statistics are known; edges, if they are known too."""
        if isinstance(found, CategoryStatistics):
            told = [] if found.is_identifier else sorted(found.places)  # of rows each with its own nothing is learned
            return cls(np.empty(0), {value: k + 1 for k, value in enumerate(told)})
        return cls(edges_between(*found.sketch.weighted()) if edges is None else edges)

    @property
    def count(self) -> int:
        """How many bins there are."""
        return 1 + (len(self.edges) + 1 if self.places is None else len(self.places))

    def __call__(self, column: Text | np.ndarray) -> np.ndarray:
        if isinstance(column, Text):
            places = self.places or {}
            return np.array([*(places.get(value, 0) for value in column.values), 0], dtype=np.int64)[column.codes]
        return np.where(np.isnan(column), 0, np.searchsorted(self.edges, column) + 1)

    def levels(self) -> list[np.ndarray]:
        """The group of each bin, level by level down to the bins themselves; what is missing is a group of its own."""
        bins = np.arange(self.count)
        found = [bins]
        while self.places is None and found[0].max(initial=0) > CHILDREN:
            found.insert(0, np.where(bins == 0, 0, (found[0] - 1) // CHILDREN + 1))
        return found


def edges_between(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Edges of at most MOST_BINS bins, in the middle between values; `counts` says how many rows have each."""
    if len(values) > MOST_BINS:
        # Half of the bins have as many rows each, and half as many values: rare values may matter most.
        shares, ends = np.linspace(0.0, 1.0, MOST_BINS // 2, endpoint=False), np.cumsum(counts)
        by_rows = np.searchsorted(ends, shares * ends[-1], side="right")
        by_values = (shares * len(values)).astype(np.int64)
        values = values[np.unique([*by_rows, *by_values, len(values) - 1])]
    return np.unique(0.5 * values[1:] + 0.5 * values[:-1])  # of numbers without one between them two may be the same


def shrunk_effects(counts: np.ndarray, sums: np.ndarray, squares: np.ndarray, levels: list[np.ndarray]) -> np.ndarray:
    """Effects (bins, outputs), less the mean of all rows: `counts` (bins,) and `sums` (bins, outputs) of the targets,
    and `squares` (outputs,) summed over all rows."""
    rows, there = counts.sum(), counts > 0
    mean = sums.sum(axis=0) / max(rows, 1)
    effects, parents = np.zeros_like(sums), np.zeros(len(counts), dtype=np.int64)
    sums = sums - counts[:, None] * mean
    inside = np.sum(sums[there] ** 2 / counts[there, None], axis=0)
    within = np.maximum(squares - rows * mean**2 - inside, 0.0) / max(rows - there.sum(), 1)
    for groups in levels:
        n, parent = np.bincount(groups, counts), np.zeros(groups.max() + 1, dtype=np.int64)
        parent[groups] = parents
        of_parent = np.bincount(parent, n)[parent]
        total = np.stack([np.bincount(groups, column) for column in sums.T], axis=-1)
        above = np.zeros_like(total)
        above[groups] = effects
        missed = np.where(n[:, None] > 0, total - n[:, None] * above, 0.0) / np.maximum(n, 1)[:, None]
        filled = n > 0
        free = filled.sum() - len(np.unique(parent[filled]))
        spare = rows - np.sum(n[filled] ** 2 / of_parent[filled])
        between = (n @ missed**2 - free * within) / spare if spare > 0 else np.zeros(sums.shape[1])
        drawn = np.divide(within, between, out=np.full(len(within), np.inf), where=between > 0)
        effects = (above + n[:, None] / (n[:, None] + np.maximum(drawn, 1.0)) * missed)[groups]
        parents = groups
    return effects


@dataclass(frozen=True, eq=False)
class EffectSums:
    """Counts (folds, bins), sums (folds, bins, outputs) and sums of squares (folds, outputs) of targets."""

    counts: np.ndarray
    sums: np.ndarray
    squares: np.ndarray
    levels: list[np.ndarray]

    @classmethod
    def of(cls, codes: np.ndarray, Y: np.ndarray, folds: np.ndarray, levels: list[np.ndarray]) -> EffectSums:
        """The sums of rows by their bins and folds."""
        bins, kinds = len(levels[-1]), int(folds.max(initial=0)) + 1
        place = folds * bins + codes
        counts = np.bincount(place, minlength=kinds * bins).reshape(kinds, bins)
        sums = np.stack([np.bincount(place, y, minlength=kinds * bins) for y in Y.T], axis=-1)
        squares = np.stack([np.bincount(folds, y**2, minlength=kinds) for y in Y.T], axis=-1)
        return cls(counts, sums.reshape(kinds, bins, -1), squares, levels)

    def effects(self, without: int | None = None) -> np.ndarray:
        """Effects by all rows, or by those of all folds but one."""
        others = np.arange(len(self.counts)) != (-1 if without is None else without)
        counts, sums, squares = (part[others].sum(axis=0) for part in (self.counts, self.sums, self.squares))
        return shrunk_effects(counts, sums, squares, self.levels)

    def of_rows(self, codes: np.ndarray, folds: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        """The effects (n, outputs) of rows that are in the sums, each by the folds that it is not in."""
        tables = np.stack([self.effects(without=fold)[:, outputs] for fold in range(len(self.counts))])
        return tables[folds, codes]

"""Sums over the rows of one sample: of features, of their squares, and of features times random labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from operator import iadd

import numpy as np

from ..arrays import Array, Rows, cast, dtype_name, empty, is_csr, like, to_host
from ..bases.design import Design
from ..blocks import TOGETHER, Block, Blocks, SumOf, rows_per_block
from ..moments import Moments
from .relabel import CHUNK, GROUP, Weigher


@dataclass
class Tally:
    """rows, sum z and sum z^2 of each feature; and for each relabeling the sum of its labels and of labels times z."""

    rows: int
    sum_z: Array
    squares: Array
    sum_labels: np.ndarray
    labelled: Array

    @classmethod
    def of(cls, features: Rows, labels: np.ndarray) -> Tally:
        """Float32 holds the sums of a chunk of 8-bit numbers exactly; other integers are summed in float64."""
        work = "float32" if dtype_name(features) in ("int8", "float32") else "float64"
        narrow, wide = cast(features, work), cast(features, "float64")
        labelled = empty((len(labels), features.shape[1]), features)
        for first in range(0, len(labels), GROUP):
            group = slice(first, first + GROUP)
            labelled[group] = (narrow.T @ cast(like(labels[group].T, narrow), work)).T
        if is_csr(wide):
            sum_z, sum_squares = (np.asarray(part.sum(axis=0)).ravel() for part in (wide, wide.multiply(wide)))
        else:
            sum_z, sum_squares = wide.sum(axis=0), (wide * wide).sum(axis=0)
        return cls(features.shape[0], sum_z, sum_squares, labels.sum(axis=1, dtype=np.float64), labelled)

    @classmethod
    def of_moments(cls, moments: Moments) -> Tally:
        sum_z, squares = (cast(part, "float64") for part in (moments.sum_z, moments.gram.diagonal()))
        return cls(moments.rows, sum_z, squares, np.empty(0), empty((0, len(sum_z)), sum_z)).on_host()

    def __iadd__(self, other: Tally) -> Tally:
        return Tally(*(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))

    def on_host(self) -> Tally:
        """The same sums as numpy has them, wherever they were made: numbers for each feature and relabeling."""
        return Tally(*(to_host(part) for part in vars(self).values()))

    def mean(self) -> np.ndarray:
        return np.asarray(self.sum_z / self.rows)

    def variances(self) -> np.ndarray:
        """The variance of each feature."""
        return np.maximum(self.squares - self.rows * self.mean() ** 2, 0.0) / max(self.rows - 1, 1)


def no_labels(start: int, stop: int) -> np.ndarray:
    return np.empty((0, stop - start))


def tally_of(blocks: Blocks, design: Design, weigh: Weigher = no_labels, offset: int = 0) -> Tally:
    """One pass over the rows, which are numbered from `offset` on, a chunk of labels at a time."""
    together = rows_per_block(3 * TOGETHER * int(design.n_components))
    found: Tally = blocks.reduce(TallyOf(design, weigh, offset, together), title="features")
    return found.on_host()


@dataclass(frozen=True)
class TallyOf(SumOf):
    """The tally of rows that are numbered from `offset` on; features of `together` rows are made at a time."""

    design: Design
    weigh: Weigher
    offset: int
    together: int

    @property
    def rows(self) -> int:
        return CHUNK * max(1, self.together // CHUNK)

    def of(self, block: Block) -> Tally:
        return reduce(iadd, self.parts(block))

    def parts(self, block: Block) -> Iterator[Tally]:
        for first in range(0, block.X.shape[0], CHUNK):
            rows = block.X[first : first + CHUNK]
            start = self.offset + block.start + first
            labels = self.weigh(start, start + rows.shape[0])
            for row in range(0, rows.shape[0], self.together):
                some = slice(row, row + self.together)
                yield Tally.of(self.design.features(rows[some]), labels[:, some])

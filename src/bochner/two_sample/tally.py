"""Sums over the rows of one sample: of features, of their squares, and of features times random labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..bases import Basis
from ..blocks import Block, Blocks, rows_per_block
from ..moments import Moments
from .relabel import CHUNK, Weigher


@dataclass
class Tally:
    """rows, sum z and sum z^2 of each feature; and for each relabeling the sum of its labels and of labels times z."""

    rows: int
    sum_z: np.ndarray
    squares: np.ndarray
    sum_labels: np.ndarray
    labelled: np.ndarray

    def __iadd__(self, other: Tally) -> Tally:
        return Tally(*(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))

    @classmethod
    def of_moments(cls, moments: Moments) -> Tally:
        none = np.empty(0), np.empty((0, len(moments.sum_z)))
        return cls(moments.rows, moments.sum_z / 1.0, np.diagonal(moments.gram) / 1.0, *none)

    def mean(self) -> np.ndarray:
        return self.sum_z / self.rows

    def variances(self) -> np.ndarray:
        """The variance of each feature."""
        return np.maximum(self.squares - self.rows * self.mean() ** 2, 0.0) / max(self.rows - 1, 1)


def no_labels(start: int, stop: int) -> np.ndarray:
    return np.empty((0, stop - start))


def tally_of(blocks: Blocks, basis: Basis, weigh: Weigher = no_labels, offset: int = 0) -> Tally:
    """One pass over the rows, which are numbered from `offset` on, a chunk of labels at a time."""
    m = int(basis.n_components)
    together = max(1, rows_per_block(3 * m) // CHUNK)

    def part(block: Block) -> Tally:
        total: Any = None
        for first in range(0, block.X.shape[0], CHUNK):
            rows = block.X[first : first + CHUNK]
            start = offset + block.start + first
            chunk = chunk_tally(rows, basis, weigh(start, start + rows.shape[0]))
            total = chunk if total is None else total.__iadd__(chunk)
        return total

    return blocks.reduce(part, rows=CHUNK * together, title="features")


def chunk_tally(X: Any, basis: Basis, labels: np.ndarray) -> Tally:
    total: Any = None
    step = rows_per_block(3 * int(basis.n_components))
    for start in range(0, X.shape[0], step):
        features = basis.features(X[start : start + step])
        part = features_tally(features, labels[:, start : start + step])
        total = part if total is None else total.__iadd__(part)
    return total


def features_tally(features: Any, labels: np.ndarray) -> Tally:
    """Float32 holds the sums of a chunk of 8-bit numbers exactly; other integers are summed in float64."""
    work = np.float32 if features.dtype in (np.int8, np.float32) else np.float64
    wide = features.astype(np.float64)
    squares = wide.multiply(wide) if hasattr(wide, "multiply") else wide * wide
    labelled = (features.astype(work, copy=False).T @ labels.T.astype(work)).T
    return Tally(
        features.shape[0], np.asarray(wide.sum(axis=0)).ravel(), np.asarray(squares.sum(axis=0)).ravel(),
        labels.sum(axis=1, dtype=np.float64), np.asarray(labelled, dtype=np.float64),
    )  # fmt: skip

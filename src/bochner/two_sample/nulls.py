"""The law of the difference of mean features if both samples have one law: three ways to know it."""

from __future__ import annotations

import numpy as np

from .. import ops
from ..arrays import like, to_host
from ..bases.design import Design
from ..blocks import Blocks
from ..config import memory_budget
from ..models.unlabelled import FeatureMoments
from .relabel import Permutations, Signs, Weigher, chunk_bounds
from .tally import Tally, tally_of

MATRICES = 48  # bytes for each number of a covariance: sums of both samples, a part to add, and eigenvalues


def permuted(
    first: Blocks, second: Blocks, design: Design, count: int, block_length: int
) -> tuple[Tally, Tally, np.ndarray]:
    """Differences of means after rows changed samples."""
    if block_length != 1:
        raise ValueError("block_length is for null='wild': permutations assume independent rows.")
    weigh = Permutations(design.seed_, count, chunk_bounds(first.n_rows, second.n_rows), first.n_rows)
    mine, other = tally_of(first, design, weigh), tally_of(second, design, weigh, offset=first.n_rows)
    size = (mine.sum_labels + other.sum_labels)[:, None]
    labelled, total = mine.labelled + other.labelled, mine.sum_z + other.sum_z
    return mine, other, labelled / size - (total - labelled) / (mine.rows + other.rows - size)


def wild(
    first: Blocks, second: Blocks, design: Design, count: int, block_length: int
) -> tuple[Tally, Tally, np.ndarray]:
    """Differences of means of e_i (z_i - mean z), each sample with its own mean."""
    if block_length > min(first.n_rows, second.n_rows) // 2:
        raise ValueError(f"block_length={block_length} leaves fewer than two blocks in a sample: give a smaller one.")

    def shaken(blocks: Blocks, weigh: Weigher) -> tuple[Tally, np.ndarray]:
        tally = tally_of(blocks, design, weigh)
        return tally, (tally.labelled - np.outer(tally.sum_labels, tally.mean())) / tally.rows

    mine, one = shaken(first, Signs(design.seed_, "X", count, block_length))
    other, two = shaken(second, Signs(design.seed_, "Y", count, block_length))
    return mine, other, one - two


def asymptotic(first: Blocks, second: Blocks, design: Design) -> tuple[Tally, Tally, np.ndarray]:
    """The variances of the independent normal numbers whose squares the statistic adds up, for many rows."""
    m = int(design.n_components)
    if MATRICES * m**2 > memory_budget():
        raise ValueError(f"the covariance of {m:,} features is over the memory budget: use null='permutation'.")

    mine, other = (blocks.reduce(FeatureMoments(design), title="covariance") for blocks in (first, second))
    gram = mine.centered().gram
    gram += like(other.centered().gram, gram)
    degrees = max(mine.rows + other.rows - 2, 1)
    variances = np.maximum(to_host(ops.eigvalsh(gram / degrees)), 0.0) * (1.0 / mine.rows + 1.0 / other.rows)
    return Tally.of_moments(mine), Tally.of_moments(other), variances

"""Features that many passes need: made once and kept if a quarter of the memory budget holds them, else made again.

Sparse features are the case in point: a million columns, of which a row fills a hundred.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import cast
from ..blocks import TOGETHER, Block, KeptBlocks, rows_per_block
from ..config import device_room, get_config
from ..costs import may_be_kept
from ..maps import FeatureMap
from .problem import Problem

TILE = 1 << 21  # numbers of a block of dense features that are kept


@dataclass(frozen=True)
class FeaturesOf:
    """A block whose rows are features."""

    map: FeatureMap

    def __call__(self, block: Block) -> Block:
        return block._replace(X=self.map(block.X)) if block.X.shape[0] else block


@dataclass(frozen=True)
class FloatFeatures(FeaturesOf):
    """A block whose rows are features in floats, with targets in float64 and with weights."""

    dtype: np.dtype  # of features that are integers

    def __call__(self, block: Block) -> Block:
        if not block.X.shape[0]:
            return block
        features = self.map(block.X)
        features = features if features.dtype.kind == "f" else cast(features, self.dtype.name)
        weight = np.ones(features.shape[0]) if block.weight is None else block.weight
        return block._replace(X=features, y=block.y.astype(np.float64), weight=weight)


def kept_features(problem: Problem) -> KeptBlocks:
    """Blocks of features for conjugate gradients."""
    entries, columns = int(problem.map.entries), problem.columns
    # On a device integers stay bytes, and their products are made of halves.
    stays = device_room() > 0 and problem.map.is_integer
    rows = rows_per_block(4 * problem.width if stays else 3 * entries * TOGETHER)
    if get_config()["block_rows"] == "auto":
        # A block adds up to one number per column: with fewer entries than that, adding costs more than making.
        rows = max(rows, columns // entries)
    keeps = may_be_kept(8 * entries * problem.blocks.n_rows)
    return KeptBlocks(problem.blocks, FeaturesOf(problem.map), rows, keeps)


def kept_floats(problem: Problem, dtype: np.dtype) -> KeptBlocks:
    """Blocks of features in floats, for Newton's method: its passes are not recorded where features are kept."""
    m, n = problem.columns, problem.blocks.n_rows
    keeps = may_be_kept(n * m * dtype.itemsize)
    rows = rows_per_block(3 * m * TOGETHER)
    if keeps and get_config()["block_rows"] == "auto":
        rows = max(1, TILE // m)
    return KeptBlocks(problem.blocks, FloatFeatures(problem.map, dtype), rows, keeps, recorded=False)

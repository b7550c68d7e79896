"""Features that many passes need: made once and kept if a quarter of the memory budget holds them, else made again.

Sparse features are the case in point: a million columns, of which a row fills a hundred.
"""

from __future__ import annotations

from typing import Any

from ...blocks import Block, rows_per_block
from ...config import get_config, memory_budget
from .problem import Problem


class KeptFeatures:
    """The features of a block. All passes must use blocks of `rows` rows, for a block is known by its first row."""

    def __init__(self, problem: Problem, workers: int) -> None:
        self.problem = problem
        entries, columns = int(problem.basis.entries), int(problem.basis.n_components)
        self.keeps = 8 * entries * problem.blocks.n_rows <= memory_budget() // 4
        self.rows = rows_per_block(3 * entries * workers)
        if get_config()["block_rows"] == "auto":
            # A block adds up to one number per column: with fewer entries than that, adding costs more than making.
            self.rows = max(self.rows, columns // entries)
        self._kept: dict[int, Any] = {}

    def __call__(self, block: Block) -> Any:
        if block.start not in self._kept:
            features = self.problem.features(block.X)
            if not self.keeps:
                return features
            self._kept[block.start] = features
        return self._kept[block.start]

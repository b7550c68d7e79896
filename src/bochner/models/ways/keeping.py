"""Features that many passes need: made once and kept if a quarter of the memory budget holds them, else made again.

Sparse features are the case in point: a million columns, of which a row fills a hundred.
"""

from __future__ import annotations

from typing import Any

from ...blocks import Block, rows_per_block
from ...config import get_config, memory_budget
from .problem import Problem

TOGETHER = 4  # blocks that are worked on at a time, as far as their size goes


class KeptFeatures:
    """The features of a block. All passes must use blocks of `rows` rows, for a block is known by its first row.

    Their size does not depend on the number of threads: a fit that is taken up again with more or fewer of them, or on
    another machine, counts every row once and ends with the same bits.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        entries, columns = int(problem.basis.entries), int(problem.basis.n_components)
        self.keeps = 8 * entries * problem.blocks.n_rows <= memory_budget() // 4
        self.rows = rows_per_block(3 * entries * TOGETHER)
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

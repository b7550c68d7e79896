"""Rows in blocks."""

from .base import Block, Blocks, rows_per_block
from .checkpoint import CheckpointedBlocks, Journal
from .files import TableBlocks, read
from .memory import MemoryBlocks
from .recipe import Recipe

__all__ = [
    "Block", "Blocks", "CheckpointedBlocks", "Journal", "MemoryBlocks", "Recipe", "TableBlocks", "read",
    "rows_per_block",
]  # fmt: skip

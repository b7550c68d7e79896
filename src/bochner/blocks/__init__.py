"""Rows in blocks."""

from .base import Block, Blocks, rows_per_block
from .checkpoint import CheckpointedBlocks, Journal
from .memory import MemoryBlocks

__all__ = ["Block", "Blocks", "CheckpointedBlocks", "Journal", "MemoryBlocks", "rows_per_block"]

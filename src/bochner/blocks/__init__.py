"""Rows in blocks."""

from .base import Block, Blocks, rows_per_block
from .memory import MemoryBlocks

__all__ = ["Block", "Blocks", "MemoryBlocks", "rows_per_block"]

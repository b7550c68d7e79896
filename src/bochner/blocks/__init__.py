"""Rows in blocks."""

from .base import Block, Blocks, rows_per_block
from .checkpoint import CheckpointedBlocks, Journal, forget_checkpoint
from .files import TableBlocks, read
from .frames import encoded_frame, frame_blocks, target_values
from .memory import MemoryBlocks
from .progress import Progress
from .recipe import Recipe, SparseRecipe

__all__ = [
    "Block", "Blocks", "CheckpointedBlocks", "Journal", "MemoryBlocks", "Progress", "Recipe", "SparseRecipe",
    "TableBlocks", "encoded_frame", "forget_checkpoint", "frame_blocks", "read", "rows_per_block", "target_values",
]  # fmt: skip

"""Rows in blocks."""

from ..tables.recipe import Recipe, SparseRecipe
from .aggregate import Aggregate, SumOf
from .base import Block, Blocks, SampledBlocks
from .checkpoint import CheckpointedBlocks, Journal, forget_checkpoint
from .files import TableBlocks, read
from .frames import encoded_frame, frame_blocks, target_values
from .kept import KeptBlocks
from .memory import MemoryBlocks
from .partitions import TOGETHER, rows_per_block
from .progress import Progress

__all__ = [
    "TOGETHER", "Aggregate", "Block", "Blocks", "CheckpointedBlocks", "Journal", "KeptBlocks", "MemoryBlocks",
    "Progress", "Recipe", "SampledBlocks", "SparseRecipe", "SumOf", "TableBlocks", "encoded_frame", "forget_checkpoint",
    "frame_blocks", "read", "rows_per_block", "target_values",
]  # fmt: skip

"""Rows in blocks."""

from ..tables.recipe import Recipe, SparseRecipe
from .aggregate import Aggregate, SumOf
from .base import Block, Blocks, RowsLike, SampledBlocks
from .checkpoint import CheckpointedBlocks, Journal, forget_checkpoint
from .device import DeviceBlocks, on_device
from .files import TableBlocks, read
from .frames import encoded_frame, frame_blocks, target_values
from .kept import KeptBlocks
from .memory import MemoryBlocks
from .partitions import TOGETHER, rows_per_block
from .progress import Progress
from .remote_device import RemoteDeviceBlocks, works_elsewhere

__all__ = [
    "TOGETHER", "Aggregate", "Block", "Blocks", "CheckpointedBlocks", "DeviceBlocks", "Journal", "KeptBlocks",
    "MemoryBlocks", "Progress", "Recipe", "RemoteDeviceBlocks", "RowsLike", "SampledBlocks", "SparseRecipe", "SumOf",
    "TableBlocks", "encoded_frame", "forget_checkpoint", "frame_blocks", "on_device", "read", "rows_per_block",
    "target_values", "works_elsewhere",
]  # fmt: skip

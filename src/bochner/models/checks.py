"""Rows, targets and weights as they come, made ready."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..arrays import to_numpy
from ..blocks import Blocks, MemoryBlocks, rows_per_block
from ..validation import require_finite


def unpack_blocks(blocks: Blocks, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """Rows, targets and weights of blocks that hold them in memory."""
    if y is not None or sample_weight is not None:
        raise ValueError("the blocks have their own targets and weights: give none beside them.")
    if not isinstance(blocks, MemoryBlocks):
        raise ValueError(f"models take MemoryBlocks; {type(blocks).__name__} cannot be fitted.")
    return blocks.X, blocks.y, blocks.weight


def split_target(X: Any, y: Any, target: str | None) -> tuple[Any, Any]:
    """Take the target column out of a frame."""
    if target is None:
        return X, y
    if y is not None:
        raise ValueError("y is given twice: as an array and as target.")
    if not hasattr(X, "columns") or target not in list(X.columns):
        raise ValueError(f"X has no column {target!r} to take as the target.")
    return (X.drop(columns=target) if hasattr(X, "iloc") else X.drop(target)), X[target].to_numpy()


def check_weights(sample_weight: Any, rows: int) -> np.ndarray | None:
    """Weights as float64, or None."""
    if sample_weight is None:
        return None
    weight = np.asarray(to_numpy(sample_weight), dtype=np.float64)
    weight = np.full(rows, float(weight)) if weight.ndim == 0 else weight
    if weight.shape != (rows,):
        raise ValueError(f"sample_weight must have one number for each of {rows} rows; its shape is {weight.shape}.")
    require_finite(weight, "sample_weight")
    if (weight < 0).any() or not (weight > 0).any():
        raise ValueError("sample_weight must not be negative, nor all zero.")
    return weight


def row_slices(n: int, width: int) -> Iterator[slice]:
    rows = rows_per_block(width)
    for start in range(0, n, rows):
        yield slice(start, min(start + rows, n))

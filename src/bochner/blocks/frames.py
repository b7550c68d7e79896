"""Frames that models are fitted to: those of plain numbers stay as they are, all others get the recipe of `read`."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any

import numpy as np

from ..tables.columns import is_frame, target_values
from ..tables.recipe import Recipe
from ..typing import Frame, VectorLike
from .base import Blocks
from .files import TableBlocks, read
from .memory import MemoryBlocks

if TYPE_CHECKING:
    import pandas


def encoded_frame(X: object, y: object) -> tuple[np.ndarray, np.ndarray, Recipe] | None:
    """A frame of more than plain numbers as numbers, its targets, and the recipe learned; None for anything else."""
    if not is_frame(X) or is_plain(X):
        return None
    if y is None:
        raise ValueError("there are no targets: give y, or target, the column of the frame that holds them.")
    blocks = read(X, missing="mean")
    assert isinstance(blocks, TableBlocks)
    if blocks.n_rows == 0:
        raise ValueError("there are no rows: at least one is needed.")
    return blocks.read(0, blocks.n_rows).X, target_values(y), blocks.recipe


def frame_blocks(X: object, y: object, weight: VectorLike | None) -> Blocks | None:
    """The rows of a frame that holds more than plain numbers, in blocks with their recipe; None for anything else."""
    encoded = encoded_frame(X, y)
    if encoded is None:
        return None
    rows, targets, recipe = encoded
    # By way of a map, since blocks in memory are taken for plain arrays, which have no recipe.
    return MemoryBlocks(rows, targets, weight, recipe=recipe).map(lambda block: block)


def is_plain(given: Frame) -> bool:
    """Whether all columns are numbers, none of them missing."""
    X: Any = given  # of whichever library
    if hasattr(X, "column_names"):
        return all(is_plain_column(X[name].to_numpy()) for name in X.column_names)
    if hasattr(X, "iloc"):
        return all(is_plain_column(X.iloc[:, k]) for k in range(X.shape[1]))
    return all(is_plain_column(X[name].to_numpy()) if X[name].null_count() == 0 else False for name in X.columns)


def is_plain_column(column: pandas.Series | np.ndarray) -> bool:
    kind = column.dtype
    if str(kind) == "object":
        return all(type(value) is not bool and isinstance(value, numbers.Real) and value == value for value in column)
    if kind.kind in "iuc":
        return not (hasattr(column, "isna") and column.isna().any())
    return kind.kind == "f" and not (column.isna().any() if hasattr(column, "isna") else np.isnan(column).any())

"""Small checks of what is given to fit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..arrays import to_numpy
from ..blocks import rows_per_block
from ..validation import require_finite


def split_target(X: Any, y: Any, target: str | None) -> tuple[Any, Any]:
    """Take the target column out of a frame."""
    if target is None:
        return X, y
    if y is not None:
        raise ValueError("y is given twice: as an array and as target.")
    if not hasattr(X, "columns") or target not in list(X.columns):
        raise ValueError(f"X has no column {target!r} to take as the target.")
    return (X.drop(columns=target) if hasattr(X, "iloc") else X.drop(target)), X[target].to_numpy()


def check_weights(sample_weight: Any, rows: int, some: bool = False) -> np.ndarray | None:
    """Weights as float64, or None; `some` says that there are more rows elsewhere."""
    if sample_weight is None:
        return None
    weight = np.asarray(to_numpy(sample_weight), dtype=np.float64)
    weight = np.full(rows, float(weight)) if weight.ndim == 0 else weight
    if weight.shape != (rows,):
        raise ValueError(f"sample_weight must have one number for each of {rows} rows; its shape is {weight.shape}.")
    require_finite(weight, "sample_weight")
    if (weight < 0).any() or not (some or (weight > 0).any()):
        raise ValueError("sample_weight must not be negative, nor all zero.")
    return weight


def row_slices(n: int, width: int) -> Iterator[slice]:
    rows = rows_per_block(width)
    for start in range(0, n, rows):
        yield slice(start, min(start + rows, n))

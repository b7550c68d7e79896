"""Small checks of what is given to fit."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..arrays import Array, cast, constant, is_torch, like
from ..blocks import frame_blocks, rows_per_block
from ..validation import require_finite


def refuse_selection() -> None:
    """Say no to scikit-learn's selection of columns where it asks for coef_, and be asked for importances instead.

    RFE and SelectFromModel take `coef_` for numbers of the columns of X. Here they are those of random features: the
    tools would select columns that are not there. Nothing but the name of the caller tells them from anybody else.
    """
    if sys._getframe(2).f_code.co_name == "_get_feature_importances":
        raise AttributeError("coef_ has a number for each feature, not for each column of X.")


def split_target(X: Any, y: Any, target: str | None) -> tuple[Any, Any]:
    """Take the target column out of a frame."""
    if target is None:
        return X, y
    if y is not None:
        raise ValueError("y is given twice: as an array and as target.")
    if target not in list(getattr(X, "column_names", getattr(X, "columns", []))):
        raise ValueError(f"X has no column {target!r} to take as the target.")
    gaps = int(X[target].isna().sum()) if hasattr(X, "iloc") else as_number(X[target].null_count)
    if gaps:
        raise ValueError(f"the target {target!r} has {gaps:,} missing values: leave those rows out.")
    return split_column(X, target)


def split_column(X: Any, name: str) -> tuple[Any, np.ndarray]:
    """A frame without one of its columns, and that column."""
    if hasattr(X, "column_names"):
        return X.drop_columns([name]), X[name].to_numpy()
    return (X.drop(columns=name) if hasattr(X, "iloc") else X.drop(name)), X[name].to_numpy()


def as_number(count: Any) -> int:
    """A count that polars has as a method, and Arrow as a number."""
    return int(count() if callable(count) else count)


def with_recipe(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """Rows, targets and weights; a frame of more than plain numbers as blocks, which have them all."""
    weight = sample_weight
    if weight is not None and hasattr(X, "columns"):
        weight = check_weights(weight, len(X))
    blocks = frame_blocks(X, y, weight)
    return (X, y, sample_weight) if blocks is None else (blocks, None, None)


def check_weights(sample_weight: Any, rows: int, some: bool = False) -> Array | None:
    """Weights as float64, or None; `some` says that there are more rows elsewhere."""
    if sample_weight is None:
        return None
    weight = cast(sample_weight.detach() if is_torch(sample_weight) else np.asarray(sample_weight), "float64")
    weight = constant(float(weight), (rows,), weight) if weight.ndim == 0 else weight
    if weight.shape != (rows,):
        shape = tuple(weight.shape)
        raise ValueError(f"sample_weight must have one number for each of {rows} rows; its shape is {shape}.")
    require_finite(weight, "sample_weight")
    if (weight < 0).any() or not (some or (weight > 0).any()):
        raise ValueError("sample_weight must not be negative, nor all zero.")
    return weight


def checked_targets(y: Any, X: Array) -> Array:
    """Targets of a tensor X, as a tensor beside it."""
    y = y.detach() if is_torch(y) else np.asarray(y)
    if not is_torch(y) and y.dtype.kind not in "biuf":
        raise ValueError(
            "y holds text, which no tensor does: give its labels as numbers, "
            "labels, y = np.unique(y, return_inverse=True), or X as a numpy array."
        )
    if len(y) != len(X):
        raise ValueError(f"Found input variables with inconsistent numbers of samples: [{len(X)}, {len(y)}]")
    return like(y, X)


def row_slices(n: int, width: int) -> Iterator[slice]:
    rows = rows_per_block(width)
    for start in range(0, n, rows):
        yield slice(start, min(start + rows, n))

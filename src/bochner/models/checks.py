"""What is given to an estimator, checked: rows against the columns that it remembers, targets and weights.

As scikit-learn's `validate_data` does it for arrays; for frames with a recipe, tensors and Blocks too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from ..arrays import Array, Rows, cast, constant, is_torch, like, to_numpy
from ..bases.checking import checked_rows, laid_in_rows
from ..blocks import Block, Blocks, Recipe, SparseRecipe, encoded_frame, frame_blocks, rows_per_block, target_values
from ..blocks.base import RowsLike
from ..lazy import collections, is_lazy
from ..typing import Frame, MatrixLike, VectorLike
from ..validation import require_finite, require_numbers

Dtypes = Sequence[type[np.generic]]


def dtypes_for(precision: str | None) -> list[type[np.generic]]:
    """The types of rows that features of this precision are made of as they are."""
    asked = precision or ""
    eight_bits: Dtypes = [np.uint8, np.int8] if asked.startswith("int") or asked == "auto" else []
    return [np.float64, np.float32, *eight_bits]


def recipe_of(estimator: BaseEstimator) -> Recipe | SparseRecipe | None:
    """How the columns of a table became numbers, if they had to."""
    return getattr(estimator, "recipe_", None)


def remember_columns(estimator: BaseEstimator) -> None:
    """The columns of a model that has a recipe are those of its table, not those that come out."""
    recipe = recipe_of(estimator)
    if recipe is not None:
        estimator.n_features_in_ = recipe.n_inputs
        if recipe.names:
            estimator.feature_names_in_ = np.array(recipe.names, dtype=object)


def forget_columns(estimator: BaseEstimator) -> None:
    """What an earlier fit knew of columns is gone."""
    for name in ("recipe_", "feature_names_in_"):
        estimator.__dict__.pop(name, None)


# ---- collections of Dask, and blocks ----


def collected(
    X: RowsLike,
    y: VectorLike | None,
    sample_weight: VectorLike | None,
    target: str | None = None,
    recipe: Recipe | SparseRecipe | None = None,
) -> tuple[RowsLike, VectorLike | None, VectorLike | None, str | None]:
    """Rows of a Dask collection as Blocks, which have targets and weights of their own; all else as it is."""
    if isinstance(X, Blocks) or not any(is_lazy(part) for part in (X, y, sample_weight)):
        return X, y, sample_weight, target
    if target is not None:
        X, y = split_target(X, y, target)
    return collections().blocks_of(X, y, sample_weight, recipe), None, None, None


def meet_blocks(estimator: BaseEstimator, blocks: Blocks, columns: int | None) -> None:
    """Remember the columns of the first blocks; later ones must be alike, and have so many."""
    if columns is not None:
        require_same_columns(estimator, blocks, columns)
        return
    estimator.n_features_in_ = blocks.n_columns
    if blocks.names is not None and all(isinstance(name, str) for name in blocks.names):
        estimator.feature_names_in_ = np.array(blocks.names, dtype=object)
    if blocks.recipe is not None:
        estimator.recipe_ = blocks.recipe
        remember_columns(estimator)


def require_same_columns(estimator: BaseEstimator, blocks: Blocks, columns: int) -> None:
    """Refuse blocks that are not as those of the fit, which had so many columns."""
    if blocks.n_columns != columns:
        raise ValueError(f"the blocks have {blocks.n_columns} columns; the model was fitted to {columns}.")
    names = getattr(estimator, "feature_names_in_", None)
    if blocks.recipe is None and blocks.names is not None and names is not None and list(names) != blocks.names:
        raise ValueError("the columns have other names than those of the fit, or come in another order.")
    if blocks.recipe != recipe_of(estimator):
        raise ValueError(
            "the blocks were not encoded as those of the fit (other columns, categories or means): "
            "read them with bochner.read(..., recipe=model.recipe_)."
        )


def rows_to_predict(
    estimator: BaseEstimator, X: RowsLike, dtypes: Dtypes, columns: int, width: int
) -> tuple[int, Iterator[tuple[slice, Any]]]:
    """How many rows there are, and valid ones a block at a time: (which rows, their columns)."""
    if isinstance(X, Blocks):
        require_same_columns(estimator, X, columns)
        blocks = X.walk(rows_per_block(width), title="predictions")
        return X.n_rows, ((slice(b.start, b.start + b.X.shape[0]), b.X) for b in blocks)
    # A block is made as those of the fit were.
    rows = X.X if isinstance(X, Block) else check_rows(estimator, X, dtypes)
    return rows.shape[0], ((part, rows[part]) for part in row_slices(rows.shape[0], width))


# ---- arrays, frames and tensors ----


def check_rows(estimator: BaseEstimator, X: RowsLike, dtypes: Dtypes) -> Rows:
    """Rows to predict: finite numbers of the columns of the fit."""
    X = laid_in_rows(getattr(estimator, "basis", None), X)
    if is_torch(X):
        return check_tensor(estimator, X, dtypes, reset=False)
    recipe = recipe_of(estimator)
    if recipe is not None:
        return recipe.encode(X)
    require_numbers(X)
    X = validate_data(estimator, X, reset=False, accept_sparse="csr", dtype=list(dtypes), ensure_all_finite=False)
    require_finite(X)
    return X


def check_rows_and_targets(
    estimator: BaseEstimator, X: MatrixLike, y: VectorLike | None, dtypes: Dtypes, *, reset: bool, y_numeric: bool
) -> tuple[Rows, Array]:
    """Rows and targets of a fit; the first ones, if `reset`, tell the columns."""
    X = laid_in_rows(getattr(estimator, "basis", None), X)
    if is_torch(X):
        X = check_tensor(estimator, X, dtypes, reset)
        return X, checked_targets(y, X)
    y = to_numpy(y)
    if not reset and recipe_of(estimator) is not None:
        return check_rows(estimator, X, dtypes), target_values(y)
    require_numbers(X)
    rows, targets = validate_data(
        estimator, X, y, reset=reset, accept_sparse="csr", dtype=list(dtypes), ensure_all_finite=False,
        multi_output=True, y_numeric=y_numeric,
    )  # fmt: skip
    require_finite(rows)
    return rows, targets


def check_tensor(estimator: BaseEstimator, X: Array, dtypes: Dtypes, reset: bool) -> Array:
    """A tensor of finite numbers, on its device."""
    if not reset and recipe_of(estimator) is not None:
        raise ValueError("the model was fitted to a table: give rows as a frame, or as an array of its columns.")
    X = checked_rows(estimator, X, [np.dtype(kind).name for kind in dtypes], reset)
    require_finite(X)
    return X


# ---- models that take arrays alone ----


def encode_first(estimator: BaseEstimator, X: object, y: VectorLike | None) -> tuple[Any, Any]:
    """Rows and targets of a fit; of a frame of more than plain numbers the estimator keeps the recipe."""
    forget_columns(estimator)
    encoded = encoded_frame(X, y)
    if encoded is None:
        return X, y
    estimator.recipe_ = encoded[2]
    return encoded[:2]


def check_arrays(
    estimator: BaseEstimator,
    given: object,
    *y: VectorLike | None,
    dtypes: Dtypes,
    accept_sparse: str | bool,
    y_numeric: bool,
) -> Any:
    """Sound rows, and targets in a fit, whose rows are encoded already; tensors stay tensors."""
    if is_torch(given):
        tensor = check_tensor(estimator, given, dtypes, reset=bool(y))
        return (tensor, *(checked_targets(part, tensor) for part in y)) if y else tensor
    X: Any = given
    recipe = recipe_of(estimator)
    if not y and (isinstance(X, Block) or recipe is not None):
        rows = X.X if isinstance(X, Block) else recipe.encode(X)  # type: ignore[union-attr]
        return rows if rows.dtype in dtypes else rows.astype(dtypes[0])
    require_numbers(X)
    checks = {"multi_output": True, "y_numeric": y_numeric} if y else {}
    targets = [to_numpy(part) for part in y]
    checked = validate_data(
        estimator, X, *targets, reset=bool(y), accept_sparse=accept_sparse, dtype=list(dtypes),
        ensure_all_finite=False, **checks,
    )  # fmt: skip
    require_finite(checked[0] if y else checked)
    return checked


# ---- targets, weights and frames ----


def refuse_selection() -> None:
    """Say no to scikit-learn's selection of columns where it asks for coef_, and be asked for importances instead.

    RFE and SelectFromModel take `coef_` for numbers of the columns of X. Here they are those of random features: the
    tools would select columns that are not there. Nothing but the name of the caller tells them from anybody else.
    """
    if sys._getframe(2).f_code.co_name == "_get_feature_importances":
        raise AttributeError("coef_ has a number for each feature, not for each column of X.")


def split_target(X: MatrixLike, y: VectorLike | None, target: str | None) -> tuple[MatrixLike, VectorLike | None]:
    """Take the target column out of a frame."""
    if target is None:
        return X, y
    if y is not None:
        raise ValueError("y is given twice: as an array and as target.")
    frame: Any = X  # of whichever library
    if target not in list(getattr(X, "column_names", getattr(X, "columns", []))):
        raise ValueError(f"X has no column {target!r} to take as the target.")
    if is_lazy(X):
        return frame.drop(columns=target), frame[target]
    gaps = int(frame[target].isna().sum()) if hasattr(X, "iloc") else as_number(frame[target].null_count)
    if gaps:
        raise ValueError(f"the target {target!r} has {gaps:,} missing values: leave those rows out.")
    return split_column(frame, target)


def split_column(X: Frame, name: str) -> tuple[Frame, np.ndarray]:
    """A frame without one of its columns, and that column."""
    frame: Any = X  # of whichever library
    if hasattr(X, "column_names"):
        return frame.drop_columns([name]), frame[name].to_numpy()
    return (frame.drop(columns=name) if hasattr(X, "iloc") else frame.drop(name)), frame[name].to_numpy()


def as_number(count: int | Callable[[], int]) -> int:
    """A count that polars has as a method, and Arrow as a number."""
    return int(count() if callable(count) else count)


def with_recipe(
    X: RowsLike, y: VectorLike | None, sample_weight: VectorLike | None
) -> tuple[RowsLike, VectorLike | None, VectorLike | None]:
    """Rows, targets and weights; a frame of more than plain numbers as blocks, which have them all."""
    weight = sample_weight
    if weight is not None and hasattr(X, "columns"):
        weight = check_weights(weight, len(X))  # type: ignore[arg-type]
    blocks = frame_blocks(X, y, weight)
    return (X, y, sample_weight) if blocks is None else (blocks, None, None)


def check_weights(sample_weight: VectorLike | None, rows: int, some: bool = False) -> Array | None:
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


def checked_targets(y: VectorLike | None, X: Array) -> Array:
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

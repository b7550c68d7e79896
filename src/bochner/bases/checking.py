"""Rows as scikit-learn checks them; tensors are checked by the same rules where they are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.utils.validation import validate_data

from ..arrays import Array, Rows, as_rows, cast, dtype_name, is_torch
from ..validation import require_numbers


def checked_rows(estimator: object, X: Rows, dtypes: Sequence[str], reset: bool) -> Rows:
    """X as a matrix, dense or CSR, of one of these dtypes, else of the first; of the columns of the fit unless `reset`.

    A tensor stays a tensor, on its device. Whether numbers are finite is not looked at.
    """
    require_numbers(X)
    if is_torch(X):
        return checked_tensor(estimator, X, dtypes, reset)
    kinds = [np.dtype(dtype) for dtype in dtypes]
    return validate_data(estimator, X, reset=reset, accept_sparse="csr", dtype=kinds, ensure_all_finite=False)


def laid_in_rows(basis: object, X: Rows) -> Rows:
    """Pictures (n, height, width) or (n, height, width, channels), each in a row, if a basis is of pictures."""
    if not getattr(basis, "is_of_pictures", False) or len(getattr(X, "shape", ())) not in (3, 4):
        return X
    return X.reshape(X.shape[0], -1)


def checked_tensor(estimator: object, X: Array, dtypes: Sequence[str], reset: bool) -> Array:
    """The tensor in one of these dtypes, of the columns of the fit unless `reset`."""
    X = sound_tensor(X, dtypes)
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    return X


def sound_tensor(X: Array, dtypes: Sequence[str]) -> Array:
    """The tensor in one of these dtypes; what scikit-learn refuses of arrays is refused in its words."""
    require_numbers(X)
    X = as_rows(X)
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D array instead: X must be a matrix with a row for each sample."
        )
    for size, what in zip(X.shape, ("sample", "feature"), strict=True):
        if size == 0:
            raise ValueError(f"Found array with 0 {what}(s) (shape={tuple(X.shape)}) while a minimum of 1 is required.")
    return X if dtype_name(X) in dtypes else cast(X, dtypes[0])

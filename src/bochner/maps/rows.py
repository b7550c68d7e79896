"""Rows as maps take them: finite numbers in the precision of the map; and their lengths."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array, Rows, as_rows, cast, dtype_name, is_csr, is_torch, namespace
from ..ops import threads
from ..validation import require_finite

FLOATS = ("float32", "float64")


def in_precision(X: Rows, precision: str | None, finite: bool = True) -> Rows:
    """Rows rounded to a float precision, if that is asked for; NaN and infinity are refused, here if `finite`."""
    rounds = precision in FLOATS and dtype_name(X) != precision
    if finite or rounds:
        require_finite(X, total=threads.total)
    if rounds:
        with np.errstate(over="ignore"):
            X = cast(X, str(precision))
        require_finite(X, "X in float32", threads.total)
    return X


def as_matrix(X: Rows, bytes_stay: bool) -> Rows:
    """X as a dense or CSR matrix of floats; numbers of 8 bits stay as they are if the map takes them."""
    X = X.tocsr() if is_csr(X) else as_rows(X) if is_torch(X) else np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"a map takes a matrix of rows; got an array of shape {tuple(X.shape)}.")
    kept = (*FLOATS, "uint8", "int8") if bytes_stay else FLOATS
    return X if dtype_name(X) in kept else cast(X, "float64")


def to_dense(X: Rows) -> Any:
    return X.toarray() if is_csr(X) else X


def require_arrays(X: Rows, what: str) -> None:
    """Refuse a tensor for what has no torch version."""
    if is_torch(X):
        raise ValueError(f"there is no torch version of {what}: give X as a numpy array, X.numpy(force=True).")


def squared_lengths(X: Array) -> Array:
    """|x|^2 of each dense row, summed in float64: exact for numbers of 8 bits."""
    if is_torch(X):
        return (cast(X, "float64") ** 2).sum(axis=1)
    return np.einsum("nd,nd->n", X, X, dtype=np.float64)  # without a copy in float64


def row_norms(X: Rows) -> Array:
    """|x| of each row in float64, dense or sparse, without overflow or underflow on the way."""
    squares = X.multiply(X).sum(axis=1) if is_csr(X) else None
    if squares is not None:
        return np.sqrt(np.asarray(squares, dtype=np.float64)).ravel()
    xp = namespace(X)
    if dtype_name(X) == "float32":  # whose squares float64 holds
        return xp.sqrt(squared_lengths(X))
    wide = cast(X, "float64")
    largest = xp.amax(abs(wide), axis=1, keepdims=True) if X.shape[1] else wide.sum(axis=1, keepdims=True)
    largest = xp.where(largest > 0, largest, 1.0)
    return xp.linalg.norm(wide / largest, axis=1) * largest[:, 0]

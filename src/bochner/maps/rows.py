"""Rows as maps take them: finite numbers in the precision of the map; and their lengths."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from ..ops import threads
from ..validation import require_finite

FLOATS = ("float32", "float64")


def in_precision(X: Any, precision: str | None, finite: bool = True) -> Any:
    """Rows rounded to a float precision, if that is asked for; NaN and infinity are refused, here if `finite`."""
    rounds = precision in FLOATS and X.dtype != precision
    if finite or rounds:
        require_finite(X, total=threads.total)
    if rounds:
        with np.errstate(over="ignore"):
            X = X.astype(precision)
        require_finite(X, "X in float32", threads.total)
    return X


def as_matrix(X: Any, bytes_stay: bool) -> Any:
    """X as a dense or CSR matrix of floats; numbers of 8 bits stay as they are if the map takes them."""
    X = X.tocsr() if scipy.sparse.issparse(X) else np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"a map takes a matrix of rows; got an array of shape {X.shape}.")
    kept = (*FLOATS, "uint8", "int8") if bytes_stay else FLOATS
    return X if X.dtype.name in kept else X.astype(np.float64)


def to_dense(X: Any) -> np.ndarray:
    return X.toarray() if scipy.sparse.issparse(X) else X


def row_norms(X: Any) -> np.ndarray:
    """|x| of each row in float64, dense or sparse, without overflow or underflow on the way."""
    squares = X.multiply(X).sum(axis=1) if scipy.sparse.issparse(X) else None
    if squares is not None:
        return np.sqrt(np.asarray(squares, dtype=np.float64)).ravel()
    if X.dtype == np.float32:  # whose squares float64 holds
        return np.sqrt(np.einsum("nd,nd->n", X, X, dtype=np.float64))
    wide = X.astype(np.float64)
    largest = np.abs(wide).max(axis=1, keepdims=True, initial=0.0)
    largest = np.where(largest > 0, largest, 1.0)
    return np.linalg.norm(wide / largest, axis=1) * largest[:, 0]

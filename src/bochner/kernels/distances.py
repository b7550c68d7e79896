"""Distances |x - z|_p between rows of two matrices, in the library of the first."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from ..arrays import Array, empty, is_torch, namespace

DIRECT = "donot_use_mm_for_euclid_dist"  # a product of matrices loses half of the digits between rows that are near
# On a GPU torch has a block of threads for each distance, which a column at a time outruns where columns are few.
FEW_COLUMNS = 64
PIECE = 1 << 26  # distances that are added up together: a column of them is 512 MB


def distances(X: Array, Z: Array, p: float = 2.0) -> Array:
    """Distances (n, m) of rows, differences first: those of near rows are as exact as of far ones."""
    if not is_torch(X):
        metric = {1.0: "cityblock", 2.0: "euclidean"}.get(p, "minkowski")
        return np.asarray(cdist(X, Z, metric, **({"p": p} if metric == "minkowski" else {})))
    if X.device.type == "cpu" or X.shape[1] > FEW_COLUMNS:
        return namespace(X).cdist(X, Z, p=p, compute_mode=DIRECT)
    return by_columns(X, Z, p)


def by_columns(X: Array, Z: Array, p: float = 2.0) -> Array:
    """The same of tensors, a column after another and some rows at a time."""
    out, rows = empty((len(X), len(Z)), X), max(1, PIECE // max(len(Z), 1))
    for start in range(0, len(X), rows):
        total = out[start : start + rows]
        total[...] = 0.0
        for x, z in zip(X[start : start + rows].T, Z.T, strict=True):
            apart = abs(x[:, None] - z[None, :])
            total += apart if p == 1.0 else apart * apart if p == 2.0 else apart**p
        if p != 1.0:
            total[...] = total**0.5 if p == 2.0 else total ** (1.0 / p)
    return out

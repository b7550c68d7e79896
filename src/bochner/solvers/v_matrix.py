"""The V-matrix ridge: residuals weighed by where the rows lie to one another (McKernel, equations 4 and 5).

V(i, j) = sum_k (t_k - max(x_i^k, x_j^k)), 0 <= x^k <= t_k, is the Gram matrix of the indicators 1[x^k <= u] over u in
[0, t_k]: positive semi-definite. (alpha I + V K) a = V y minimises (y - f)'V(y - f) + alpha |f|^2. With V = R R' and
a = R s it is a ridge of its own, (alpha I + R'K R) s = R'y, in which an intercept is one more direction to take out.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .. import ops
from ..arrays import Array
from .base import Solution
from .cholesky import solve_gram


def v_matrix(X: np.ndarray) -> np.ndarray:
    """Of rows that are moved to begin at 0 in every column; t is the largest value there."""
    low, high = X.min(axis=0), X.max(axis=0)
    total = np.zeros((len(X), len(X)))
    for column, top in zip((X - low).T, high - low, strict=True):
        total += top - np.maximum.outer(column, column)
    return total


def root_of(V: np.ndarray) -> np.ndarray:
    """R (n, r) with R R' = V, without the directions that rounding made."""
    values, vectors = ops.eigh(V)
    kept = values > len(V) * np.finfo(float).eps * max(values.max(initial=0.0), 0.0)
    return vectors[:, kept] * np.sqrt(values[kept])


def solve_v_matrix(kernel: np.ndarray, y: np.ndarray, root: np.ndarray, alpha: float, intercept: bool) -> Solution:
    """Coefficients a (n, k) of the kernel functions, and the intercept: f = K a + c."""
    target, inner, ones = root.T @ y, root.T @ kernel @ root, root.T @ np.ones(len(y))
    length = float(ones @ ones)
    if intercept and length > 0:

        def centred(columns: Array) -> Array:
            return columns - np.outer(ones, ones @ columns) / length

        found = solve_gram(centred(centred(inner).T), centred(target), alpha)
        coefficients = root @ centred(found.coefficients)
        offset = ones @ (target - root.T @ (kernel @ coefficients)) / length
    else:
        found = solve_gram(inner, target, alpha)
        coefficients, offset = root @ found.coefficients, np.zeros(y.shape[1])
    return replace(found, coefficients=coefficients, method="V-matrix ridge", intercept=offset)

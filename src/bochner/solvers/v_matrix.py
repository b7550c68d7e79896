"""The V-matrix ridge: residuals weighed by where the rows lie to one another (McKernel, equations 4 and 5).

V(i, j) = sum_k (t_k - max(x_i^k, x_j^k)), 0 <= x^k <= t_k, is the Gram matrix of the indicators 1[x^k <= u] over u in
[0, t_k]: positive semi-definite. (alpha I + V K) a = V y minimises (y - f)'V(y - f) + alpha |f|^2. With V = R R' and
a = R s it is a ridge of its own, (alpha I + R'K R) s = R'y, in which an intercept is one more direction to take out.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .. import ops
from ..arrays import Array, constant, namespace
from .base import Solution
from .cholesky import solve_gram


def v_matrix(X: Array) -> Array:
    """Of rows that are moved to begin at 0 in every column; t is the largest value there."""
    xp = namespace(X)
    low, high = xp.amin(X, axis=0), xp.amax(X, axis=0)
    total = constant(0.0, (len(X), len(X)), X)
    for column, top in zip((X - low).T, high - low, strict=True):
        total += top - xp.maximum(column[:, None], column[None, :])
    return total


def root_of(V: Array) -> Array:
    """R (n, r) with R R' = V, without the directions that rounding made."""
    values, vectors = ops.eigh(V)
    kept = values > len(V) * np.finfo(float).eps * max(float(values.max()), 0.0)
    return vectors[:, kept] * values[kept] ** 0.5


def solve_v_matrix(kernel: Array, y: Array, root: Array, alpha: float, intercept: bool) -> Solution:
    """Coefficients a (n, k) of the kernel functions, and the intercept: f = K a + c."""
    target, inner, ones = root.T @ y, root.T @ kernel @ root, root.sum(axis=0)
    length = float(ones @ ones)
    if intercept and length > 0:

        def centred(columns: Array) -> Array:
            return columns - namespace(ones).outer(ones, ones @ columns) / length

        found = solve_gram(centred(centred(inner).T), centred(target), alpha)
        coefficients = root @ centred(found.coefficients)
        offset = ones @ (target - root.T @ (kernel @ coefficients)) / length
    else:
        found = solve_gram(inner, target, alpha)
        coefficients, offset = root @ found.coefficients, constant(0.0, (y.shape[1],), y)
    return replace(found, coefficients=coefficients, method="V-matrix ridge", intercept=offset)

"""Ridge by preconditioned conjugate gradients, for problems whose Gram and kernel matrices are both too large.

Only products with the (centred) Gram matrix G are needed. The preconditioner is the same matrix made from s sampled
rows, (n/s) Z_s'Z_s + mu I, inverted by Woodbury's formula through an s x s factor: no pass over the data, and the more
rows fit in memory, the fewer iterations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .base import Solution, relative_residual
from .factor import factor_gram

Product = Callable[[np.ndarray], np.ndarray]


def sampled_preconditioner(rows: Any, ratio: float, shift: float) -> Product:
    """v -> (ratio Z_s'Z_s + shift I)^-1 v times shift, for sampled (centred, scaled) rows Z_s, dense or sparse."""
    inner = np.asarray((rows @ rows.T).toarray() if hasattr(rows, "toarray") else rows @ rows.T, dtype=np.float64)
    factor = factor_gram(inner, shift / ratio)
    if factor is None:  # only if the rows are all zero or the shift is lost in rounding
        return lambda v: v

    def apply(v: np.ndarray) -> np.ndarray:
        image = np.asarray(rows @ v.astype(rows.dtype), dtype=np.float64)
        return v - np.asarray(rows.T @ factor.solve(image).astype(rows.dtype), dtype=np.float64)

    return apply


def solve_products(
    product: Product,
    cross: np.ndarray,
    alpha: float,
    *,
    precondition: Product = lambda v: v,
    tolerance: float = 1e-8,
    max_iterations: int = 500,
) -> Solution:
    """(G + alpha I) b = c for all columns of c at once, given v -> G v for blocks of columns v."""
    coefficients, remainder = np.zeros_like(cross), cross.copy()
    direction = auxiliary = precondition(remainder)
    energy = np.sum(remainder * auxiliary, axis=0)
    iterations = 0
    while relative_residual(remainder, cross) > tolerance and iterations < max_iterations:
        image = product(direction) + alpha * direction
        curvature = np.sum(direction * image, axis=0)
        step = np.divide(energy, curvature, out=np.zeros_like(energy), where=curvature > 0)
        coefficients = coefficients + step * direction
        remainder = remainder - step * image
        auxiliary = precondition(remainder)
        previous, energy = energy, np.sum(remainder * auxiliary, axis=0)
        ratio = np.divide(energy, previous, out=np.zeros_like(energy), where=previous > 0)
        direction = auxiliary + ratio * direction
        iterations += 1
    residual = relative_residual(cross - product(coefficients) - alpha * coefficients, cross)  # the true one
    status = f"converged in {iterations} iterations"
    if not residual <= 10.0 * tolerance:
        status = f"stopped after {iterations} iterations, short of the tolerance {tolerance:.0e}"
    return Solution(coefficients, "conjugate gradients", alpha, status, residual, iterations)

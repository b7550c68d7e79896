"""Ridge by preconditioned conjugate gradients, for problems whose Gram and kernel matrices are both too large.

Only products with the (centred) Gram matrix are needed. The preconditioner is the randomised Nystrom approximation of
Frangella, Tropp and Udell (2023): one block product with a random sketch, then an iteration count that hardly depends
on the conditioning.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular, svd

from ..streams import Stream
from .base import Solution, relative_residual

Product = Callable[[np.ndarray], np.ndarray]


def nystrom_preconditioner(product: Product, size: int, rank: int, alpha: float, seed: int) -> Product:
    """P^-1 of the approximation U diag(values) U' + alpha I, scaled so that the complement is left alone."""
    rank = min(rank, size)
    sketch, _ = np.linalg.qr(Stream(seed, "sketch").normal(0, rank, size).T)
    image = product(sketch)
    shift = np.sqrt(size) * np.finfo(float).eps * float(np.linalg.norm(image))
    factor = None
    while factor is None and 0.0 < shift < np.inf:  # until the shifted core is positive definite in floating point
        core = sketch.T @ image + shift * np.eye(rank)
        try:
            factor = cholesky(0.5 * (core + core.T), lower=False)
        except LinAlgError:
            shift *= 10.0
    if factor is None:  # the Gram matrix is zero
        return lambda v: v
    basis, singular, _ = svd(solve_triangular(factor, (image + shift * sketch).T, trans="T").T, full_matrices=False)
    values = np.maximum(singular**2 - shift, 0.0)
    weights = (values[-1] + alpha) / (values + alpha) - 1.0
    return lambda v: v + basis @ (weights[:, None] * (basis.T @ v))


def solve_products(
    product: Product,
    cross: np.ndarray,
    alpha: float,
    *,
    rank: int = 200,
    tolerance: float = 1e-8,
    max_iterations: int = 500,
    seed: int = 0,
) -> Solution:
    """(G + alpha I) b = c for all columns of c at once, given v -> G v for blocks of columns v."""
    precondition = nystrom_preconditioner(product, len(cross), rank, alpha, seed)
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
    residual = relative_residual(remainder, cross)
    status = f"converged in {iterations} iterations"
    if residual > tolerance:
        status = f"stopped after {iterations} iterations, short of the tolerance {tolerance:.0e}"
    return Solution(coefficients, "conjugate gradients", alpha, status, residual, iterations)

"""Ridge at several penalties, to choose one: float32 Cholesky factors, made good by conjugate gradients in float64.

A factor in float32 takes half the time and memory; as preconditioner it leaves a step or two to take, each a hundredth
of a factorisation or less. Where it fails, a float64 factor decides.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .cholesky import preconditioner, solve_or_none
from .conjugate_gradient import solve_products

TOLERANCE, MOST_ITERATIONS = 1e-6, 20


def solve_several(gram: np.ndarray, cross: np.ndarray, alphas: Sequence[float] | np.ndarray) -> list[np.ndarray | None]:
    """The coefficients at each of these penalties; None where the matrix is not positive definite."""
    room = np.empty(gram.shape, dtype=np.float32)
    return [solve_roughly(gram, cross, float(alpha), room) for alpha in alphas]


def solve_roughly(gram: np.ndarray, cross: np.ndarray, alpha: float, room: np.ndarray) -> np.ndarray | None:
    """The coefficients at one penalty; the factor is made in `room`."""
    precondition = preconditioner(gram, alpha, room)
    if precondition is not None:
        solution = solve_products(
            gram.__matmul__, cross, alpha,
            precondition=precondition, tolerance=TOLERANCE, max_iterations=MOST_ITERATIONS,
        )  # fmt: skip
        if solution.residual <= 10 * TOLERANCE:
            return solution.coefficients
    return solve_or_none(gram, cross, alpha)

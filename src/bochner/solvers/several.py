"""Ridge at several penalties: a Cholesky factor for every third of them, and conjugate gradients from there.

With the factor of G + alpha I as preconditioner, the condition of G + beta I is at most max(alpha/beta, beta/alpha): a
penalty ten times as large or small takes about fifteen products, each a hundredth of a factorisation or less.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .cholesky import Factor, factor_gram, solve_or_none
from .conjugate_gradient import solve_products

TOLERANCE, MOST_ITERATIONS = 1e-6, 30
SURE = 1e-9  # penalties above this share of the mean of diag(G) are far from rounding


def solve_several(gram: np.ndarray, cross: np.ndarray, alphas: Sequence[float] | np.ndarray) -> list[np.ndarray | None]:
    """The coefficients at each of these penalties, ascending; None where the matrix is not positive definite."""
    found: list[np.ndarray | None] = []
    for first in range(0, len(alphas), 3):
        lot = alphas[first : first + 3]
        middle = lot[len(lot) // 2]
        factor = factor_gram(gram, middle)
        for alpha in lot:
            if factor is not None and alpha == middle:
                found.append(factor.solve(cross))
            else:
                found.append(solve_near(gram, cross, alpha, factor))
    return found


def solve_near(gram: np.ndarray, cross: np.ndarray, alpha: float, factor: Factor | None) -> np.ndarray | None:
    """The coefficients with the help of a factor at a penalty nearby, or without it."""
    if factor is not None and alpha > SURE * float(np.trace(gram)) / len(gram):
        solution = solve_products(
            gram.__matmul__, cross, alpha,
            precondition=factor.solve, tolerance=TOLERANCE, max_iterations=MOST_ITERATIONS,
        )  # fmt: skip
        if solution.residual <= 10 * TOLERANCE:
            return solution.coefficients
    return solve_or_none(gram, cross, alpha)

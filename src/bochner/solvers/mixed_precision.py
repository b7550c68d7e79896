"""Ridge at several penalties, to choose one: by float32 factors, and a step of refinement in float64.

Where steps do not lead to the solution, a float64 factor decides.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import ops
from ..arrays import Array, namespace
from .cholesky import solve_or_none
from .factor import rough_factor

CLOSE = 1e-3  # the error, in proportion to all that is fitted, from which one more step is the last
STEPS, GAIN = 6, 0.25  # steps at most, and what each must leave of the error at most


def solve_several(gram: Array, cross: Array, alphas: Sequence[float] | np.ndarray) -> list[Array | None]:
    """The coefficients at each of these penalties; None where the matrix is not positive definite."""
    return [solve_roughly(gram, cross, float(alpha)) for alpha in alphas]


def solve_roughly(gram: Array, cross: Array, alpha: float) -> Array | None:
    """The coefficients at one penalty.

    With r what is left of c, r'(G + alpha I)^-1 r is the squared error of the fitted values, and c'(G + alpha I)^-1 c
    is what they are themselves, as far as the factor is right. Each step leaves about as much of its error as the one
    before, so the last one is not measured.
    """
    factor, sqrt = rough_factor(gram, alpha), namespace(cross).sqrt
    if factor is not None:
        coefficients = factor.solve(cross)
        fitted = error = sqrt(abs((cross * coefficients).sum(axis=0)))
        for _ in range(STEPS):
            remainder = cross - ops.symmetric_product(gram, coefficients) - alpha * coefficients
            step = factor.solve(remainder)
            before, error = error, sqrt(abs((remainder * step).sum(axis=0)))
            if not (error <= GAIN * before).all():
                break
            coefficients = coefficients + step
            if (error <= CLOSE * fitted).all():
                return coefficients
    return solve_or_none(gram, cross, alpha)

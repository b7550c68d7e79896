"""(G + alpha I) b = c by Cholesky with iterative refinement; by eigen-decomposition where that fails."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from .. import ops
from ..arrays import Array, namespace
from .base import Solution, relative_residual
from .factor import Factor, factor_gram, rough_factor

REFINEMENTS = 10
GOOD = 1e-13  # a residual with which nothing more is done
USABLE = 1e-4  # a residual with which an eigen-decomposition is not asked for another solution
ROUNDED, SOUND = 1e-15, 1e-5  # of a float32 factor: the residual to go on to, and the pivots that are far from noise


def solve_gram(gram: Array, cross: Array, alpha: float) -> Solution:
    """The ridge coefficients from a symmetric positive semi-definite Gram matrix (m, m) and Z'Y (m, k)."""
    return solve_factored(gram, cross, alpha, factor_gram(gram, alpha))


def solve_factored(gram: Array, cross: Array, alpha: float, factor: Factor | None) -> Solution:
    """The ridge coefficients with the factor of G + alpha I, or None if it has none."""
    found = None if factor is None else refine(gram, cross, alpha, factor, GOOD)
    return found if found is not None and found.residual <= USABLE else _recover(gram, cross, alpha)


def solve_quickly(gram: Array, cross: Array, alpha: float) -> tuple[Solution, Factor | None]:
    """The ridge coefficients and the factor that gave them: one of float32 where refinement leads from it to rounding
    level and its pivots are far from noise, as they are for features with noise or a penalty of some size.
    """
    factor = rough_factor(gram, alpha)
    if factor is not None and factor.smallest_pivot > SOUND:
        found = refine(gram, cross, alpha, factor, ROUNDED)
        if found.residual <= GOOD:
            return found, factor
    factor = factor_gram(gram, alpha)
    return solve_factored(gram, cross, alpha, factor), factor


def solve_prefixes(gram: Array, cross: Array, alpha: float, sizes: Iterable[int]) -> Iterator[Solution]:
    """The ridge coefficients on the first features alone, for several numbers of them, all with one penalty.

    The leading block of a factor is the factor of the leading block: one of all features serves them all.
    """
    factor = factor_gram(gram, alpha)
    for m in sizes:
        yield solve_factored(gram[:m, :m], cross[:m], alpha, None if factor is None else factor.leading(m))


def refine(gram: Array, cross: Array, alpha: float, factor: Factor, enough: float) -> Solution:
    """The solution by a factor, then by steps that each solve for what is left, until that is little or grows."""
    best = coefficients = factor.solve(cross)
    size, taken = np.inf, 0
    for steps in range(REFINEMENTS + 1):
        remainder = cross - ops.symmetric_product(gram, coefficients) - alpha * coefficients
        residual = relative_residual(remainder, cross)
        if not residual < size:
            break
        best, size, taken = coefficients, residual, steps
        if residual < enough or steps == REFINEMENTS:
            break
        coefficients = coefficients + factor.solve(remainder)
    finite = bool(namespace(best).isfinite(best).all())
    status = "solved" if taken == 0 else f"solved, refined {taken} times"
    return Solution(best, "cholesky", alpha, status, size if finite else np.inf, 1 + taken)


def solve_or_none(gram: Array, cross: Array, alpha: float) -> Array | None:
    """The coefficients by Cholesky alone, for trying penalties; None where the matrix is not positive definite."""
    factor = factor_gram(gram, alpha)
    return None if factor is None else factor.solve(cross)


def _recover(gram: Array, cross: Array, alpha: float) -> Solution:
    """The solution of smallest norm on the directions whose eigenvalue is above rounding."""
    values, vectors = ops.eigh(gram)
    floor = len(gram) * np.finfo(float).eps * max(float(values[-1]) if len(values) else 0.0, 0.0)
    kept = values > floor
    rotated = vectors[:, kept].T @ cross
    coefficients = vectors[:, kept] @ (rotated / (values[kept] + alpha)[:, None])
    remainder = cross - gram @ coefficients - alpha * coefficients
    dropped = len(values) - int(kept.sum())
    status = "recovered: the matrix is not positive definite at this penalty; "
    status += f"{dropped} of {len(values)} directions dropped"
    return Solution(coefficients, "eigen-decomposition", alpha, status, relative_residual(remainder, cross))

"""Ridge by preconditioned conjugate gradients, for problems whose Gram and kernel matrices are both too large.

Only products with the (centred) Gram matrix G are needed. The preconditioner is the same matrix made from s sampled
rows, (n/s) Z_s'Z_s + mu I, inverted by Woodbury's formula through an s x s factor: no pass over the data, and the more
rows fit in memory, the fewer iterations.
"""

from __future__ import annotations

from collections.abc import Callable

from ..arrays import Array, cast, dtype_name, namespace
from .base import Solution, relative_residual
from .factor import factor_gram

Product = Callable[[Array], Array]


def sampled_preconditioner(rows: Array, ratio: float, shift: float) -> Product:
    """v -> (ratio Z_s'Z_s + shift I)^-1 v times shift, for sampled (centred, scaled) rows Z_s, dense or sparse."""
    inner = cast((rows @ rows.T).toarray() if hasattr(rows, "toarray") else rows @ rows.T, "float64")
    factor = factor_gram(inner, shift / ratio)
    if factor is None:  # only if the rows are all zero or the shift is lost in rounding
        return lambda v: v

    def apply(v: Array) -> Array:
        image = cast(rows @ cast(v, dtype_name(rows)), "float64")
        return v - cast(rows.T @ cast(factor.solve(image), dtype_name(rows)), "float64")

    return apply


def solve_products(
    product: Product,
    cross: Array,
    alpha: float,
    *,
    precondition: Product = lambda v: v,
    tolerance: float = 1e-8,
    max_iterations: int = 500,
) -> Solution:
    """(G + alpha I) b = c for all columns of c at once, given v -> G v for blocks of columns v."""
    coefficients, remainder = namespace(cross).zeros_like(cross), cross
    direction = auxiliary = precondition(remainder)
    energy = (remainder * auxiliary).sum(axis=0)
    iterations = 0
    while relative_residual(remainder, cross) > tolerance and iterations < max_iterations:
        image = product(direction) + alpha * direction
        step = ratio_or_zero(energy, (direction * image).sum(axis=0))
        coefficients = coefficients + step * direction
        remainder = remainder - step * image
        auxiliary = precondition(remainder)
        previous, energy = energy, (remainder * auxiliary).sum(axis=0)
        direction = auxiliary + ratio_or_zero(energy, previous) * direction
        iterations += 1
    residual = relative_residual(cross - product(coefficients) - alpha * coefficients, cross)  # the true one
    status = f"converged in {iterations} iterations"
    if not residual <= 10.0 * tolerance:
        status = f"stopped after {iterations} iterations, short of the tolerance {tolerance:.0e}"
    return Solution(coefficients, "conjugate gradients", alpha, status, residual, iterations)


def ratio_or_zero(above: Array, below: Array) -> Array:
    """above / below, and 0 where what is below is not positive."""
    where = namespace(below).where
    return where(below > 0, above / where(below > 0, below, 1.0), 0.0)

"""The dual: (K + alpha I) a = y with K = Z Z', for fewer rows than features or for an exact kernel; b = Z'a."""

from __future__ import annotations

from typing import NamedTuple

from ..arrays import Array, Same, constant, namespace
from .base import Solution
from .cholesky import solve_gram


class DualProblem(NamedTuple):
    """K and y after centring and weighting: rows are multiplied by the square roots of their weights."""

    kernel: Array
    target: Array
    root: Array
    mean_y: Array
    row_means: Array  # weighted means of the rows of the raw kernel, and of all of it: to centre new rows
    grand_mean: float

    def center_new(self, rows: Same) -> Same:
        """k(x, x_i) of new rows x, as inner products of centred features, unweighted."""
        weights = self.root**2 / (self.root**2).sum()
        return rows - (rows @ weights)[:, None] - self.row_means + self.grand_mean


def dual_problem(kernel: Array, y: Array, weight: Array | None, intercept: bool) -> DualProblem:
    """Centre K = Z Z' and y by their weighted means, so that an intercept is exact. The kernel is not changed."""
    root = constant(1.0, (len(y),), kernel) if weight is None else namespace(weight).sqrt(weight)
    if intercept:
        share = root**2 / (root**2).sum()
        means = kernel @ share
        grand = float(share @ means)
        mean_y = share @ y
        kernel = kernel - means[:, None] - means[None, :] + grand
    else:
        means, grand, mean_y = constant(0.0, (len(y),), kernel), 0.0, constant(0.0, (y.shape[1],), kernel)
    if weight is not None:
        kernel = kernel * root[:, None] * root[None, :]
    return DualProblem(kernel, (y - mean_y) * root[:, None], root, mean_y, means, grand)


def solve_dual(problem: DualProblem, alpha: float) -> Solution:
    """The dual coefficients a, to be used with centred features of the training rows: b = Z'(root a)."""
    found = solve_gram(problem.kernel, problem.target, alpha)
    method = "dual" if found.method == "cholesky" else f"dual, {found.method}"
    scaled = found.coefficients * problem.root[:, None]
    return Solution(scaled, method, alpha, found.status, found.residual, found.iterations)

"""Solvers: they know matrices or products with them, never a basis."""

from .base import Solution
from .cholesky import factor_gram, solve_gram, solve_or_none
from .conjugate_gradient import sampled_preconditioner, solve_products
from .dual import DualProblem, dual_problem, solve_dual
from .path import DualPath, RidgePath

__all__ = [
    "DualPath", "DualProblem", "RidgePath", "Solution", "dual_problem", "factor_gram", "sampled_preconditioner",
    "solve_dual", "solve_gram", "solve_or_none", "solve_products",
]  # fmt: skip

"""Solvers: they know matrices or products with them, never a basis."""

from .base import Solution
from .box import at_bounds, solve_box
from .cholesky import solve_factored, solve_gram, solve_or_none, solve_quickly
from .conjugate_gradient import sampled_preconditioner, solve_products
from .dual import DualProblem, dual_problem, solve_dual
from .factor import Factor, factor_gram
from .invariants import root_of, solve_invariant, v_matrix
from .mixed_precision import solve_roughly, solve_several
from .newton import Minimum, length, minimise, minimise_by_slopes
from .path import DualPath, RidgePath
from .stochastic import SGD, Adam, DoublyStochastic, Stochastic

__all__ = [
    "SGD", "Adam", "DoublyStochastic", "DualPath", "DualProblem", "Factor", "Minimum", "RidgePath", "Solution",
    "Stochastic",
    "at_bounds", "dual_problem", "factor_gram", "length", "minimise", "minimise_by_slopes", "root_of",
    "sampled_preconditioner",
    "solve_box", "solve_dual", "solve_factored", "solve_gram", "solve_invariant", "solve_or_none", "solve_products",
    "solve_quickly", "solve_roughly", "solve_several", "v_matrix",
]  # fmt: skip

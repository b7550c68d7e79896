"""Solvers: how a problem is solved. They know rows in blocks and the map that makes features of them, never a basis."""

from .base import OUT, SAME, HeldOutScores, Posterior, Solution, Solver, Training, Units
from .box import at_bounds, solve_box
from .cholesky import solve_factored, solve_gram, solve_or_none, solve_prefixes, solve_quickly
from .conjugate_gradient import sampled_preconditioner, solve_products
from .doubly_stochastic import DoublyStochastic
from .dual import DualProblem, dual_problem, solve_dual
from .factor import Factor, factor_gram
from .foreign import SolverLike
from .kernel_rows import DualPosterior
from .minibatch import Stochastic
from .minimise import Minimum, length, minimise, minimise_by_slopes
from .mixed_precision import solve_roughly, solve_several
from .path import DualPath, RidgePath
from .primal import PrimalPosterior
from .problem import Problem
from .stochastic import SGD, Adam
from .v_matrix import root_of, solve_v_matrix, v_matrix

__all__ = [
    "OUT", "SAME", "SGD", "Adam", "DoublyStochastic", "DualPath", "DualPosterior", "DualProblem", "Factor",
    "HeldOutScores", "Minimum", "Posterior", "PrimalPosterior", "Problem", "RidgePath", "Solution", "Solver",
    "SolverLike", "Stochastic", "Training", "Units",
    "at_bounds", "dual_problem", "factor_gram", "length", "minimise", "minimise_by_slopes", "root_of",
    "sampled_preconditioner", "solve_box", "solve_dual", "solve_factored", "solve_gram", "solve_or_none",
    "solve_prefixes", "solve_products", "solve_quickly", "solve_roughly", "solve_several", "solve_v_matrix", "v_matrix",
]  # fmt: skip

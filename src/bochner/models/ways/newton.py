"""Losses to their optimum over all rows: Newton's method, and the same within bounds on the coefficients."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...losses import Loss
from ...solvers import Minimum, Solution, at_bounds, minimise, solve_box
from .huber import HuberObjective
from .objective import RiskObjective
from .primal import reduce_moments
from .problem import Fit, Problem

BOX_STEPS = 1000  # at most: without a penalty many coordinates change places at the bounds


def fit_newton(problem: Problem, loss: Loss, alpha: float, start: np.ndarray | None = None) -> Fit:
    """To the optimum."""
    objective = (HuberObjective if loss.learns_scale else RiskObjective)(problem, loss, alpha)
    x = objective.zeros() if start is None else start
    return finished(objective, minimise(objective, x, **objective.settings), "Newton with conjugate gradients")


def fit_box(problem: Problem, loss: Loss, alpha: float, bound: float, start: np.ndarray | None = None) -> Fit:
    """Coefficients of at most `bound` in size; for the squared loss from the sums alone."""
    if loss.quadratic:
        centered = reduce_moments(problem).centered(problem.scale, problem.intercept)
        solution = solve_box(centered.gram, centered.cross, alpha, bound)
        b = solution.coefficients
        return Fit(solution, centered.mean_y - centered.mean_z @ b, "", np.zeros(b.shape[1]))
    objective = RiskObjective(problem, loss, alpha)
    x = objective.zeros() if start is None else start
    bounds = np.full((len(x), 1), bound)
    bounds[int(problem.basis.n_components) :] = np.inf  # the intercept is free
    found = minimise(objective, x, bound=bounds, max_iterations=BOX_STEPS, **objective.settings)
    there = at_bounds(objective.model(found.x)[0], bound)
    return finished(objective, replace(found, status=f"{found.status}; {there}"), "projected Newton")


def finished(objective: RiskObjective, found: Minimum, method: str) -> Fit:
    b, intercept = objective.model(found.x)
    solution = Solution(b, method, objective.alpha, found.status, found.residual, found.iterations)
    scale = objective.scale_at(found.x) if isinstance(objective, HuberObjective) else None
    return Fit(solution, intercept, "", np.zeros(b.shape[1]), start=found.x, scale=scale)

"""Losses to their optimum over all rows: Newton's method, and the same within bounds on the coefficients."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .base import Solution, Solver
from .box import at_bounds, solve_box
from .huber import HuberObjective
from .minimise import Minimum, minimise
from .objective import METRIC, RiskObjective, rows_of_metric
from .problem import Problem
from .sums import reduce_moments

BOX_STEPS = 1000  # at most: without a penalty many coordinates change places at the bounds


class Newton(Solver):
    """Newton's method with conjugate gradients inside."""

    name = "newton"
    needs = frozenset({"smooth"})
    learns_scale = True

    def samples(self, fewest: int, most: int) -> tuple[tuple[int, int], ...]:
        return ((rows_of_metric(most), METRIC),)

    def solve(self, problem: Problem) -> Solution:
        objective = objective_of(problem)
        start = objective.zeros() if problem.start is None else np.asarray(problem.start)
        return finished(objective, minimise(objective, start, **objective.settings), "Newton with conjugate gradients")


class Box(Solver):
    """Coefficients of at most `problem.bound` in size; for the squared loss from the sums alone."""

    name = "box"
    needs = frozenset({"smooth"})
    bounded = True

    def solve(self, problem: Problem) -> Solution:
        assert problem.bound is not None
        if problem.loss.quadratic:
            centered = reduce_moments(problem).centered(problem.scale, problem.intercept)
            found = solve_box(centered.gram, centered.cross, problem.alpha, problem.bound)
            return replace(found, intercept=centered.mean_y - centered.mean_z @ found.coefficients)
        objective = RiskObjective(problem)
        start = objective.zeros() if problem.start is None else np.asarray(problem.start)
        bounds = np.full((len(start), 1), problem.bound)
        bounds[problem.columns :] = np.inf  # the intercept is free
        end = minimise(objective, start, bound=bounds, max_iterations=BOX_STEPS, **objective.settings)
        there = at_bounds(objective.model(end.x)[0], problem.bound)
        return finished(objective, replace(end, status=f"{end.status}; {there}"), "projected Newton")


def objective_of(problem: Problem) -> RiskObjective:
    return (HuberObjective if problem.loss.learns_scale else RiskObjective)(problem)


def finished(objective: RiskObjective, found: Minimum, method: str) -> Solution:
    """The solution that a search for the minimum has come to."""
    b, intercept = objective.model(found.x)
    told = Solution(b, method, objective.alpha, found.status, found.residual, found.iterations, intercept=intercept)
    scale = objective.scale_at(found.x) if isinstance(objective, HuberObjective) else None
    return replace(told, start=found.x, scale=scale)

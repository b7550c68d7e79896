"""Losses to their optimum over all rows: Newton's method, and the same within bounds on the coefficients."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...losses import Huber, Loss, Squared
from ...solvers import Minimum, Solution, at_bounds, minimise, solve_box
from .objective import Piece, RiskObjective
from .primal import reduce_moments
from .problem import Fit, Problem

ROUGH = 1e-2  # relative gradient
BOX_STEPS = 1000  # at most: without a penalty many coordinates change places at the bounds
TURNS, SCALE_TOLERANCE = 200, 1e-9  # of Huber's scale, and its relative change at the end
LEAST_SCALE = 1e-10  # of the spread of targets: where nearly all residuals vanish


def fit_newton(problem: Problem, loss: Loss, alpha: float, start: np.ndarray | None = None, rough: bool = False) -> Fit:
    """To the optimum; or roughly, where only the loss of other rows is to be judged."""
    objective = RiskObjective(problem, loss, alpha)
    x = objective.zeros() if start is None else start
    settings = objective.settings | ({"tolerance": ROUGH} if rough else {})
    found = learn_scale(objective, x) if isinstance(loss, Huber) else minimise(objective, x, **settings)
    return finished(objective, found, "Newton with conjugate gradients")


def fit_box(problem: Problem, loss: Loss, alpha: float, bound: float, start: np.ndarray | None = None) -> Fit:
    """Coefficients of at most `bound` in size; for the squared loss from the sums alone."""
    if isinstance(loss, Squared):
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
    return Fit(solution, intercept, "", np.zeros(b.shape[1]), start=found.x)


def learn_scale(objective: RiskObjective, x: np.ndarray) -> Minimum:
    """Huber's loss with the scale that makes it smallest: coefficients and scale in turn, each exactly."""
    huber = objective.loss
    assert isinstance(huber, Huber)
    first = spread_of_targets(objective)
    huber = replace(huber, scale=first)
    steps = 0
    for _ in range(TURNS):
        objective.loss = huber
        found = minimise(objective, x, **objective.settings)
        steps, x = steps + found.iterations, found.x

        def sums(piece: Piece, huber: Huber = huber, x: np.ndarray = x) -> np.ndarray:
            return huber.scale_sums(objective.scores(piece, x), piece.y, piece.weight)

        scale = huber.best_scale(objective.pieces.reduce(sums, "scale"), LEAST_SCALE * first)
        change = float(np.max(np.abs(scale / huber.scale - 1.0)))
        huber = replace(huber, scale=scale)
        if change < SCALE_TOLERANCE:
            break
    scales = ", ".join(f"{s:.4g}" for s in huber.scale)
    ended = "converged" if found.converged and change < SCALE_TOLERANCE else "stopped"
    return replace(found, status=f"{ended} in {steps} steps; scale {scales}", iterations=steps)


def spread_of_targets(objective: RiskObjective) -> np.ndarray:
    """The deviation of each target from what the model 0 predicts at best, to begin with; never zero."""

    def sums(piece: Piece) -> np.ndarray:
        powers = [np.ones_like(piece.y), piece.y, piece.y**2]
        return np.stack([piece.weight @ power for power in powers])

    total, first, second = objective.pieces.reduce(sums, "targets")
    mean = first / total if objective.problem.intercept else 0.0
    size = np.sqrt(second / total)
    return np.maximum(np.sqrt(np.maximum(second / total - mean**2, 0.0)), np.where(size > 0, 1e-8 * size, 1.0))

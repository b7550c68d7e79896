"""How good a metric is: errors of rows that a model in it does not know; and the model, which tells the next metric."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .. import ops
from ..bases.design import Design
from ..blocks import Block, MemoryBlocks
from ..costs import FOLDS
from ..moments import Moments, times_columns
from ..penalties import LeftOut
from ..penalties.search import candidates, smallest
from ..solvers.primal import solve_sums
from ..solvers.problem import Problem, fold_of
from ..solvers.sums import MomentsOf
from .fitting import fit_problem
from .parameters import ModelParameters


class Judged(NamedTuple):
    """Errors of parts of the rows by models that do not know them; a model of all, and its sums if there are any."""

    errors: np.ndarray
    coefficients: np.ndarray
    sums: Moments | None

    @property
    def error(self) -> float:
        return float(np.sum(self.errors))


def by_folds(problem: Problem, share: float) -> Judged:
    """Squared errors of folds from sums, relative to that of the mean, at the best penalty; and the model of all."""
    folded = problem.blocks.reduce(MomentsOf.problem(problem, FOLDS), title="moments")
    left = LeftOut(folded, problem.scale, problem.intercept, problem.classifies, problem.linear_columns)
    asked = "auto" if isinstance(problem.asked, str) else np.asarray(problem.asked) * share
    alphas = candidates(asked, folded.square_sum(problem.scale, problem.intercept))
    if not left.numbers:
        errors, alpha = np.ones(1), float(alphas[-1])
    else:
        criteria, made = left.search(alphas)
        best = smallest(criteria)
        size = float(np.sum(left.deviations) if left.classifies else np.count_nonzero(left.deviations))
        errors, alpha = np.array([left.criterion(fold[None]) for fold in made[best]]) / max(size, 1e-300), alphas[best]
    solution = solve_sums(folded, problem.scale, float(alpha), problem.intercept, None)
    return Judged(errors, np.asarray(solution.coefficients), folded.total())


def by_held_out(parameters: ModelParameters, design: Design, block: Block) -> Judged:
    """Losses of a fifth of the rows, left out of a fit with the loss and the solver that were asked for."""
    folds = fold_of(block, FOLDS)
    known, left = block.only(folds != 0), block.only(folds == 0)
    problem = parameters.problem(design, MemoryBlocks(*known[:3]), known.y.shape[1])
    solution = fit_problem(problem, *parameters.solver_for(design, known.X.shape[0])).fit.solution
    weights = times_columns(design.scale_, solution.coefficients)
    scores = ops.scores(design.features(left.X), weights) + solution.intercepts
    weight = np.ones(len(scores)) if left.weight is None else left.weight
    losses = np.asarray(parameters.loss.value(scores, np.asarray(left.y, dtype=np.float64)))
    return Judged(losses * weight / max(float(weight.sum()), 1e-300), solution.coefficients, None)

"""How good a metric is: errors of rows that a model in it does not know; and the model, which tells the next metric."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .. import ops
from ..arrays import is_torch
from ..bases.design import Design
from ..blocks import Block, MemoryBlocks
from ..costs import FOLDS
from ..moments import FoldedMoments, Moments, times_columns
from ..penalties import LeftOut
from ..penalties.search import candidates, smallest
from ..solvers.primal import solve_sums
from ..solvers.problem import Problem, fold_of
from ..solvers.sums import MomentsOf
from .fitting import fit_problem
from .parameters import ModelParameters


class Judged(NamedTuple):
    """Errors of rows left out, whose sum is the error; the model of the others, and its sums if there are any.

    Rows left out are out of the metric too: a matrix of many numbers learned from them would know them by heart.
    """

    errors: np.ndarray
    coefficients: np.ndarray
    sums: Moments | None

    @property
    def error(self) -> float:
        return float(np.sum(self.errors))


def by_sums(problem: Problem, block: Block, share: float) -> Judged:
    """Squared errors of a fifth of the rows, relative to that of the mean, at the penalty that is best for them."""
    folded = problem.blocks.reduce(MomentsOf.problem(problem, 2), title="moments")
    left = LeftOut(folded, problem.scale, problem.intercept, problem.classifies, problem.linear_columns)
    asked = "auto" if isinstance(problem.asked, str) else np.asarray(problem.asked) * share
    alphas = candidates(asked, folded.square_sum(problem.scale, problem.intercept))
    best = smallest(left.search(alphas)[0]) if left.numbers else len(alphas) - 1
    known = FoldedMoments(folded.folds[1:]) if left.numbers else folded
    solution = solve_sums(known, problem.scale, float(alphas[best]), problem.intercept, None)
    coefficients = np.asarray(solution.coefficients)
    if not left.numbers:  # too few rows to leave any out
        return Judged(np.ones(1), coefficients, known.total())
    out = block.only(fold_of(block, FOLDS) == 0)
    weights = times_columns(problem.scale, coefficients)
    misses = (ops.scores(problem.features(out.X), weights) + solution.intercepts - out.y) ** 2
    sizes = left.deviations.sum() if left.classifies else left.deviations * max(np.count_nonzero(left.deviations), 1)
    errors = (misses / np.where(sizes > 0, sizes, np.inf)).sum(axis=1)
    return Judged(errors if out.weight is None else errors * out.weight, coefficients, known.total())


def by_held_out(parameters: ModelParameters, design: Design, block: Block) -> Judged:
    """Losses of a fifth of the rows, left out of a fit with the loss and the solver that were asked for."""
    folds = fold_of(block, FOLDS)
    known, left = block.only(folds != 0), block.only(folds == 0)
    problem = parameters.problem(design, MemoryBlocks(*known[:3]), known.y.shape[1])
    solution = fit_problem(problem, *parameters.solver_for(design, known.X.shape[0], is_torch(known.X))).fit.solution
    weights = times_columns(design.scale_, solution.coefficients)
    scores = ops.scores(design.features(left.X), weights) + solution.intercepts
    weight = np.ones(len(scores)) if left.weight is None else left.weight
    losses = np.asarray(parameters.loss.value(scores, np.asarray(left.y, dtype=np.float64)))
    return Judged(losses * weight / max(float(weight.sum()), 1e-300), np.asarray(solution.coefficients), None)

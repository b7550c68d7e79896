"""Scores of rows by the model of the others, to calibrate probabilities by.

For least squares they follow from the model of all rows: f_i without row i is (f_i - h_i y_i) / (1 - h_i), with the
leverage h_i = z_i'(G + alpha I)^-1 z_i + 1/W. A weight is a number of equal rows, of which one is left out. Other
losses are fitted once without some rows, then to all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import cho_solve

from ...blocks import Block
from ...solvers import DualProblem, factor_gram
from ...streams import sample_rows
from .calibration import CALIBRATED, OUT, SAME, Judged
from .primal import LEAST, PrimalPosterior
from .problem import Fit, Problem

LEVERAGES = 64  # right-hand sides more for conjugate gradients


def scores_of(problem: Problem, fit: Fit, X: Any) -> np.ndarray:
    return np.asarray(problem.features(X) @ (problem.scale * fit.solution.coefficients)) + fit.intercept


def without_itself(scores: np.ndarray, leverage: np.ndarray, block: Block) -> Judged:
    left = np.maximum(1.0 - leverage, LEAST)[:, None]
    return Judged((scores - leverage[:, None] * block.y) / left, block.y, block.weight, OUT)


def from_moments(problem: Problem, fit: Fit) -> Judged:
    """After Cholesky: leverages of sampled rows."""
    block = problem.blocks.take(sample_rows(problem.blocks.n_rows, CALIBRATED, seed=9))
    scores, posterior = scores_of(problem, fit, block.X), fit.posterior
    assert isinstance(posterior, PrimalPosterior)
    if not posterior.is_proper:
        return Judged(scores, block.y, block.weight, SAME)
    centered = posterior.moments.centered(problem.scale, problem.intercept)
    leverage = posterior.spread(problem.basis, block.X) * centered.observations / centered.weight
    posterior.forget()
    return without_itself(scores, leverage, block)


def from_kernel(dual: DualProblem, coefficients: np.ndarray, alpha: float, block: Block, intercept: bool) -> Judged:
    """After a dual fit, of all rows: y - f = alpha a / w, and w h = 1 + w/W - alpha (K + alpha I)^-1_ii."""
    weight, y = dual.root**2, block.y.astype(np.float64)
    residual = alpha * coefficients / weight[:, None]
    factor = factor_gram(dual.kernel, alpha)
    if factor is None:
        return Judged(y - residual, y, block.weight, SAME)
    explained = 1.0 - alpha * np.diagonal(cho_solve(factor, np.eye(len(y))))
    return without_itself(y - residual, explained / weight + intercept / weight.sum(), block)


def by_refitting(problem: Problem, fit_to: Callable[[Problem, np.ndarray | None], Fit]) -> tuple[Fit, Judged]:
    """Fit without some rows, score them, and go on from there with all rows."""
    n = problem.blocks.n_rows
    numbers = sample_rows(n, min(CALIBRATED, n // 5), seed=9)
    if len(numbers) < 2:
        fit, block = fit_to(problem, None), problem.blocks.read(0, n)
        return fit, Judged(scores_of(problem, fit, block.X), block.y, block.weight, SAME)

    def others(block: Block) -> Block:
        rows = block.start + (np.arange(block.X.shape[0]) if block.kept is None else block.kept)
        return block.only(~np.isin(rows, numbers))

    first = fit_to(replace(problem, blocks=problem.blocks.map(others)), None)
    block = problem.blocks.take(numbers)
    judged = Judged(scores_of(problem, first, block.X), block.y, block.weight, OUT)
    return fit_to(problem, first.start), judged

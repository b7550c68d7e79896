"""Scores of rows by the model of the others, to calibrate probabilities by.

For least squares they follow from the model of all rows: f_i without row i is (f_i - h_i y_i) / (1 - h_i), with the
leverage h_i = w_i (z_i'(G + alpha I)^-1 z_i + 1/W). Of a row that weighs more than one row does, one is left out; a
row that weighs less is left out as a whole. Other losses are fitted once without some rows, then to all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from .. import ops
from ..arrays import Array, cast, contiguous, like, namespace, to_host
from ..blocks import Block, SumOf
from ..moments import times_columns
from ..streams import sample_rows
from .base import OUT, SAME, HeldOutScores, Solution
from .dual import DualProblem
from .factor import factor_gram
from .problem import Problem

if TYPE_CHECKING:
    from .primal import PrimalPosterior

CALIBRATED = 1000  # rows from which the temperature of probabilities is known, at most
LEAST = 1e-12  # what a leverage leaves, at least
LEVERAGES = 64  # right-hand sides more for conjugate gradients


def scores_of(problem: Problem, found: Solution, X: Array) -> Array:
    weights = times_columns(problem.scale, found.coefficients)
    return ops.scores(problem.features(X), contiguous(weights)) + found.intercepts


def without_itself(scores: Array, spread: Array, block: Block, unit: float) -> HeldOutScores:
    """From the spread, the leverage of a weight of 1; `unit` is the weight of one row."""
    weight = None if block.weight is None else block.weight / unit
    leverage = unit * spread * (1.0 if weight is None else weight.clip(max=1.0))
    left = (1.0 - leverage).clip(min=LEAST)[:, None]
    return HeldOutScores((scores - leverage[:, None] * block.y) / left, block.y, weight, OUT, leverage).on_host()


def from_moments(problem: Problem, found: Solution, posterior: PrimalPosterior) -> HeldOutScores:
    """After Cholesky: leverages of sampled rows."""
    block = problem.blocks.take(sample_rows(problem.blocks.n_rows, CALIBRATED, seed=9))
    if not block.X.shape[0]:  # the rows sampled are all of weight zero
        return HeldOutScores(np.empty((0, problem.outputs)), block.y, block.weight, SAME).on_host()
    scores = scores_of(problem, found, block.X)
    if not posterior.is_proper:
        return HeldOutScores(scores, block.y, block.weight, SAME).on_host()
    spread = posterior.spread(problem.map, block.X) / posterior.weight_of_one
    return without_itself(scores, spread, block, posterior.unit or posterior.weight_of_one)


def from_kernel(dual: DualProblem, found: Solution, block: Block, intercept: bool, unit: float | None) -> HeldOutScores:
    """After a dual fit, of all rows: y - f = alpha a / w, and w h = 1 + w/W - alpha (K + alpha I)^-1_ii."""
    weight, y, alpha = dual.root**2, cast(block.y, "float64"), found.alpha
    residual = alpha * found.coefficients / weight[:, None]
    factor = factor_gram(dual.kernel, alpha)
    if factor is None:
        return HeldOutScores(y - residual, y, block.weight, SAME).on_host()
    explained = 1.0 - alpha * factor.solve(like(np.eye(len(y)), y)).diagonal()
    spread = explained / weight + intercept / weight.sum()
    return without_itself(y - residual, spread, block, unit or float(weight.mean()))


def by_refitting(problem: Problem, solve: Callable[[Problem], Solution]) -> Solution:
    """Fit without some rows, score them, and go on from there with all rows."""
    n = problem.blocks.n_rows
    numbers = sample_rows(n, max(1, min(CALIBRATED, n // 5)), seed=9)
    if len(numbers) > 1:
        numbers = spare_classes(problem, numbers)
    if len(numbers) < 2:
        found, block = solve(problem), problem.blocks.read(0, n)
        scores = scores_of(problem, found, block.X)
        return replace(found, held_out=HeldOutScores(scores, block.y, block.weight, SAME).on_host())

    left = problem.blocks.map(Without(numbers), problem.blocks.present - len(numbers))
    first = solve(replace(problem, blocks=left))
    block = problem.blocks.take(numbers)
    held_out = HeldOutScores(scores_of(problem, first, block.X), block.y, block.weight, OUT).on_host()
    return replace(solve(replace(problem, start=first.start)), held_out=held_out)


@dataclass(frozen=True)
class Without:
    """A block without the rows of some numbers."""

    numbers: np.ndarray

    def __call__(self, block: Block) -> Block:
        return block.only(is_left(block, self.numbers))


@dataclass(frozen=True)
class CodesWithout(SumOf):
    """How many rows have a positive and how many a negative code, of each output; rows of some numbers left out."""

    numbers: np.ndarray

    def of(self, block: Block) -> np.ndarray:
        codes = block.y[is_left(block, self.numbers)] > 0
        return np.stack([to_host(part.sum(axis=0)) for part in (codes, ~codes)])


def is_left(block: Block, without: np.ndarray) -> Array:
    """Which rows of a block are not of these numbers."""
    numbers = block.numbers
    return ~namespace(numbers).isin(numbers, like(without, numbers))


def spare_classes(problem: Problem, numbers: np.ndarray) -> np.ndarray:
    """The numbers without those of rows that are all there is of a class: a model of the others would not know it."""
    absent = problem.blocks.reduce(CodesWithout(numbers), title="classes") == 0
    block = problem.blocks.take(numbers).on_host()
    codes = block.y > 0
    needed = (codes & absent[0] | ~codes & absent[1]).any(axis=1)
    places = np.arange(len(numbers)) if block.kept is None else block.kept
    return np.delete(numbers, places[needed])

"""A classifier's penalty: of those near the best for squares, the one with which most labels left out are right.

Models of the other rows come from sums; counting takes a pass over the rows left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import ops
from ..arrays import Array, cast, constant, is_integer, namespace, places
from ..blocks import Block, SumOf
from ..costs import FOLDS, is_many
from ..maps import FeatureMap
from ..moments import Centered, FoldedMoments, times_columns
from ..solvers import solve_or_none, solve_several
from ..solvers.problem import Alpha, Problem, fold_of, wrong
from .base import FEW, Chosen, CrossValidated
from .kfold import LeftOut, above_floor
from .search import ABOVE, BELOW, candidates, edge_note, end_of, smallest


def by_labels(problem: Problem, folded: FoldedMoments, asked: Alpha) -> Chosen:
    """The penalty with which most labels of rows left out are right, near the one that is best for squares."""
    left = LeftOut(folded, problem.scale, problem.intercept, True, problem.linear_columns)
    unit = folded.square_sum(problem.scale, problem.intercept)
    alphas = above_floor(candidates(asked, unit), asked, problem.rounding_floor)
    if not left.numbers:
        return Chosen(float(alphas[-1]), FEW)
    many = is_many(problem.columns)
    if many and isinstance(asked, str):
        # Labels mostly want a smaller penalty than squares do, by one candidate: that one and its neighbours.
        start = left.start(alphas)
        ahead = [k for k in (start - 2, start - 1, start) if 0 <= k < len(alphas)]
    elif isinstance(asked, str):
        start = smallest(left.search(alphas)[0])
        ahead = [k for k in range(start - BELOW, start + ABOVE + 1) if 0 <= k < len(alphas)]
    else:
        ahead = list(range(len(alphas)))
    counts, rows = np.full(len(alphas), np.inf), 0.0
    while ahead:
        counts[ahead], rows = count_errors(problem, left, alphas, ahead)
        best = smallest(counts)
        around = counts[max(best - 1, 0) : best + 2]
        is_level = np.isfinite(counts[best]) and np.sum(around == counts[best]) > 1  # level ground: no reason to go on
        near = [k for k in (best - 1, best + 1) if 0 <= k < len(alphas) and not np.isfinite(counts[k])]
        ahead = near if many and isinstance(asked, str) and not is_level else []
    share = float(counts[best]) / rows if rows > 0 and np.isfinite(counts[best]) else 1.0
    error = float(np.sqrt(share * (1.0 - share) / max(left.rows, 1)))
    validated = CrossValidated(1.0 - share, error, left.rows, left.how)
    end = end_of(best, len(alphas))
    return Chosen(float(alphas[best]), f"errors of {left.how}{edge_note(end)}", validated, end)


def count_errors(problem: Problem, left: LeftOut, alphas: np.ndarray, tried: list[int]) -> tuple[np.ndarray, float]:
    """The (weighted) number of errors at some penalties, of models on rows that they do not know; and of those rows."""
    several = len(left.numbers) > 1
    models = {
        fold: models_at(left.pair(fold)[0] if several else left.rest(fold), problem.scale, alphas[tried])
        for fold in left.numbers
    }

    errors = ErrorsOfFolds(problem.map, models, len(tried), problem.width + problem.columns)
    found = np.asarray(problem.blocks.reduce(errors, title="errors of folds"))
    return found[:-1], float(found[-1])


@dataclass(frozen=True)
class ErrorsOfFolds(SumOf):
    """The weight of wrong labels of rows left out, by each of several penalties; and last the weight of these rows.

    `models` has for each fold weights (penalties, m, k) and intercepts (penalties, k) of a model of the other folds.
    """

    map: FeatureMap
    models: dict[int, tuple[Array, Array]]
    penalties: int
    room: float

    @property
    def width(self) -> float:
        return self.room

    def of(self, block: Block) -> np.ndarray:
        folds = fold_of(block, FOLDS)
        count = np.zeros(self.penalties + 1)
        for fold, (weights, intercepts) in self.models.items():
            rows = places(folds == fold)
            if not len(rows):
                continue
            features, codes = self.map(block.X[rows]), block.y[rows]
            weight = constant(1.0, (len(rows),), codes) if block.weight is None else block.weight[rows]
            count[-1] += float(weight.sum())
            for k, scores in enumerate(all_scores(features, weights)):
                sound = bool(namespace(intercepts).isfinite(intercepts[k]).all())
                missed = cast(wrong(scores + intercepts[k], codes), "float64")
                count[k] += float(weight @ missed) if sound else np.inf
        return count


def models_at(rest: Centered, scale: float | np.ndarray, alphas: np.ndarray) -> tuple[Array, Array]:
    """Weights (penalties, m, k) and intercepts (penalties, k); where a penalty has no model they are NaN."""
    if is_many(len(rest.gram)):
        solutions = solve_several(rest.gram, rest.cross, alphas)
    else:
        solutions = [solve_or_none(rest.gram, rest.cross, float(a)) for a in alphas]
    stack = namespace(rest.cross).stack
    b = stack([constant(np.nan, rest.cross.shape, rest.cross) if found is None else found for found in solutions])
    return stack([times_columns(scale, at) for at in b]), rest.mean_y - rest.mean_z @ b


def all_scores(features: Array, weights: Array) -> Array:
    """Features times the weights (penalties, m, k) of several penalties at once: (penalties, n, k).

    In float32 for integer features, which it holds: a label does not hang on the eighth digit of a score.
    """
    (penalties, m, k), moveaxis = weights.shape, namespace(weights).moveaxis
    together = moveaxis(weights, 1, 0).reshape(m, penalties * k)
    if is_integer(features):
        together = cast(together, "float32")
    return moveaxis(ops.scores(features, together).reshape(-1, penalties, k), 1, 0)

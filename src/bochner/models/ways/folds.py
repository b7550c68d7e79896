"""The penalty of a classifier, by its errors on rows left out: models come from sums, and a pass counts the errors.

With few features there are five folds, each left out once; sums of the others are a subtraction. With many, a fifth of
the rows is left out, and since each candidate costs a factorisation, the search begins near where the leading features
have the smallest squared error and goes on from the best candidate to its neighbours while that makes it better.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from ... import ops
from ...blocks import Block
from ...config import memory_budget
from ...moments import Centered, FoldedMoments, Moments, Rows
from ...solvers import solve_or_none, solve_several
from .penalty import FEW, FOLDS, candidates, edge_note, smallest
from .problem import Problem, fold_of, wrong

MANY_FEATURES = 2048  # above, one fold is held out instead of five, and penalties are tried with float32 factors
Models = dict[int, tuple[np.ndarray, np.ndarray]]  # of each fold left out: weights and intercepts at several penalties


def reduce_folds(problem: Problem) -> FoldedMoments:
    """Moments of five folds; or, where features are many, of a held-out fifth (fold 0) and of the rest (fold 1)."""
    m = problem.basis.n_components
    apart = FOLDS if m <= MANY_FEATURES and (2 * FOLDS + 3) * 8 * m * m <= memory_budget() else 2

    def rows_of(part: Block) -> Rows:
        return Rows(problem.features(part.X), part.y, part.weight)

    def parts(block: Block) -> list[Rows | None]:
        folds = np.minimum(fold_of(block, FOLDS), apart - 1)
        chosen = [folds == fold for fold in range(apart)]
        return [rows_of(block.only(fold)) if fold.any() else None for fold in chosen]

    width = int(3 * problem.width) + 1
    return problem.blocks.reduce(parts, add=FoldedMoments.plus_rows, width=width, title="moments")


def by_folds(problem: Problem, folded: FoldedMoments) -> tuple[float, str]:
    """The penalty of smallest error on rows left out, and how it was chosen."""
    alphas = candidates(problem.alpha, folded.mean_square(problem.scale, problem.intercept))
    if isinstance(problem.alpha, str):
        alphas = alphas[np.minimum(np.searchsorted(alphas, problem.rounding_floor / 10), len(alphas) - 2) :]
    if len(folded.folds) == FOLDS:
        how, total = f"error of {FOLDS} folds", folded.total()
        models: Models = {}
        for fold, part in enumerate(folded.folds):
            if part is not None and part.rows < total.rows:
                rest = (total - part).centered(problem.scale, problem.intercept)
                models[fold] = models_at(problem, rest, alphas)
        if not models:
            return float(alphas[-1]), FEW
        counts = count_errors(problem, models, range(len(alphas)))
    else:
        how = "error of a held-out fifth"
        held, others = folded.folds
        if held is None or others is None:
            return float(alphas[-1]), FEW
        counts = search(problem, held, others, alphas)
    best = float(alphas[smallest(alphas, counts)])
    return best, how + edge_note(best, alphas)


def search(problem: Problem, held: Moments, others: Moments, alphas: np.ndarray) -> np.ndarray:
    """Errors on the held-out rows at candidates around the best one, infinite at those that were not tried."""
    counts = np.full(len(alphas), np.inf)
    left = set(range(len(alphas)))
    ahead = sorted(left)
    if isinstance(problem.alpha, str):
        start = leading_best(problem, held, others, alphas)
        # Labels mostly want a smaller penalty than squares do, by one candidate: that one and its neighbours.
        ahead = sorted(left & {start - 2, start - 1, start})
    rest = others.centered(problem.scale, problem.intercept)
    while ahead:
        counts[ahead] = count_errors(problem, {0: models_at(problem, rest, alphas[ahead])}, ahead)
        left.difference_update(ahead)
        best = smallest(alphas, counts)
        around = counts[max(best - 1, 0) : best + 2]
        is_level = np.isfinite(counts[best]) and np.sum(around == counts[best]) > 1  # level ground: no reason to go on
        ahead = [] if is_level else sorted(left & {best - 1, best + 1})
    return counts


def leading_best(problem: Problem, held: Moments, others: Moments, alphas: np.ndarray) -> int:
    """The candidate of smallest squared error on the held-out rows with the leading features, from sums alone."""
    m = problem.basis.n_components
    few = min(m, MANY_FEATURES)
    scale = problem.scale * float(np.sqrt(m / few))  # so that their kernel is that of all
    rest, out = (part.prefix(few).centered(scale, problem.intercept) for part in (others, held))

    @cache
    def error(k: int) -> float:
        b = solve_or_none(rest.gram, rest.cross, alphas[k])
        found = np.inf if b is None else out.error_of(b, rest)
        return found if np.isfinite(found) else np.inf

    best, before = len(alphas) // 2, -1
    while best != before:  # downhill from the middle: errors have one valley, or nearly so
        near = [k for k in (best + 1, best, best - 1) if 0 <= k < len(alphas)]
        best, before = min(near, key=error), best
    return best


def models_at(problem: Problem, rest: Centered, alphas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights (penalties, m, k) and intercepts (penalties, k); where a penalty has no model they are NaN."""
    if problem.basis.n_components > MANY_FEATURES:
        solutions = solve_several(rest.gram, rest.cross, alphas)
    else:
        solutions = [solve_or_none(rest.gram, rest.cross, a) for a in alphas]
    b = np.stack([np.full(rest.cross.shape, np.nan) if found is None else found for found in solutions])
    return problem.scale * b, rest.mean_y - rest.mean_z @ b


def count_errors(problem: Problem, models: Models, tried: Sequence[int]) -> np.ndarray:
    """The (weighted) number of errors at each penalty, of the models on the folds that they do not know.

    The title says which candidates they are, so that a checkpoint does not give its counts to others.
    """

    def errors(block: Block) -> np.ndarray:
        folds = fold_of(block, FOLDS)
        count = np.zeros(len(tried))
        for fold, (weights, intercepts) in models.items():
            rows = np.flatnonzero(folds == fold)
            if not len(rows):
                continue
            features, codes = problem.features(block.X[rows]), block.y[rows]
            weight = np.ones(len(rows)) if block.weight is None else block.weight[rows]
            for k, scores in enumerate(all_scores(features, weights)):
                count[k] += (
                    weight @ wrong(scores + intercepts[k], codes) if np.isfinite(intercepts[k]).all() else np.inf
                )
        return count

    width = int(problem.width) + int(problem.basis.n_components)
    title = f"errors of folds at penalties {', '.join(map(str, tried))}"
    return np.asarray(problem.blocks.reduce(errors, width=width, title=title))


def all_scores(features: Any, weights: np.ndarray) -> np.ndarray:
    """Features times the weights (penalties, m, k) of several penalties at once: (penalties, n, k).

    In float32 for integer features, which it holds: a label does not hang on the eighth digit of a score.
    """
    penalties, m, k = weights.shape
    together = weights.transpose(1, 0, 2).reshape(m, penalties * k)
    if features.dtype.kind == "i":
        together = together.astype(np.float32)
    return np.asarray(ops.scores(features, together)).reshape(-1, penalties, k).transpose(1, 0, 2)

"""The penalty by rows left out: models come from sums, and so do the squared errors of the rows left out.

With few features there are five folds, each left out once; sums of the others are a subtraction. With many, a fifth of
the rows is left out. Each candidate costs factorisations, so the search begins where the leading features have the
smallest error and goes downhill from there. A classifier's penalty is the one near it with which most labels of the
rows left out are right, which takes a pass over them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ... import ops
from ...arrays import Array, cast, constant, is_integer, namespace, places, to_host
from ...bases.design import times_columns
from ...blocks import Aggregate, Block, SumOf
from ...config import memory_budget
from ...moments import Centered, FoldedMoments, Moments, Rows
from ...ops import threads
from ...solvers import solve_or_none, solve_several
from .penalty import (
    ABOVE,
    BELOW,
    FEW,
    FOLDS,
    Chosen,
    CrossValidated,
    candidates,
    edge_note,
    end_of,
    settled,
    smallest,
    valley,
)  # fmt: skip
from .problem import Featurizer, Problem, fold_of, wrong

MANY_FEATURES = 2048  # above, one fold is held out instead of five, and penalties are tried with float32 factors
LEADING = 256  # features with which all candidates are tried


def reduce_folds(problem: Problem) -> FoldedMoments:
    """Moments of five folds; of many features, of a held-out fifth and of the rest; of all if nothing is chosen."""
    m = problem.basis.n_components
    apart = FOLDS if m <= MANY_FEATURES and (2 * FOLDS + 3) * 8 * m * m <= memory_budget() else 2
    if isinstance(problem.alpha, float) or problem.asks_for("gcv"):
        apart = 1

    return problem.blocks.reduce(MomentsOf.problem(problem, apart), title="moments")


@dataclass(frozen=True)
class MomentsOf(Aggregate[FoldedMoments]):
    """The moments of features, those of each fold apart; of two folds the first is a fifth of the rows."""

    features: Featurizer
    columns: int
    room: float  # float64 numbers that the features of a row take
    folds: int = 1

    @classmethod
    def problem(cls, problem: Problem, folds: int = 1) -> MomentsOf:
        return cls(problem.feature_map, int(problem.basis.n_components), problem.width, folds)

    @property
    def width(self) -> float:
        return int(3 * self.room) + 1

    @property
    def partial_bytes(self) -> int:
        return 8 * self.folds * self.columns**2

    @property
    def is_parallel(self) -> bool:
        return True

    def step(self, partial: FoldedMoments | None, block: Block) -> FoldedMoments:
        parts: list[Rows | None]
        if self.folds == 1:
            parts = [self.rows_of(block)]
        else:
            folds = fold_of(block, FOLDS).clip(max=self.folds - 1)
            chosen = [folds == fold for fold in range(self.folds)]
            parts = [self.rows_of(block.only(fold)) if fold.any() else None for fold in chosen]
        return FoldedMoments.plus_rows(partial, parts)

    def rows_of(self, block: Block) -> Rows:
        return Rows(self.features.features(block.X), block.y, block.weight)


@dataclass
class LeftOut:
    """Sums of folds, each of which is left out in turn: a model is made of the others and judged by it.

    `scale` multiplies the columns, of which the first `always` stand before the random features.
    """

    folded: FoldedMoments
    scale: Any
    intercept: bool
    classifies: bool
    always: int = 0
    _pairs: dict[int, tuple[Centered, Centered]] = field(default_factory=dict, repr=False)

    @cached_property
    def numbers(self) -> list[int]:
        """The folds that are left out: those with rows, if others have some too; of two, the first."""
        rows = [0 if part is None else part.rows for part in self.folded.folds]
        there = [fold for fold, count in enumerate(rows) if count and sum(rows) - count > 1]
        if len(rows) == 2:
            return [0] if len(there) == 2 else []
        return there if len(there) > 1 else []

    @cached_property
    def total(self) -> Moments:
        return self.folded.total()

    def out(self, fold: int) -> Moments:
        part = self.folded.folds[fold]
        assert part is not None
        return part

    def rest(self, fold: int) -> Centered:
        """The least-squares problem of the rows that are not in a fold."""
        if len(self.folded.folds) == 2:
            return self.out(1 - fold).centered(self.scale, self.intercept)
        return (self.total - self.out(fold)).centered(self.scale, self.intercept)

    def pair(self, fold: int) -> tuple[Centered, Centered]:
        """The problems of the other rows, and of those left out; kept where there are several, which are small."""
        if fold in self._pairs:
            return self._pairs[fold]
        pair = self.rest(fold), self.out(fold).centered(self.scale, self.intercept)
        if len(self.numbers) > 1:
            self._pairs[fold] = pair
        return pair

    def leading(self) -> LeftOut:
        """With the leading features alone, whose kernel is that of all."""
        m = self.folded.features
        few = min(m, self.always + LEADING)
        scale = np.ones(few) * (self.scale if np.ndim(self.scale) == 0 else self.scale[:few])
        scale[self.always :] *= np.sqrt((m - self.always) / max(few - self.always, 1))
        return LeftOut(self.folded.prefix(few), scale, self.intercept, self.classifies, self.always)

    def weighted(self, factor: float) -> LeftOut:
        """With the columns before the features times a factor, or without them if it is zero."""
        scale = np.ones(self.folded.features)
        scale[: self.always] = factor
        first = 0 if factor else self.always
        pairs = {f: (rest.columns(scale, first), out.columns(scale, first)) for f, (rest, out) in self._pairs.items()}
        return replace(self, scale=self.scale * scale, _pairs=pairs)

    def errors(self, alpha: float, rough: bool = False) -> np.ndarray:
        """Squared errors (folds, outputs) of the rows left out; infinite where a penalty has no model."""
        found = []
        for fold in self.numbers:
            made, judged = self.pair(fold)
            b = (
                solve_several(made.gram, made.cross, [alpha])[0]
                if rough
                else solve_or_none(made.gram, made.cross, alpha)
            )
            found.append(np.full(len(made.mean_y), np.inf) if b is None else to_host(judged.errors_of(b, made)))
        return np.array(found)

    @cached_property
    def deviations(self) -> np.ndarray:
        """Squared deviations (outputs,) of all rows left out from their mean."""
        out = [self.out(fold) for fold in self.numbers]
        weight, total = sum(float(part.weight) for part in out), np.sum([to_host(part.sum_y) for part in out], axis=0)
        square = np.sum([to_host(part.square.diagonal()) for part in out], axis=0).astype(np.float64)
        return np.maximum(square - (total.astype(np.float64) ** 2 / weight if self.intercept else 0.0), 0.0)

    @property
    def rows(self) -> int:
        return sum(self.out(fold).rows for fold in self.numbers)

    def criterion(self, errors: np.ndarray) -> float:
        """One number to be made small: of labels all squares together, of numbers in the units of each output."""
        total = errors.sum(axis=0)
        if not self.classifies:
            size = self.deviations
            total = total[size > 0] / size[size > 0] if (size > 0).any() else total
        return float(np.sum(total))

    def search(self, alphas: np.ndarray) -> tuple[np.ndarray, dict[int, np.ndarray]]:
        """Criteria of the candidates around the best, NaN at others; and their errors."""
        m, start = self.folded.features, self.start(alphas)
        made: dict[int, np.ndarray] = {}

        def criterion(k: int) -> float:
            made[k] = self.errors(alphas[k], rough=m > MANY_FEATURES)
            return self.criterion(made[k])

        return valley(criterion, start, len(alphas)), made

    def start(self, alphas: np.ndarray) -> int:
        """The best candidate for the leading features, which all are tried with."""
        few = self.leading()
        with threads.blas_limited():
            return smallest(np.array([self.criterion(few.errors(alpha)) for alpha in alphas]))

    def validated(self, errors: np.ndarray) -> CrossValidated:
        """R^2, the mean over outputs, and its standard error from the differences of folds."""
        size, rows = self.deviations, self.rows
        weights = np.array([float(self.out(fold).weight) for fold in self.numbers])
        there = size > 0
        if not there.any():
            return CrossValidated(1.0 if not errors.any() else 0.0, None, rows, self.how)
        score = float(np.mean(1.0 - errors.sum(axis=0)[there] / size[there]))
        error = None
        if len(self.numbers) > 1:
            means = np.mean(errors[:, there] / weights[:, None] / (size[there] / weights.sum()), axis=1)
            error = float(np.sqrt(np.var(means, ddof=1) / len(means)))
        return CrossValidated(score, error, rows, self.how)

    @property
    def how(self) -> str:
        return f"{len(self.numbers)} folds" if len(self.numbers) > 1 else "a held-out fifth"


def from_sums(
    folded: FoldedMoments, scale: Any, alpha: Any, intercept: bool, classifies: bool, floor: float, always: int
) -> Chosen:
    """The penalty of smallest squared error on rows left out, from sums alone."""
    left = LeftOut(folded, scale, intercept, classifies, always)
    alphas = above_floor(candidates(alpha, folded.square_sum(scale, intercept)), alpha, floor)
    if not left.numbers:
        return Chosen(float(alphas[-1]), FEW)
    criteria, made = left.search(alphas)
    best, chosen = settled(alphas, criteria)
    chosen = chosen if isinstance(alpha, str) else float(alphas[best])
    end = end_of(best, len(alphas))
    validated = None if classifies else left.validated(made[best])
    return Chosen(chosen, f"squared error of {left.how}{edge_note(end)}", validated, end)


def above_floor(alphas: np.ndarray, asked: Any, floor: float) -> np.ndarray:
    """The candidates without those far below what rounding amounts to, unless they were given."""
    return (
        alphas[np.minimum(np.searchsorted(alphas, floor / 10), len(alphas) - 2) :] if isinstance(asked, str) else alphas
    )


def by_labels(problem: Problem, folded: FoldedMoments) -> Chosen:
    """The penalty with which most labels of rows left out are right, near the one that is best for squares."""
    left = LeftOut(folded, problem.scale, problem.intercept, True, problem.basis.linear_columns)
    unit = folded.square_sum(problem.scale, problem.intercept)
    alphas = above_floor(candidates(problem.alpha, unit), problem.alpha, problem.rounding_floor)
    if not left.numbers:
        return Chosen(float(alphas[-1]), FEW)
    many = problem.basis.n_components > MANY_FEATURES
    if many and isinstance(problem.alpha, str):
        # Labels mostly want a smaller penalty than squares do, by one candidate: that one and its neighbours.
        start = left.start(alphas)
        ahead = [k for k in (start - 2, start - 1, start) if 0 <= k < len(alphas)]
    elif isinstance(problem.alpha, str):
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
        ahead = near if many and isinstance(problem.alpha, str) and not is_level else []
    share = float(counts[best]) / rows if rows > 0 and np.isfinite(counts[best]) else 1.0
    error = float(np.sqrt(share * (1.0 - share) / max(left.rows, 1)))
    validated = CrossValidated(1.0 - share, error, left.rows, left.how)
    end = end_of(best, len(alphas))
    return Chosen(float(alphas[best]), f"errors of {left.how}{edge_note(end)}", validated, end)


def count_errors(problem: Problem, left: LeftOut, alphas: np.ndarray, tried: list[int]) -> tuple[np.ndarray, float]:
    """The (weighted) number of errors at some penalties, of models on rows that they do not know; and of those rows."""
    several = len(left.numbers) > 1
    models = {
        fold: models_at(problem, left.pair(fold)[0] if several else left.rest(fold), alphas[tried])
        for fold in left.numbers
    }

    errors = ErrorsOfFolds(problem.feature_map, models, len(tried), problem.width + problem.basis.n_components)
    found = np.asarray(problem.blocks.reduce(errors, title="errors of folds"))
    return found[:-1], float(found[-1])


@dataclass(frozen=True)
class ErrorsOfFolds(SumOf):
    """The weight of wrong labels of rows left out, by each of several penalties; and last the weight of these rows.

    `models` has for each fold weights (penalties, m, k) and intercepts (penalties, k) of a model of the other folds.
    """

    features: Featurizer
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
            features, codes = self.features.features(block.X[rows]), block.y[rows]
            weight = constant(1.0, (len(rows),), codes) if block.weight is None else block.weight[rows]
            count[-1] += float(weight.sum())
            for k, scores in enumerate(all_scores(features, weights)):
                sound = bool(namespace(intercepts).isfinite(intercepts[k]).all())
                missed = cast(wrong(scores + intercepts[k], codes), "float64")
                count[k] += float(weight @ missed) if sound else np.inf
        return count


def models_at(problem: Problem, rest: Centered, alphas: np.ndarray) -> tuple[Array, Array]:
    """Weights (penalties, m, k) and intercepts (penalties, k); where a penalty has no model they are NaN."""
    if problem.basis.n_components > MANY_FEATURES:
        solutions = solve_several(rest.gram, rest.cross, alphas)
    else:
        solutions = [solve_or_none(rest.gram, rest.cross, float(a)) for a in alphas]
    stack = namespace(rest.cross).stack
    b = stack([constant(np.nan, rest.cross.shape, rest.cross) if found is None else found for found in solutions])
    return stack([times_columns(problem.scale, at) for at in b]), rest.mean_y - rest.mean_z @ b


def all_scores(features: Any, weights: Array) -> Array:
    """Features times the weights (penalties, m, k) of several penalties at once: (penalties, n, k).

    In float32 for integer features, which it holds: a label does not hang on the eighth digit of a score.
    """
    (penalties, m, k), moveaxis = weights.shape, namespace(weights).moveaxis
    together = moveaxis(weights, 1, 0).reshape(m, penalties * k)
    if is_integer(features):
        together = cast(together, "float32")
    return moveaxis(ops.scores(features, together).reshape(-1, penalties, k), 1, 0)

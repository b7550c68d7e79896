"""The penalty by rows left out: models come from sums, and so do the squared errors of the rows left out.

With few features there are five folds, each left out once; sums of the others are a subtraction. With many, a fifth of
the rows is left out. Each candidate costs factorisations, so the search begins where the leading features have the
smallest error and goes downhill from there.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ..arrays import to_host
from ..costs import is_many
from ..moments import Centered, FoldedMoments, Moments
from ..ops import threads
from ..solvers import solve_or_none, solve_several
from ..solvers.problem import Alpha
from .base import FEW, Chosen, CrossValidated
from .search import above_humps, candidates, edge_note, end_of, settled, smallest, valley

LEADING = 256  # features with which all candidates are tried


@dataclass
class LeftOut:
    """Sums of folds, each of which is left out in turn: a model is made of the others and judged by it.

    `scale` multiplies the columns, of which the first `always` stand before the random features.
    """

    folded: FoldedMoments
    scale: float | np.ndarray
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
        scale = np.ones(few) * (self.scale[:few] if isinstance(self.scale, np.ndarray) else self.scale)
        scale[self.always :] *= np.sqrt((m - self.always) / max(few - self.always, 1))
        return LeftOut(self.folded.prefix(few), scale, self.intercept, self.classifies, self.always)

    def weighted(self, factor: float, others: float | np.ndarray = 1.0) -> LeftOut:
        """With the columns before the features times a factor, or without them if it is zero; and the features times
        others, which are one number or one for each."""
        scale = np.ones(self.folded.features)
        scale[: self.always], scale[self.always :] = factor, others
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

    def search(self, alphas: np.ndarray, ends_in_mean: bool = True) -> tuple[np.ndarray, dict[int, np.ndarray]]:
        """Criteria of the candidates around the best, NaN at others; and their errors.

        `ends_in_mean`: the largest penalty makes the model its mean, so that humps are told (`above_humps`).
        """
        m, start = self.folded.features, self.start(alphas, ends_in_mean)
        made: dict[int, np.ndarray] = {}

        def criterion(k: int) -> float:
            made[k] = self.errors(alphas[k], rough=is_many(m))
            return self.criterion(made[k])

        return valley(criterion, start, len(alphas)), made

    def start(self, alphas: np.ndarray, ends_in_mean: bool = True) -> int:
        """The best candidate for the leading features, which all are tried with."""
        few = self.leading()
        with threads.blas_limited():
            errors = np.array([self.criterion(few.errors(alpha)) for alpha in alphas])
        if ends_in_mean and not self.classifies:
            errors = above_humps(errors, errors.__getitem__, self.rows)
        return smallest(errors)

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

    def choose(self, asked: Alpha, floor: float) -> Chosen:
        """The penalty of smallest squared error on rows left out, from sums alone."""
        alphas = above_floor(candidates(asked, self.folded.square_sum(self.scale, self.intercept)), asked, floor)
        if not self.numbers:
            return Chosen(float(alphas[-1]), FEW)
        criteria, made = self.search(alphas, isinstance(asked, str))
        best, chosen = settled(alphas, criteria)
        chosen = chosen if isinstance(asked, str) else float(alphas[best])
        end = end_of(best, len(alphas))
        validated = None if self.classifies else self.validated(made[best])
        return Chosen(chosen, f"squared error of {self.how}{edge_note(end)}", validated, end)


def above_floor(alphas: np.ndarray, asked: Alpha, floor: float) -> np.ndarray:
    """The candidates without those far below what rounding amounts to, unless they were given."""
    return (
        alphas[np.minimum(np.searchsorted(alphas, floor / 10), len(alphas) - 2) :] if isinstance(asked, str) else alphas
    )

"""A design tried on few features and a sample of the rows: what each row, left out, says of a linear part."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse

from ..bases.design import Design
from ..blocks import Block
from ..costs import FOLDS
from ..moments import FoldedMoments, Moments, times_columns
from ..ops import threads
from ..penalties import LeftOut
from ..penalties.repeated import ROWS, RepeatedFolds, groups_of
from ..penalties.search import ABOVE, BELOW, DECADES, candidates, smallest, valley
from ..solvers import solve_or_none
from ..solvers.problem import fold_of, wrong

if TYPE_CHECKING:
    from .trials import Wanted

START = -6 - DECADES[0]  # the candidate at which a search begins: a millionth of all squares


class Trial(ABC):
    """Errors of rows left out, with the linear part of any weight, at the penalty that serves it."""

    def __init__(self, wanted: Wanted, design: Design, probe: Block) -> None:
        features = design.features(probe.X)
        features = features.toarray() if scipy.sparse.issparse(features) else features
        self.features = features.astype(np.float64)
        self.probe, self.wanted, self.linear_columns = probe, wanted, design.linear_columns
        self.rows = np.ones(len(self.features)) if probe.weight is None else probe.weight
        self.group = groups_of(probe.X)[1]
        self._start = START  # the candidate that did best so far
        self._best: dict[float, int] = {}  # the candidate of each weight of the linear part

    def error(self, weight: float = 1.0) -> float:
        """The sum of `errors`."""
        return float(np.sum(self.errors(weight)))

    @abstractmethod
    def errors(self, weight: float = 1.0, features: float | np.ndarray = 1.0) -> np.ndarray:
        """Squared errors of rows, copies together, relative to those of the mean, at the penalty of least sum; with
        the linear part times its weight, and the features times theirs."""

    @abstractmethod
    def wrong(self, weight: float) -> np.ndarray:
        """Weights of rows left out whose label is wrong, copies together, shares of all, at the penalty of fewest near.

        `errors` goes first: it finds where to look.
        """

    def _fewest(self, missed: list[np.ndarray]) -> np.ndarray:
        return np.bincount(self.group, min(missed, key=lambda weights: float(np.sum(weights)))) / self.rows.sum()


def trial_of(wanted: Wanted, design: Design, probe: Block) -> Trial:
    """By several partitions into folds where rows are few, else by one."""
    return (FewRowsTrial if probe.X.shape[0] <= ROWS else FoldsTrial)(wanted, design, probe)


class FewRowsTrial(Trial):
    """By the kernel matrix of the rows: that of the linear part is added to that of the features."""

    def __init__(self, wanted: Wanted, design: Design, probe: Block) -> None:
        super().__init__(wanted, design, probe)
        scaled = times_columns(design.scale_, self.features.T).T
        line, self._waves = scaled[:, : self.linear_columns], scaled[:, self.linear_columns :]
        self._line = line @ line.T
        self._folds: dict[float, RepeatedFolds] = {}

    def errors(self, weight: float = 1.0, features: float | np.ndarray = 1.0) -> np.ndarray:
        folds, alphas = self._at(weight, features)
        if not folds.tell:
            return np.full(2, 0.5)
        with threads.blas_limited():
            found = valley(lambda k: folds.criterion(float(alphas[k])), self._start, len(alphas))
        best = self._start = self._best[weight] = smallest(np.where(np.isnan(found), np.inf, found))
        return folds.relative(float(alphas[best]))

    def wrong(self, weight: float) -> np.ndarray:
        if weight not in self._best:
            return self._fewest([self.rows])
        (folds, alphas), best = self._at(weight), self._best[weight]
        near = alphas[max(best - BELOW, 0) : best + ABOVE + 1]
        return min(
            (folds.errors(float(a))[1] / self.rows.sum() for a in near), key=lambda missed: float(np.sum(missed))
        )

    def _at(self, weight: float, features: float | np.ndarray = 1.0) -> tuple[RepeatedFolds, np.ndarray]:
        folds = None if isinstance(features, np.ndarray) else self._folds.get(weight)
        if folds is None:
            waves = self._waves * features
            kernel = waves @ waves.T + weight**2 * self._line
            folds = RepeatedFolds.of(kernel, self.probe, self.wanted.intercept, self.wanted.classifies)
        if not isinstance(features, np.ndarray):
            self._folds[weight] = folds
        return folds, candidates("auto", float(folds.dual.kernel.trace()))


class FoldsTrial(Trial):
    """By sums of folds."""

    def __init__(self, wanted: Wanted, design: Design, probe: Block) -> None:
        super().__init__(wanted, design, probe)
        self.folds = fold_of(probe, FOLDS)
        y, parts = probe.y.astype(np.float64), []
        for fold in range(FOLDS):
            rows = self.folds == fold
            weight = None if probe.weight is None else probe.weight[rows]
            parts.append(Moments.of(self.features[rows], y[rows], weight) if rows.any() else None)
        self.left = LeftOut(
            FoldedMoments(parts), design.scale_, wanted.intercept, wanted.classifies, self.linear_columns
        )
        for fold in self.left.numbers:
            self.left.pair(fold)

    def errors(self, weight: float = 1.0, features: float | np.ndarray = 1.0) -> np.ndarray:
        left = self.left.weighted(weight, features)
        size = np.full(len(left.deviations), np.sum(left.deviations)) if left.classifies else left.deviations
        there = size > 0
        if not self.left.numbers or not there.any():
            return np.full(2, 0.5)
        alphas = self._candidates(left)
        with threads.blas_limited():
            found = valley(lambda k: left.criterion(left.errors(alphas[k])), self._start, len(alphas))
        best = self._start = self._best[weight] = smallest(np.where(np.isnan(found), np.inf, found))
        squares = (self._scores(left, float(alphas[best])) - self.probe.y)[:, there] ** 2 / size[there]
        shares = self.rows * squares.sum(axis=1) / (1 if left.classifies else np.count_nonzero(there))
        return np.bincount(self.group, shares)

    def wrong(self, weight: float) -> np.ndarray:
        if weight not in self._best:
            return self._fewest([self.rows])
        left, best = self.left.weighted(weight), self._best[weight]
        near = self._candidates(left)[max(best - BELOW, 0) : best + ABOVE + 1]
        return self._fewest([self.rows * wrong(self._scores(left, float(a)), self.probe.y) for a in near])

    def _scores(self, left: LeftOut, alpha: float) -> np.ndarray:
        """Of rows by the model of the other folds; where there is no model, as far off as can be."""
        scores = self.probe.y.astype(np.float64)
        scale = np.broadcast_to(left.scale, self.features.shape[1:])
        for fold, (rest, _) in left._pairs.items():
            out, first = self.folds == fold, len(scale) - len(rest.gram)
            b = solve_or_none(rest.gram, rest.cross, alpha)
            if b is None:
                scores[out] *= -np.inf
                continue
            scores[out] = self.features[out, first:] @ times_columns(scale[first:], b) + rest.mean_y - rest.mean_z @ b
        return scores

    def _candidates(self, left: LeftOut) -> np.ndarray:
        return candidates("auto", float(np.mean([np.trace(rest.gram) for rest, _ in left._pairs.values()])))

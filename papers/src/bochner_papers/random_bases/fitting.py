"""Least squares on random bases and an exact SVM, with settings chosen on training rows that are held out."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.svm import SVC, SVR

from bochner import RandomBins, RandomFeatureClassifier, RandomFeatureRegressor, RandomFourier
from bochner.data import Split

from ..plain import AS_IN_PAPERS
from .tasks import Task

FOURIER_FACTORS, COSTS = (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 4.0), (1.0, 10.0, 100.0)
SVM_FACTORS = (0.25, 0.35, 0.5, 0.7, 1.0, 2.0)  # bandwidths, over the median distance
FEW_GRIDS = 30  # what the bandwidth of bins is chosen with, at most
SVM_CHOSEN_ON, FINALISTS = 3_000, 2


class SignedLeastSquares(RandomFeatureRegressor):
    """Least squares of labels -1 and +1, whose sign decides, as in the paper: no probabilities are made for nothing."""

    def predict(self, X: Any, return_std: bool = False) -> Any:
        return np.where(super().predict(X) > 0, 1.0, -1.0)


class Outcome(NamedTuple):
    error: float
    seconds: float  # of training with the chosen settings, as in the table
    model: Any


def fitted(task: Task, split: Split, model: Any) -> Outcome:
    begun = time.perf_counter()
    model.fit(split.X, split.y)
    seconds = time.perf_counter() - begun
    return Outcome(task.error(model.predict(split.X_test), split.y_test), seconds, model)


def best_on_held_out_rows(task: Task, split: Split, models: Iterable[Any], rows: int) -> Any:
    return ranked_on_held_out_rows(task, split, models, rows)[0]


def ranked_on_held_out_rows(task: Task, split: Split, models: Iterable[Any], rows: int) -> list[Any]:
    """Models by their error on a fifth of the first training rows, fitted to the rest of them; unfitted again."""
    rows = min(rows, len(split.y))
    cut = rows - rows // 5
    part = Split(split.X[:cut], split.y[:cut], split.X[cut:rows], split.y[cut:rows])
    outcomes = [fitted(task, part, model) for model in models]
    return [clone(outcome.model) for outcome in sorted(outcomes, key=lambda outcome: outcome.error)]


def median_distance(task: Task, split: Split) -> float:
    return float(RandomFourier(random_state=0).fit(split.X[: task.chosen_on]).bandwidth_)


def choose_fourier(task: Task, split: Split) -> Any:
    """The bandwidth that is best with as many features as are reported: with fewer, a wider one is."""
    median = median_distance(task, split)
    bases = [RandomFourier(task.components[0], bandwidth=f * median, random_state=0) for f in FOURIER_FACTORS]
    # A few rows far out mislead generalised cross-validation; leaving each out in turn does not mind them.
    models = [
        RandomFeatureRegressor(basis, alpha="loo", **AS_IN_PAPERS)
        if task.regression
        else RandomFeatureClassifier(basis, precision="int8", **AS_IN_PAPERS)
        for basis in bases
    ]
    return best_on_held_out_rows(task, split, models, task.chosen_on)


def choose_bins(task: Task, split: Split) -> Any:
    few = min(FEW_GRIDS, task.grids[0])
    median = RandomBins(random_state=0).fit(split.X[: task.chosen_on]).bandwidth_
    bases = [
        RandomBins(min(task.columns, 1 << 20), n_grids=few, bandwidth=factor * median, random_state=0)
        for factor in task.factors
    ]
    learner = RandomFeatureRegressor if task.regression else SignedLeastSquares
    models = [
        learner(basis, alpha=alpha, precision="float32", **AS_IN_PAPERS) for basis in bases for alpha in task.penalties
    ]
    return best_on_held_out_rows(task, split, models, task.chosen_on)


def choose_svm(task: Task, split: Split) -> Any:
    """A Gaussian kernel of its own: all settings on some rows, the best of them once more on all that it has.

    Targets of regression are in units of their deviation.
    """
    median = median_distance(task, split)
    models = [
        SVR(gamma=0.5 / (f * median) ** 2, C=cost, epsilon=0.05, cache_size=1000)
        if task.regression
        else SVC(gamma=0.5 / (f * median) ** 2, C=cost, cache_size=1000)
        for f in SVM_FACTORS
        for cost in COSTS
    ]
    finalists = ranked_on_held_out_rows(task, split, models, SVM_CHOSEN_ON)[:FINALISTS]
    if len(split.y) <= SVM_CHOSEN_ON:
        return finalists[0]
    return best_on_held_out_rows(task, split, finalists, len(split.y))


def with_unit_targets(task: Task, split: Split) -> Split:
    """Targets of regression over their deviation: an SVM's margin and cost are absolute, least squares do not mind."""
    if not task.regression:
        return split
    unit = np.std(split.y)
    return split._replace(y=split.y / unit, y_test=split.y_test / unit)

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

from .tasks import Task

FOURIER_FACTORS, COSTS = (0.5, 1.0, 2.0, 4.0), (1.0, 10.0, 100.0)
FEW_COMPONENTS, FEW_GRIDS = 500, 30  # what settings are chosen with, at most
SVM_CHOSEN_ON = 3_000


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
    """The model of smallest error on a fifth of the first training rows, fitted to the rest of them; unfitted again."""
    rows = min(rows, len(split.y))
    cut = rows - rows // 5
    part = Split(split.X[:cut], split.y[:cut], split.X[cut:rows], split.y[cut:rows])
    outcomes = [fitted(task, part, model) for model in models]
    return clone(min(outcomes, key=lambda outcome: outcome.error).model)


def choose_fourier(task: Task, split: Split) -> Any:
    few = min(FEW_COMPONENTS, task.components[0])
    median = RandomFourier(random_state=0).fit(split.X[: task.chosen_on]).bandwidth_
    bases = [RandomFourier(few, bandwidth=factor * median, random_state=0) for factor in FOURIER_FACTORS]
    # A few rows far out mislead generalised cross-validation; leaving each out in turn does not mind them.
    models = [
        RandomFeatureRegressor(basis, alpha="loo") if task.regression else RandomFeatureClassifier(basis)
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
    models = [learner(basis, alpha=alpha, precision="float32") for basis in bases for alpha in task.penalties]
    return best_on_held_out_rows(task, split, models, task.chosen_on)


def choose_svm(task: Task, split: Split, bandwidth: float) -> Any:
    """The kernel of the Fourier features; targets of regression in units of their deviation."""
    gamma = 0.5 / bandwidth**2
    if task.regression:
        models: list[Any] = [SVR(gamma=gamma, C=cost, epsilon=0.05) for cost in COSTS]
    else:
        models = [SVC(gamma=gamma, C=cost) for cost in COSTS]
    return best_on_held_out_rows(task, split, models, SVM_CHOSEN_ON)


def with_unit_targets(task: Task, split: Split) -> Split:
    """Targets of regression over their deviation: an SVM's margin and cost are absolute, least squares do not mind."""
    if not task.regression:
        return split
    unit = np.std(split.y)
    return split._replace(y=split.y / unit, y_test=split.y_test / unit)

"""Our best model in a number of seconds.

`tune` chooses settings of each basis on some rows. The best of them are fitted on all, and the features of the best so
far are doubled for as long as the time allows. The rows that judged are then added to the sums of the best, which is
far less than a second fit.
"""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

from sklearn.base import clone

import bochner

from .search import Candidate, Error, Found, Trials, Views

FEATURES, TUNING_ROWS = 512, 10_000
TUNING, FINALISTS = 1 / 3, 3  # of the time, and of the tuned bases
GROWTH, AIR = 2.5, 1.2  # seconds with twice the features, over those with the first number of them; and for safety
ADDING = 0.3  # times the seconds of a trial to add the rows that judged
PENALTIES = (0.1, 1.0, 30.0, 1000.0)  # over that which tuning chose
NEAR = 1.1  # candidates further than this from the best are not widened


class Open(NamedTuple):
    """A candidate that may be widened: its error, its seconds, and those foreseen with twice the features."""

    error: float
    took: float
    next: float
    candidate: Candidate


def search_ours(views: Views, error: Error, seconds: float, labels: bool) -> Found:
    trials = Trials(views, error, seconds)
    tuned_ones: list[tuple[float, Candidate]] = []
    for view, basis in product(views, bases()):
        if tuned_ones and trials.left < (1 - TUNING) * seconds:
            break
        tuned_ones.append(tuned(basis, view, trials, labels))
    tuned_ones.sort(key=lambda one: one[0])
    open_ones: list[Open] = []
    for _, candidate in tuned_ones[:FINALISTS]:
        if open_ones and trials.left < seconds / 2:
            break
        found, took = trials.judge(candidate, trials.train)
        open_ones.append(Open(found, took, GROWTH * took, candidate))
    while open_ones:
        open_ones.sort(key=lambda one: one.error)
        narrow = open_ones.pop(0)
        best = min(error for error, _ in trials.errors)
        if narrow.error > NEAR * best or (1 + ADDING) * AIR * narrow.next > trials.left:
            continue
        wider = Candidate(narrow.candidate.view, widened(narrow.candidate.model))
        found, took = trials.judge(wider, trials.train)
        open_ones.append(Open(found, took, took * max(took / narrow.took, GROWTH), wider))
    return finish(trials)


def finish(trials: Trials) -> Found:
    """The best model with all rows, judged by the test rows."""
    if len(trials.train) <= TUNING_ROWS:  # a second fit costs nothing, and the dual has no sums
        return trials.finish()
    best = trials.best
    split = trials.views[best.view]
    best.model.partial_fit(split.X[trials.rest], split.y[trials.rest])
    return trials.found(best, len(split.y))


def bases() -> list[Any]:
    return [
        bochner.RandomFourier(FEATURES, precision="int8", random_state=0),
        bochner.RandomFourier(FEATURES, kernel="laplacian", precision="int8", random_state=0),
        bochner.RandomMaxout(FEATURES, precision="int8", random_state=0),
        bochner.RandomStumps(FEATURES, thresholds="normal", precision="int8", random_state=0),
    ]


def tuned(basis: Any, view: str, trials: Trials, labels: bool) -> tuple[float, Candidate]:
    """The basis with the settings that suit some rows, and its squared error on others."""
    rows, split = trials.train[:TUNING_ROWS], trials.views[view]
    found = bochner.tune(split.X[rows], split.y[rows], basis=basis, components=[FEATURES], classification=labels)
    kind = bochner.RandomFeatureClassifier if labels else bochner.RandomFeatureRegressor
    alpha: Any = "auto" if len(trials.train) <= TUNING_ROWS else [found.alpha * factor for factor in PENALTIES]
    return found.trials[0].error, Candidate(view, kind(found.basis, alpha=alpha))


def widened(model: Any) -> Any:
    """The same model with twice the features; the penalty, where candidates were given, is the one that they chose."""
    wider = clone(model)
    wider.basis.set_params(n_components=2 * int(model.basis.n_components))
    return wider if model.alpha == "auto" else wider.set_params(alpha=model.alpha_)

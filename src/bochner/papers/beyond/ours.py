"""Our best model in a number of seconds: `tune` chooses settings of each basis, held-out rows choose among bases, and
the features of the best so far are doubled for as long as the time allows.
"""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

from sklearn.base import clone

import bochner

from .search import Candidate, Error, Found, Trials, Views

FEATURES, TUNING_ROWS = 512, 10_000
GROWTH, AIR = 2.5, 1.2  # seconds with twice the features, over those with the first number of them; and for safety
REFIT = 1.3  # times the seconds of a trial for a fit on all rows: a quarter more rows, and some air
PENALTIES = (1.0, 30.0, 1000.0)  # over that which tuning chose
NEAR = 1.1  # candidates further than this from the best are not widened


class Open(NamedTuple):
    """A candidate that may be widened: its error, its seconds, and those foreseen with twice the features."""

    error: float
    took: float
    next: float
    candidate: Candidate


def search_ours(views: Views, error: Error, seconds: float, labels: bool) -> Found:
    trials = Trials(views, error, seconds)
    open_ones: list[Open] = []
    for view, basis in product(views, bases()):
        if open_ones and trials.left < seconds / 2:
            break
        candidate = tuned(basis, view, trials, labels)
        found, took = trials.judge(candidate, trials.train)
        open_ones.append(Open(found, took, GROWTH * took, candidate))
    dearest = max(one.took for one in open_ones)
    while open_ones:
        open_ones.sort(key=lambda one: one.error)
        narrow = open_ones.pop(0)
        best = min(error for error, _ in trials.errors)
        if narrow.error > NEAR * best or AIR * narrow.next + REFIT * max(dearest, AIR * narrow.next) > trials.left:
            continue
        wider = Candidate(narrow.candidate.view, widened(narrow.candidate.model))
        found, took = trials.judge(wider, trials.train)
        open_ones.append(Open(found, took, took * max(took / narrow.took, GROWTH), wider))
        dearest = max(dearest, took)
    return trials.finish()


def bases() -> list[Any]:
    return [
        bochner.RandomFourier(FEATURES, precision="int8", random_state=0),
        bochner.RandomFourier(FEATURES, kernel="laplacian", precision="int8", random_state=0),
        bochner.RandomMaxout(FEATURES, precision="int8", random_state=0),
        bochner.RandomStumps(FEATURES, thresholds="normal", precision="int8", random_state=0),
    ]


def tuned(basis: Any, view: str, trials: Trials, labels: bool) -> Candidate:
    rows, split = trials.train[:TUNING_ROWS], trials.views[view]
    found = bochner.tune(split.X[rows], split.y[rows], basis=basis, components=[FEATURES], classification=labels)
    if not labels:
        return Candidate(view, bochner.RandomFeatureRegressor(found.basis))
    # More features want more of a penalty, never less: three candidates instead of all decades.
    alpha: Any = "auto" if len(trials.train) <= TUNING_ROWS else [found.alpha * factor for factor in PENALTIES]
    return Candidate(view, bochner.RandomFeatureClassifier(found.basis, alpha=alpha))


def widened(model: Any) -> Any:
    """The same model with twice the features."""
    wider = clone(model)
    wider.basis.set_params(n_components=2 * int(model.basis.n_components))
    return wider

"""The best settings that a number of seconds can find, the same search for every kind of peer.

A model is first tried on few rows, and on twice as many until a fit takes a noticeable share of the time. At that size
settings are tried at random for half of the time and judged by held-out rows; the best is then fitted on as many rows
as the rest of the time allows, judging by how its cost grew.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bochner.data import Split

FIRST_ROWS = 500
NOTICEABLE = 1 / 20  # of the time
SEARCHING = 1 / 2
STEEPEST = 3.0  # seconds grow like a power of the rows, at most this one
JUDGES = 10_000  # held-out rows, at most

Error = Callable[[np.ndarray, np.ndarray], float]
Views = Mapping[str, Split]  # the same rows with their columns prepared in several ways, the most usual first


class Candidate(NamedTuple):
    view: str
    model: Any

    def __str__(self) -> str:
        return f"{' '.join(repr(self.model).split())} on {self.view}"


@dataclass(frozen=True)
class Found:
    """The best model: test predictions, their error, seconds in all, candidates tried, rows of the last fit."""

    predicted: np.ndarray
    error: float
    seconds: float
    tried: int
    rows: int
    best: str


class Trials:
    """Fits and their errors on held-out rows, against a clock."""

    def __init__(self, views: Views, error: Error, seconds: float) -> None:
        self.views, self.error, self.seconds = views, error, seconds
        self.begun = time.perf_counter()
        fold = np.arange(len(next(iter(views.values())).y)) % 5 == 0  # rows are in random order
        self.train, self.rest = np.flatnonzero(~fold), np.flatnonzero(fold)
        self.held = self.rest[:JUDGES]
        self.errors: list[tuple[float, Candidate]] = []

    @property
    def left(self) -> float:
        return self.seconds - (time.perf_counter() - self.begun)

    def fit(self, candidate: Candidate, rows: np.ndarray) -> float:
        """Seconds of a fit."""
        begun, split = time.perf_counter(), self.views[candidate.view]
        candidate.model.fit(split.X[rows], split.y[rows])
        return time.perf_counter() - begun

    def judge(self, candidate: Candidate, rows: np.ndarray) -> tuple[float, float]:
        """Held-out error, and seconds of the fit."""
        took, split = self.fit(candidate, rows), self.views[candidate.view]
        found = self.error(split.y[self.held], candidate.model.predict(split.X[self.held]))
        self.errors.append((found, candidate))
        return found, took

    def finish(self, rows: int | None = None) -> Found:
        """The best candidate on the first rows of all, or on all, judged by the test rows."""
        best, most = self.best, len(self.train) + len(self.rest)
        rows = most if rows is None else min(rows, most)
        self.fit(best, np.arange(rows))
        return self.found(best, rows)

    @property
    def best(self) -> Candidate:
        return min(self.errors, key=lambda pair: pair[0])[1]

    def found(self, best: Candidate, rows: int) -> Found:
        """What a candidate that was fitted on so many rows does on the test rows."""
        seconds, split = self.seconds - self.left, self.views[best.view]
        predicted = np.asarray(best.model.predict(split.X_test))
        return Found(predicted, self.error(split.y_test, predicted), seconds, len(self.errors), rows, str(best))


def search(models: Iterator[Any], views: Views, error: Error, seconds: float) -> Found:
    """`models` are estimators without end, the most usual settings first."""
    trials, names = Trials(views, error, seconds), list(views)
    first = Candidate(names[0], next(models))
    rows, took, power = sample_size(trials, first)
    generator, candidate = np.random.default_rng(0), first
    while not trials.errors or trials.left - took > (1.0 - SEARCHING) * seconds:
        took = trials.judge(candidate, trials.train[:rows])[1]
        candidate = Candidate(names[generator.integers(len(names))], next(models))
    return trials.finish(int(rows * (max(trials.left, took) / took) ** (1.0 / power)))


def sample_size(trials: Trials, candidate: Candidate) -> tuple[int, float, float]:
    """Rows at which a fit takes a noticeable share of the time, its seconds, and the power by which they grow."""
    most = len(trials.train)
    rows, last, power = min(FIRST_ROWS, most), 0.0, 1.0
    while True:
        took = trials.fit(candidate, trials.train[:rows])
        if last > 0.05:  # below, it is all overhead
            power = float(np.clip(np.log2(took / last), 1.0, STEEPEST))
        if took > NOTICEABLE * trials.seconds or rows == most:
            return rows, took, power
        rows, last = min(2 * rows, most), took

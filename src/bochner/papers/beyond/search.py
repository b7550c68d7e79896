"""The best settings that a number of seconds can find, the same search for every kind of model.

A model is first tried on few rows, and on twice as many until a fit takes a noticeable share of the time. At that size
settings are tried at random for half of the time and judged by held-out rows; the best is then fitted on as many rows
as the rest of the time allows, judging by how its cost grew.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bochner.data import Split

FIRST_ROWS = 500
NOTICEABLE = 1 / 20  # of the time
SEARCHING = 1 / 2
STEEPEST = 3.0  # seconds grow like a power of the rows, at most this one

Error = Callable[[np.ndarray, np.ndarray], float]


@dataclass(frozen=True)
class Found:
    """The best model: its error on the test rows, seconds in all, candidates tried, and rows of the last fit."""

    error: float
    seconds: float
    candidates: int
    rows: int
    settings: str


def search(candidates: Iterator[Any], split: Split, error: Error, seconds: float) -> Found:
    """`candidates` are estimators without end, the most usual settings first."""
    begun = time.perf_counter()
    fold = np.arange(len(split.y)) % 5 == 0  # rows are in random order
    train, held = np.flatnonzero(~fold), np.flatnonzero(fold)[:10_000]
    first = next(candidates)
    rows, last, power = sample_size(first, split, train, seconds)
    tried: list[tuple[float, Any]] = []
    candidate = first
    while not tried or time.perf_counter() - begun + last < SEARCHING * seconds:
        last, model = timed_fit(candidate, split, train[:rows])
        tried.append((error(split.y[held], model.predict(split.X[held])), candidate))
        candidate = next(candidates)
    best = min(tried, key=lambda pair: pair[0])[1]
    left = max(seconds - (time.perf_counter() - begun), last)
    affordable = int(min(len(split.y), rows * (left / last) ** (1.0 / power)))
    _, model = timed_fit(best, split, np.arange(affordable))
    found = error(split.y_test, model.predict(split.X_test))
    return Found(found, time.perf_counter() - begun, len(tried), affordable, described(best))


def sample_size(model: Any, split: Split, train: np.ndarray, seconds: float) -> tuple[int, float, float]:
    """Rows at which a fit takes a noticeable share of the time, its seconds, and the power by which they grow."""
    rows, last, power = min(FIRST_ROWS, len(train)), 0.0, 1.0
    while True:
        took, _ = timed_fit(model, split, train[:rows])
        if last > 0.05:  # below, it is all overhead
            power = float(np.clip(np.log2(took / last), 1.0, STEEPEST))
        if took > NOTICEABLE * seconds or rows == len(train):
            return rows, took, power
        rows, last = min(2 * rows, len(train)), took


def timed_fit(model: Any, split: Split, rows: np.ndarray) -> tuple[float, Any]:
    begun = time.perf_counter()
    model.fit(split.X[rows], split.y[rows])
    return time.perf_counter() - begun, model


def described(model: Any) -> str:
    return " ".join(repr(model).split())

"""Penalties by folds: first alpha for the frequencies as drawn, then frequency_alpha with that alpha.

Judged by the mean loss of held-out rows. Two searches of one number each are enough: where features are nearly linear,
all that counts is alpha times frequency_alpha.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ...streams import Stream
from ...validation import require_choice
from .objective import Objective
from .search import Method, first_output, learn

FOLDS = 5
FEW_ROWS = 5000  # above, one fold stands for all
ALPHAS = 10.0 ** np.arange(-6.0, 0.0)
WORSE = 1.01  # times the best loss
ROUGHLY = 1e-4  # the tolerance of descents that only compare penalties
FREQUENCY_ALPHAS = 10.0 ** np.arange(-7.0, 0.0)  # times the square of the bandwidth, the unit of frequencies


def candidates(name: str, value: Any, automatic: np.ndarray) -> np.ndarray:
    """The penalties to choose from: one number, the given list, or the automatic ones."""
    if isinstance(value, str):
        require_choice(name, value, ["auto"])
        return automatic
    numbers = np.atleast_1d(np.asarray(value, dtype=np.float64))
    if numbers.ndim != 1 or not len(numbers) or not (np.isfinite(numbers) & (numbers >= 0)).all():
        raise ValueError(f"{name} must be 'auto', a number of at least 0, or a list of such; got {value!r}.")
    return numbers


def choose_penalties(
    objective: Objective, method: Method, alphas: np.ndarray, frequency_alphas: np.ndarray
) -> tuple[float, float]:
    """The penalties of the smallest mean loss on held-out rows."""
    rough = replace(method, settings=replace(method.settings, tol=max(ROUGHLY, method.settings.tol)))

    def as_drawn(train: Objective, held: Objective) -> float:
        return held.mean_loss(train.directions.start, first_output(train))

    def learned(train: Objective, held: Objective) -> float:
        return held.mean_loss(*learn(train, rough)[:2])

    alpha = best(alphas, lambda value: replace(objective, alpha=value), as_drawn)
    objective = replace(objective, alpha=alpha)
    return alpha, best(frequency_alphas, lambda value: replace(objective, frequency_alpha=value), learned)


def best(
    values: np.ndarray, with_value: Callable[[float], Objective], judge: Callable[[Objective, Objective], float]
) -> float:
    """The penalty under which objectives of the other folds are best for a fold, from the largest down.

    Weak penalties take the longest, so two in a row that are clearly worse end the search. (Strong ones that leave
    nothing but the mean are all alike, and end nothing.)
    """
    if len(values) == 1:
        return float(values[0])
    losses: list[float] = []
    values = np.sort(values)[::-1]
    for value in values.tolist():
        tried = with_value(value)
        fold = folds(len(tried.targets))
        parts = range(int(fold.max()) + 1 if len(fold) <= FEW_ROWS else 1)
        losses.append(float(np.mean([judge(tried.only(fold != part), tried.only(fold == part)) for part in parts])))
        if min(losses[-2:]) > WORSE * min(losses):
            break
    return float(values[int(np.argmin(losses))])


def folds(rows: int) -> np.ndarray:
    """The fold of each row: random, and of sizes that differ by one at most."""
    if rows < 2:
        raise ValueError("rows cannot be held out of n_samples=1: give the penalties, and early_stopping=False.")
    return Stream(0, "folds").permutation(0, 1, rows)[0] % min(FOLDS, rows)

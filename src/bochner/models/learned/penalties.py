"""Penalties by folds: alpha for the frequencies as drawn, frequency_alpha with that alpha, and then both downhill.

Judged by the mean loss of held-out rows. The alpha of drawn frequencies is where to begin, and often too weak for
learned ones, which can do more harm: so it goes on from there, or from free frequencies with a stronger alpha, on the
grid of both, to whatever neighbour is better.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np

from ... import ops
from ...arrays import FEW_ROWS as ON_HOST
from ...arrays import Array, Rows, arange, is_torch, like, namespace, to_host
from ...streams import sample_rows
from ...typing import Penalty
from ...validation import require_choice
from .objective import Objective, Output
from .search import Method, first_output, learn
from .sums import ScoresOf

FOLDS = 5
FEW_ROWS = 5000  # above, one fold stands for all
ALPHAS = 10.0 ** np.arange(-6.0, 2.0)  # of features of length 1: the largest leave nothing but the mean
WORSE = 1.01  # times the best loss
ROUGHLY, INNER = 1e-4, 1e-3  # the tolerances of descents that only compare penalties, and of their output layers
FREE = 0.9e-3  # the alpha (or the next) that mostly holds frequencies which nothing else holds
CALIBRATED = 500  # rows up to which every one is left out once to learn the temperature of probabilities
FREQUENCY_ALPHAS = 10.0 ** np.arange(-7.0, 0.0)  # times the square of the bandwidth, the unit of frequencies


def candidates(name: str, value: Penalty, automatic: np.ndarray) -> np.ndarray:
    """The penalties to choose from: one number, the given list, or the automatic ones."""
    if isinstance(value, str):
        require_choice(name, value, ["auto"])
        return automatic
    numbers = np.atleast_1d(np.asarray(value, dtype=np.float64))
    if numbers.ndim != 1 or not len(numbers) or not (np.isfinite(numbers) & (numbers >= 0)).all():
        raise ValueError(f"{name} must be 'auto', a number of at least 0, or a list of such; got {value!r}.")
    return numbers


class HeldOut(NamedTuple):
    """Scores of rows by models that were not fitted to them, with their targets and shares."""

    scores: np.ndarray
    targets: np.ndarray
    shares: np.ndarray


class Penalties(NamedTuple):
    """The penalties chosen, and what their folds predicted; None where there was nothing to choose."""

    alpha: float
    frequency_alpha: float
    held: HeldOut | None


def choose_penalties(
    objective: Objective, method: Method, alphas: np.ndarray, frequency_alphas: np.ndarray
) -> Penalties:
    """The penalties of the smallest mean loss on held-out rows."""
    grid = np.unique(alphas), np.unique(frequency_alphas)
    if len(grid[0]) == len(grid[1]) == 1:
        return Penalties(float(grid[0][0]), float(grid[1][0]), None)
    rough = replace(method, settings=replace(method.settings, tol=max(ROUGHLY, method.settings.tol)), inner=INNER)
    fold = folds(objective.X)
    parts = [fold == part for part in range(int(fold.max()) + 1 if len(fold) <= FEW_ROWS else 1)]

    def mean(judge: Callable[[Objective, Objective], float], alpha: int, frequency_alpha: int) -> float:
        tried = replace(objective, alpha=float(grid[0][alpha]), frequency_alpha=float(grid[1][frequency_alpha]))
        return float(np.mean([judge(tried.only(~part), tried.only(part)) for part in parts]))

    def as_drawn(train: Objective, held: Objective) -> float:
        return held.mean_loss(train.directions.start, first_output(train, rough.inner))

    fitted: dict[tuple[int, int], list[tuple[np.ndarray, Output]]] = {}  # what the folds of each pair learned

    @cache
    def learned(alpha: int, frequency_alpha: int) -> float:
        models = fitted.setdefault((alpha, frequency_alpha), [])

        def judge(train: Objective, held: Objective) -> float:
            models.append(learn(train, rough)[:2])
            return held.mean_loss(*models[-1])

        return mean(judge, alpha, frequency_alpha)

    first = best(len(grid[0]), lambda alpha: mean(as_drawn, alpha, 0))
    second = best(len(grid[1]), lambda frequency_alpha: learned(first, frequency_alpha))
    # There may be two valleys: that of drawn frequencies, held near zero, and that of free ones.
    free = min(int(np.searchsorted(grid[0], FREE)), len(grid[0]) - 1), 0
    start = min(((first, second), free), key=lambda place: learned(*place))
    found = downhill(learned, start, (len(grid[0]), len(grid[1])))
    held = joined([scores_of(objective, part, *model) for part, model in zip(parts, fitted[found], strict=True)])
    return Penalties(float(grid[0][found[0]]), float(grid[1][found[1]]), held)


def best(count: int, loss: Callable[[int], float]) -> int:
    """The place of the smallest loss, looked for from the strongest penalty down.

    Weak penalties take the longest, so two in a row that are clearly worse end the search. (Strong ones that leave
    nothing but the mean are all alike, and end nothing.)
    """
    if count == 1:
        return 0
    losses: list[float] = []
    for place in reversed(range(count)):
        losses.append(loss(place))
        if min(losses[-2:]) > WORSE * min(losses):
            break
    return count - 1 - int(np.argmin(losses))


def downhill(loss: Callable[[int, int], float], start: tuple[int, int], counts: tuple[int, int]) -> tuple[int, int]:
    """From a place of a grid to neighbours of smaller loss, one penalty at a time and the stronger first."""
    here, before = start, None
    while here != before:
        before = here
        for axis, step in ((0, 1), (1, 1), (1, -1), (0, -1)):
            near = (here[0] + step * (axis == 0), here[1] + step * (axis == 1))
            if 0 <= near[axis] < counts[axis] and loss(*near) < loss(*here):
                here = near
                break
    return here


def held_out_scores(objective: Objective, method: Method) -> HeldOut:
    """Scores of rows by models that were not fitted to them: of all rows if few."""
    fold = folds(objective.X)
    found = []
    for part in range(int(fold.max()) + 1 if len(fold) <= CALIBRATED else 1):
        found.append(scores_of(objective, fold == part, *learn(objective.only(fold != part), method)[:2]))
    return joined(found)


def scores_of(objective: Objective, rows: Array, parameters: np.ndarray, output: Output) -> HeldOut:
    """Scores of some rows by what was learned from others, on the host; of very many tensors, a sample of them."""
    held = objective.only(rows)
    parts = held.reduce(ScoresOf(held.waves(parameters), *output))
    scores = namespace(parts[0]).concatenate(parts)
    some = like(sample_rows(len(scores), ON_HOST, seed=9), scores) if is_torch(scores) else slice(None)
    found = (scores[some], held.targets[some], objective.shares[rows][some])
    return HeldOut(*(np.asarray(to_host(part)) for part in found))


def joined(lots: list[HeldOut]) -> HeldOut:
    """Several lots as one, with shares of 1 on average."""
    scores, targets, shares = (np.concatenate(parts) for parts in zip(*lots, strict=True))
    return HeldOut(scores, targets, shares / shares.mean())


def folds(X: Rows) -> Array:
    """The fold of each row, by what the row holds: copies of a row share one, and the order of rows does not matter.

    Of the different rows about as many fall into each fold.
    """
    rows = X.shape[0]
    if rows < 2:
        raise ValueError("rows cannot be held out of n_samples=1: give the penalties, and early_stopping=False.")
    words = ops.row_words(X)
    different, group = namespace(words).unique(words, return_inverse=True)
    if len(different) < 2:  # nothing can be learned but the mean
        different, group = words, arange(rows, words)
    found: Array = group % min(FOLDS, len(different))
    return found

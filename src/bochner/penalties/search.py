"""Choosing the ridge penalty: candidates in proportion to the features, and the smallest criterion wins.

Candidates are powers of ten times the weighted sum of squared (centred) features of all rows: so units do not matter,
a row of weight two is two rows, and a constant factor of all weights changes nothing. The largest make the model its
mean, the smallest interpolate.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from scipy.optimize import minimize_scalar

from ..solvers.problem import Alpha

DECADES = (-12, 6)  # below, rounding of the sums decides
BELOW, ABOVE = 1, 3  # how far from the best penalty for squares that for labels is looked for
LEVEL = 1.005  # times the smallest error that is no worse but for noise
POOR = 0.5  # times the error of the mean, above which the best penalty is looked at twice
HUMP = 1.04  # times the error of the mean, which no penalty between the best and the largest may exceed
TELLING = 100  # held-out rows from which a hump is no noise


def candidates(alpha: Alpha, unit: float, per_decade: int = 1) -> np.ndarray:
    """The penalties to try, ascending; `unit` is the sum of squared features."""
    if not isinstance(alpha, str):
        return np.sort(np.asarray(alpha, dtype=np.float64).ravel())
    unit = unit if unit > 0 else 1.0
    return unit * np.logspace(*DECADES, (DECADES[1] - DECADES[0]) * per_decade + 1)


def smallest(values: np.ndarray) -> int:
    """The index of the smallest value; of equals the last, which is the largest penalty and the simplest model."""
    finite = np.where(np.isfinite(values), values, np.inf)
    return int(len(values) - 1 - np.argmin(finite[::-1]))


def minimise(criterion: Callable[[float], float], alphas: np.ndarray, refine: bool) -> float:
    """The penalty of smallest criterion among candidates; `refine` looks between the neighbours of the best."""
    values = np.array([criterion(a) for a in alphas])
    best = smallest(values)
    if not refine or not np.isfinite(values[best]):
        return float(alphas[best])
    low, high = np.log(alphas[max(best - 1, 0)]), np.log(alphas[min(best + 1, len(alphas) - 1)])
    found = minimize_scalar(lambda t: criterion(float(np.exp(t))), bounds=(low, high), method="bounded")
    return float(np.exp(found.x)) if found.fun < values[best] else float(alphas[best])


def valley(error: Callable[[int], float], start: int, count: int) -> np.ndarray:
    """The errors of candidates around the lowest one near `start`; NaN at those that were not tried.

    Errors mostly have one valley: it goes downhill from the start until both neighbours are higher.
    """
    tried = cache(error)
    best, before = start, -1
    while best != before:
        near = [k for k in (best + 1, best, best - 1) if 0 <= k < count]
        best, before = min(near, key=lambda k: _or_infinite(tried(k))), best
    errors = np.full(count, np.nan)
    for k in range(max(best - 1, 0), min(best + 2, count)):
        errors[k] = tried(k)
    return errors


def above_humps(errors: np.ndarray, error: Callable[[int], float], rows: int) -> np.ndarray:
    """The errors of candidates on so many rows, infinite at and below a hump; `error` gives those that are NaN.

    The largest penalty makes the model its mean. A hump is a smaller penalty at which the model is worse than that.
    Penalties below a hump do not follow the targets any better: with them the model spends features on a few far-out
    targets, which frees the other rows of their influence. New rows near these would get predictions as far out.
    """
    if rows < TELLING:
        return errors
    best, last, known = smallest(errors), len(errors) - 1, errors.copy()
    known[last] = error(last) if np.isnan(known[last]) else known[last]
    if not errors[best] > POOR * known[last]:
        return errors
    for k in range(best + 1, last):
        known[k] = error(k) if np.isnan(known[k]) else known[k]
    humps = np.flatnonzero(known[best:] > HUMP * known[last])
    if not len(humps):
        return errors
    known[: best + humps[-1] + 1] = np.inf
    return known


def _or_infinite(value: float) -> float:
    return value if np.isfinite(value) else np.inf


def settled(alphas: np.ndarray, errors: np.ndarray) -> tuple[int, float]:
    """The place of the best candidate, and the penalty there or between it and its neighbours.

    A neighbour above that is as good but for noise is taken instead: it reaches less far where there are no rows. Else
    it is where the parabola through the best and its neighbours is lowest, at most half way to them.
    """
    best = smallest(errors)
    if best + 1 < len(errors) and errors[best + 1] <= LEVEL * errors[best]:
        return best + 1, float(alphas[best + 1])
    return best, between(alphas, errors, best)


def between(alphas: np.ndarray, errors: np.ndarray, best: int) -> float:
    """Where the parabola through the logarithms of three errors is lowest, at most half way to the neighbours."""
    if not 0 < best < len(alphas) - 1 or not np.isfinite(errors[best - 1 : best + 2]).all():
        return float(alphas[best])
    left, middle, right = np.log(np.maximum(errors[best - 1 : best + 2], 1e-300))
    bend = left - 2.0 * middle + right
    shift = float(np.clip(0.5 * (left - right) / bend, -0.5, 0.5)) if bend > 0 else 0.0
    return float(alphas[best] * (alphas[best + 1] / alphas[best]) ** shift)


def too_few(rows: float) -> bool:
    """Whether there is nothing to judge a penalty by: the largest, simplest one is taken."""
    return rows < 3


def end_of(best: int, count: int) -> str:
    """Whether a choice lies at an end of several candidates."""
    return "" if count < 2 or 0 < best < count - 1 else "lower" if best == 0 else "upper"


def edge_note(end: str) -> str:
    return f", at the {end} end of the candidates" if end else ""

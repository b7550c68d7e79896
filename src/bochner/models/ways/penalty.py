"""Choosing the ridge penalty: candidates in proportion to the features, and the smallest criterion wins.

Candidates are powers of ten times the mean squared length of a (centred) feature vector, so they do not depend on the
number of rows or on units.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import minimize_scalar

DECADES = (-10, 2)
FOLDS = 5
FEW = "too few rows to judge by: the largest candidate"


def candidates(alpha: float | Sequence[float] | str, unit: float, per_decade: int = 1) -> np.ndarray:
    """The penalties to try, ascending; `unit` is the mean squared length of a feature vector."""
    if not isinstance(alpha, str):
        return np.sort(np.asarray(alpha, dtype=np.float64).ravel())
    unit = unit if unit > 0 else 1.0
    return unit * np.logspace(*DECADES, (DECADES[1] - DECADES[0]) * per_decade + 1)


def smallest(alphas: np.ndarray, values: np.ndarray) -> int:
    """The index of the smallest value; of equals the largest penalty, which is the simplest model."""
    finite = np.where(np.isfinite(values), values, np.inf)
    return int(len(alphas) - 1 - np.argmin(finite[::-1]))


def minimise(criterion: Callable[[float], float], alphas: np.ndarray, refine: bool) -> float:
    """The penalty of smallest criterion among candidates; `refine` looks between the neighbours of the best."""
    values = np.array([criterion(a) for a in alphas])
    best = smallest(alphas, values)
    if not refine or not np.isfinite(values[best]):
        return float(alphas[best])
    low, high = np.log(alphas[max(best - 1, 0)]), np.log(alphas[min(best + 1, len(alphas) - 1)])
    found = minimize_scalar(lambda t: criterion(float(np.exp(t))), bounds=(low, high), method="bounded")
    return float(np.exp(found.x)) if found.fun < values[best] else float(alphas[best])


def too_few(rows: float) -> bool:
    """Whether there is nothing to judge a penalty by: the largest, simplest one is taken."""
    return rows < 3


def edge_note(alpha: float, alphas: np.ndarray) -> str:
    """A remark if the choice lies at an end of the candidates."""
    if len(alphas) > 1 and alpha in (alphas[0], alphas[-1]):
        return f", at the {'lower' if alpha == alphas[0] else 'upper'} end of the candidates"
    return ""

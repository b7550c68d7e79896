"""Probabilities from scores: softmax(temperature f), or 1/(1 + exp(-temperature f)) for two classes.

The logistic loss needs no more than temperature 1. For other losses it is the one that makes the labels of rows most
likely whose scores come from a model that was not fitted to them. One number cannot change which class wins.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar

from ..arrays import Array, namespace, special
from ..losses import Logistic


def temperature(scores: np.ndarray, codes: np.ndarray, weight: np.ndarray | None = None) -> float:
    """The likeliest temperature for scores and +-1 codes (n, k).

    One row in n + 2 is supposed to have another label than it has, so that perfect scores do not make it infinite.
    """
    weight = np.ones(len(scores)) if weight is None else weight
    total = float(np.sum(weight))
    size = float(np.sqrt(np.sum(weight @ scores**2) / total)) if total > 0 else 0.0
    if not size > 0:
        return 1.0
    loss, doubt = Logistic(), 1.0 / (max(total, len(scores)) + 2.0)
    others = -codes if codes.shape[1] == 1 else np.roll(codes, 1, axis=1)

    def negative_log_likelihood(log_temperature: float) -> float:
        f = np.exp(log_temperature) / size * scores
        return float(weight @ ((1.0 - doubt) * loss.value(f, codes) + doubt * loss.value(f, others)))

    found = minimize_scalar(negative_log_likelihood, bounds=(-10.0, 10.0), method="bounded", options={"xatol": 1e-6})
    return float(np.exp(found.x) / size)


def probabilities(scores: Array, temperature: float) -> Array:
    """(n, classes) from scores (n,) of two classes or (n, k) of more."""
    if scores.ndim == 1:
        second = special(scores).expit(temperature * scores)
        return namespace(scores).column_stack([1.0 - second, second])
    return special(scores).softmax(temperature * scores, 1)

"""What rows left out teach a fit: the temperature of its probabilities, or the width of its deviations.

Probabilities are softmax(temperature f), or 1/(1 + exp(-temperature f)) for two classes.

The logistic loss needs no more than temperature 1. For other losses it is the one that makes the labels of rows most
likely whose scores come from a model that was not fitted to them. One number cannot change which class wins.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from ..arrays import Array, namespace, special, to_host
from ..losses import Logistic, Loss
from ..solvers import OUT, HeldOutScores
from .targets import TargetEncoder

MANY = 100  # rows from which their leverages are told


@dataclass(frozen=True)
class Temperature:
    """The temperature of probabilities, None if it is not known; in words how it was found."""

    value: float | None = None
    how: str = ""
    leverage: float = 0.0  # see leverage_share


@dataclass(frozen=True, eq=False)
class Widening:
    """What deviations (outputs,) are multiplied by."""

    factors: np.ndarray
    leverage: float = 0.0


Calibration = Temperature | Widening


def calibrate(
    targets: TargetEncoder, loss: Loss, held_out: HeldOutScores | None = None, noise: Array | None = None
) -> Calibration:
    """What scores of rows left out say of probabilities, or of deviations beside the noise; without them, nothing."""
    leverage = leverage_share(held_out)
    if targets.classifies:
        if loss.probabilistic:
            return Temperature(1.0, "the loss is that of probabilities", leverage)
        if held_out is None:
            return Temperature(None, "", leverage)
        found = temperature(held_out.scores, held_out.codes, held_out.weight)
        return Temperature(found, f"from {len(held_out.scores):,} {held_out.how}", leverage)
    if held_out is not None and held_out.how == OUT and held_out.leverage is not None:
        return Widening(widening(held_out, to_host(noise)), leverage)
    return Widening(np.ones(targets.outputs), leverage)


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


def widening(held_out: HeldOutScores, noise: np.ndarray) -> np.ndarray:
    """What deviations (k,) are to be multiplied by so that 95 of 100 rows left out lie within 1.96 of them.

    A row with leverage h is predicted without itself with the variance noise / (1 - h).
    """
    assert held_out.leverage is not None
    left = np.maximum(1.0 - held_out.leverage, 1e-12)[:, None]
    sizes = np.abs(held_out.scores - held_out.codes) * np.sqrt(left / np.maximum(noise, np.finfo(float).tiny))
    found = np.quantile(sizes, 0.95, axis=0, method="higher") / 1.96
    return np.where((noise > 0) & (found > 0) & np.isfinite(found), found, 1.0)


def leverage_share(held_out: HeldOutScores | None) -> float:
    """The share of all leverage that the hundredth of rows with the largest has."""
    if held_out is None or held_out.leverage is None or len(held_out.leverage) < MANY:
        return 0.0
    leverage = np.sort(np.maximum(held_out.leverage, 0.0))
    return float(leverage[-max(1, len(leverage) // 100) :].sum() / max(leverage.sum(), np.finfo(float).tiny))

"""What rows left out teach a fit: the score to expect, the temperature of probabilities, the width of deviations.

Probabilities are softmax(temperature f), or 1/(1 + exp(-temperature f)) for two classes.

The logistic loss needs no more than temperature 1. For other losses it is the one that makes the labels of rows most
likely whose scores come from a model that was not fitted to them. One number cannot change which class wins.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize_scalar

from ..arrays import Array, Same, cast, namespace, special, to_host
from ..losses import Logistic, Loss
from ..penalties import CrossValidated
from ..solvers import OUT, HeldOutScores
from ..solvers.problem import wrong
from .fitting import Fit
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


def temperature(scores: Array, codes: Array, weight: Array | None = None) -> float:
    """The likeliest temperature for scores and +-1 codes (n, k).

    One row in n + 2 is supposed to have another label than it has, so that perfect scores do not make it infinite.
    """
    weight = np.ones(len(scores)) if weight is None else weight
    total = float(np.sum(weight))
    size = float(np.sqrt(np.sum(weight @ scores**2) / total)) if total > 0 else 0.0
    if not size > 0:
        return 1.0
    loss, codes, doubt = Logistic(), np.asarray(codes), 1.0 / (max(total, len(scores)) + 2.0)
    others = -codes if codes.shape[1] == 1 else np.roll(codes, 1, axis=1)

    def negative_log_likelihood(log_temperature: float) -> float:
        f = np.exp(log_temperature) / size * scores
        return float(weight @ ((1.0 - doubt) * loss.value(f, codes) + doubt * loss.value(f, others)))

    found = minimize_scalar(negative_log_likelihood, bounds=(-10.0, 10.0), method="bounded", options={"xatol": 1e-6})
    return float(np.exp(found.x) / size)


def probabilities(scores: Same, temperature: float) -> Same:
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


# ---- the score to expect ----


def validated_by(fit: Fit, held_out: HeldOutScores | None, classifies: bool) -> Fit:
    """The fit with what rows left out say of it, where folds did not say it already."""
    if held_out is None or held_out.how != OUT or len(held_out.scores) < 2:
        return fit
    weight = np.ones(len(held_out.scores)) if held_out.weight is None else held_out.weight
    found = score_of(held_out.scores, held_out.codes, weight, classifies, "rows left out one by one")
    if found is None:
        return fit
    if fit.validated is None:
        return replace(fit, validated=found)
    if fit.validated.standard_error is None and found.standard_error is not None:
        among = found.rows / max(fit.validated.rows, 1)  # fewer rows than were judged by: their mean varies less
        error = found.standard_error * float(np.sqrt(min(among, 1.0)))
        return replace(fit, validated=replace(fit.validated, standard_error=error))
    return fit


def score_of(scores: Array, codes: Array, weight: Array, classifies: bool, how: str) -> CrossValidated | None:
    """R^2 or the share of right labels, with its standard error, of scores by models not fitted to their rows.

    None where no target varies.
    """
    y = np.asarray(codes, dtype=np.float64)
    if classifies:
        losses = cast(wrong(scores, y), "float64")[:, None]
    else:
        size = weight @ (y - weight @ y / weight.sum()) ** 2 / weight.sum()
        losses = (scores - y)[:, size > 0] ** 2 / size[size > 0]
    if not losses.shape[1]:
        return None
    rows = losses.mean(axis=1)
    mean = float(weight @ rows / weight.sum())
    error = float(np.sqrt(weight @ (rows - mean) ** 2 / weight.sum() / len(rows)))
    return CrossValidated(1.0 - mean, error, len(rows), how)

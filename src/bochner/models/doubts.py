"""What a fit knows about how good it is: its cross-validated score, and in words what speaks against it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..bases.design import Design
from ..penalties import PERFECT, CrossValidated
from ..solvers import OUT, HeldOutScores
from ..solvers.problem import wrong
from ..validation import FitWarning
from .fitting import Fit

NOTHING = 0.01  # R^2 below which a model explains nothing
CLIPPED = 0.01  # share of numbers beyond the range

__all__ = ["FitWarning", "doubts", "validated_by"]


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


def score_of(
    scores: np.ndarray, codes: np.ndarray, weight: np.ndarray, classifies: bool, how: str
) -> CrossValidated | None:
    """R^2 or the share of right labels, with its standard error, of scores by models not fitted to their rows.

    None where no target varies.
    """
    y = codes.astype(np.float64)
    if classifies:
        losses = wrong(scores, y).astype(np.float64)[:, None]
    else:
        size = weight @ (y - weight @ y / weight.sum()) ** 2 / weight.sum()
        losses = (scores - y)[:, size > 0] ** 2 / size[size > 0]
    if not losses.shape[1]:
        return None
    rows = losses.mean(axis=1)
    mean = float(weight @ rows / weight.sum())
    error = float(np.sqrt(weight @ (rows - mean) ** 2 / weight.sum() / len(rows)))
    return CrossValidated(1.0 - mean, error, len(rows), how)


def doubts(fit: Fit, design: Design, classifies: bool, leverage: float) -> list[str]:
    """Sentences, each of which says what is the matter and what can be done; see `leverage_share`."""
    found, validated = [], fit.validated
    if not classifies and validated is not None and validated.score < NOTHING:
        found.append(
            f"The model explains nothing: its cross-validated R^2 is {validated.score:.2f}, no better than the mean. "
            "Other columns, another basis or bandwidth may."
        )
    elif fit.end == "upper":
        found.append("The largest of the penalties tried was best: the features hardly help; try another basis.")
    elif fit.end == "lower" and (validated is None or 1.0 - validated.score > PERFECT):
        found.append(
            "The smallest of the penalties tried was best: more features, or another bandwidth, would probably serve."
        )
    if leverage > 0.5:
        found.append(
            f"A hundredth of the rows has {leverage:.0%} of all leverage: outliers decide the fit; "
            "scale='robust' clips them."
        )
    clipped = float(getattr(design.basis, "clipped_fraction_", 0.0))
    if clipped > CLIPPED:
        found.append(f"{clipped:.1%} of the sampled numbers lie beyond the range of {design.precision}: clipped.")
    return found

"""A fit in words, one line for each decision."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..losses import name_of
from ..maps.scaling import ColumnScaler
from ..penalties import CrossValidated
from .doubts import doubts

GIVEN = "the penalty was given, so that no rows were left out to choose it by"


def explain(model: Any, unknown: str = "") -> str:
    """What was fitted, how, why so, and how exactly; `unknown` says why no score is to be expected, if one knows."""
    fit, basis, design, moments = model._refresh(), model.basis_, model.design_, model.moments_
    rows = model._rows if moments is None else moments.rows
    lines = [
        f"{type(model).__name__}: {rows:,} rows, {basis.n_features_in_} columns -> "
        f"{int(basis.n_components):,} features of {type(basis).__name__} (seed {basis.seed_})"
    ]
    lines += [f"expected: {expected(model, unknown)}", f"rows: {prepared(design)} ({model._choice.reason})"]
    if model._metric.told:
        lines.append(f"metric: {model._metric.told}")
    if hasattr(basis, "bandwidth_"):
        how = basis.bandwidth if isinstance(basis.bandwidth, str) else "given"
        lines.append(f"bandwidth: {basis.bandwidth_:.6g} ({how})")
    lines.append(f"precision: {basis.precision or 'float'} ({model.precision_reason_})")
    if not model._loss().quadratic:
        lines.append(f"loss: {name_of(model._loss()).replace('_', ' ')}")
    lines += [
        f"solver: {fit.solution}",
        f"penalty: alpha = {fit.solution.alpha:.4g} ({fit.penalty})",
        f"learned: {learned_numbers(model):,} numbers",
    ]
    if getattr(model, "temperature_", None) is not None:
        lines.append(f"probabilities: temperature {model.temperature_:.4g} ({model._calibration})")
    if hasattr(basis, "clipped_fraction_"):
        clipped = f"{basis.clipped_fraction_:.2%} of sampled numbers clipped"
        lines.append(f"inputs: step {basis.quantizer_.step:.3g}, {clipped}")
    if moments is not None:
        exact = "exact integers" if moments.is_exact else "float64"
        inexact = moments.is_exact and moments.cross.dtype.kind != "i"
        lines.append(f"sums of features: {exact}" + ("; those with targets, float64" if inexact else ""))
    return "\n".join([*lines, *(f"doubt: {sentence}" for sentence in doubts(model))])


def summary(model: Any) -> str:
    """What the model is expected to be worth, in a line."""
    return f"expected: {expected(model)}"


def expected(model: Any, unknown: str = "") -> str:
    """The cross-validated score in words: R^2, or the share of wrong labels; or why it is not known."""
    known = score_in_words(model._refresh().validated, model._classifies)
    if known:
        return known
    if unknown or is_given(model.alpha):
        return f"not known: {unknown or GIVEN}"
    return "not known, since the sums changed" if model.sums_ is not None else "not known"


def is_given(alpha: Any) -> bool:
    """Whether a penalty is a number: nothing is left out then to choose it by."""
    return not isinstance(alpha, str) and np.size(alpha) == 1


def score_in_words(validated: CrossValidated | None, classifies: bool) -> str:
    """A cross-validated score, or nothing if there is none."""
    if validated is None:
        return ""
    error = "" if validated.standard_error is None else f" +- {validated.standard_error:.2g}"
    rows = f"({validated.how}, {validated.rows:,} rows)"
    if classifies:
        return f"{1.0 - validated.score:.4g}{error} of labels wrong {rows}"
    return f"R^2 {validated.score:.4g}{error} {rows}"


def prepared(design: Any) -> str:
    """How rows become what features are made of."""
    line = ", a linear part beside the features" if design.linear is not None else ""
    return scaled_in_words(design.scaler) + line


def scaled_in_words(scaler: ColumnScaler | None) -> str:
    if scaler is None:
        return "as they are"
    return "columns scaled robustly, far-out numbers clipped" if scaler.clip else "columns standardised"


def learned_numbers(model: Any) -> int:
    """Coefficients and intercepts: C (2 [d]_2 E + 1) for C outputs and E expansions of Fastfood (McKernel, eq. 22)."""
    features, outputs = model._refresh().solution.coefficients.shape
    return int(outputs * (features + bool(model.fit_intercept)))

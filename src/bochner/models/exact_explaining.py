"""A fit with an exact kernel in words, one line for each decision."""

from __future__ import annotations

from typing import Any

from .explaining import GIVEN, is_given, scaled_in_words


def explain_exact(model: Any) -> str:
    """What was fitted, how, why so, and how good it is."""
    rows, kernel = len(model.X_fit_), model.kernel_
    lines = [
        f"{type(model).__name__}: {rows:,} rows, {model.n_features_in_} columns -> the kernel of all pairs of rows",
        f"expected: {expected(model)}",
        f"rows: {scaled_in_words(model.scaler_)} ({scaling_reason(model)})",
        f"kernel: {kernel!r}",
    ]
    if getattr(kernel, "bandwidth", None) is not None:
        given = not isinstance(model.bandwidth, str) or getattr(model.kernel, "bandwidth", None) is not None
        lines.append(f"bandwidth: {kernel.bandwidth:.6g} ({'given' if given else model.bandwidth})")
    lines += [f"solver: {model.solution_}", f"penalty: alpha = {model.alpha_:.4g} ({model.penalty_})"]
    if getattr(model, "temperature_", None) is not None:
        lines.append(f"probabilities: temperature {model.temperature_:.4g} (from rows left out)")
    return "\n".join(lines)


def expected(model: Any) -> str:
    """The cross-validated score: R^2, or the share of wrong labels; or why it is not known."""
    if model.cv_score_ is None:
        return f"not known: {GIVEN}" if is_given(model.alpha) else "not known"
    error = "" if model.cv_standard_error_ is None else f" +- {model.cv_standard_error_:.2g}"
    if model._classifies:
        return f"{1.0 - model.cv_score_:.4g}{error} of labels wrong (rows left out)"
    return f"R^2 {model.cv_score_:.4g}{error} (rows left out)"


def scaling_reason(model: Any) -> str:
    if model.scale != "auto":
        return "as asked"
    if not isinstance(model.bandwidth, str) or getattr(model.kernel, "bandwidth", None) is not None:
        return "a number was given in their units"
    return "by rows left out of a sample"

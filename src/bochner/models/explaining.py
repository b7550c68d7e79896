"""A fit in words, one line for each decision."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..bases import BasisUnion
from ..bases.design import Design
from ..losses import name_of
from ..maps.scaling import ColumnScaler
from ..penalties import CrossValidated
from ..solvers import Solution
from ..solvers.problem import Alpha
from .calibration import Temperature
from .feature_fit import FeatureFit
from .parameters import ModelParameters

if TYPE_CHECKING:
    from .exact.base import KernelRidgeModel

GIVEN = "the penalty was given, so that no rows were left out to choose it by"


def explain(name: str, found: FeatureFit, parameters: ModelParameters, unknown: str = "") -> str:
    """What was fitted, how, why so, and how exactly; `unknown` says why no score is to be expected, if one knows."""
    fit, design, basis = found.solved, found.design, found.design.basis
    moments = None if found.sums is None else found.sums.total()
    rows = found.rows if moments is None else moments.rows
    lines = [
        f"{name}: {rows:,} rows, {basis.n_features_in_} columns -> "
        f"{int(basis.n_components):,} features of {type(basis).__name__} (seed {basis.seed_})",
        f"expected: {expected(found, parameters.alpha, unknown)}",
        f"rows: {prepared(design)} ({found.choice.reason})",
    ]
    if found.metric.told:
        lines.append(f"metric: {found.metric.told}")
    if isinstance(basis, BasisUnion):
        told = zip(basis.bases_, basis.weights_.tolist(), strict=True)
        parts = [f"{int(part.n_components):,} of {type(part).__name__} (weight {weight:.3g})" for part, weight in told]
        lines.append(f"parts: {', '.join(parts)}")
    if hasattr(basis, "bandwidth_"):
        how = basis.bandwidth if isinstance(basis.bandwidth, str) else "given"
        lines.append(f"bandwidth: {basis.bandwidth_:.6g} ({how})")
    lines.append(f"precision: {basis.precision or 'float'} ({found.precision_reason})")
    if not parameters.loss.quadratic:
        lines.append(f"loss: {name_of(parameters.loss).replace('_', ' ')}")
    lines += [
        f"solver: {fit.solution}",
        f"penalty: alpha = {fit.solution.alpha:.4g} ({fit.penalty})",
        f"learned: {learned_numbers(fit.solution, parameters.fit_intercept):,} numbers",
    ]
    if isinstance(found.calibration, Temperature) and found.calibration.value is not None:
        lines.append(f"probabilities: temperature {found.calibration.value:.4g} ({found.calibration.how})")
    if hasattr(basis, "clipped_fraction_"):
        clipped = f"{basis.clipped_fraction_:.2%} of sampled numbers clipped"
        lines.append(f"inputs: step {basis.quantizer_.step:.3g}, {clipped}")
    if moments is not None:
        exact = "exact integers" if moments.is_exact else "float64"
        inexact = moments.is_exact and moments.cross.dtype.kind != "i"
        lines.append(f"sums of features: {exact}" + ("; those with targets, float64" if inexact else ""))
    return "\n".join([*lines, *(f"doubt: {sentence}" for sentence in found.doubts())])


def expected(found: FeatureFit, alpha: Alpha, unknown: str = "") -> str:
    """The cross-validated score in words: R^2, or the share of wrong labels; or why it is not known."""
    known = score_in_words(found.solved.validated, found.targets.classifies)
    if known:
        return known
    if unknown or is_given(alpha):
        return f"not known: {unknown or GIVEN}"
    return "not known, since the sums changed" if found.sums is not None else "not known"


def is_given(alpha: Alpha) -> bool:
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


def prepared(design: Design) -> str:
    """How rows become what features are made of."""
    line = ", a linear part beside the features" if design.linear is not None else ""
    return scaled_in_words(design.scaler) + line


def scaled_in_words(scaler: ColumnScaler | None) -> str:
    if scaler is None:
        return "as they are"
    return "columns scaled robustly, far-out numbers clipped" if scaler.clip else "columns standardised"


def learned_numbers(solution: Solution, fit_intercept: bool) -> int:
    """Coefficients and intercepts: C (2 [d]_2 E + 1) for C outputs and E expansions of Fastfood (McKernel, eq. 22)."""
    features, outputs = solution.coefficients.shape
    return int(outputs * (features + bool(fit_intercept)))


# ---- exact kernels ----


def explain_exact(model: KernelRidgeModel) -> str:
    """What was fitted, how, why so, and how good it is."""
    rows, kernel = len(model.X_fit_), model.kernel_
    lines = [
        f"{type(model).__name__}: {rows:,} rows, {model.n_features_in_} columns -> the kernel of all pairs of rows",
        f"expected: {expected_exact(model)}",
        f"rows: {scaled_in_words(model.scaler_)} ({scaling_reason(model)})",
        f"kernel: {kernel!r}",
    ]
    bandwidth = getattr(kernel, "bandwidth", None)
    if bandwidth is not None:
        given = not isinstance(model.bandwidth, str) or getattr(model.kernel, "bandwidth", None) is not None
        lines.append(f"bandwidth: {bandwidth:.6g} ({'given' if given else model.bandwidth})")
    lines += [f"solver: {model.solution_}", f"penalty: alpha = {model.alpha_:.4g} ({model.penalty_})"]
    if getattr(model, "temperature_", None) is not None:
        lines.append(f"probabilities: temperature {model.temperature_:.4g} (from rows left out)")
    return "\n".join(lines)


def expected_exact(model: KernelRidgeModel) -> str:
    """The cross-validated score: R^2, or the share of wrong labels; or why it is not known."""
    if model.cv_score_ is None:
        return f"not known: {GIVEN}" if is_given(model.alpha) else "not known"
    error = "" if model.cv_standard_error_ is None else f" +- {model.cv_standard_error_:.2g}"
    if model._classifies:
        return f"{1.0 - model.cv_score_:.4g}{error} of labels wrong (rows left out)"
    return f"R^2 {model.cv_score_:.4g}{error} (rows left out)"


def scaling_reason(model: KernelRidgeModel) -> str:
    if model.scale != "auto":
        return "as asked"
    if not isinstance(model.bandwidth, str) or getattr(model.kernel, "bandwidth", None) is not None:
        return "a number was given in their units"
    return "by rows left out of a sample"

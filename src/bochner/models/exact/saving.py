"""Models of exact kernels as plain values and back: the rows they were fitted to, and dual coefficients for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ...arrays import Array
from ...blocks import Recipe
from ...fields import (
    FLOATS,
    SMALLEST,
    Check,
    either,
    instance,
    labels,
    names,
    nothing,
    number,
    numbers,
    require_fields,
    require_present,
    require_sound,
    several,
    text,
    whole,
)
from ...kernels import Kernel
from ...maps.frequencies import KERNEL
from ...maps.scaling import ColumnScaler
from ...solvers import DualProblem, Solution
from ..kept import require_kind, require_solution
from ..placing import beside
from ..saving import columns_made, made_of, require_scaler

if TYPE_CHECKING:
    from .base import KernelRidgeModel

Model = TypeVar("Model", bound="KernelRidgeModel")
OPTIONAL = {"feature_names_in_", "recipe_"}
OF_CLASSES, OF_NUMBERS = {"classes_", "temperature_"}, {"_outputs", "_offset"}
OF_ENCODER = {"classes_", *OF_NUMBERS}  # what the encoder of targets keeps
TRIED = 3  # rows with which a kernel from a file is tried


def fields(given: int | None, columns: int | None, rows: int | None, outputs: int) -> dict[str, Check]:
    """What a fit to so many rows leaves in a model; `given` columns become `columns` where there is a recipe."""
    return {
        "n_features_in_": whole(1, 1 << 31),
        "feature_names_in_": names(given),
        "recipe_": instance(Recipe),
        "classes_": labels,
        "temperature_": number(0.0),
        "_outputs": several(whole(1, 1 << 31)),
        "_offset": numbers(outputs),
        "X_fit_": numbers(rows, columns, dtypes=FLOATS),
        "intercept_": numbers(outputs),
        "penalty_": text(),
        "kernel_": instance(Kernel),
        "scaler_": either(nothing, instance(ColumnScaler)),
        "cv_score_": either(nothing, number(high=1.0)),
        "cv_standard_error_": either(nothing, number(0.0)),
        "solution_": instance(Solution),
    }


FITTED = frozenset(fields(None, None, None, 1))


def centre_fields(rows: int) -> dict[str, Check]:
    """What centres the kernel of new rows."""
    return {
        "root": numbers(rows, low=SMALLEST),
        "row_means": numbers(rows),
        "grand_mean": number(),
    }


def to_state(model: KernelRidgeModel) -> dict[str, Any]:
    there = {**vars(model), **model._targets.to_fields()}
    fitted = {name: value for name, value in there.items() if name in FITTED}
    centre = None if model._dual is None else {name: getattr(model._dual, name) for name in centre_fields(1)}
    parameters = {**model.get_params(deep=False), "device": None}  # a file has no device
    return {"parameters": parameters, "fitted": fitted, "centre": centre}


def from_state(cls: type[Model], state: dict[str, Any]) -> Model:
    model, fitted = made_of(cls, state["parameters"]), state["fitted"]
    require_present(fitted, ["X_fit_", "solution_", "n_features_in_"])
    require_kind(fitted["X_fit_"], np.ndarray)
    rows = len(fitted["X_fit_"])
    require_solution(fitted["solution_"], rows)
    solution: Solution = fitted["solution_"]
    outputs = solution.coefficients.shape[1]
    columns = columns_made(fitted)
    table = fields(fitted["n_features_in_"], columns, rows, outputs)
    encoder = model._encoder()
    others = OF_NUMBERS if encoder.classifies else OF_CLASSES
    require_fields(fitted, {name: table[name] for name in table if name not in others}, OPTIONAL)
    if fitted["scaler_"] is not None:
        require_scaler(fitted["scaler_"], columns)
    require_kernel(fitted["kernel_"], fitted["X_fit_"])
    model._targets = encoder.with_fields(fitted, outputs)
    model.__dict__.update({name: value for name, value in fitted.items() if name not in OF_ENCODER})
    model.dual_coef_, model.alpha_ = solution.coefficients, solution.alpha
    model._dual = None
    if state["centre"] is not None:
        require_fields(state["centre"], centre_fields(rows))
        model._dual = centring(**state["centre"])
    return model


def centre_on(template: Array, dual: DualProblem) -> DualProblem:
    """What centres the kernel of new rows, beside them."""
    root, row_means = beside(template, dual.root, dual.row_means)
    return centring(root, row_means, dual.grand_mean)


def centring(root: Array, row_means: Array, grand_mean: float) -> DualProblem:
    """A dual problem of which only what centres new rows is left: its matrix is as large as the square of the rows."""
    return DualProblem(np.empty((0, 0)), np.empty((0, 0)), root, np.empty(0), row_means, grand_mean)


def require_kernel(kernel: Kernel, X: np.ndarray) -> None:
    """Refuse a kernel that no model can be made with: one without a bandwidth, or with values that are not finite."""
    require_sound(vars(kernel), {**KERNEL, "bandwidth": number(SMALLEST)})
    values = kernel(X[:TRIED])
    if values.shape != (len(X[:TRIED]),) * 2 or not np.isfinite(values).all():
        raise ValueError("the kernel has no finite values")

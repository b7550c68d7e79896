"""What files of models may hold, one line for each name; the sizes of arrays come from the rest of a file."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..blocks import Recipe, SparseRecipe
from ..fields import (
    SMALLEST,
    Check,
    either,
    flag,
    instance,
    labels,
    names,
    nothing,
    number,
    numbers,
    pairs,
    require_fields,
    require_sound,
    several,
    text,
    whole,
)
from ..moments import Moments
from ..solvers import DoublyStochastic, Solution

SQUARES = 1e200  # the largest of what adds up squares
THREADS = 1 << 15

# Parameters whose values no other check of a model looks at. Those of other names are checked as `fit` checks them.
PARAMETERS: dict[str, Check] = {
    "fit_intercept": flag,
    "n_jobs": either(nothing, whole(-THREADS, THREADS)),
    "verbose": either(flag, whole(0, THREADS)),
    "random_state": either(nothing, whole(-(1 << 64), 1 << 64)),
    "class_weight": either(nothing, text("balanced"), pairs(either(text(), flag, number()), number(0.0))),
    "variable_projection": flag,
    "early_stopping": flag,
    "invariants": flag,
    "learned": flag,
    "nu": number(SMALLEST),
    "center": flag,
}
# Of solvers that are objects: what a step takes must find room.
SOLVER: dict[str, Check] = {"features": whole(1, 1 << 20), "batch_size": whole(1, 1 << 31)}
TRAINING: dict[str, Check] = {"rate": number(SMALLEST), "steps": whole(), "rows": whole()}


def fitted_fields(columns: Any, outputs: int) -> dict[str, Check]:
    """What a fit leaves in a model of so many columns and outputs, besides its basis and its solution."""
    return {
        "n_features_in_": whole(1, 1 << 31),
        "feature_names_in_": names(columns),
        "classes_": labels,
        "recipe_": instance(Recipe, SparseRecipe),
        "precision_reason_": text(),
        "_outputs": several(whole(1, 1 << 31)),
        "_offset": numbers(outputs),
        "_rows": whole(),
        "temperature_": either(nothing, number(0.0)),
        "_calibration": text(),
    }


OPTIONAL = {"feature_names_in_", "recipe_"}
OF_CLASSES, OF_NUMBERS = {"classes_", "temperature_", "_calibration"}, {"_outputs", "_offset"}


def fit_fields(outputs: int) -> dict[str, Check]:
    """The parts of a Fit that are kept."""
    return {
        "intercept": numbers(outputs),
        "penalty": text(),
        "noise": numbers(outputs, low=0.0, high=SQUARES),
    }


def solution_fields(features: int) -> dict[str, Check]:
    return {
        "coefficients": numbers(features, None),
        "method": text(),
        "alpha": number(0.0),
        "status": text(),
        "residual": instance(float),  # only ever shown; NaN where a solver has none
        "iterations": whole(),
        "reason": text(),
    }


def sums_fields(features: int, outputs: int) -> dict[str, Check]:
    exact = ("float64", "int64")
    squares: dict[str, Any] = {"dtypes": exact, "low": -SQUARES, "high": SQUARES}
    return {
        "rows": whole(1),
        "weight": number(SMALLEST),
        "sum_z": numbers(features, dtypes=exact),
        "sum_y": numbers(outputs, dtypes=exact),
        "gram": numbers(features, features, **squares),
        "cross": numbers(features, outputs, **squares),
        "square": numbers(outputs, outputs, **squares),
    }


def require_solution(solution: Any, features: int) -> None:
    require_kind(solution, Solution)
    require_fields(vars(solution), solution_fields(features))
    if not solution.coefficients.size:
        raise ValueError("there are no coefficients")


def require_sums(moments: Any, features: int, outputs: int) -> None:
    """Refuse sums of other sizes, and such as no rows have: squares are not negative, and integers have room."""
    require_kind(moments, Moments)
    require_fields(vars(moments), sums_fields(features, outputs))
    if moments.sum_z.dtype != moments.gram.dtype or moments.sum_y.dtype != moments.square.dtype:
        raise ValueError("the sums are of different types")
    for name in ("gram", "square"):
        if (np.diagonal(getattr(moments, name)) < 0).any():
            raise ValueError(f"the sums {name} are no sums of squares")
    moments._guarded()


def require_steps(solver: Any, training: Any, units: int) -> None:
    """Refuse a solver that asks for too much room, and more doubly stochastic steps than a basis has units for."""
    if isinstance(solver, str):
        return
    require_sound(vars(solver), SOLVER)
    if isinstance(solver, DoublyStochastic) and training is not None and training.steps > units:
        raise ValueError("there are more steps than features")


def require_kind(value: Any, kind: Any) -> None:
    if not isinstance(value, kind):
        raise ValueError(f"a value of type {type(value).__name__} is not what belongs there")

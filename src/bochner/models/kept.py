"""What files of models may hold, one line for each name; the sizes of arrays come from the rest of a file."""

from __future__ import annotations

from types import UnionType
from typing import Any, TypeVar, overload

import numpy as np

from ..blocks import Recipe, SparseRecipe
from ..costs import FOLDS
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
from ..moments import FoldedMoments, Moments
from ..solvers import DoublyStochastic, Solution, Solver, Training, Units
from .metric_search import LearnedMetric
from .trials import Choice

Kind = TypeVar("Kind")
SQUARES = 1e200  # the largest of what adds up squares
THREADS = 1 << 15

# Parameters whose values no other check of a model looks at. Those of other names are checked as `fit` checks them.
PARAMETERS: dict[str, Check] = {
    "fit_intercept": flag,
    "n_jobs": either(nothing, whole(-THREADS, THREADS)),
    "verbose": either(flag, whole(0, THREADS)),
    "image_shape": either(nothing, several(whole(1, 1 << 20), 3)),
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
TRAINING: dict[str, Check] = {
    "rate": number(SMALLEST), "steps": whole(), "rows": whole(), "units": either(nothing, instance(Units)),
}  # fmt: skip
VALIDATED: dict[str, Check] = {
    "score": number(high=1.0), "standard_error": either(nothing, number(0.0)), "rows": whole(), "how": text(),
}  # fmt: skip
CHOICE: dict[str, Check] = {
    "scale": either(nothing, text("robust", "standard")), "weight": number(0.0), "reason": text(),
}  # fmt: skip


def fitted_fields(columns: int | None, outputs: int) -> dict[str, Check]:
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
        "_choice": chosen,
        "_leverage": number(0.0, 1.0),
        "_importances": either(nothing, numbers(columns, low=0.0, high=1.0)),
        "_widening": numbers(outputs, low=0.0),
        "_ends": either(nothing, numbers(2, outputs)),
        "_metric": learned_metric(columns),
    }


OPTIONAL = {"feature_names_in_", "recipe_"}
OF_CLASSES = {"classes_", "temperature_", "_calibration"}
OF_NUMBERS = {"_outputs", "_offset", "_widening", "_ends"}


def units_fields(outputs: int) -> dict[str, Check]:
    """The units that steps were taken in."""
    return {
        "centre": numbers(outputs), "spread": numbers(outputs, low=SMALLEST), "weight": number(SMALLEST),
    }  # fmt: skip


def chosen(value: object) -> bool:
    """Whether a value is a choice of how rows are scaled."""
    return isinstance(value, Choice) and all(check(vars(value).get(name)) for name, check in CHOICE.items())


def learned_metric(columns: int | None) -> Check:
    """Whether a value is a metric that a fit to so many columns of a table gives."""
    table = {
        "matrix": either(nothing, numbers(None, low=0.0, high=1.0), numbers(None, None)),
        "importances": either(nothing, numbers(columns, low=0.0, high=1.0)),
        "told": text(),
    }

    def check(value: object) -> bool:
        return isinstance(value, LearnedMetric) and all(one(vars(value).get(name)) for name, one in table.items())

    return check


def column_fields(columns: int, *wanted: str) -> dict[str, Check]:
    """The numbers of scaled columns and of linear parts."""
    table = {
        "center": numbers(columns),
        "spread": numbers(columns, low=SMALLEST),
        "low": numbers(columns),
        "high": numbers(columns),
        "weight": numbers(columns, low=0.0),
        "unit": either(nothing, numbers(columns, low=SMALLEST)),
        "clip": number(0.0),
    }
    return {name: table[name] for name in wanted}


def fit_fields(outputs: int) -> dict[str, Check]:
    """The parts of a Fit that are kept."""
    return {
        "intercept": numbers(outputs),
        "penalty": text(),
        "noise": numbers(outputs, low=0.0, high=SQUARES),
        "end": text("", "lower", "upper"),
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


def require_solution(given: object, features: int) -> None:
    solution = require_kind(given, Solution)
    require_fields(solution.to_state(), solution_fields(features))
    if not np.size(solution.coefficients):
        raise ValueError("there are no coefficients")


def require_sums(given: object, features: int, outputs: int) -> None:
    """Refuse sums that are not parted into as many folds as a fit parts them, and parts that are no sums of rows."""
    sums = require_kind(given, FoldedMoments)
    there = [part for part in sums.folds if part is not None] if isinstance(sums.folds, list) else []
    if not there or len(sums.folds) not in (1, 2, FOLDS):
        raise ValueError("there are no sums")
    for part in there:
        require_moments(part, features, outputs)
    if len({(part.gram.dtype, part.square.dtype) for part in there}) > 1:
        raise ValueError("the sums of folds are of different types")


def require_moments(given: object, features: int, outputs: int) -> None:
    """Refuse sums of other sizes, and such as no rows have: squares are not negative, and integers have room."""
    moments = require_kind(given, Moments)
    require_fields(vars(moments), sums_fields(features, outputs))
    if moments.sum_z.dtype != moments.gram.dtype or moments.sum_y.dtype != moments.square.dtype:
        raise ValueError("the sums are of different types")
    for name in ("gram", "square"):
        if (np.diagonal(getattr(moments, name)) < 0).any():
            raise ValueError(f"the sums {name} are no sums of squares")
    moments._guarded()


def require_steps(solver: Solver | str, training: Training | None, units: int) -> None:
    """Refuse a solver that asks for too much room, and more doubly stochastic steps than a basis has units for."""
    if isinstance(solver, str):
        return
    require_sound(vars(solver), SOLVER)
    if isinstance(solver, DoublyStochastic) and training is not None and training.steps > units:
        raise ValueError("there are more steps than features")


@overload
def require_kind(value: object, kind: type[Kind]) -> Kind: ...
@overload
def require_kind(value: object, kind: UnionType) -> object: ...
def require_kind(value: object, kind: type | UnionType) -> object:
    """The value, if it is of that kind."""
    if not isinstance(value, kind):
        raise ValueError(f"a value of type {type(value).__name__} is not what belongs there")
    return value

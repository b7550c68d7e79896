"""Models as files: parameters, the basis as a seed and a few numbers, coefficients; sums only if they are wanted."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from sklearn.base import BaseEstimator

from .. import storage
from ..bases import REGISTRY, Basis, BasisUnion, FixedFourier, PatchFeatures
from ..bases.design import Design
from ..blocks import Recipe, SparseRecipe
from ..fields import either, flag, numbers, require_fields, require_present, require_sound
from ..kernels import Kernel
from ..losses.known import KINDS
from ..maps import PatchMap, UnitMap
from ..maps.linear import LinearPart
from ..maps.patches import Geometry
from ..maps.quantize import Quantizer
from ..maps.scaling import ColumnScaler
from ..moments import FoldedMoments, Moments
from ..penalties import Chosen, CrossValidated
from ..solvers import SGD, Adam, DoublyStochastic, PrimalPosterior, Solution, Training, Units
from ..tables import EncoderRecipe, TableEncoder
from .calibration import Calibration, Temperature, Widening
from .feature_fit import FeatureFit
from .fitting import Fit
from .kept import (
    OF_CLASSES,
    OF_NUMBERS,
    OPTIONAL,
    PARAMETERS,
    TRAINING,
    VALIDATED,
    column_fields,
    fit_fields,
    fitted_fields,
    require_kind,
    require_solution,
    require_steps,
    require_sums,
    units_fields,
)
from .metric_search import LearnedMetric
from .trials import Choice

Model = TypeVar("Model", bound=BaseEstimator)
KIND, VERSION = "bochner model", 4


def kinds_of(base: type) -> list[type]:
    """All of bochner's own classes derived from one."""
    found: list[type] = []
    child: type
    for child in base.__subclasses__():
        found += [child, *kinds_of(child)]
    return [cls for cls in found if cls.__module__.startswith("bochner.")]


# What a file may hold, besides the models themselves. A subclass made elsewhere is not among them.
PARTS: tuple[type, ...] = (
    *REGISTRY.values(), FixedFourier, BasisUnion, PatchFeatures, PatchMap, Geometry, *kinds_of(UnitMap),
    *kinds_of(Kernel), *KINDS, Quantizer, Recipe, SparseRecipe, Moments, FoldedMoments, Solution, SGD, Adam,
    DoublyStochastic, Training, Units, Design, ColumnScaler, LinearPart, Choice, CrossValidated, LearnedMetric,
    EncoderRecipe, TableEncoder,
)  # fmt: skip
FIT = ("intercept", "penalty", "noise", "training", "validated", "end")
COLUMNS = ("n_features_in_", "feature_names_in_", "recipe_")  # what a model knows of its columns


def to_state(found: FeatureFit, parameters: dict[str, Any], columns: Mapping[str, Any], sums: bool) -> dict[str, Any]:
    """A model as plain values: what its fit left, its parameters, what it knows of its columns, and sums if wanted."""
    require_own(parameters)
    given = parameters["basis"] is not None
    parameters = {**parameters, "basis": None, "device": None}  # the fitted one says it all; a file has no device
    if not isinstance(parameters["random_state"], int | None):
        parameters["random_state"] = None  # a generator has moved on; the seed is in the basis
    fit = found.solved
    return {
        "parameters": parameters,
        "basis_given": given,
        "design": found.design,
        "solution": fit.solution,
        **{name: getattr(fit, name) for name in FIT},
        "fitted": {**{name: columns[name] for name in COLUMNS if name in columns}, **fitted_state(found)},
        "sums": found.sums if sums else None,
        "widest": found.widest if sums else None,
    }


def fitted_state(found: FeatureFit) -> dict[str, Any]:
    """What a fit left besides its design and its solution, under the names of files."""
    calibration = found.calibration
    learned: dict[str, Any]
    if isinstance(calibration, Temperature):
        learned = {"temperature_": calibration.value, "_calibration": calibration.how}
    else:
        learned = {"_widening": calibration.factors}
    return {
        **found.targets.to_fields(),
        **learned,
        "precision_reason_": found.precision_reason,
        "_rows": found.rows if found.sums is None else int(found.sums.rows),
        "_choice": found.choice,
        "_leverage": calibration.leverage,
        "_importances": found.importances,
        "_metric": found.metric,
    }


def from_state(cls: type[Model], state: dict[str, Any]) -> Model:
    """A model from plain values; whatever does not fit together is refused."""
    design, solution, sums, widest = (state[name] for name in ("design", "solution", "sums", "widest"))
    require_design(design)
    basis = design.basis
    require_solution(solution, design.n_components)
    require_widest(widest, design, sums)
    outputs = solution.coefficients.shape[1]
    require_fit(state, outputs)
    given = type(basis)(**basis.get_params(deep=False)) if state["basis_given"] else None
    model = made_of(cls, {**state["parameters"], "basis": given})
    require_steps(model.solver, state["training"], basis.map_.units.number)
    encoder, fitted = model._encoder(), state["fitted"]
    require_fitted(fitted, basis, outputs, encoder.classifies)
    posterior = None
    if sums is not None:
        require_sums(sums, (widest or design).n_components, outputs)
        unit = Chosen(solution.alpha, state["penalty"]).unit
        posterior = PrimalPosterior(sums, design.scale_, solution.alpha, bool(model.fit_intercept), unit)
    if widest is not None and (model.max_coefficient is not None or model.alpha == "loo"):
        raise ValueError("sums alone are solved without max_coefficient, and without leave-one-out")
    told = {name: state[name] for name in ("intercept", "noise", "training")}
    solution = replace(solution, posterior=posterior, **told)
    fit = Fit(solution, state["penalty"], state["validated"], state["end"])
    model.__dict__.update({name: fitted[name] for name in COLUMNS if name in fitted})
    model._fitted = FeatureFit(
        design, encoder.with_fields(fitted, outputs), fitted["_choice"], fitted["precision_reason_"],
        fitted["_metric"], calibration_of(fitted), fit if widest is None else None, sums, widest, fitted["_rows"],
        fitted["_importances"],
    )  # fmt: skip
    return model


def calibration_of(fitted: dict[str, Any]) -> Calibration:
    if "_widening" in fitted:
        return Widening(fitted["_widening"], fitted["_leverage"])
    return Temperature(fitted["temperature_"], fitted["_calibration"], fitted["_leverage"])


def write(
    model: BaseEstimator, path: str | os.PathLike[str], state: dict[str, Any], parts: tuple[type, ...] = PARTS
) -> None:
    """Write a model to a file, once it is sure that it can be read again."""
    tree = {"model": type(model).__name__, "state": state}
    storage.save(path, KIND, VERSION, tree, parts, lambda again: type(model)._from_state(again["state"]))


def require_own(parameters: dict[str, Any]) -> None:
    """Refuse to write a loss or a solver that no reader would know."""
    for name in ("loss", "solver"):
        value = parameters.get(name)
        if value is not None and not isinstance(value, str) and type(value) not in PARTS:
            raise ValueError(
                f"nothing is written: its {name} is an object of your own class {type(value).__name__}, and a file "
                f"holds bochner's own classes alone; predictions do not need it, so set_params({name}=...) to one of "
                "those before saving, or pickle the model."
            )


def made_of(cls: type[Model], parameters: dict[str, Any]) -> Model:
    """A model of sound parameters, not fitted yet."""
    require_sound(parameters, PARAMETERS)
    model = cls(**parameters)
    model._check_parameters()
    return model


def columns_made(fitted: dict[str, Any]) -> int:
    """How many columns the rows of a model have, once its recipe, if there is one, has made them."""
    recipe, given = fitted.get("recipe_"), fitted["n_features_in_"]
    if recipe is None:
        return int(given)
    require_kind(recipe, Recipe | SparseRecipe)
    if recipe.n_inputs != given:
        raise ValueError("the model and its recipe have different columns")
    return int(recipe.n_columns)


def require_fit(state: dict[str, Any], outputs: int) -> None:
    """Refuse parts of a fit that no fit of so many outputs gives."""
    table = {**fit_fields(outputs), "basis_given": flag}
    require_fields({name: state[name] for name in table}, table)
    if state["training"] is not None:
        require_kind(state["training"], Training)
        require_fields(vars(state["training"]), TRAINING)
        if state["training"].units is not None:
            require_kind(state["training"].units, Units)
            require_fields(vars(state["training"].units), units_fields(outputs))
    if state["validated"] is not None:
        require_kind(state["validated"], CrossValidated)
        require_fields(vars(state["validated"]), VALIDATED)


def require_fitted(fitted: dict[str, Any], basis: Basis, outputs: int, classifies: bool) -> None:
    require_present(fitted, ["n_features_in_"])
    table = fitted_fields(fitted["n_features_in_"], outputs)
    others = OF_NUMBERS if classifies else OF_CLASSES
    require_fields(fitted, {name: table[name] for name in table if name not in others}, OPTIONAL)
    if basis.n_features_in_ != columns_made(fitted):
        raise ValueError("the model and its basis have different columns")
    matrix = fitted["_metric"].matrix
    if matrix is not None and set(matrix.shape) != {int(basis.n_features_in_)}:
        raise ValueError("the model and its metric have different columns")


def require_design(given: object) -> Design:
    """The design, if it is one that a fit makes."""
    design = require_kind(given, Design)
    require_kind(design.basis, Basis)
    columns = int(design.basis.n_features_in_)
    if design.scaler is not None:
        require_scaler(design.scaler, columns)
    if design.linear is not None:
        require_kind(design.linear, LinearPart)
        require_fields(vars(design.linear), column_fields(columns, "center", "spread", "weight", "unit"))
    if design.metric is not None:
        require_sound({"metric": design.metric}, {"metric": either(numbers(columns), numbers(columns, columns))})
    if design.codes is not None:
        require_kind(design.codes, Quantizer)
        if design.metric is None:
            raise ValueError("the codes of x belong to no metric")
    return design


def require_scaler(scaler: object, columns: int) -> None:
    require_fields(
        vars(require_kind(scaler, ColumnScaler)), column_fields(columns, "center", "spread", "low", "high", "clip")
    )


def require_widest(given: object, design: Design, sums: object) -> None:
    """The design whose sums a file holds must begin with the columns of the model's own."""
    if given is None:
        return
    widest = require_design(given)
    if sums is None or widest.truncated(int(design.basis.n_components)).identity() != design.identity():
        raise ValueError("the sums belong to another basis")

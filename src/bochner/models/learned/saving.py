"""Learned models as plain values and back; whatever does not fit together is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ...bases import Basis
from ...blocks import Recipe
from ...fields import (
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
    several,
    text,
    whole,
)
from ...maps.scaling import ColumnScaler
from ...penalties import CrossValidated
from ..kept import VALIDATED, require_kind
from ..saving import columns_made, made_of, require_scaler

if TYPE_CHECKING:
    from .base import LearnedFourierModel

Model = TypeVar("Model", bound="LearnedFourierModel")
OPTIONAL = {"feature_names_in_", "recipe_", "temperature_", "scaler_", "_validated"}
OF_CLASSES, OF_NUMBERS = {"classes_"}, {"_outputs", "_offset"}
OF_ENCODER = OF_CLASSES | OF_NUMBERS  # what the encoder of targets keeps


def fields(given: int | None, columns: int | None, features: int, outputs: int) -> dict[str, Check]:
    """What a fit leaves in a model of so many columns, features and outputs; `given` are those before any recipe."""
    frequencies = numbers(-(-features // 2), columns)
    return {
        "n_features_in_": whole(1, 1 << 31),
        "feature_names_in_": names(given),
        "recipe_": instance(Recipe),
        "classes_": labels,
        "_outputs": several(whole(1, 1 << 31)),
        "_offset": numbers(outputs),
        "seed_": whole(-(1 << 64), 1 << 64),
        "alpha_": number(0.0),
        "frequency_alpha_": number(0.0),
        "objective_": number(-1e200, 1e200),
        "n_iter_": whole(),
        "status_": text(),
        "basis_": instance(Basis),
        "scaler_": either(nothing, instance(ColumnScaler)),
        "frequencies_": frequencies,
        "drawn_frequencies_": frequencies,
        "_coefficients": numbers(features, outputs),
        "_intercept": numbers(outputs),
        "temperature_": number(0.0),
        "_validated": either(nothing, instance(CrossValidated)),
    }


FITTED = frozenset(fields(None, None, 0, 0))


def to_state(model: LearnedFourierModel) -> dict[str, Any]:
    parameters = model.get_params(deep=False)
    if not isinstance(parameters["random_state"], int | None):
        parameters["random_state"] = None  # a generator has moved on; the seed is kept
    parameters["device"] = None  # a file has no device
    there = {**vars(model), **model._targets.to_fields()}
    fitted = {name: value for name, value in there.items() if name in FITTED}
    return {"parameters": parameters, "fitted": fitted}


def from_state(cls: type[Model], state: dict[str, Any]) -> Model:
    model, fitted = made_of(cls, state["parameters"]), state["fitted"]
    require_present(fitted, ["basis_", "_coefficients", "n_features_in_"])
    require_kind(fitted["basis_"], Basis)
    require_kind(fitted["_coefficients"], np.ndarray)
    basis, outputs = fitted["basis_"], fitted["_coefficients"].shape[-1]
    columns = columns_made(fitted)
    table = fields(fitted["n_features_in_"], columns, int(basis.n_components), outputs)
    encoder = model._encoder()
    others = OF_NUMBERS if encoder.classifies else OF_CLASSES | {"temperature_"}
    require_fields(fitted, {name: table[name] for name in table if name not in others}, OPTIONAL)
    if basis.n_features_in_ != columns:
        raise ValueError("the model and its basis have different columns")
    if fitted.get("scaler_") is not None:
        require_scaler(fitted["scaler_"], columns)
    if fitted.get("_validated") is not None:
        require_fields(vars(fitted["_validated"]), VALIDATED)
    model._targets = encoder.with_fields(fitted, outputs)
    model.__dict__.update({name: value for name, value in fitted.items() if name not in OF_ENCODER})
    model._loss()
    return model

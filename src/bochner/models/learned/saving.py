"""Learned models as plain values and back; whatever does not fit together is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ...bases import Basis
from ..saving import require_kind, require_shape

FITTED: dict[str, Any] = {
    "n_features_in_": int, "feature_names_in_": np.ndarray, "classes_": np.ndarray, "_outputs": tuple,
    "_offset": (np.ndarray, float), "seed_": int, "alpha_": float, "frequency_alpha_": float, "objective_": float,
    "n_iter_": int, "status_": str, "basis_": Basis, "frequencies_": np.ndarray, "drawn_frequencies_": np.ndarray,
    "_coefficients": np.ndarray, "_intercept": np.ndarray,
}  # fmt: skip
OPTIONAL = {"feature_names_in_", "classes_", "_offset", "_outputs"}


def to_state(model: Any) -> dict[str, Any]:
    parameters = model.get_params(deep=False)
    if not isinstance(parameters["random_state"], int | None):
        parameters["random_state"] = None  # a generator has moved on; the seed is kept
    fitted = {name: value for name, value in vars(model).items() if name in FITTED}
    if "classes_" in fitted:
        del fitted["_outputs"]  # the classes again
    return {"parameters": parameters, "fitted": fitted}


def from_state(cls: type[BaseEstimator], state: dict[str, Any]) -> Any:
    model: Any = cls(**state["parameters"])
    model._check_parameters()
    fitted = state["fitted"]
    for name, value in fitted.items():
        require_kind(value, FITTED[name])
    if not set(fitted) >= set(FITTED) - OPTIONAL:
        raise ValueError(f"{', '.join(sorted(set(FITTED) - OPTIONAL - set(fitted)))} is missing")
    model.__dict__.update(fitted)
    if "classes_" in fitted:
        model._outputs = tuple(model.classes_.tolist())
    require_consistent(model)
    return model


def require_consistent(model: Any) -> None:
    basis, outputs = model.basis_, model._coefficients.shape[-1]
    if basis.n_features_in_ != model.n_features_in_:
        raise ValueError("the model and its basis have different columns")
    require_shape(model._coefficients, (int(basis.n_components), outputs))
    require_shape(model._intercept, (outputs,))
    for frequencies in (model.frequencies_, model.drawn_frequencies_):
        require_shape(frequencies, (-(-int(basis.n_components) // 2), model.n_features_in_))
    model._require_outputs(outputs)
    model._loss()

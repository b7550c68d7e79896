"""Models of distributions as plain values and back: both bases, the second stage, and how features scatter in bags."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.base import clone

from ...bases import REGISTRY, Basis, FixedFourier, RandomFourier
from ...bases.stored import PARAMETERS as OF_BASES
from ...blocks import Recipe, SparseRecipe
from ...fields import (
    Check,
    either,
    instance,
    names,
    nothing,
    number,
    numbers,
    require_fields,
    require_present,
    require_sound,
    text,
    whole,
)
from ...maps.scaling import ColumnScaler
from ..kept import SQUARES, require_kind
from ..learned.spectrum import Stage
from ..saving import PARTS, made_of, require_scaler
from .given import LinearBasis
from .scatter import Directions, Reference, Scatter

if TYPE_CHECKING:
    from ..base import RandomFeatureModel
    from .base import DistributionModel

Model = TypeVar("Model", bound="DistributionModel")
KNOWN = (*PARTS, LinearBasis)
GIVEN = ("basis", "second_basis")  # parameters that are bases, not fitted
OPTIONAL = {"feature_names_in_", "recipe_", "loss_", "status_"}


def fields(columns: int | None) -> dict[str, Check]:
    """What a fit leaves in a model of so many columns, besides its second stage."""
    return {
        "n_features_in_": whole(1, 1 << 31),
        "feature_names_in_": names(columns),
        "recipe_": instance(Recipe, SparseRecipe),
        "bag_": either(nothing, text()),
        "n_bags_": whole(1),
        "seed_": whole(-(1 << 64), 1 << 64),
        "loss_": number(0.0, SQUARES),
        "status_": text(),
        "basis_": instance(Basis),
        "scaler_": either(nothing, instance(ColumnScaler)),
    }


FITTED = frozenset(fields(None))


def reference_fields(features: int, directions: int, bags: int) -> dict[str, Check]:
    """Some training bags, and the directions in which features scatter within them."""
    squares: dict[str, Any] = {"low": -SQUARES, "high": SQUARES}
    return {
        "scale": number(1e-100),
        "origin": numbers(features),
        "vectors": numbers(directions, features),
        "reading": numbers(features, directions),
        "sizes": numbers(bags, low=1.0),
        "sums": numbers(bags, directions),
        "products": numbers(bags, directions, directions, **squares),
        "covariance": numbers(directions, directions, **squares),
        "means": numbers(bags, features),
        "weight": numbers(bags, low=0.0),
    }


def to_state(model: DistributionModel, sums: bool) -> dict[str, Any]:
    parameters = model.get_params(deep=False)
    if not isinstance(parameters["random_state"], int | None):
        parameters["random_state"] = None  # a generator has moved on; the seeds are in the bases
    parameters["device"] = None  # a file has no device
    reference = getattr(model, "_reference", None)
    return {
        "parameters": {**parameters, **{name: told(parameters[name]) for name in GIVEN}},
        "fitted": {name: value for name, value in vars(model).items() if name in FITTED},
        "bag_sizes": list(model.bag_sizes_),
        "second": model.second_._to_state(sums),
        "stages": [tuple(stage) for stage in getattr(model, "_stages_learned", [])],
        "reference": reference_state(reference) if sums and reference is not None else None,
    }


def from_state(cls: type[Model], state: dict[str, Any]) -> Model:
    parameters, fitted = state["parameters"], state["fitted"]
    require_present(parameters, GIVEN)
    model = made_of(cls, {**parameters, **{name: made(parameters[name]) for name in GIVEN}})
    require_present(fitted, ["n_features_in_", "basis_"])
    columns, basis = fitted["n_features_in_"], fitted["basis_"]
    require_fields(fitted, fields(columns), OPTIONAL)
    recipe = fitted.get("recipe_")
    if basis.n_features_in_ != columns or (recipe is not None and recipe.n_columns != columns):
        raise ValueError("the model and its basis have different columns")
    if fitted["scaler_"] is not None:
        require_scaler(fitted["scaler_"], columns)
    second = second_of(model, state["second"])
    if second.n_features_in_ != int(basis.n_components) or hasattr(second, "recipe_"):
        raise ValueError("the second stage has other columns than the first gives")
    model.__dict__.update(fitted)
    model.second_, model.bag_sizes_ = second, sizes_of(state["bag_sizes"])
    if model.learned:
        model._stages_learned = stages_of(state["stages"])
        require_present(fitted, ["loss_", "status_"])
    model._reference = None if state["reference"] is None else reference_of(state["reference"], int(basis.n_components))
    model._noise_of_sizes = None
    return model


def second_of(model: DistributionModel, state: dict[str, Any]) -> RandomFeatureModel:
    """The second stage, whose parameters the model itself gives it, but for its basis and its penalty."""
    second = type(model._second(RandomFourier(), 1.0))._from_state(state)
    if not isinstance(second.basis, Basis):
        raise ValueError("the second stage has no basis")
    asked = model._second(second.basis, second.alpha).get_params(deep=False)
    for name, value in second.get_params(deep=False).items():
        if name not in ("basis", "alpha") and value != asked[name]:
            raise ValueError(f"the second stage has another {name} than the model")
    return second


# ---- bases that were given, and are not fitted ----


def told(basis: Basis | str | None) -> dict[str, Any] | str | None:
    """A basis by its name and parameters; None and a word as they are."""
    if basis is None or isinstance(basis, str):
        return basis
    parameters = basis.get_params(deep=False)
    if not isinstance(parameters["random_state"], int | None):
        parameters["random_state"] = None
    return {"kind": type(basis).__name__, "parameters": parameters}


def made(given: dict[str, Any] | str | None) -> Basis | str | None:
    if given is None or isinstance(given, str):
        return given
    kinds: dict[str, type[Basis]] = {**{cls.__name__: cls for cls in REGISTRY.values()}, "FixedFourier": FixedFourier}
    require_fields(given, {"kind": text(*kinds), "parameters": instance(dict)})
    seed = given["parameters"].get("random_state")
    require_sound({**given["parameters"], "random_state": 0 if seed is None else seed}, OF_BASES)
    basis = kinds[given["kind"]](**given["parameters"])
    if not isinstance(basis, FixedFourier):
        clone(basis).fit_sample(np.eye(2, 4), 1.0)  # which refuses parameters that no fit takes
    return basis


# ---- bags ----


def sizes_of(given: object) -> tuple[int, int]:
    if not isinstance(given, list) or len(given) != 2 or not all(map(whole(1), given)) or given[0] > given[1]:
        raise ValueError("the sizes of bags are two whole numbers")
    return given[0], given[1]


def stages_of(given: Iterable[Sequence[Any]]) -> list[Stage]:
    stages = [Stage(*stage) for stage in given]
    if [stage.name for stage in stages] != ["points", "embeddings"]:
        raise ValueError("two stages were learned")
    for stage in stages:
        for part in stage[1:]:
            require_kind(part, np.ndarray)
            require_sound({stage.name: part}, {stage.name: numbers(*stage.learned.shape)})
            if part.ndim != 2 or not part.size:
                raise ValueError("frequencies are a matrix")
    return stages


def reference_state(reference: Reference) -> dict[str, Any]:
    scatter, directions = reference.scatter, reference.scatter.directions
    everything = {**vars(directions), **vars(scatter), **vars(reference)}
    return {name: as_array(everything[name]) for name in reference_fields(0, 0, 0)}


def as_array(value: float | np.ndarray) -> float | np.ndarray:
    """A number as it is; an array, which may be one in a file of its own, as a plain one."""
    return value if isinstance(value, float) else np.asarray(value).view(np.ndarray)


def reference_of(given: dict[str, Any], features: int) -> Reference:
    require_present(given, ["vectors", "sizes"])
    require_kind(given["vectors"], np.ndarray)
    require_kind(given["sizes"], np.ndarray)
    require_fields(given, reference_fields(features, len(given["vectors"]), len(given["sizes"])))
    if not len(given["sizes"]) or not len(given["vectors"]) or not given["weight"].sum() > 0:
        raise ValueError("there are no bags, or they weigh nothing")
    directions: Any = Directions.__new__(Directions)
    scatter: Any = Scatter.__new__(Scatter)
    reference = Reference.__new__(Reference)
    vars(directions).update({name: given[name] for name in ("scale", "origin", "vectors", "reading")})
    vars(scatter).update({name: given[name] for name in ("sizes", "sums", "products")}, directions=directions)
    vars(reference).update({name: given[name] for name in ("covariance", "means", "weight")}, scatter=scatter)
    return reference

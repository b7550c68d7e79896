"""Models without settings as plain values and back: encoders, members with their centres, and what was tried."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ...bases import PatchFeatures
from ...fields import (
    SMALLEST,
    Check,
    either,
    flag,
    instance,
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
from ...kernels import Stable
from ...tables import TableEncoder
from ...tables.encodings import METHODS
from ...tables.several_encoders import EncodersRecipe, recipe_of_several
from ..kept import fitted_fields
from ..saving import made_of
from .deviations import Deviations
from .effect_encoder import EffectEncoder
from .expansion import Expansion, Setting
from .local import LocalExpansion, Tree
from .pictures import PatchExpansion, PatchSetting, PixelEncoder, require_shape
from .search import Trial
from .stacking import Stack

if TYPE_CHECKING:
    from .base import AutoModel


Model = TypeVar("Model", bound="AutoModel")
MOST = 1 << 31
SCALINGS = ("None", *METHODS)
SETTING: dict[str, Check] = {
    "numbers": either(nothing, text(*METHODS, "effects")),
    "p": number(SMALLEST, 2.0),
    "q": number(SMALLEST, 2.0),
    "factor": number(SMALLEST),
    "linear": number(0.0),
    "alpha": number(0.0),
}
SIDE = whole(1, 1 << 20)
PATCHES: dict[str, Check] = {
    "shape": several(SIDE, 3),
    "size": SIDE,
    "grid": SIDE,
    "mirrored": flag,
    "filters": whole(1, MOST),
    "alpha": number(0.0),
}
TRIAL: dict[str, Check] = {
    "rows": whole(1, MOST),
    "centres": whole(0, MOST),
    "error": number(0.0),
    "seconds": number(0.0),
    "number": either(nothing, whole(0, MOST)),
}
FITTED: dict[str, Check] = {
    "n_features_in_": whole(1, MOST),
    "feature_names_in_": names(),
    "feature_importances_": numbers(None),
    "cv_error_": number(0.0),
    "cv_score_": number(high=1.0),
    "cv_standard_error_": number(0.0),
    "sharpness_": numbers(2, low=SMALLEST),
    "_rows": whole(1, MOST),
    "_judged": whole(1, MOST),
}
OPTIONAL = {"feature_names_in_"}


def setting_state(setting: Setting | PatchSetting) -> dict[str, Any]:
    names = PATCHES if isinstance(setting, PatchSetting) else SETTING
    return {name: getattr(setting, name) for name in (*names, "root")}


def to_state(model: AutoModel) -> dict[str, Any]:
    members = [member_state(member) for member in model._stack.members]
    trials = [
        {**{name: getattr(trial, name) for name in TRIAL}, "setting": {**setting_state(trial.setting), "root": None}}
        for trial in model._trials
    ]
    parameters = {**model.get_params(deep=False), "device": None}
    if not isinstance(parameters["random_state"], int | None):
        parameters["random_state"] = None  # a generator has moved on
    if parameters["image_shape"] is not None:
        parameters["image_shape"] = require_shape(parameters["image_shape"])
    return {
        "parameters": parameters,
        "fitted": {name: getattr(model, name) for name in FITTED if hasattr(model, name)},
        "targets": model._targets.to_fields(),
        "encoders": {name: encoder.to_state() for name, encoder in model._encoders.items()},
        "reading": model.recipe_.reading if hasattr(model, "recipe_") else None,
        "members": members,
        "deviations": deviations_state(model._deviations) if hasattr(model, "_deviations") else None,
        "weights": model._stack.weights,
        "level": model._stack.level,
        "trials": trials,
        "metrics": [metric_kind(trial.setting) for trial in model._trials],
        "shares": np.array(model._shares),
    }


def member_state(member: Expansion | LocalExpansion | PatchExpansion) -> dict[str, Any]:
    """A member; of one with a tree, what its leaves have, end to end."""
    if isinstance(member, PatchExpansion):
        return {
            "patches": setting_state(member.setting), "basis": member.basis.to_state(),
            "coefficients": member.coefficients, "intercept": member.intercept,
        }  # fmt: skip
    leaves = member.leaves if isinstance(member, LocalExpansion) else [member]
    tree = member.tree if isinstance(member, LocalExpansion) else Tree(np.empty(0, dtype=np.int64), np.empty(0))
    return {
        "setting": setting_state(member.setting),
        "bandwidth": leaves[0].kernel.scale,
        "axes": tree.axes,
        "cuts": tree.cuts,
        "sizes": np.array([len(leaf.centres) for leaf in leaves]),
        "centres": np.concatenate([leaf.centres for leaf in leaves]),
        "coefficients": np.concatenate([leaf.coefficients for leaf in leaves]),
        **{name: np.stack([getattr(leaf, name) for leaf in leaves]) for name in ("slopes", "middle", "intercept")},
    }


def deviations_state(deviations: Deviations) -> dict[str, Any]:
    logarithm = None if deviations.logarithm is None else member_state(deviations.logarithm)
    return {"widening": deviations.widening, "logarithm": logarithm}


def metric_kind(setting: Setting | PatchSetting) -> str:
    return "none" if setting.root is None else ("diagonal", "full")[setting.root.ndim - 1]


def from_state(cls: type[Model], state: dict[str, Any]) -> Model:
    """A model from plain values; whatever does not fit together is refused."""
    model, fitted = made_of(cls, state["parameters"]), state["fitted"]
    outputs = len(state["level"])
    require_fields({"level": state["level"]}, {"level": numbers(outputs)})
    require_fitted(fitted, outputs, model._encoder().classifies)
    targets = ("classes_",) if model._encoder().classifies else ("_outputs", "_offset", "_ends")
    known = fitted_fields(fitted["n_features_in_"], outputs)
    require_fields(state["targets"], {name: known[name] for name in targets})
    model._targets = model._encoder().with_fields(state["targets"], outputs)
    require_fields({"encoders": state["encoders"]}, {"encoders": instance(dict)})
    model._encoders = encoders_of(state["encoders"], fitted["n_features_in_"], outputs)
    if not state["members"]:
        raise ValueError("a stack has one member or more")
    members = [
        (patches_of if "patches" in inner else member_of)(inner, model._encoders, outputs) for inner in state["members"]
    ]
    require_fields({"weights": state["weights"]}, {"weights": numbers(len(members), low=0.0)})
    model._stack = Stack(members, state["weights"], state["level"])
    model._trials = [trial_of(*pair) for pair in zip(state["trials"], state["metrics"], strict=True)]
    require_fields({"shares": state["shares"]}, {"shares": numbers(len(model._trials), low=0.0)})
    model._shares = state["shares"].tolist()
    model.__dict__.update(fitted)
    if not model._encoder().classifies:
        model._deviations = deviations_of(state["deviations"], model._encoders, outputs)
    if state["reading"] is not None:
        model.recipe_ = recipe_from(state["reading"], list(model._encoders.values()))
    return model


def encoders_of(states: dict[str, Any], columns: int, outputs: int) -> dict[str, Any]:
    """Encoders by how they scale numbers; that of effects stands on the robust one."""
    found: dict[str, Any] = {}
    for name, inner in states.items():
        if name == "effects" and "robust" in found:
            found[name] = EffectEncoder.from_state(inner, found["robust"], outputs)
        elif name == "pixels":
            found[name] = PixelEncoder.from_state(inner)
        elif name in SCALINGS:
            found[name] = TableEncoder.from_state(inner)
        else:
            raise ValueError(f"{name!r} is no way to scale numbers")
        if found[name].n_features_in_ != columns:
            raise ValueError("the model and its encoder have different columns")
    return found


def require_fitted(fitted: dict[str, Any], outputs: int, classifies: bool) -> None:
    """Refuse what no fit with so many outputs leaves in a model."""
    require_present(fitted, ["n_features_in_"])
    columns = fitted["n_features_in_"]
    table = {name: check for name, check in FITTED.items() if classifies or name != "sharpness_"}
    require_fields({"n_features_in_": columns}, {"n_features_in_": FITTED["n_features_in_"]})
    table |= {"feature_names_in_": names(columns), "feature_importances_": numbers(columns, low=0.0)}
    require_fields(fitted, table, OPTIONAL)


def recipe_from(reading: tuple[str, tuple[str, ...], tuple[str, ...]], encoders: list[TableEncoder]) -> EncodersRecipe:
    """The recipe of encoders that have learned one table, and how it is read."""
    columns = several(text(), 1 << 20)
    require_fields({"reading": reading}, {"reading": instance(tuple)})
    named: dict[str, Any] = dict(zip(("missing", "commas", "groups"), reading, strict=True))
    require_fields(named, {"missing": text("refuse", "mean"), "commas": columns, "groups": columns})
    if len({(tuple(e._learned.names), tuple(e._learned.kinds)) for e in encoders}) != 1:
        raise ValueError("the encoders have different columns")
    return recipe_of_several(encoders, **named)


def member_of(state: dict[str, Any], encoders: dict[str, Any], outputs: int) -> Expansion | LocalExpansion:
    setting = setting_of(state["setting"])
    if str(setting.numbers) not in encoders:
        raise ValueError("a member has no encoder")
    columns = len(encoders[str(setting.numbers)].column_of_)
    if setting.root is not None and setting.root.shape not in ((columns,), (columns, columns)):
        raise ValueError("the metric has another number of columns")
    sizes = state["sizes"]
    require_fields({"sizes": sizes}, {"sizes": numbers(None, low=0, dtypes=("int64",))})
    leaves, total = len(sizes), int(sizes.sum())
    if leaves < 1 or leaves & (leaves - 1):
        raise ValueError("a tree has a power of two leaves")
    table = {
        "bandwidth": number(SMALLEST),
        "axes": numbers(leaves - 1, low=0, high=columns - 1, dtypes=("int64",)),
        "centres": numbers(total, columns),
        "coefficients": numbers(total, outputs),
        "slopes": numbers(leaves, columns, outputs),
        "middle": numbers(leaves, columns),
        "intercept": numbers(leaves, outputs),
    }
    require_fields({name: state[name] for name in table}, table)
    cuts = state["cuts"]
    if (
        not isinstance(cuts, np.ndarray)
        or cuts.shape != (leaves - 1,)
        or cuts.dtype != np.float64
        or np.isnan(cuts).any()
    ):
        raise ValueError("the cuts of a tree are no numbers")  # infinity sends all rows one way
    kernel, ends = Stable(setting.p, setting.q, float(state["bandwidth"])), np.cumsum(sizes)[:-1]
    parts = zip(*(np.split(state[name], ends) for name in ("centres", "coefficients")), strict=True)
    whole = zip(*(state[name] for name in ("slopes", "middle", "intercept")), strict=True)
    made = [Expansion(setting, kernel, *first, *second) for first, second in zip(parts, whole, strict=True)]
    return made[0] if leaves == 1 else LocalExpansion(setting, Tree(state["axes"], cuts), made)


def patches_of(state: dict[str, Any], encoders: dict[str, Any], outputs: int) -> PatchExpansion:
    """A member on patches of pictures."""
    setting, basis = patch_setting_of(state["patches"]), PatchFeatures.from_state(state["basis"])
    if "pixels" not in encoders or not encoders["pixels"].shape == setting.shape == tuple(basis.image_shape):
        raise ValueError("a member is of pictures of another shape")
    table = {"coefficients": numbers(basis.map_.columns, outputs), "intercept": numbers(outputs)}
    require_fields({name: state[name] for name in table}, table)
    return PatchExpansion(setting, basis, state["coefficients"], state["intercept"])


def deviations_of(state: dict[str, Any], encoders: dict[str, Any], outputs: int) -> Deviations:
    """Deviations from what a file kept; what belongs to other columns is refused."""
    require_fields({"deviations": state}, {"deviations": instance(dict)})
    require_fields({"widening": state["widening"]}, {"widening": numbers(outputs, low=0.0)})
    if state["logarithm"] is None:
        return Deviations(state["widening"])
    f = member_of(state["logarithm"], {name: encoders[name] for name in encoders if name == "robust"}, outputs)
    if not isinstance(f, Expansion):
        raise ValueError("deviations have no leaves")
    return Deviations(state["widening"], f)


def setting_of(state: dict[str, Any]) -> Setting:
    require_fields({name: state[name] for name in SETTING}, SETTING)
    root = state["root"]
    if root is not None:
        if not isinstance(root, np.ndarray) or root.ndim not in (1, 2):
            raise ValueError("the metric is no vector or matrix")
        require_fields({"root": root}, {"root": numbers(*root.shape)})
    return Setting(**{name: state[name] for name in SETTING}, root=root)


def patch_setting_of(state: dict[str, Any]) -> PatchSetting:
    known = {name: state[name] for name in PATCHES}
    require_fields(known, PATCHES)
    return PatchSetting(**known)


def trial_of(state: dict[str, Any], metric: str) -> Trial:
    """A trial, of whose metric a file keeps the kind alone."""
    require_fields({name: state[name] for name in TRIAL}, TRIAL)
    roots = {"none": None, "diagonal": np.ones(1), "full": np.ones((1, 1))}
    given = state["setting"]
    setting = patch_setting_of(given) if "shape" in given else setting_of({**given, "root": roots[metric]})
    return Trial(setting, **{name: state[name] for name in TRIAL})

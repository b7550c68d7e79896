"""What a file keeps of an encoder: its parameters and all that it has learned, so that it can go on learning."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..fields import either, instance, names, nothing, number, require_fields, several, text, whole
from .columns import KINDS
from .encodings import METHODS, CategoryEncoding, DateEncoding, Dropped, NumberEncoding
from .sketch import QuantileSketch
from .statistics import CategoryStatistics, NumberStatistics
from .survey import Sums
from .targets import TYPES, Targets

# What an encoder is made of, for readers that take its parts apart.
TABLE_PARTS = (
    CategoryEncoding, CategoryStatistics, DateEncoding, Dropped, NumberEncoding, NumberStatistics, QuantileSketch, Sums,
    Targets,
)  # fmt: skip
HOWS = ("", "number", "date")
COLUMNS = 1 << 20
PARAMETERS = {
    "numbers": either(nothing, text(*METHODS)),
    "categories": text(*CategoryEncoding.kinds),
    "max_onehot": whole(0),
    "hash_columns": whole(1, 1 << 20),
    "pieces": whole(1, 1 << 20),
    "smoothing": either(text("auto"), number(0.0)),
    "target_type": text("auto", *TYPES),
    "categorical_features": either(nothing, several(either(text(), whole(-COLUMNS, COLUMNS)), COLUMNS)),
    "cv": whole(2),
    "random_state": either(nothing, whole(0, (1 << 32) - 1)),
}
STATE = {
    "parameters": instance(dict),
    "names": either(nothing, names()),
    "kinds": several(several(text(*KINDS, *HOWS), 2), COLUMNS),
    "statistics": several(instance(dict), COLUMNS),
    "targets": either(nothing, instance(dict)),
}


def state_of(encoder: Any) -> dict[str, Any]:
    """The state of a fitted encoder, in plain values and arrays."""
    parameters = encoder.get_params(deep=False)
    given = parameters["categorical_features"]
    parameters["categorical_features"] = None if given is None else tuple(np.asarray(given).ravel().tolist())
    seed = parameters["random_state"]  # a generator goes on with its numbers, and cannot be written down
    parameters["random_state"] = int(seed) if isinstance(seed, int | np.integer) else None
    for name in ("max_onehot", "hash_columns", "pieces", "cv"):
        parameters[name] = int(parameters[name])
    if not isinstance(parameters["smoothing"], str):
        parameters["smoothing"] = float(parameters["smoothing"])
    return {
        "parameters": parameters,
        "names": getattr(encoder, "feature_names_in_", None),
        "kinds": tuple(encoder._kinds),
        "statistics": tuple(found.to_state() for found in encoder._statistics),
        "targets": None if encoder._targets is None else encoder._targets.to_state(),
    }


def restored(cls: type, state: dict[str, Any]) -> Any:
    """An encoder from its state; what no fit gives is refused."""
    require_fields(state, STATE)
    require_fields(state["parameters"], PARAMETERS)
    encoder = cls(**state["parameters"])
    kinds, given = state["kinds"], state["names"]
    if len(kinds) != len(state["statistics"]) or (given is not None and len(given) != len(kinds)) or not kinds:
        raise ValueError("the encoder has different numbers of columns and of what it learned of them")
    if any(len(pair) != 2 or pair[0] not in KINDS or pair[1] not in HOWS for pair in kinds):
        raise ValueError("the kinds of columns are none that an encoder has")
    encoder.n_features_in_ = len(kinds)
    if given is not None:
        encoder.feature_names_in_ = given
    encoder._targets = targets = None if state["targets"] is None else Targets.from_state(state["targets"])
    encoder._kinds = list(kinds)
    encoder._statistics = [
        CategoryStatistics.from_state(found, targets) if kind == "category" else NumberStatistics.from_state(found)
        for (kind, _), found in zip(kinds, state["statistics"], strict=True)
    ]
    rows = {found.rows for found in encoder._statistics}
    if encoder._targets is not None:
        rows.add(encoder._targets.rows)
    if len(rows) != 1 or 0 in rows:
        raise ValueError("the columns of the encoder have different numbers of rows")
    encoder._categorical()
    encoder._settle()
    return encoder

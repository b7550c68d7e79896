"""What a file keeps of an encoder: its parameters and all that it has learned, so that it can go on learning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..fields import either, flag, instance, nothing, number, require_fields, several, text, whole
from .encodings import METHODS, CategoryEncoding, DateEncoding, Dropped, NumberEncoding
from .learned import MOST_COLUMNS, LearnedTable
from .sketch import QuantileSketch
from .statistics import CategoryStatistics, NumberStatistics
from .survey import Sums
from .targets import TYPES, Targets

if TYPE_CHECKING:
    from .encoder import TableEncoder


# What an encoder is made of, for readers that take its parts apart.
TABLE_PARTS = (
    CategoryEncoding, CategoryStatistics, DateEncoding, Dropped, LearnedTable, NumberEncoding, NumberStatistics,
    QuantileSketch, Sums, Targets,
)  # fmt: skip
PARAMETERS = {
    "numbers": either(nothing, text(*METHODS)),
    "categories": text(*CategoryEncoding.kinds),
    "max_onehot": whole(0),
    "hash_columns": whole(1, MOST_COLUMNS),
    "pieces": whole(1, MOST_COLUMNS),
    "smoothing": either(text("auto"), number(0.0)),
    "target_type": text("auto", *TYPES),
    "categorical_features": either(
        nothing, several(either(text(), whole(-MOST_COLUMNS, MOST_COLUMNS), flag), MOST_COLUMNS)
    ),
    "cv": whole(2),
    "random_state": either(nothing, whole(0, (1 << 32) - 1)),
}
STATE = {"parameters": instance(dict), "learned": instance(dict), "is_named": flag}


def state_of(encoder: TableEncoder) -> dict[str, Any]:
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
        "learned": encoder._learned.to_state(),
        "is_named": hasattr(encoder, "feature_names_in_"),
    }


def restored(cls: type[TableEncoder], state: dict[str, Any]) -> TableEncoder:
    """An encoder from its state; what no fit gives is refused."""
    require_fields(state, STATE)
    require_fields(state["parameters"], PARAMETERS)
    encoder = cls(**state["parameters"])
    learned = LearnedTable.from_state(state["learned"])
    encoder._remember(learned.names, bool(state["is_named"]))
    encoder._categorical()
    encoder._settle(learned)
    return encoder

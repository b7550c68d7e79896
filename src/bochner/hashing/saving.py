"""An index as a file: the hash as a seed and a few numbers, the rows with their ids, and the sorted tables."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..fields import (
    Check,
    either,
    flag,
    instance,
    names,
    nothing,
    numbers,
    require_fields,
    require_sound,
    text,
    whole,
)
from ..models.saving import PARTS, write
from ..typing import ArrayLike
from ..validation import require_integer
from .codes import MaxoutHash
from .packing import bits_per_code
from .tables import Tables

KEPT_NAMES = ("float64", "float32", "uint8", "int8")
KEPT = [np.dtype(name) for name in KEPT_NAMES]  # types in which rows are kept as they come
KEY_BITS = 64
LARGEST_ID = 1 << 62  # there is room to number on
INDEX_PARTS = (*PARTS, MaxoutHash, Tables)


def fields(columns: int | None) -> dict[str, Check]:
    """What a fit leaves in an index of so many columns; how it fits together is looked at beside."""
    return {
        "n_features_in_": whole(1, 1 << 31),
        "feature_names_in_": names(columns),
        "hash_": instance(MaxoutHash),
        "ids_": instance(np.ndarray),
        "_rows": numbers(None, columns, dtypes=KEPT_NAMES),
        "_tables": instance(Tables),
        "_next_id": whole(0, LARGEST_ID + 1),
    }


FITTED = frozenset(fields(None))
# Parameters that `fit` looks at and `load` does not otherwise.
PARAMETERS: dict[str, Check] = {
    "center": flag,
    "precision": either(nothing, text("float32", "float64", "int8")),
    "random_state": either(nothing, whole(-(1 << 64), 1 << 64)),
    "codes_per_table": either(text("auto"), whole(1, KEY_BITS)),
}


class SavedIndex:
    """The verb `save` of an index, and its way to and from plain values."""

    hash_: MaxoutHash
    ids_: np.ndarray
    n_features_in_: int
    n_tables: int
    pool_size: int
    _rows: np.ndarray
    _tables: Tables
    _next_id: int

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to a file, which `bochner.load` reads.

        Parameters
        ----------
        path : str or path-like
            Where to write. The file appears whole or not at all.
        """
        check_is_fitted(self)
        write(self, path, self._to_state(), INDEX_PARTS)

    def _to_state(self) -> dict[str, Any]:
        parameters = self.get_params(deep=False)  # type: ignore[attr-defined]
        fitted = {name: value for name, value in vars(self).items() if name in FITTED}
        # What was fitted, whatever the parameters were set to since.
        own = {"random_state": self.hash_.seed_, "pool_size": self.hash_.pool_size, "n_tables": len(self._tables.keys)}
        return {"parameters": {**parameters, **own}, "fitted": fitted}

    @classmethod
    def _from_state(cls: Any, state: dict[str, Any]) -> Any:
        """An index from plain values; whatever does not fit together is refused."""
        require_sound(state["parameters"], PARAMETERS)
        index, fitted = cls(**state["parameters"]), state["fitted"]
        index._check_parameters()
        require_fields(fitted, fields(fitted["n_features_in_"]), ["feature_names_in_"])
        index.__dict__.update(fitted)
        index._require_whole()
        return index

    def _require_whole(self) -> None:
        rows, ids, keys, hash_ = self._rows, checked_ids(self.ids_), self._tables.keys, self.hash_
        if self.ids_.dtype != np.int64 or self.ids_.shape != (len(rows),):
            raise ValueError("rows and ids do not fit together")
        if keys.shape != (require_integer("n_tables", self.n_tables), len(rows)):
            raise ValueError("the tables have other rows")
        if (hash_.n_features_in_, hash_.pool_size, hash_.n_codes % len(keys)) != (rows.shape[1], self.pool_size, 0):
            raise ValueError("the hash does not fit the tables")
        require_short(hash_.n_codes // len(keys), self.pool_size)
        if len(ids) and self._next_id <= ids.max():
            raise ValueError("the next id is taken")


def require_short(codes: int, pool_size: int) -> None:
    """Refuse more codes per table than a key holds."""
    bits = bits_per_code(pool_size)
    if codes * bits > KEY_BITS:
        raise ValueError(
            f"codes_per_table={codes} codes of {bits} bits are more than a key of {KEY_BITS} bits holds; "
            f"the most is {KEY_BITS // bits}."
        )


def checked_ids(ids: ArrayLike) -> np.ndarray:
    """Ids as int64, all different."""
    ids = np.atleast_1d(np.asarray(ids))
    if ids.ndim != 1 or (len(ids) and (ids.dtype.kind not in "iu" or ids.min() < 0 or ids.max() > LARGEST_ID)):
        raise ValueError("ids must be a list of integers from 0 to 2^62.")
    different, counts = np.unique(ids, return_counts=True)
    if len(different) < len(ids):
        raise ValueError(f"the id {different[counts > 1][0]} is given more than once.")
    return ids.astype(np.int64)

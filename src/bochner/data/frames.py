"""Every real set as a pandas frame, its columns as its makers left them: numbers, categories, missing values.

`FRAMES` has them under one name each, with the splits that each has: ten fixed ones for the tables with numbers to
predict, five stratified or random ones for the others, one where the makers of a set say which rows are the test.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import train_test_split

from .catalogue import suggestion
from .loading import (
    Split,
    adult_rows,
    census_house,
    computer_activity,
    connections,
    fashion_mnist,
    file_of,
    forest,
    mnist,
    phone_activity,
)
from .tables import LABELS, NUMBERS, heart

FIXED, DRAWN = 10, 5  # splits that come with a table, and seeds for those without
ADULT = (
    "age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation", "relationship", "race",
    "sex", "capital_gain", "capital_loss", "hours_per_week", "native_country",
)  # fmt: skip
ADULT_NUMBERS, CONNECTION_NUMBERS = (0, 2, 4, 10, 11, 12), (0, *range(4, 41))
CONNECTIONS, TEST_CONNECTIONS = 50_000, 150_000


class FrameSplit(NamedTuple):
    """Rows to learn from and rows to judge by; `X` and `X_test` are pandas frames, and labels are never floats."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray

    @property
    def has_labels(self) -> bool:
        return self.y.dtype.kind != "f"


@dataclass(frozen=True)
class FrameSet:
    """A set: its name, what loads one of its splits (they are counted from 0), and how many it has."""

    name: str
    load: Callable[[int], FrameSplit]
    splits: int


def frame_sets(names: Sequence[str]) -> list[FrameSet]:
    """The sets of these names, all of them for "all"."""
    if "all" in names:
        return list(FRAMES.values())
    for name in names:
        if name not in FRAMES:
            raise ValueError(f"there is no data set {name!r}: {suggestion(name, FRAMES)}")
    return [FRAMES[name] for name in dict.fromkeys(names)]


def numbers(name: str, split: int) -> FrameSplit:
    """A table of numbers, with one of its ten fixed splits."""
    stored = np.load(file_of(f"tabular/{name}.npz"))
    y = stored["y"].reshape(len(stored["y"]), -1)[:, 0].astype(np.float64)
    test = np.unpackbits(stored["test_mask"], axis=0)[: len(y), split].astype(bool)
    return parts(frame(stored["X"]), y, np.flatnonzero(~test), np.flatnonzero(test))


def labels(name: str, split: int) -> FrameSplit:
    """A table with labels: 70 of 100 rows to learn from, as many of each label as there should be."""
    stored = np.load(file_of(f"tabular/{name}.npz"))
    y, values, columns = stored["y"], json.loads(str(stored["categories"])), {}
    for column, key, kind in zip(stored["X"].T, map(str, stored["names"]), stored["kinds"], strict=True):
        columns[key] = category(column, values[key]) if kind == "category" else column
    train, test = train_test_split(np.arange(len(y)), test_size=0.3, stratify=y, random_state=split)
    return parts(frame(columns), y, train, test)


def category(column: np.ndarray, values: Sequence[str]) -> Any:
    """Indices of values as a categorical column; NaN is a missing one."""
    import pandas as pd

    return pd.Categorical.from_codes(np.where(np.isnan(column), -1, column).astype(int), categories=list(values))


def adult(split: int) -> FrameSplit:
    """Adult as it is given out, "?" for a missing category; the split is the makers'."""
    rows, n = adult_rows()
    y = np.where(np.char.startswith(rows[:, 14], ">50K"), ">50K", "<=50K")
    columns = {name: texts(rows[:, k]) if k not in ADULT_NUMBERS else rows[:, k].astype(np.float64)
               for k, name in enumerate(ADULT)}  # fmt: skip
    return parts(frame(columns), y, np.arange(n), np.arange(n, len(y)))


def texts(column: np.ndarray) -> Any:
    """Text as a categorical column; "?" is a missing one."""
    import pandas as pd

    return pd.Categorical(column, categories=[value for value in np.unique(column).tolist() if value != "?"])


def intrusion(split: int) -> FrameSplit:
    """KDD Cup 1999, as `network_intrusion` has it, its three columns of text as categories."""
    table = connections(CONNECTIONS + TEST_CONNECTIONS, split)
    columns = {f"x{k}": table[:, k].astype(np.float64) if k in CONNECTION_NUMBERS else texts(table[:, k])
               for k in range(41)}  # fmt: skip
    y = np.where(table[:, 41] == "normal.", "normal", "attack")
    return parts(frame(columns), y, np.arange(CONNECTIONS), np.arange(CONNECTIONS, len(y)))


def arrays(load: Callable[..., Split], labelled: bool, seeded: bool, split: int, **how: Any) -> FrameSplit:
    """A set that is an array already; labels that are kept as -1.0 and 1.0 become integers."""
    found = load(**how, **({"seed": split} if seeded else {}))
    kind = int if labelled and found.y.dtype.kind == "f" else found.y.dtype
    return FrameSplit(frame(found.X), found.y.astype(kind), frame(found.X_test), found.y_test.astype(kind))


def frame(columns: object) -> Any:
    """A pandas frame of an array, or of named columns."""
    try:
        import pandas as pd
    except ModuleNotFoundError:
        raise ImportError('sets as frames need pandas: pip install "bochner[contest]"') from None
    if isinstance(columns, np.ndarray):
        return pd.DataFrame(columns, columns=[f"x{k}" for k in range(columns.shape[1])])
    return pd.DataFrame(columns)


def parts(X: Any, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> FrameSplit:
    return FrameSplit(
        X.iloc[train].reset_index(drop=True), y[train], X.iloc[test].reset_index(drop=True), y[test]
    )  # fmt: skip


FRAMES: dict[str, FrameSet] = {
    found.name: found
    for found in (
        *(FrameSet(name, partial(numbers, name), FIXED) for name in NUMBERS),
        *(FrameSet(name, partial(labels, name), DRAWN) for name in LABELS),
        FrameSet("mnist", partial(arrays, mnist, True, False), 1),
        FrameSet("fashion", partial(arrays, fashion_mnist, True, False), 1),
        FrameSet("adult", adult, 1),
        FrameSet("covtype", partial(arrays, forest, True, True), DRAWN),
        FrameSet("kddcup", intrusion, DRAWN),
        FrameSet("cpu", partial(arrays, computer_activity, False, True), DRAWN),
        FrameSet("census", partial(arrays, census_house, False, True), DRAWN),
        FrameSet("saheart", partial(arrays, heart, True, True), DRAWN),
        FrameSet("wisdm", partial(arrays, phone_activity, True, True, missing="stay"), DRAWN),
    )
}

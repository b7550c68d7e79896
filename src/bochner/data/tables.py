"""Tables of the folder `tabular`, as arrays with a split; and all real sets under one name each."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
from sklearn.model_selection import train_test_split

from .loading import (
    Split,
    adult,
    census_house,
    computer_activity,
    fashion_mnist,
    file_of,
    forest,
    heart_disease,
    mnist,
    network_intrusion,
    phone_activity,
)

NUMBERS = (
    "airfoil", "bike", "concrete", "energy", "housing", "keggundirected", "parkinsons", "pol", "skillcraft", "sml",
    "wine",
)  # fmt: skip
LABELS = (
    "banana", "german", "marketing", "optdigits", "penbased", "phoneme", "pima", "ring", "splice", "titanic", "twonorm",
    "vehicle", "vowel",
)  # fmt: skip


def table(name: str, split: int = 0) -> Split:
    """One of the tables: numbers to predict with one of ten fixed splits, labels with 70 of 100 rows to learn from.

    Categories become indicators, a missing one too; a missing number becomes the mean of the training rows.
    """
    stored = np.load(file_of(f"tabular/{name}.npz"))
    X, y = stored["X"].astype(np.float64), stored["y"]
    if "test_mask" in stored:
        test = np.unpackbits(stored["test_mask"], axis=0)[: len(y), split].astype(bool)
        y = y.reshape(len(y), -1)[:, 0].astype(np.float64)
        return Split(X[~test], y[~test], X[test], y[test])
    train, test = train_test_split(np.arange(len(y)), test_size=0.3, stratify=y, random_state=split)
    values, columns = json.loads(str(stored["categories"])), []
    for column, column_name, kind in zip(X.T, stored["names"], stored["kinds"], strict=True):
        if kind == "category":
            count = len(values[column_name])
            columns.append(np.eye(count + 1)[np.where(np.isnan(column), count, column).astype(int)])
        else:
            columns.append(np.where(np.isnan(column), np.nanmean(column[train]), column)[:, None])
    X = np.hstack(columns)
    return Split(X[train], y[train], X[test], y[test])


def heart(seed: int = 0) -> Split:
    X, y = heart_disease()
    train, test = train_test_split(np.arange(len(y)), test_size=0.3, stratify=y, random_state=seed)
    return Split(X[train], y[train], X[test], y[test])


REAL: dict[str, Callable[[], Split]] = {
    **{name: (lambda name=name: table(name)) for name in (*NUMBERS, *LABELS)},  # type: ignore[misc]
    "cpu": computer_activity,
    "census": census_house,
    "adult": lambda: adult("mixed"),
    "forest": forest,
    "intrusion": network_intrusion,
    "heart": heart,
    "wisdm": phone_activity,
    "mnist": mnist,
    "fashion": fashion_mnist,
}

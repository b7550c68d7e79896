"""Ours: the model that needs no settings, in the same seconds; and the plain models with their defaults."""

from __future__ import annotations

from typing import Any

import numpy as np

import bochner

from .encoding import Encoding
from .entrant import Clock, Contestant, Model, Rows, votes


class Automatic(Contestant):
    """`AutoRegressor(budget=...)` or `AutoClassifier(budget=...)`, given the frame as it is."""

    name, title = "ours", "ours"
    is_ours = True

    def missing(self) -> str:
        return "" if hasattr(bochner, "AutoRegressor") else "this version of bochner has no AutoRegressor"

    def fit(self, rows: Rows, clock: Clock, cores: int, seed: int) -> Model:
        kind: Any = getattr(bochner, "AutoClassifier" if rows.classes else "AutoRegressor")
        model = kind(budget=clock.left, random_state=seed)
        model.fit(rows.X, rows.y)
        tried = len(getattr(model, "leaderboard_", ())) or 1
        return Model(lambda X: answers(model, X, rows.classes), tried, len(rows.y), type(model).__name__)


class Defaults(Contestant):
    """`RandomFeatureRegressor()` or `RandomFeatureClassifier()`: one fit, however many seconds there are."""

    name, title = "defaults", "our defaults"
    is_ours = True

    def fit(self, rows: Rows, clock: Clock, cores: int, seed: int) -> Model:
        kind: Any = bochner.RandomFeatureClassifier if rows.classes else bochner.RandomFeatureRegressor
        encode = Encoding(rows.X, None, np.float64)
        model = kind(random_state=seed).fit(encode(rows.X), rows.y)
        return Model(lambda X: answers(model, encode(X), rows.classes), 1, len(rows.y), type(model).__name__)


def answers(model: Any, X: np.ndarray, classes: int) -> np.ndarray:
    found = model.predict(X)
    return votes(found, classes) if classes else np.asarray(found, dtype=np.float64)

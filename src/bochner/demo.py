"""The main job in small: least squares on random features, on the handwritten digits that ship with scikit-learn."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifierCV
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from .bases import (
    Fastfood,
    GatedLinear,
    PatchFeatures,
    RandomBins,
    RandomFourier,
    RandomMaxout,
    RandomRidge,
    RandomStumps,
)
from .models import AutoClassifier, RandomFeatureClassifier
from .validation import require_integer

BUDGET = 5.0  # seconds of the model without settings


def run(components: int = 2000, seed: int = 0) -> list[dict[str, Any]]:
    """One row per model: its name, features, seconds (fit and predict) and test error."""
    require_integer("components", components, minimum=4)
    X, y = load_digits(return_X_y=True)
    data = train_test_split(X / 16.0, y, test_size=0.5, random_state=0, stratify=y)
    bases = [
        RandomFourier(components),
        RandomFourier(components, precision="int8"),
        Fastfood(components),
        RandomMaxout(components),
        GatedLinear(components - components % 4),
        RandomStumps(components, radius=1.0),
        RandomBins(components, n_grids=200),
        RandomRidge(components, activation="relu"),
        PatchFeatures(image_shape=(8, 8), patch_size=4, grid=2, n_filters=max(1, components // 8)),
    ]
    rows = [
        measure("plain ridge", 64, RidgeClassifierCV(np.logspace(-7, 1, 9)), *data),
        measure("exact RBF SVM", len(data[0]), SVC(C=10.0), *data),
    ]
    auto = AutoClassifier(budget=BUDGET, random_state=seed, image_shape=(8, 8))
    rows.append(measure("AutoClassifier, told of pictures", len(data[0]), auto, *data))
    for basis in bases:
        name = type(basis).__name__ + (f", {basis.precision}" if basis.precision else "")
        rows.append(measure(name, basis.n_components, RandomFeatureClassifier(basis, random_state=seed), *data))
    return rows


def measure(
    name: str, features: int, model: Any, X: np.ndarray, X_test: np.ndarray, y: np.ndarray, y_test: np.ndarray
) -> dict[str, Any]:
    start = time.perf_counter()
    error = float(np.mean(model.fit(X, y).predict(X_test) != y_test))
    return {"model": name, "features": features, "seconds": time.perf_counter() - start, "error": error}

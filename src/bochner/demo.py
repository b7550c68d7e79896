"""The main job in small: random features, then ridge, on the handwritten digits that ship with scikit-learn."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifierCV
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from .bases import Fastfood, GatedLinear, RandomBins, RandomFourier, RandomMaxout, RandomRidge, RandomStumps
from .validation import require_integer

PENALTIES = np.logspace(-7, 1, 9)


def run(components: int = 2000, seed: int = 0) -> list[dict[str, Any]]:
    """One row per model: its name, features, seconds (fit and predict) and test error."""
    require_integer("components", components, minimum=4)
    X, y = load_digits(return_X_y=True)
    data = train_test_split(X / 16.0, y, test_size=0.5, random_state=0, stratify=y)
    bases = [
        RandomFourier(components, random_state=seed),
        RandomFourier(components, precision="int8", random_state=seed),
        Fastfood(components, random_state=seed),
        RandomMaxout(components, random_state=seed),
        GatedLinear(components - components % 4, random_state=seed),
        RandomStumps(components, radius=1.0, random_state=seed),
        RandomBins(components, n_grids=200, random_state=seed),
        RandomRidge(components, activation="relu", random_state=seed),
    ]
    rows = [
        measure("plain ridge", 64, lambda X, y: RidgeClassifierCV(PENALTIES).fit(X, y).predict, *data),
        measure("exact RBF SVM", len(data[0]), lambda X, y: SVC(C=10.0).fit(X, y).predict, *data),
    ]
    for basis in bases:
        name = type(basis).__name__ + (f", {basis.precision}" if basis.precision else "")
        rows.append(measure(name, basis.n_components, lambda X, y, b=basis: ridge_on(b, X, y), *data))
    return rows


def ridge_on(basis: Any, X: np.ndarray, y: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Fit ridge on the features of X, its penalty by cross-validation; return the predictor."""
    ridge = RidgeClassifierCV(PENALTIES).fit(basis.fit_transform(X) * basis.scale_, y)
    return lambda rows: ridge.predict(basis.transform(rows) * basis.scale_)


def measure(
    name: str, features: int, fit: Any, X: np.ndarray, X_test: np.ndarray, y: np.ndarray, y_test: np.ndarray
) -> dict[str, Any]:
    start = time.perf_counter()
    predictions = fit(X, y)(X_test)
    seconds = time.perf_counter() - start
    return {"model": name, "features": features, "seconds": seconds, "error": float(np.mean(predictions != y_test))}

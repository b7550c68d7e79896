"""What the defaults reach on real sets, beside ridge on standardised columns and what needs no columns at all."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.linear_model import RidgeClassifierCV, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ..bases import Basis
from ..data.loading import Split
from ..models import RandomFeatureClassifier, RandomFeatureRegressor
from ..validation import FitWarning

ROWS, TEST_ROWS = 20_000, 20_000  # of larger sets the first of a random order
PENALTIES = np.logspace(-3, 5, 17)


def some_rows(split: Split, rows: int = ROWS, test_rows: int = TEST_ROWS) -> Split:
    """At most so many rows of each part, at random."""
    rng = np.random.default_rng(0)
    train = rng.permutation(len(split.y))[:rows]
    test = rng.permutation(len(split.y_test))[:test_rows]
    return Split(split.X[train], split.y[train], split.X_test[test], split.y_test[test])


def has_labels(split: Split) -> bool:
    return split.y.dtype.kind not in "f" or set(np.unique(split.y)) == {-1.0, 1.0}


def error(model: BaseEstimator, split: Split, labels: bool) -> float:
    """The share of wrong labels, or the squared error relative to the variance of the targets."""
    found = model.predict(split.X_test)
    if labels:
        return float(np.mean(found != split.y_test))
    return float(np.mean((found - split.y_test) ** 2) / np.var(split.y_test))


def judge(split: Split, basis: Basis | None = None, **how: Any) -> dict[str, Any]:
    """A default fit beside plain ridge and the mean (or the commonest label)."""
    labels = has_labels(split)
    model: Any = (RandomFeatureClassifier if labels else RandomFeatureRegressor)(basis, random_state=0, **how)
    begun = time.perf_counter()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", FitWarning)
        model.fit(split.X, split.y)
    seconds = time.perf_counter() - begun
    ridge = make_pipeline(StandardScaler(), RidgeClassifierCV(PENALTIES) if labels else RidgeCV(PENALTIES))
    ridge.fit(split.X, split.y)
    if labels:
        kinds, counts = np.unique(split.y, return_counts=True)
        nothing = float(np.mean(split.y_test != kinds[counts.argmax()]))
    else:
        nothing = float(np.mean((split.y_test - split.y.mean()) ** 2) / np.var(split.y_test))
    found = {
        "rows": len(split.y), "columns": split.X.shape[1], "labels": labels, "error": error(model, split, labels),
        "expected": 1.0 - model.cv_score_, "ridge": error(ridge, split, labels), "nothing": nothing,
        "scale": model._fitted.choice.scale, "linear": bool(model._fitted.choice.weight), "seconds": seconds,
        "metric": "none" if model.metric_ is None else "diagonal" if model.metric_.ndim == 1 else "full",
        "warned": [str(warning.message) for warning in told],
    }  # fmt: skip
    if not labels and model._refresh().posterior is not None:
        mean, deviation = model.predict(split.X_test, return_std=True)
        found["covered"] = float(np.mean(np.abs(mean - split.y_test) <= 1.96 * deviation))
    return found

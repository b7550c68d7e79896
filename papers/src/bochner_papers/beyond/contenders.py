"""Who enters: for each kind of model its candidates, the most usual settings first, then at random without end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

Candidates = Callable[[bool], Iterator[Any]]  # of whether y are labels


def at_random(model: Any, choices: dict[str, list[Any]]) -> Iterator[Any]:
    """The model as it is, then with one of the choices for each of its settings."""
    generator = np.random.default_rng(0)
    yield clone(model)
    while True:
        drawn = {name: values[generator.integers(len(values))] for name, values in choices.items()}
        changed = clone(model)
        getattr(changed, "regressor", changed).set_params(**drawn)
        yield changed


def scaled(model: Any) -> Any:
    """For models that want targets near 1 in size."""
    return TransformedTargetRegressor(model, transformer=StandardScaler())


def gradient_boosting(labels: bool) -> Iterator[Any]:
    kind = HistGradientBoostingClassifier if labels else HistGradientBoostingRegressor
    model = kind(max_iter=1000, early_stopping=True, n_iter_no_change=10, random_state=0)
    choices: dict[str, list[Any]] = {
        "learning_rate": [0.02, 0.05, 0.1, 0.2],
        "max_leaf_nodes": [15, 31, 63, 127],
        "l2_regularization": [0.0, 1.0, 10.0],
    }
    return at_random(model, choices)


def exact_svm(labels: bool) -> Iterator[Any]:
    """`gamma="scale"` is 1 / (columns x variance): the numbers are meant for columns of variance 1."""
    model = SVC(cache_size=1000) if labels else scaled(SVR(cache_size=1000))
    choices: dict[str, list[Any]] = {
        "C": [0.3, 1.0, 3.0, 10.0, 30.0, 100.0],
        "gamma": ["scale", 0.003, 0.01, 0.03, 0.1, 0.3, 1.0],
    }
    return at_random(model, choices)


def small_network(labels: bool) -> Iterator[Any]:
    kind = MLPClassifier if labels else MLPRegressor
    model = kind(early_stopping=True, n_iter_no_change=5, random_state=0)
    model = model if labels else scaled(model)
    choices: dict[str, list[Any]] = {
        "hidden_layer_sizes": [(100,), (300,), (100, 100), (300, 100)],
        "alpha": [1e-5, 1e-4, 1e-3, 1e-2],
        "learning_rate_init": [3e-4, 1e-3, 3e-3],
    }
    return at_random(model, choices)


PEERS: dict[str, Candidates] = {
    "gradient boosting": gradient_boosting,
    "exact SVM": exact_svm,
    "small network": small_network,
}

"""Least-squares classification on random features: +-1 codes, the largest score wins."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from .base import RandomFeatureModel, Scored
from .targets import Labelled


class RandomFeatureClassifier(Scored, Labelled, ClassifierMixin, RandomFeatureModel):
    """Least-squares classification on random features.

    Parameters are those of RandomFeatureRegressor, and
    alpha : "auto" by the error of folds, whose training sums are the total less the fold (of one held-out fifth where
        features are many); "loo" by exact leave-one-out squared error.
    class_weight : None, "balanced" or a dictionary, as in scikit-learn.

    Attributes
    ----------
    classes_, coef_, intercept_, alpha_, solution_, basis_, moments_

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bochner import RandomFeatureClassifier, RandomMaxout
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(RandomFeatureClassifier(RandomMaxout(200), random_state=0).fit(X, y).score(X, y) > 0.95)
    True
    """

    def __init__(
        self,
        basis: Any = None,
        *,
        loss: str = "squared",
        alpha: Any = "auto",
        max_coefficient: float | None = None,
        solver: str = "auto",
        fit_intercept: bool = True,
        class_weight: Any = None,
        precision: str | None = None,
        device: str | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.basis = basis
        self.loss = loss
        self.alpha = alpha
        self.max_coefficient = max_coefficient
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.precision = precision
        self.device = device
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _require_same_targets(self, other: Any) -> None:
        if not np.array_equal(self.classes_, other.classes_):
            raise ValueError("the two models have different classes: give `classes` to partial_fit of both.")

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> RandomFeatureClassifier:
        """Add rows. The first call names all `classes`, unless its rows have them all."""
        return self._add_rows(X, y, sample_weight, classes)

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores: (n,) for two classes, positive for the second; else (n, classes)."""
        scores = self._scores(X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> np.ndarray:
        scores = self.decision_function(X)
        index = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[index]

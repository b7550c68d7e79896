"""Least-squares classification on random features: +-1 codes, the largest score wins."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from .base import RandomFeatureModel


class RandomFeatureClassifier(ClassifierMixin, RandomFeatureModel):
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

    _classifies = True

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

    def _code(self, y: np.ndarray, first: bool, classes: Any = None) -> np.ndarray:
        y = column_of_labels(y)
        if first:
            sorted_labels(y)
            check_classification_targets(y)
            self.classes_ = sorted_labels(y if classes is None else np.asarray(classes))
            if len(self.classes_) < 2:
                raise ValueError(
                    f"y has one class only ({self.classes_.tolist()[0]!r}); a classifier needs at least two classes."
                )
            self._outputs: Any = tuple(self.classes_.tolist())
        elif classes is not None and not np.array_equal(sorted_labels(np.asarray(classes)), self.classes_):
            raise ValueError(f"classes differ from those of the first call, {self.classes_.tolist()}.")
        index = np.searchsorted(self.classes_, y)
        known = index < len(self.classes_)
        known[known] = self.classes_[index[known]] == y[known]
        if not known.all():
            raise ValueError(
                f"y has the label {y[~known].tolist()[0]!r}, which is not among the classes of the first call."
            )
        if len(self.classes_) == 2:
            return (2 * index[:, None] - 1).astype(np.int8)
        return np.where(index[:, None] == np.arange(len(self.classes_)), 1, -1).astype(np.int8)

    def _weigh(self, y: np.ndarray, weight: np.ndarray | None, whole: bool = True) -> np.ndarray | None:
        if self.class_weight is None:
            return weight
        if isinstance(self.class_weight, str) and not whole:
            raise ValueError("class_weight='balanced' needs all rows at once: give a dictionary instead.")
        y = column_of_labels(y)
        factors = compute_class_weight(self.class_weight, classes=self.classes_, y=y, sample_weight=weight)
        extra = factors[np.searchsorted(self.classes_, y)]
        return extra if weight is None else weight * extra

    def _shaped(self, values: np.ndarray) -> Any:
        return values

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


def sorted_labels(y: np.ndarray) -> np.ndarray:
    try:
        return np.unique(y)
    except TypeError:
        raise ValueError("labels of mixed types cannot be sorted: make them all text or all numbers.") from None


def column_of_labels(y: Any) -> np.ndarray:
    """Labels as a vector; a single column is taken as one, with scikit-learn's warning."""
    from sklearn.utils.validation import column_or_1d

    return column_or_1d(y, warn=True)

"""Classification on random features: +-1 codes, the largest score wins."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if

from ..arrays import to_numpy
from ..losses import LossLike
from ..solvers import HeldOutScores, SolverLike
from .base import RandomFeatureModel, Scored, adds_rows
from .calibration import probabilities, temperature
from .checks import check_weights
from .doubts import leverage_share
from .targets import Labelled


class RandomFeatureClassifier(Scored, Labelled, ClassifierMixin, RandomFeatureModel):
    """Classification on random features: least squares of +-1 codes, or another loss.

    Parameters are those of RandomFeatureRegressor, and
    loss : "squared", "logistic" (softmax for more than two classes), "hinge", "squared_hinge" or "exponential".
    alpha : "auto" by the errors of folds, whose training sums are the total less the fold (of one held-out fifth where
        features are many), near the best penalty for squares; "loo" by exact leave-one-out squared error; "gcv".
    class_weight : None, "balanced" or a dictionary, as in scikit-learn.

    Attributes
    ----------
    classes_, coef_, linear_coef_, intercept_, alpha_, solution_, basis_, design_, moments_, temperature_
    cv_score_, cv_standard_error_ : the share of right labels to expect on new rows, by cross-validation.

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
        loss: str | LossLike = "squared",
        alpha: Any = "auto",
        max_coefficient: float | None = None,
        solver: str | SolverLike = "auto",
        fit_intercept: bool = True,
        class_weight: Any = None,
        precision: str | None = None,
        scale: str | None = "auto",
        linear: bool | str = "auto",
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
        self.scale = scale
        self.linear = linear
        self.device = device
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _require_same_targets(self, other: Any) -> None:
        if not np.array_equal(self.classes_, other.classes_):
            raise ValueError("the two models have different classes: give `classes` to partial_fit of both.")

    temperature_: float | None

    @available_if(adds_rows)
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None, *, target: str | None = None
    ) -> RandomFeatureClassifier:
        """Add rows. The first call names all `classes`, unless its rows have them all.

        A frame is taken as `fit` takes it, by the recipe of the first call. target : the column of a frame X that
        holds y.
        """
        return self._add_rows(X, y, sample_weight, classes, target)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities (n, classes): the softmax of scores times `temperature_`.

        That is 1 for the logistic loss. For others `fit` learns it from scores of up to 1,000 rows by a model that was
        not fitted to them; after partial_fit, merge, forget or grow there are none, and `calibrate` gives them.
        """
        scores = self.decision_function(X)
        if self.temperature_ is None:
            raise ValueError(
                "the temperature of probabilities is not known since the sums changed: call calibrate(X, y) with rows "
                "that the model was not fitted to."
            )
        return probabilities(scores, self.temperature_)

    def calibrate(self, X: Any, y: Any, sample_weight: Any = None) -> RandomFeatureClassifier:
        """Learn the temperature of probabilities from rows that the model was not fitted to."""
        scores = self._scores(X)
        codes = self._target_coding().code(to_numpy(y))
        if len(codes) != len(scores):
            raise ValueError(f"X has {len(scores)} rows but y has {len(codes)}.")
        weight = check_weights(sample_weight, len(scores))
        self.temperature_ = temperature(scores, codes, weight)
        self._calibration = f"from {len(scores):,} rows given to calibrate"
        return self

    def _calibrate(self, held_out: HeldOutScores | None) -> None:
        self.temperature_, self._calibration = None, ""
        self._leverage = leverage_share(held_out)
        if self._loss().probabilistic:
            self.temperature_, self._calibration = 1.0, "the loss is that of probabilities"
        elif held_out is not None:
            self.temperature_ = temperature(held_out.scores, held_out.codes, held_out.weight)
            self._calibration = f"from {len(held_out.scores):,} {held_out.how}"

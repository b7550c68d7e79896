"""Regression and classification of distributions, each known by a bag of points drawn from it."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score, r2_score

from ...bases import Basis
from ..base import RandomFeatureModel
from ..classifier import RandomFeatureClassifier
from ..regressor import MultiOutputRegressor, RandomFeatureRegressor
from .bags import Bags
from .base import DistributionModel
from .embedding import embed
from .scatter import Reference
from .survey import SampledPoints
from .tables import targets_of


class DistributionRegressor(MultiOutputRegressor, DistributionModel):
    """Regression on distributions: a number for each bag of points.

    A bag becomes the mean of the random features of its points, its mean embedding; ridge regression on random features
    of the embeddings does the rest. Points are passed once and only sums per bag are kept, so neither bags nor their
    number need fit in memory.

    Parameters
    ----------
    basis : features of points; None is RandomFourier(500), or RandomFourier(100) if learned.
    second_basis : features of embeddings; None is RandomFourier(1000), or RandomFourier(100) if learned; "linear" takes
        the embeddings as they are.
    learned : learn the frequencies of both stages, from random ones as a start; the coefficients are then solved for.
    alpha, solver, fit_intercept : of the ridge, as in RandomFeatureRegressor. If learned, "auto" settles at the start.
    half_size : None weighs all bags alike. A number h gives a bag of n points the weight n/(n + h): embeddings of small
        bags are noisy.
    scale : of the columns of points, as in LearnedFourierRegressor.
    frequency_alpha : if learned, the penalty on squared frequencies.
    optimizer, max_iter : if learned, "lbfgs" on all bags or "adam" on `batch_size` of them; iterations, or times
        through all bags. learning_rate : steps of Adam, relative to the size of what they change.
    n_jobs, verbose : threads of BLAS; progress.
    random_state : seeds the bases that have no seed of their own.

    Attributes
    ----------
    basis_ : the fitted basis of points, scaled by scaler_ unless that is None.
    second_ : the fitted RandomFeatureRegressor of embeddings.
    n_bags_, bag_sizes_, seed_ ; loss_, status_ if learned.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import DistributionRegressor
    >>> rng = np.random.default_rng(0)
    >>> spread = rng.uniform(0.5, 2.0, 200)
    >>> bags = [s * rng.standard_normal((rng.integers(50, 150), 1)) for s in spread]
    >>> model = DistributionRegressor(random_state=0).fit(bags[:150], spread[:150])
    >>> bool(model.score(bags[150:], spread[150:]) > 0.9)
    True
    """

    def __init__(
        self,
        basis: Any = None,
        second_basis: Any = None,
        *,
        learned: bool = False,
        alpha: Any = "auto",
        half_size: float | None = None,
        scale: str | None = "auto",
        solver: str = "auto",
        fit_intercept: bool = True,
        frequency_alpha: float = 0.0,
        optimizer: str = "lbfgs",
        max_iter: int = 100,
        batch_size: int = 32,
        learning_rate: float = 0.01,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.basis = basis
        self.second_basis = second_basis
        self.learned = learned
        self.alpha = alpha
        self.half_size = half_size
        self.scale = scale
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.frequency_alpha = frequency_alpha
        self.optimizer = optimizer
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    _reference: Reference | None
    _noise_of_sizes: np.ndarray | None

    def _second(self, basis: Basis, alpha: Any) -> RandomFeatureModel:
        return RandomFeatureRegressor(basis, **self._settings_of_second(alpha))

    def predict(self, X: Any, return_std: bool = False, *, bag: Any = None) -> Any:
        """Predictions, one per bag in the order in which bags are met; with return_std also standard deviations.

        That of a new target has three parts: noise, what the ridge does not know, and how far the embedding of so small
        a bag may stray. The noise is what training errors leave when the last part, for the sizes of the training bags,
        is taken off.
        """
        bags = self._open(X, bag)
        if not return_std:
            return self.second_.predict(embed(self.basis_, bags))
        if self._reference is None:
            raise ValueError("return_std needs the sums of the fit: save with sums=True.")
        scatter = self._reference.new_bags(bags.sizes)
        means = embed(self.basis_, bags, scatter.add)
        mean, deviation = self.second_.predict(means, return_std=True)
        if self._noise_of_sizes is None:
            self._noise_of_sizes = self._reference.noise_of_sizes(self.second_._scores)
        added = scatter.squared_errors(self.second_._scores, means, self._reference.covariance)
        added -= np.minimum(self._noise_of_sizes, self.second_._refresh().noise)
        variance = np.maximum(deviation**2 + added.reshape(mean.shape), 0.0)
        if not np.isfinite(variance).all():
            raise ValueError("how features scatter within training bags is not known: the sums do not fit the model.")
        return mean, np.sqrt(variance)

    def _embed_training(self, bags: Bags, sample: SampledPoints, weight: np.ndarray | None) -> np.ndarray:
        reference = Reference(self.basis_, bags, sample, weight)
        self._reference, self._noise_of_sizes = reference, None
        return reference.watch(self.basis_, bags)

    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, bag: Any = None, target: str | None = None
    ) -> DistributionRegressor:
        """Add bags, each of which belongs to one call; both bases are settled by the first."""
        self._add(X, y, sample_weight, bag, target)
        self._noise_of_sizes = None
        return self

    def score(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, bag: Any = None, target: str | None = None
    ) -> float:
        """R^2 over bags."""
        return float(r2_score(*self._scored(X, y, bag, target), sample_weight=sample_weight))


class DistributionClassifier(ClassifierMixin, DistributionModel):
    """Classification of distributions: a label for each bag of points.

    Parameters are those of DistributionRegressor, and class_weight as in scikit-learn.

    Attributes
    ----------
    classes_, and those of DistributionRegressor; second_ is a RandomFeatureClassifier.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import DistributionClassifier
    >>> rng = np.random.default_rng(0)
    >>> shape = np.array(["round", "flat"])[rng.integers(0, 2, 100)]
    >>> bags = [rng.uniform(-2, 2, (80, 1)) if s == "flat" else 1.15 * rng.standard_normal((80, 1)) for s in shape]
    >>> model = DistributionClassifier(random_state=0).fit(bags[:70], shape[:70])
    >>> bool(model.score(bags[70:], shape[70:]) > 0.8)
    True
    """

    def __init__(
        self,
        basis: Any = None,
        second_basis: Any = None,
        *,
        learned: bool = False,
        alpha: Any = "auto",
        half_size: float | None = None,
        scale: str | None = "auto",
        solver: str = "auto",
        fit_intercept: bool = True,
        class_weight: Any = None,
        frequency_alpha: float = 0.0,
        optimizer: str = "lbfgs",
        max_iter: int = 100,
        batch_size: int = 32,
        learning_rate: float = 0.01,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.basis = basis
        self.second_basis = second_basis
        self.learned = learned
        self.alpha = alpha
        self.half_size = half_size
        self.scale = scale
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.frequency_alpha = frequency_alpha
        self.optimizer = optimizer
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _second(self, basis: Basis, alpha: Any) -> RandomFeatureModel:
        return RandomFeatureClassifier(basis, class_weight=self.class_weight, **self._settings_of_second(alpha))

    @property
    def classes_(self) -> np.ndarray:
        return self.second_.classes_

    def decision_function(self, X: Any, *, bag: Any = None) -> np.ndarray:
        """Scores: (bags,) for two classes, positive for the second; else (bags, classes)."""
        means = self.embed(X, bag=bag)
        return self.second_.decision_function(means)

    def predict_proba(self, X: Any, *, bag: Any = None) -> np.ndarray:
        """Probabilities (bags, classes), calibrated as those of RandomFeatureClassifier are."""
        means = self.embed(X, bag=bag)
        return self.second_.predict_proba(means)

    def calibrate(self, X: Any, y: Any = None, *, bag: Any = None, target: str | None = None) -> DistributionClassifier:
        """Learn the temperature of probabilities from bags that the model was not fitted to."""
        bags, means = self._embed(X, bag, target)
        self.second_.calibrate(means, targets_of(bags, y))
        return self

    def predict(self, X: Any, *, bag: Any = None) -> np.ndarray:
        """Labels, one per bag in the order in which bags are met."""
        means = self.embed(X, bag=bag)
        return self.second_.predict(means)

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        bag: Any = None,
        target: str | None = None,
    ) -> DistributionClassifier:
        """Add bags, each of which belongs to one call; the first names all `classes`, unless its bags have them all."""
        self._add(X, y, sample_weight, bag, target, classes=classes)
        return self

    def score(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, bag: Any = None, target: str | None = None
    ) -> float:
        """Share of bags that are labelled right."""
        return float(accuracy_score(*self._scored(X, y, bag, target), sample_weight=sample_weight))

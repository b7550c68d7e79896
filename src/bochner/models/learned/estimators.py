"""The two public models of learned frequencies."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from ...validation import require_choice
from ..calibration import probabilities, temperature
from ..regressor import MultiOutputRegressor
from ..targets import Labelled, Numeric
from .base import LearnedFourierModel
from .losses import Logistic, Loss, Softmax, Squared, SquaredProbability
from .objective import Objective
from .penalties import held_out_scores
from .search import Method


class LearnedFourierRegressor(Numeric, MultiOutputRegressor, LearnedFourierModel):
    """Regression on Fourier features whose frequencies are learned: one hidden layer of cosines and sines.

    Minimises the mean of squared errors + alpha |coefficients|^2 + frequency_alpha |frequencies|^2, from frequencies
    drawn as RandomFourier draws them. By default coefficients are solved exactly for every trial of frequencies.

    Parameters
    ----------
    n_components : number of features, interleaved (cos, sin) pairs; the last of an odd number is a phased cosine.
    kernel, bandwidth, nu, sampling : of the frequencies to start from, as in RandomFourier.
    structure : "dense" learns every coordinate; "fastfood" keeps the directions of Fastfood and learns its calibration,
        one number a frequency (kernel is then one of Fastfood's).
    alpha, frequency_alpha : penalties beside the mean loss, so that n alpha is the alpha of RandomFeatureRegressor.
        "auto" or a list is judged by five folds, by one held-out fifth above 5,000 rows, with learned frequencies:
        some thirty short descents. Free frequencies learn noise by heart where a weak penalty lets them.
    optimizer : "lbfgs", "trust_region", "gradient_descent", "sgd", "adam", or "nelder_mead" for at most 100 numbers.
    variable_projection : solve coefficients exactly inside. False learns all in one vector, as sgd and adam always do
        (coefficients are solved once more at their end).
    max_iter, tol : steps or epochs (0 leaves frequencies as drawn); the relative gain at which lbfgs, gradient descent
        and Nelder-Mead stop.
    learning_rate, batch_size : of sgd, adam and gradient descent (the first step); None is 0.1, 0.02 and 1.
    n_restarts : draws to start from; the best is kept.
    early_stopping : learn frequencies from four fifths of the rows, as long as it is good for the others; coefficients
        are then solved from all, unless the loss is not convex.
    scale : None leaves rows as they are; "robust" and "standard" scale columns as in RandomFeatureRegressor. "auto" is
        "robust" where spreads of columns differ tenfold or rows lie ten spreads out, and the bandwidth is not a number.
    fit_intercept : an intercept without penalty.
    n_jobs, verbose, random_state : as in RandomFeatureRegressor.

    Attributes
    ----------
    frequencies_, drawn_frequencies_ : (frequencies, columns), of rows scaled by scaler_, unless that is None.
    coef_, intercept_, alpha_, frequency_alpha_
    objective_, n_iter_, status_ : the value reached, and how. basis_, seed_, n_features_in_

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import LearnedFourierRegressor
    >>> X = np.random.default_rng(0).standard_normal((300, 5))
    >>> y = np.sin(2.0 * X[:, 0] + X[:, 1])
    >>> model = LearnedFourierRegressor(6, alpha=1e-6, n_restarts=3, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.99)
    True
    """

    def __init__(
        self,
        n_components: int = 100,
        *,
        kernel: Any = "gaussian",
        bandwidth: float | str = "median",
        nu: float = 1.5,
        sampling: str = "iid",
        structure: str = "dense",
        alpha: Any = "auto",
        frequency_alpha: Any = "auto",
        optimizer: str = "lbfgs",
        variable_projection: bool = True,
        max_iter: int = 100,
        tol: float = 1e-6,
        learning_rate: float | None = None,
        batch_size: int = 100,
        n_restarts: int = 1,
        early_stopping: bool = False,
        scale: str | None = "auto",
        fit_intercept: bool = True,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.nu = nu
        self.sampling = sampling
        self.structure = structure
        self.alpha = alpha
        self.frequency_alpha = frequency_alpha
        self.optimizer = optimizer
        self.variable_projection = variable_projection
        self.max_iter = max_iter
        self.tol = tol
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.n_restarts = n_restarts
        self.early_stopping = early_stopping
        self.scale = scale
        self.fit_intercept = fit_intercept
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _loss(self) -> Loss:
        return Squared()

    def predict(self, X: Any) -> np.ndarray:
        return self._scores(X).reshape(-1, *self._outputs)


class LearnedFourierClassifier(Labelled, ClassifierMixin, LearnedFourierModel):
    """Classification on Fourier features whose frequencies are learned, with probabilities.

    Parameters are those of LearnedFourierRegressor, and
    loss : "logistic" (sigmoid output, softmax for more than two classes), "squared" (identity output, codes of +-1),
        or "squared_probability", the paper's (squared error of sigmoid or softmax; not convex, so that coefficients are
        learned along with frequencies).
    class_weight : None, "balanced" or a dictionary, as in scikit-learn.

    Attributes
    ----------
    classes_, and those of LearnedFourierRegressor; temperature_ of loss="squared", learned from rows left out.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bochner import LearnedFourierClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LearnedFourierClassifier(10, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95), model.predict_proba(X).shape
    (True, (150, 3))
    """

    def __init__(
        self,
        n_components: int = 100,
        *,
        kernel: Any = "gaussian",
        bandwidth: float | str = "median",
        nu: float = 1.5,
        sampling: str = "iid",
        structure: str = "dense",
        loss: str = "logistic",
        alpha: Any = "auto",
        frequency_alpha: Any = "auto",
        optimizer: str = "lbfgs",
        variable_projection: bool = True,
        max_iter: int = 100,
        tol: float = 1e-6,
        learning_rate: float | None = None,
        batch_size: int = 100,
        n_restarts: int = 1,
        early_stopping: bool = False,
        scale: str | None = "auto",
        fit_intercept: bool = True,
        class_weight: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.nu = nu
        self.sampling = sampling
        self.structure = structure
        self.loss = loss
        self.alpha = alpha
        self.frequency_alpha = frequency_alpha
        self.optimizer = optimizer
        self.variable_projection = variable_projection
        self.max_iter = max_iter
        self.tol = tol
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.n_restarts = n_restarts
        self.early_stopping = early_stopping
        self.scale = scale
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _loss(self) -> Loss:
        if self.loss == "logistic":
            return Logistic() if len(self.classes_) == 2 else Softmax()
        return Squared() if self.loss == "squared" else SquaredProbability()

    def _check_parameters(self) -> None:
        require_choice("loss", self.loss, ["logistic", "squared", "squared_probability"])
        super()._check_parameters()

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities (n, classes); of loss='squared' the softmax of scores times `temperature_`."""
        scores = self._scores(X)
        if self.loss != "squared":
            return self._loss().output(scores)
        if not hasattr(self, "temperature_"):
            raise ValueError("the temperature of probabilities is not known: fit again with this version of bochner.")
        return probabilities(scores[:, 0] if scores.shape[1] == 1 else scores, self.temperature_)

    def _calibrate(self, objective: Objective, method: Method) -> None:
        self.__dict__.pop("temperature_", None)
        if self.loss == "squared":
            self.temperature_ = temperature(*held_out_scores(objective, method))

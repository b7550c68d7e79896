"""The two public models of learned frequencies."""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ...kernels import Kernel
from ...lazy import by_partitions
from ...typing import ClassWeight, MatrixLike, Penalty, RandomStateLike
from ...validation import require_choice
from ..calibration import probabilities
from ..classifier import ScoredClassifier
from ..regressor import MultiOutputRegressor
from ..targets import LabelTargets, NumericTargets
from .base import LearnedFourierModel
from .losses import Logistic, Loss, Softmax, Squared, SquaredProbability


class LearnedFourierRegressor(MultiOutputRegressor, LearnedFourierModel):
    """Regression on Fourier features whose frequencies are learned: one hidden layer of cosines and sines.

    Minimises

        mean_i (y_i - <b, phi_W(x_i)> - intercept)^2 + alpha |b|^2 + frequency_alpha |W|^2

    over coefficients b and frequencies W, from frequencies drawn as RandomFourier draws them. A tenth of the features
    and less do as well as random ones where few directions of x matter. All rows must be in memory.

    Parameters
    ----------
    n_components : int, default=100
        Number of features: interleaved pairs of cosines and sines; the last of an odd number is a cosine with a phase.
    kernel : {'gaussian', 'laplacian', 'matern', 'cauchy'} or Kernel, default='gaussian'
        Kernel whose frequencies are the start. With structure='fastfood': 'gaussian', 'ball_matern' or a radial kernel.
    bandwidth : float or str, default='median'
        Length scale of that kernel: a number, 'median' or a multiple such as '0.5*median'.
    nu : float, default=1.5
        Smoothness of the Matern kernel; other kernels ignore it.
    sampling : {'iid', 'orthogonal', 'qmc'}, default='iid'
        How the frequencies to start from are drawn, as in RandomFourier.
    structure : {'dense', 'fastfood'}, default='dense'
        What is learned: every coordinate of every frequency, or one length for each frequency of Fastfood.
    alpha : float, array-like or 'auto', default='auto'
        Penalty on squared coefficients, beside the mean loss: n_samples alpha is the alpha of RandomFeatureRegressor.
        'auto' or a list is chosen by five folds (one held-out fifth above 5,000 rows), in some thirty short descents.
    frequency_alpha : float, array-like or 'auto', default='auto'
        Penalty on squared frequencies, chosen likewise. A weak one lets many free frequencies learn noise by heart.
    optimizer : {'lbfgs', 'trust_region', 'gradient_descent', 'sgd', 'adam', 'nelder_mead'}, default='lbfgs'
        How frequencies are learned; 'nelder_mead' is for at most 100 numbers.
    variable_projection : bool, default=True
        Whether coefficients are solved for exactly at each step. If False, and for 'sgd' and 'adam', they are learned
        along with the frequencies.
    max_iter : int, default=100
        Most iterations, or epochs of 'sgd' and 'adam'; 0 leaves the frequencies as they were drawn.
    tol : float, default=1e-06
        Relative gain at which 'lbfgs', 'gradient_descent' and 'nelder_mead' stop.
    learning_rate : float, default=None
        Size of the steps of 'sgd' and 'adam', and of the first of 'gradient_descent'; None is 0.1, 0.02 and 1.
    batch_size : int, default=100
        Rows of a step of 'sgd' and 'adam'.
    n_restarts : int, default=1
        Number of draws to start from; the best result is kept.
    early_stopping : bool, default=False
        Whether to learn frequencies from four fifths of the rows, for as long as the others are predicted better.
        Coefficients are then solved for from all rows, if the loss is convex.
    scale : {'auto', 'robust', 'standard'} or None, default='auto'
        How the columns of X are scaled: 'robust' by medians and quartiles, with outliers smoothly clipped; 'standard'
        by means and standard deviations; None not at all. 'auto' is 'robust' where the spreads of columns differ
        tenfold or rows lie ten spreads out, and the bandwidth is not a number.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which has no penalty.
    device : {'cpu', 'cuda', 'cuda:1', ...} or None, default=None
        Where features, losses and gradients are made; the search itself is the host's. None is where the rows are:
        tensors stay on their device.
    n_jobs : int, default=None
        Number of threads; None is all cores.
    verbose : int, default=0
        Whether to show progress: 0 is not, any other number is.
    random_state : int, RandomState instance, Generator or None, default=None
        Seed of the frequencies to start from.

    Attributes
    ----------
    frequencies_ : ndarray of shape (n_frequencies, n_features_in_)
        The learned frequencies, of rows scaled by scaler_.
    drawn_frequencies_ : ndarray of shape (n_frequencies, n_features_in_)
        The frequencies that learning started from.
    coef_ : ndarray of shape (n_components,) or (n_targets, n_components)
        Coefficients of the features.
    intercept_ : float or ndarray of shape (n_targets,)
        The intercept.
    alpha_ : float
        The penalty on coefficients that was given or chosen.
    frequency_alpha_ : float
        The penalty on frequencies that was given or chosen.
    objective_ : float
        Value of the objective that was reached.
    n_iter_ : int
        Number of iterations.
    status_ : str
        In words, how the optimizer ended.
    basis_ : Basis
        The learned frequencies as a fitted basis.
    scaler_ : ColumnScaler or None
        How columns are scaled; None if they are not.
    seed_ : int
        Seed of the frequencies to start from.
    cv_score_ : float or None
        R^2 to expect on new rows, by the folds that chose the penalties; None if both were given.
    cv_standard_error_ : float or None
        Standard error of cv_score_.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns of X; only if X is a frame whose column names are all strings.
    recipe_ : Recipe
        How the columns of a frame became numbers; only if they had to.

    See Also
    --------
    RandomFeatureRegressor : With random frequencies, more features and any number of rows.

    References
    ----------
    Kernel Learning via Random Fourier Representations; docs/learned.md.

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
        kernel: str | Kernel = "gaussian",
        bandwidth: float | str = "median",
        nu: float = 1.5,
        sampling: str = "iid",
        structure: str = "dense",
        alpha: Penalty = "auto",
        frequency_alpha: Penalty = "auto",
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
        device: str | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: RandomStateLike = None,
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
        self.device = device
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    _targets: NumericTargets

    def _encoder(self) -> NumericTargets:
        return NumericTargets(self.fit_intercept)

    def _loss(self) -> Loss:
        return Squared()

    @by_partitions
    def predict(self, X: MatrixLike) -> Array:
        """Predict targets.

        Parameters
        ----------
        X : array-like, frame or tensor of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray or tensor of shape (n_samples,) or (n_samples, n_targets)
            The predictions.
        """
        scores = self._scores(X)  # which asks whether there was a fit
        return self._targets.decode(scores)


class LearnedFourierClassifier(ScoredClassifier, LearnedFourierModel):
    """Classification on Fourier features whose frequencies are learned, with probabilities.

    Minimises

        mean_i loss(y_i, <b, phi_W(x_i)> + intercept) + alpha |b|^2 + frequency_alpha |W|^2

    over coefficients b and frequencies W, from frequencies drawn as RandomFourier draws them. All rows must be in
    memory.

    Parameters
    ----------
    n_components : int, default=100
        Number of features: interleaved pairs of cosines and sines; the last of an odd number is a cosine with a phase.
    kernel : {'gaussian', 'laplacian', 'matern', 'cauchy'} or Kernel, default='gaussian'
        Kernel whose frequencies are the start. With structure='fastfood': 'gaussian', 'ball_matern' or a radial kernel.
    bandwidth : float or str, default='median'
        Length scale of that kernel: a number, 'median' or a multiple such as '0.5*median'.
    nu : float, default=1.5
        Smoothness of the Matern kernel; other kernels ignore it.
    sampling : {'iid', 'orthogonal', 'qmc'}, default='iid'
        How the frequencies to start from are drawn, as in RandomFourier.
    structure : {'dense', 'fastfood'}, default='dense'
        What is learned: every coordinate of every frequency, or one length for each frequency of Fastfood.
    loss : {'logistic', 'squared', 'squared_probability'}, default='logistic'
        The loss: logistic (softmax for more than two classes); squared error of codes +1 and -1; or squared error of
        probabilities, which is not convex, so that coefficients are learned along with frequencies.
    alpha : float, array-like or 'auto', default='auto'
        Penalty on squared coefficients, beside the mean loss: n_samples alpha is the alpha of RandomFeatureRegressor.
        'auto' or a list is chosen by five folds (one held-out fifth above 5,000 rows), in some thirty short descents.
    frequency_alpha : float, array-like or 'auto', default='auto'
        Penalty on squared frequencies, chosen likewise. A weak one lets many free frequencies learn noise by heart.
    optimizer : {'lbfgs', 'trust_region', 'gradient_descent', 'sgd', 'adam', 'nelder_mead'}, default='lbfgs'
        How frequencies are learned; 'nelder_mead' is for at most 100 numbers.
    variable_projection : bool, default=True
        Whether coefficients are solved for exactly at each step. If False, and for 'sgd' and 'adam', they are learned
        along with the frequencies.
    max_iter : int, default=100
        Most iterations, or epochs of 'sgd' and 'adam'; 0 leaves the frequencies as they were drawn.
    tol : float, default=1e-06
        Relative gain at which 'lbfgs', 'gradient_descent' and 'nelder_mead' stop.
    learning_rate : float, default=None
        Size of the steps of 'sgd' and 'adam', and of the first of 'gradient_descent'; None is 0.1, 0.02 and 1.
    batch_size : int, default=100
        Rows of a step of 'sgd' and 'adam'.
    n_restarts : int, default=1
        Number of draws to start from; the best result is kept.
    early_stopping : bool, default=False
        Whether to learn frequencies from four fifths of the rows, for as long as the others are predicted better.
        Coefficients are then solved for from all rows, if the loss is convex.
    scale : {'auto', 'robust', 'standard'} or None, default='auto'
        How the columns of X are scaled: 'robust' by medians and quartiles, with outliers smoothly clipped; 'standard'
        by means and standard deviations; None not at all. 'auto' is 'robust' where the spreads of columns differ
        tenfold or rows lie ten spreads out, and the bandwidth is not a number.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which has no penalty.
    class_weight : dict, 'balanced' or None, default=None
        Weights of the classes: a dictionary from label to weight; 'balanced' is inversely proportional to the
        frequencies of the classes; None is 1 for each.
    device : {'cpu', 'cuda', 'cuda:1', ...} or None, default=None
        Where features, losses and gradients are made; the search itself is the host's. None is where the rows are:
        tensors stay on their device.
    n_jobs : int, default=None
        Number of threads; None is all cores.
    verbose : int, default=0
        Whether to show progress: 0 is not, any other number is.
    random_state : int, RandomState instance, Generator or None, default=None
        Seed of the frequencies to start from.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    frequencies_ : ndarray of shape (n_frequencies, n_features_in_)
        The learned frequencies, of rows scaled by scaler_.
    drawn_frequencies_ : ndarray of shape (n_frequencies, n_features_in_)
        The frequencies that learning started from.
    coef_ : ndarray of shape (n_outputs, n_components)
        Coefficients of the features; there is one output for two classes, else one for each.
    intercept_ : ndarray of shape (n_outputs,)
        The intercepts.
    temperature_ : float
        Factor of the scores before the softmax of `predict_proba`; only for loss='squared'.
    alpha_ : float
        The penalty on coefficients that was given or chosen.
    frequency_alpha_ : float
        The penalty on frequencies that was given or chosen.
    objective_ : float
        Value of the objective that was reached.
    n_iter_ : int
        Number of iterations.
    status_ : str
        In words, how the optimizer ended.
    basis_ : Basis
        The learned frequencies as a fitted basis.
    scaler_ : ColumnScaler or None
        How columns are scaled; None if they are not.
    seed_ : int
        Seed of the frequencies to start from.
    cv_score_ : float or None
        Accuracy to expect on new rows, by the folds that chose the penalties; None if both were given.
    cv_standard_error_ : float or None
        Standard error of cv_score_.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns of X; only if X is a frame whose column names are all strings.
    recipe_ : Recipe
        How the columns of a frame became numbers; only if they had to.

    See Also
    --------
    RandomFeatureClassifier : With random frequencies, more features and any number of rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bochner import LearnedFourierClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LearnedFourierClassifier(10, alpha=1e-3, frequency_alpha=1e-3, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95), model.predict_proba(X).shape
    (True, (150, 3))
    """

    def __init__(
        self,
        n_components: int = 100,
        *,
        kernel: str | Kernel = "gaussian",
        bandwidth: float | str = "median",
        nu: float = 1.5,
        sampling: str = "iid",
        structure: str = "dense",
        loss: str = "logistic",
        alpha: Penalty = "auto",
        frequency_alpha: Penalty = "auto",
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
        class_weight: ClassWeight = None,
        device: str | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: RandomStateLike = None,
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
        self.device = device
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    _targets: LabelTargets

    def _encoder(self) -> LabelTargets:
        return LabelTargets(self.class_weight)

    def _loss(self) -> Loss:
        if self.loss == "logistic":
            return Logistic() if len(self.classes_) == 2 else Softmax()
        return Squared() if self.loss == "squared" else SquaredProbability()

    def _check_parameters(self) -> None:
        require_choice("loss", self.loss, ["logistic", "squared", "squared_probability"])
        super()._check_parameters()

    @property
    def classes_(self) -> np.ndarray:
        """The labels, sorted."""
        return self._targets.classes

    @by_partitions
    def decision_function(self, X: MatrixLike) -> Array:
        """Compute the scores of the classes.

        Parameters
        ----------
        X : array-like, sparse matrix, frame or tensor of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray or tensor of shape (n_samples,) or (n_samples, n_classes)
            Scores; for two classes one number a row, positive for the second class.
        """
        scores = self._scores(X)  # which asks whether there was a fit
        return self._targets.decision(scores)

    @by_partitions
    def predict(self, X: MatrixLike) -> Array:
        """Return the label of the largest score of each row.

        Parameters
        ----------
        X : array-like, sparse matrix, frame or tensor of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray or tensor of shape (n_samples,)
            Labels.
        """
        scores = self.decision_function(X)  # which asks whether there was a fit
        return self._targets.decode(scores)

    @by_partitions
    def predict_proba(self, X: MatrixLike) -> Array:
        """Predict the probabilities of the classes.

        For loss='squared' they are the softmax of the scores times `temperature_`.

        Parameters
        ----------
        X : array-like, sparse matrix, frame or tensor of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray or tensor of shape (n_samples, n_classes)
            Probabilities, in the order of `classes_`.
        """
        scores = self._scores(X)
        if self.loss != "squared":
            return self._loss().output(scores)
        if not hasattr(self, "temperature_"):
            raise ValueError("probabilities are not calibrated in files of older versions: fit again.")
        return probabilities(scores[:, 0] if scores.shape[1] == 1 else scores, self.temperature_)

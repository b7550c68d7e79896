"""Ridge regression on random features, with a Gaussian-process posterior on request."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Literal, cast, overload

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if

from ..arrays import Array, empty, like, namespace, places
from ..bases import Basis
from ..blocks import RowsLike
from ..lazy import by_partitions
from ..losses import LossLike
from ..solvers import SolverLike
from ..typing import MatrixLike, Penalty, RandomStateLike, VectorLike
from ..validation import FitWarning, option
from .base import RandomFeatureModel, takes_more_rows
from .calibration import Widening
from .scoring import score_of_rows
from .targets import NumericTargets


class MultiOutputRegressor(RegressorMixin):
    """A regressor that takes one or more targets, and tensors."""

    predict: Callable[..., Array]

    def score(self, X: MatrixLike, y: VectorLike, sample_weight: VectorLike | None = None) -> float:
        """Return R^2 of the predictions.

        Parameters
        ----------
        X : array-like, frame or tensor of shape (n_samples, n_features)
            The rows.
        y : array-like or tensor of shape (n_samples,) or (n_samples, n_targets)
            True targets.
        sample_weight : array-like or tensor of shape (n_samples,), default=None
            Weights of the rows; None is 1 for each.

        Returns
        -------
        float
            R^2, the mean over targets.
        """
        return score_of_rows(self.predict, X, y, sample_weight, classifies=False)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags


class RandomFeatureRegressor(MultiOutputRegressor, RandomFeatureModel):
    """Ridge regression, or another loss, on random features: kernel regression for any number of rows.

    Minimises

        sum_i loss(y_i, <b, phi(x_i)> + intercept) + alpha |b|^2

    over the coefficients b of random features phi. Bandwidth, scaling of the columns and penalty are chosen by the data
    unless they are given, and `cv_score_` says what score to expect on new rows. Rows may be in memory or in files
    (`bochner.read`); they may also come in parts (`partial_fit`), be merged and be forgotten.

    Parameters
    ----------
    basis : Basis, str or None, default=None
        The random features: an object such as `RandomMaxout(2000)`, or the name of one ('fourier', 'fastfood',
        'maxout', 'gated', 'stumps', 'bins', 'cells', 'ridge') for a thousand of its features. None is
        `RandomFourier(1000)`. Its parameters are reached as `basis__bandwidth` and so on.
    loss : {'squared', 'huber', 'epsilon_insensitive'} or Loss, default='squared'
        Loss of a prediction: a name, an object of `bochner.losses`, or one of your own with `value` and `gradient`.
        By name, epsilon_insensitive has an epsilon of 0.1 standard deviations of y; that of an object is in the units
        of y.
    alpha : float, array-like or {'auto', 'loo', 'gcv'}, default='auto'
        Penalty on squared coefficients, beside the sum of losses, as in scikit-learn's Ridge. 'auto' chooses it by five
        folds (one held-out fifth where features are many), 'loo' by exact leave-one-out, which reads the rows twice,
        'gcv' by generalised cross-validation. Of a list, the best is chosen as 'auto' does.
    max_coefficient : float, default=None
        Bound C on the coefficients, |coef_| <= C / n_components; None is no bound.
    solver : str or solver object, default='auto'
        How coefficients are found. 'auto' chooses by the loss and by what fits in memory. For the squared loss:
        'cholesky' (Gram matrix of features), 'dual' (kernel matrix of rows), 'triangle' (one triangle of the Gram
        matrix, for very many features), 'cg' (conjugate gradients, no matrix). For smooth losses: 'newton'. For losses
        with kinks: 'dual'. With max_coefficient: 'box'. For any loss, in small batches: 'sgd', 'adam',
        'doubly_stochastic', or an object of `bochner.solvers` with its settings, or of your own with `solve(problem)`.
        docs/learning.md says what suits what.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which has no penalty.
    precision : {'auto', 'float32', 'float64', 'int8', 'int14'}, default=None
        Number type of the features. None leaves it to the basis. 'int8' and 'int14' make features and their sums exact
        integers; 'auto' takes the smallest of them that loses nothing, else floats.
    scale : {'auto', 'robust', 'standard'} or None, default='auto'
        How the columns of X are scaled before features are made of them: 'robust' by medians and quartiles, with
        outliers smoothly clipped; 'standard' by means and standard deviations; None not at all. 'auto' takes what
        predicts best on held-out rows of a sample, and None where a bandwidth or radius is given as a number or X has
        8-bit columns.
    linear : bool or 'auto', default='auto'
        Whether the columns of X stand beside the random features as features of their own; 'auto' where that predicts
        held-out rows better.
    metric : {'diagonal', 'full', 'auto'} or None, default=None
        Whether to learn in which directions of X distances count before features are made: a factor for each column,
        or a matrix; 'auto' takes the one that predicts held-out rows better. Where neither gains more than noise, none
        is kept. docs/metric.md says more.
    metric_rounds : int, default=3
        How many times the metric is learned, each time from a fit in the last one; the best is kept.
    device : str, default=None
        Where features, sums and solutions are made: 'cpu', or 'cuda', 'cuda:1' and so on, GPUs that torch sees. Rows
        are sent there in blocks; those to predict may come from anywhere. None is where the rows are.
    n_jobs : int, default=None
        Number of threads; None is all cores. It changes no result.
    verbose : int, default=0
        Whether to show progress: 0 is not, any other number is.
    random_state : int, RandomState instance, Generator or None, default=None
        Seed of the basis, where that has none of its own.

    Attributes
    ----------
    coef_ : ndarray of shape (n_components,) or (n_targets, n_components)
        Coefficients of the random features.
    intercept_ : float or ndarray of shape (n_targets,)
        The intercept.
    linear_coef_ : ndarray or None
        Slopes of the linear part in the columns of X, shaped as coef_; None if there is no such part.
    alpha_ : float
        The penalty that was given or chosen.
    cv_score_ : float or None
        R^2 to expect on new rows, by cross-validation; None if it is not known.
    cv_standard_error_ : float or None
        Standard error of cv_score_.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of each column of X in the variance of the predictions: with a learned metric its diagonal times the
        variances of the scaled columns, else Sobol's total index, which is known after `fit`.
    metric_ : ndarray of shape (n_columns,) or (n_columns, n_columns), or None
        The learned metric, its largest diagonal entry 1, in the units of the scaled columns, or in the spreads of
        columns that are not scaled; None if there is none.
    basis_ : Basis
        The fitted basis. It takes rows scaled as `design_` scales them.
    design_ : Design
        From rows to features: scaling, basis and linear part; `design_.features(X)` computes them.
    solution_ : Solution
        The coefficients, and in words how the solver ended.
    sums_ : FoldedMoments or None
        Sums of the features by fold, to which `partial_fit`, `merge` and `forget` add; None if the solver keeps none.
    moments_ : Moments or None
        Sums of the features over all rows, or None.
    precision_reason_ : str
        Why the precision is what it is.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns of X; only if X is a frame whose column names are all strings.
    recipe_ : Recipe
        How the columns of a frame or of files became numbers; only if they had to.
    noise_variance_ : float or ndarray of shape (n_targets,)
        Variance of the noise in the Bayesian linear model.
    log_marginal_likelihood_ : float
        Log of the probability of y under the Gaussian process; only with the solvers 'cholesky' and 'dual'.

    See Also
    --------
    RandomFeatureClassifier : The same for labels.
    KernelRidgeRegressor : With the exact kernel, for few rows.
    LearnedFourierRegressor : With frequencies learned from y.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import RandomFeatureRegressor
    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> y = np.sin(X[:, 0])
    >>> model = RandomFeatureRegressor(random_state=0).fit(X, y)
    >>> model.predict([[0.5]]).round(3)
    array([0.479])
    >>> bool(model.cv_score_ > 0.999)
    True
    """

    def __init__(
        self,
        basis: Basis | str | None = None,
        *,
        loss: str | LossLike = "squared",
        alpha: Penalty = "auto",
        max_coefficient: float | None = None,
        solver: str | SolverLike = "auto",
        fit_intercept: bool = True,
        precision: str | None = None,
        scale: str | None = "auto",
        linear: bool | str = "auto",
        metric: str | None = None,
        metric_rounds: int = 3,
        device: str | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: RandomStateLike = None,
    ) -> None:
        self.basis = basis
        self.loss = loss
        self.alpha = alpha
        self.max_coefficient = max_coefficient
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.precision = precision
        self.scale = scale
        self.linear = linear
        self.metric = metric
        self.metric_rounds = metric_rounds
        self.device = device
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _encoder(self) -> NumericTargets:
        return NumericTargets(self.fit_intercept)

    @property
    def _targets(self) -> NumericTargets:
        return cast(NumericTargets, self._found().targets)

    @available_if(takes_more_rows)
    def partial_fit(
        self,
        X: RowsLike,
        y: VectorLike | None = None,
        sample_weight: VectorLike | None = None,
        *,
        target: str | None = None,
    ) -> RandomFeatureRegressor:
        """Add rows: the result is that of one fit to all of them, with the basis of the first call.

        The first call settles the basis and the scaling. A frame is encoded as by the first call.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, tensor or Blocks of shape (n_samples, n_features)
            The rows. A frame may have text, dates, booleans and missing numbers: it is encoded as `bochner.read(frame,
            missing="mean")` does it. Blocks, such as those of `bochner.read`, have targets and weights of their own.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            The targets; None if `target` or the blocks hold them.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; None is 1 for each.
        target : str, default=None
            Name of the column of the frame X that holds the targets, in place of y.

        Returns
        -------
        object
            The model itself.
        """
        return self._add_rows(X, y, sample_weight, None, target)

    @overload
    def predict(self, X: RowsLike, return_std: Literal[False] = False) -> Array: ...
    @overload
    def predict(self, X: RowsLike, return_std: Literal[True]) -> tuple[Array, Array]: ...
    @by_partitions
    def predict(self, X: RowsLike, return_std: bool = False) -> Array | tuple[Array, Array]:
        """Predict targets, and on request how far they may be off.

        The standard deviation is that of a new observation, noise included: the posterior of a Gaussian process with
        the kernel of the features, widened so that 95 of 100 held-out rows lie within 1.96 standard deviations.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, tensor or Blocks of shape (n_samples, n_features)
            The rows.
        return_std : bool, default=False
            Whether to return standard deviations too; with the solvers 'cholesky' and 'dual'.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets), or a tuple of two such arrays
            Predictions; with return_std also their standard deviations.
        """
        scores = self._scores(X)
        tell_beyond(self._targets.ends, scores)
        mean = self._targets.decode(scores)
        if not return_std:
            return mean
        fit = self._refresh()
        if fit.posterior is None:
            raise ValueError(
                "return_std needs the Gram or the kernel matrix: fit with "
                f"{option('solver', 'cholesky')} or 'dual', and save with {option('sums', True)}."
            )
        n, blocks = self._rows_to_predict(X, fit.posterior.width)
        spread, xp = empty((n,), mean), namespace(mean)
        for rows, part in blocks:
            spread[rows] = like(fit.posterior.spread(self.design_.map, part), mean)
        deviation = xp.sqrt(xp.outer(1.0 + spread, like(fit.noise, mean))) * like(self._widening, mean)
        return mean, deviation.reshape(mean.shape)

    def score(self, X: RowsLike, y: VectorLike | None = None, sample_weight: VectorLike | None = None) -> float:
        """Return R^2 of the predictions.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, tensor or Blocks of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            True targets; None if X are Blocks, which have their own.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; None is 1 for each.

        Returns
        -------
        float
            R^2, the mean over targets.
        """
        return score_of_rows(self.predict, X, y, sample_weight, classifies=False)

    @property
    def _widening(self) -> np.ndarray:
        """What deviations are multiplied by."""
        calibration = self._found().calibration
        assert isinstance(calibration, Widening)
        return calibration.factors

    @property
    def noise_variance_(self) -> Array | float:
        """Variance of the noise in the Bayesian linear model, at its most likely."""
        return self._targets.numbers(self._refresh().noise)

    @property
    def log_marginal_likelihood_(self) -> float:
        """Log of the probability of y under the Gaussian process; the larger, the better a bandwidth suits the data."""
        fit = self._refresh()
        if fit.posterior is None:
            raise AttributeError("log_marginal_likelihood_ needs solver='cholesky' or 'dual'.")
        return fit.posterior.log_marginal_likelihood(fit.noise)


def tell_beyond(ends: np.ndarray | None, scores: Array) -> None:
    """Warn of predictions that leave the range of the targets by more than its width."""
    if ends is None or not len(scores):
        return
    low, high = like(ends, scores)
    beyond = ((scores > 2.0 * high - low) | (scores < 2.0 * low - high)).any(axis=1)
    if beyond.any():
        row = int(places(beyond)[0])
        warnings.warn(
            f"{int(beyond.sum()):,} of {len(scores):,} predictions (first at row {row}) leave the range of "
            "y by more than its width: these rows are unlike those of the fit.",
            FitWarning, stacklevel=3,
        )  # fmt: skip

"""Classification on random features: +-1 codes, the largest score wins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import cast

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if

from ..arrays import Array, to_numpy
from ..bases import Basis
from ..blocks import RowsLike
from ..lazy import by_partitions
from ..losses import LossLike
from ..solvers import SolverLike
from ..typing import ArrayLike, ClassWeight, MatrixLike, Penalty, RandomStateLike, VectorLike
from .base import RandomFeatureModel, takes_more_rows
from .calibration import Temperature, probabilities, temperature
from .checks import check_weights
from .scoring import score_of_rows
from .target_codes import LabelCoding
from .targets import LabelTargets


class ScoredClassifier(ClassifierMixin):
    """A classifier that takes tensors."""

    predict: Callable[..., Array]

    def score(self, X: MatrixLike, y: VectorLike, sample_weight: VectorLike | None = None) -> float:
        """Return the accuracy of the labels.

        Parameters
        ----------
        X : array-like, frame or tensor of shape (n_samples, n_features)
            The rows.
        y : array-like or tensor of shape (n_samples,)
            True labels.
        sample_weight : array-like or tensor of shape (n_samples,), default=None
            Weights of the rows; None is 1 for each.

        Returns
        -------
        float
            Share of rows that are labelled right.
        """
        return score_of_rows(self.predict, X, y, sample_weight, classifies=True)


class RandomFeatureClassifier(ClassifierMixin, RandomFeatureModel):
    """Classification on random features: kernel classification for any number of rows.

    Labels become numbers +1 and -1, one column for each class (one in all for two classes), and

        sum_i loss(y_i, <b, phi(x_i)> + intercept) + alpha |b|^2

    is minimised over the coefficients b of random features phi. The class with the largest score wins. Bandwidth,
    scaling of the columns and penalty are chosen by the data unless they are given, and `cv_score_` says what accuracy
    to expect on new rows. Rows may be in memory or in files (`bochner.read`); they may also come in parts
    (`partial_fit`), be merged and be forgotten.

    Parameters
    ----------
    basis : Basis, str or None, default=None
        The random features: an object such as `RandomMaxout(2000)`, or the name of one ('fourier', 'fastfood',
        'maxout', 'gated', 'stumps', 'bins', 'cells', 'ridge') for a thousand of its features. None is
        `RandomFourier(1000)`. Its parameters are reached as `basis__bandwidth` and so on.
    loss : {'squared', 'logistic', 'hinge', 'squared_hinge', 'exponential'} or Loss, default='squared'
        Loss of a score: a name, an object of `bochner.losses`, or one of your own with `value` and `gradient`.
        'logistic' is the softmax loss for more than two classes.
    alpha : float, array-like or {'auto', 'loo', 'gcv'}, default='auto'
        Penalty on squared coefficients, beside the sum of losses. 'auto' chooses it by the wrong labels of five folds
        (of one held-out fifth where features are many), 'loo' by the exact leave-one-out squared error, which reads the
        rows twice, 'gcv' by generalised cross-validation. Of a list, the best is chosen as 'auto' does.
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
    class_weight : dict, 'balanced' or None, default=None
        Weights of the classes: a dictionary from label to weight; 'balanced' is inversely proportional to the
        frequencies of the classes; None is 1 for each.
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
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    coef_ : ndarray of shape (n_outputs, n_components)
        Coefficients of the random features; there is one output for two classes, else one for each.
    intercept_ : ndarray of shape (n_outputs,)
        The intercepts.
    temperature_ : float or None
        Factor of the scores before the softmax of `predict_proba`; None if it is not known.
    linear_coef_ : ndarray or None
        Slopes of the linear part in the columns of X, shaped as coef_; None if there is no such part.
    alpha_ : float
        The penalty that was given or chosen.
    cv_score_ : float or None
        Accuracy to expect on new rows, by cross-validation; None if it is not known.
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

    See Also
    --------
    RandomFeatureRegressor : The same for numbers.
    KernelRidgeClassifier : With the exact kernel, for few rows.
    LearnedFourierClassifier : With frequencies learned from y.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bochner import RandomFeatureClassifier, RandomMaxout
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RandomFeatureClassifier(RandomMaxout(200), random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    >>> model.predict_proba(X).shape
    (150, 3)
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
        class_weight: ClassWeight = None,
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
        self.class_weight = class_weight
        self.precision = precision
        self.scale = scale
        self.linear = linear
        self.metric = metric
        self.metric_rounds = metric_rounds
        self.device = device
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _encoder(self) -> LabelTargets:
        return LabelTargets(self.class_weight)

    @property
    def _targets(self) -> LabelTargets:
        return cast(LabelTargets, self._found().targets)

    @property
    def classes_(self) -> np.ndarray:
        """The labels, sorted."""
        return self._targets.classes

    @property
    def temperature_(self) -> float | None:
        """Factor of the scores before the softmax of `predict_proba`; None if it is not known."""
        calibration = self._found().calibration
        assert isinstance(calibration, Temperature)
        return calibration.value

    @available_if(takes_more_rows)
    def partial_fit(
        self,
        X: RowsLike,
        y: VectorLike | None = None,
        classes: ArrayLike | None = None,
        sample_weight: VectorLike | None = None,
        *,
        target: str | None = None,
    ) -> RandomFeatureClassifier:
        """Add rows: the result is that of one fit to all of them, with the basis of the first call.

        The first call settles the basis, the scaling and the classes. A frame is encoded as by the first call.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, tensor or Blocks of shape (n_samples, n_features)
            The rows. A frame may have text, dates, booleans and missing numbers: it is encoded as `bochner.read(frame,
            missing="mean")` does it. Blocks, such as those of `bochner.read`, have targets and weights of their own.
        y : array-like of shape (n_samples,), default=None
            The labels; None if `target` or the blocks hold them.
        classes : array-like of shape (n_classes,), default=None
            All labels; the first call needs them, unless its rows have them all.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; None is 1 for each.
        target : str, default=None
            Name of the column of the frame X that holds the targets, in place of y.

        Returns
        -------
        object
            The model itself.
        """
        return self._add_rows(X, y, sample_weight, classes, target)

    @by_partitions
    def decision_function(self, X: RowsLike) -> Array:
        """Compute the scores of the classes.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, tensor or Blocks of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Scores; for two classes one number a row, positive for the second class.
        """
        return self._targets.decision(self._scores(X))

    @by_partitions
    def predict(self, X: RowsLike) -> Array:
        """Return the label of the largest score of each row.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, tensor or Blocks of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray or torch.Tensor of shape (n_samples,)
            Labels, in the library of X; text always as an array.
        """
        return self._targets.decode(self.decision_function(X))

    def score(self, X: RowsLike, y: VectorLike | None = None, sample_weight: VectorLike | None = None) -> float:
        """Return the accuracy of the labels.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, tensor or Blocks of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,), default=None
            True labels; None if X are Blocks, which have their own.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; None is 1 for each.

        Returns
        -------
        float
            Share of rows that are labelled right.
        """
        return score_of_rows(self.predict, X, y, sample_weight, classifies=True)

    @by_partitions
    def predict_proba(self, X: RowsLike) -> Array:
        """Predict the probabilities of the classes: the softmax of the scores times `temperature_`.

        The temperature is 1 for the logistic loss. For others `fit` learns it from scores of up to 1,000 rows by a
        model that was not fitted to them. After `partial_fit`, `merge`, `forget` or `grow` it is not known: call
        `calibrate`.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, tensor or Blocks of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of `classes_`.
        """
        scores, temperature = self.decision_function(X), self.temperature_
        if temperature is None:
            raise ValueError(
                "probabilities are not calibrated, since rows or features changed after fit: call calibrate(X, y) with "
                "rows that the model was not fitted to."
            )
        return probabilities(scores, temperature)

    def calibrate(
        self, X: RowsLike, y: VectorLike | None, sample_weight: VectorLike | None = None
    ) -> RandomFeatureClassifier:
        """Learn the temperature of probabilities from rows that the model was not fitted to.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, tensor or Blocks of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; None is 1 for each.

        Returns
        -------
        object
            The model itself.
        """
        scores = to_numpy(self._scores(X))
        codes = LabelCoding(self.classes_).code(to_numpy(y))
        if len(codes) != len(scores):
            raise ValueError(f"X has {len(scores)} rows but y has {len(codes)}.")
        weight = check_weights(to_numpy(sample_weight), len(scores))
        found = self._found()
        value, how = temperature(scores, codes, weight), f"from {len(scores):,} rows given to calibrate"
        self._fitted = replace(found, calibration=Temperature(value, how, found.calibration.leverage))
        return self

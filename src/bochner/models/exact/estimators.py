"""The two models of an exact kernel: their parameters, and how scores are read."""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ...kernels import Kernel
from ...lazy import by_partitions
from ...typing import ClassWeight, MatrixLike, Penalty
from ..calibration import probabilities
from ..classifier import ScoredClassifier
from ..regressor import MultiOutputRegressor
from ..targets import LabelTargets, NumericTargets
from .base import KernelRidgeModel


class KernelRidgeRegressor(MultiOutputRegressor, KernelRidgeModel):
    """Kernel ridge regression with the exact kernel, for up to some ten thousand rows.

    Solves (K + alpha I) a = y for the kernel matrix K of all rows, so that time grows with the cube of their number and
    memory with its square. It is the reference for RandomFeatureRegressor, and the answer where rows are few.

    Parameters
    ----------
    kernel : {'gaussian', 'laplacian', 'matern', 'cauchy'} or Kernel, default='gaussian'
        The kernel: a name, or any object of `bochner.kernels`.
    bandwidth : float or 'median', default='median'
        Length scale s of the kernel; 'median' takes the median distance between sampled rows. A number is in the units
        of X.
    nu : float, default=1.5
        Smoothness of the Matern kernel; other kernels ignore it.
    alpha : float, array-like or {'auto', 'loo', 'gcv'}, default='auto'
        Penalty, beside the sum of squared errors. 'auto' chooses it by five folds, 'loo' by exact leave-one-out, 'gcv'
        by generalised cross-validation. Of a list, the best is chosen as 'auto' does.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which has no penalty.
    invariants : bool, default=False
        Whether residuals are weighed by where the rows lie to one another, by the V-matrix of statistical invariants.
    scale : {'auto', 'robust', 'standard'} or None, default='auto'
        How the columns of X are scaled before features are made of them: 'robust' by medians and quartiles, with
        outliers smoothly clipped; 'standard' by means and standard deviations; None not at all. 'auto' takes what
        predicts best on held-out rows of a sample, and None where a bandwidth or radius is given as a number or X has
        8-bit columns.
    device : {'cpu', 'cuda', 'cuda:1', ...} or None, default=None
        Where kernel matrices and solutions are made. None is where the rows are: tensors stay on their device. Arrays
        go to 'cuda' and come back as predictions.

    Attributes
    ----------
    X_fit_ : ndarray or tensor of shape (n_samples, n_features_in_)
        The rows of the fit, scaled.
    dual_coef_ : ndarray or tensor of shape (n_samples, n_outputs)
        Coefficients of the kernel with each row of the fit.
    intercept_ : ndarray or tensor of shape (n_outputs,)
        The intercept.
    alpha_ : float
        The penalty that was given or chosen.
    penalty_ : str
        In words, how the penalty was found.
    kernel_ : Kernel
        The kernel with its bandwidth.
    scaler_ : ColumnScaler or None
        How columns are scaled; None if they are not.
    solution_ : Solution
        The coefficients, and in words how the solver ended.
    cv_score_ : float or None
        R^2 to expect on new rows, by cross-validation; None if it is not known.
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
    RandomFeatureRegressor : With random features, for any number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import KernelRidgeRegressor
    >>> X = np.linspace(-3, 3, 50)[:, None]
    >>> y = np.sin(X[:, 0])
    >>> bool(KernelRidgeRegressor().fit(X, y).score(X, y) > 0.999)
    True
    """

    def __init__(
        self,
        kernel: str | Kernel = "gaussian",
        *,
        bandwidth: float | str = "median",
        nu: float = 1.5,
        alpha: Penalty = "auto",
        fit_intercept: bool = True,
        invariants: bool = False,
        scale: str | None = "auto",
        device: str | None = None,
    ) -> None:
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.nu = nu
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.invariants = invariants
        self.scale = scale
        self.device = device

    _targets: NumericTargets

    def _encoder(self) -> NumericTargets:
        return NumericTargets(self.fit_intercept)

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


class KernelRidgeClassifier(ScoredClassifier, KernelRidgeModel):
    """Least-squares classification with the exact kernel, for up to some ten thousand rows.

    Labels become numbers +1 and -1, one column for each class, and kernel ridge regression does the rest: see
    KernelRidgeRegressor. The class with the largest score wins.

    Parameters
    ----------
    kernel : {'gaussian', 'laplacian', 'matern', 'cauchy'} or Kernel, default='gaussian'
        The kernel: a name, or any object of `bochner.kernels`.
    bandwidth : float or 'median', default='median'
        Length scale s of the kernel; 'median' takes the median distance between sampled rows. A number is in the units
        of X.
    nu : float, default=1.5
        Smoothness of the Matern kernel; other kernels ignore it.
    alpha : float, array-like or {'auto', 'loo', 'gcv'}, default='auto'
        Penalty, beside the sum of squared errors. 'auto' chooses it by five folds, 'loo' by exact leave-one-out, 'gcv'
        by generalised cross-validation. Of a list, the best is chosen as 'auto' does.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which has no penalty.
    invariants : bool, default=False
        Whether residuals are weighed by where the rows lie to one another, by the V-matrix of statistical invariants.
    scale : {'auto', 'robust', 'standard'} or None, default='auto'
        How the columns of X are scaled before features are made of them: 'robust' by medians and quartiles, with
        outliers smoothly clipped; 'standard' by means and standard deviations; None not at all. 'auto' takes what
        predicts best on held-out rows of a sample, and None where a bandwidth or radius is given as a number or X has
        8-bit columns.
    class_weight : dict, 'balanced' or None, default=None
        Weights of the classes: a dictionary from label to weight; 'balanced' is inversely proportional to the
        frequencies of the classes; None is 1 for each.
    device : {'cpu', 'cuda', 'cuda:1', ...} or None, default=None
        Where kernel matrices and solutions are made. None is where the rows are: tensors stay on their device. Arrays
        go to 'cuda' and come back as predictions.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    temperature_ : float
        Factor of the scores before the softmax of `predict_proba`.
    X_fit_ : ndarray or tensor of shape (n_samples, n_features_in_)
        The rows of the fit, scaled.
    dual_coef_ : ndarray or tensor of shape (n_samples, n_outputs)
        Coefficients of the kernel with each row of the fit.
    intercept_ : ndarray or tensor of shape (n_outputs,)
        The intercept.
    alpha_ : float
        The penalty that was given or chosen.
    penalty_ : str
        In words, how the penalty was found.
    kernel_ : Kernel
        The kernel with its bandwidth.
    scaler_ : ColumnScaler or None
        How columns are scaled; None if they are not.
    solution_ : Solution
        The coefficients, and in words how the solver ended.
    cv_score_ : float or None
        Accuracy to expect on new rows, by cross-validation; None if it is not known.
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
    RandomFeatureClassifier : With random features, for any number of rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bochner import KernelRidgeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(KernelRidgeClassifier().fit(X, y).score(X, y) > 0.95)
    True
    """

    def __init__(
        self,
        kernel: str | Kernel = "gaussian",
        *,
        bandwidth: float | str = "median",
        nu: float = 1.5,
        alpha: Penalty = "auto",
        fit_intercept: bool = True,
        invariants: bool = False,
        scale: str | None = "auto",
        class_weight: ClassWeight = None,
        device: str | None = None,
    ) -> None:
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.nu = nu
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.invariants = invariants
        self.scale = scale
        self.class_weight = class_weight
        self.device = device

    _targets: LabelTargets

    def _encoder(self) -> LabelTargets:
        return LabelTargets(self.class_weight)

    @property
    def classes_(self) -> np.ndarray:
        """The labels, sorted."""
        return self._targets.classes

    @by_partitions
    def decision_function(self, X: MatrixLike) -> Array:
        """Compute the scores of the classes.

        Parameters
        ----------
        X : array-like, frame or tensor of shape (n_samples, n_features)
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
        X : array-like, frame or tensor of shape (n_samples, n_features)
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
        """Predict the probabilities of the classes: the softmax of the scores times `temperature_`.

        Parameters
        ----------
        X : array-like, frame or tensor of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray or tensor of shape (n_samples, n_classes)
            Probabilities, in the order of `classes_`.
        """
        return probabilities(self.decision_function(X), self.temperature_)

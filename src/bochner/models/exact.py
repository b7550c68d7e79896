"""Ridge with an exact kernel: the reference for random features, and the answer where rows are few."""

from __future__ import annotations

import os
from abc import abstractmethod
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from ..bases.heuristics import SAMPLE, different_rows, settle_bandwidth
from ..blocks import Block
from ..kernels import Cauchy, Gaussian, Kernel, Laplacian, Matern, ShiftInvariant
from ..lazy import by_partitions
from ..maps.scaling import ColumnScaler
from ..penalties import Chosen, FromKernel, FromVMatrix, KernelFolds
from ..penalties.search import candidates
from ..solvers import Solution
from ..solvers.kernel_rows import KernelRows, solve_rows
from ..solvers.leave_one_out import from_kernel
from ..solvers.problem import Alpha
from ..streams import sample_rows
from ..typing import ClassWeight, MatrixLike, Penalty, VectorLike
from ..validation import require_choice, require_positive, require_squares
from .calibration import probabilities, temperature
from .checks import check_arrays, row_slices
from .exact_saving import centring, from_state, to_state
from .explaining import explain_exact
from .parameters import checked_alpha
from .preparation import GivenData, prepare_block
from .regressor import MultiOutputRegressor
from .saving import write
from .targets import LabelTargets, NumericTargets, TargetEncoder
from .trials import SCALERS

TRIED = 500  # rows with which scalings are compared
FLOATS = (np.float64, np.float32)  # types of rows that are taken as they are


class KernelRidgeModel(BaseEstimator):
    """What the exact regressor and classifier share."""

    kernel: str | Kernel
    bandwidth: float | str
    nu: float
    alpha: Penalty
    fit_intercept: bool
    invariants: bool
    scale: str | None
    _targets: TargetEncoder  # there after a fit
    temperature_: float  # of a classifier

    @abstractmethod
    def _encoder(self) -> TargetEncoder:
        """The encoder of targets, before any are known."""

    @property
    def _classifies(self) -> bool:
        return self._encoder().classifies

    def fit(
        self,
        X: MatrixLike,
        y: VectorLike | None = None,
        sample_weight: VectorLike | None = None,
        *,
        target: str | None = None,
    ) -> Self:
        """Fit the model; matrices of n_samples by n_samples are made.

        Parameters
        ----------
        X : array-like, frame or tensor of shape (n_samples, n_features)
            The rows. A frame may have text, dates, booleans and missing numbers: it is encoded as `bochner.read(frame,
            missing="mean")` does it.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            The targets; None if `target` names them.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; None is 1 for each.
        target : str, default=None
            Name of the column of the frame X that holds the targets, in place of y.

        Returns
        -------
        object
            The model itself.
        """
        alpha = self._check_parameters()
        given = GivenData(X, y, sample_weight)
        block, self._targets = prepare_block(self, given, target, self._encoder(), FLOATS)
        self.scaler_ = self._settled_scaler(block)
        if self.scaler_ is not None:
            block = block._replace(X=self.scaler_(block.X))
        self.kernel_ = self._settled_kernel(block.X)
        solution, chosen = self._solve(KernelRows(self.kernel_(block.X), block, self.fit_intercept), alpha)
        held_out = solution.held_out
        if held_out is not None and self._classifies:
            self.temperature_ = temperature(held_out.scores, held_out.codes, held_out.weight)
        self.X_fit_, self.dual_coef_ = block.X.copy(), solution.coefficients
        self.intercept_ = solution.intercepts + self._targets.offset
        self.alpha_, self.solution_, self.penalty_ = solution.alpha, replace(solution, held_out=None), chosen.note
        validated = chosen.validated
        self.cv_score_ = None if validated is None else float(validated.score)
        self.cv_standard_error_ = None if validated is None else validated.standard_error
        return self

    def _solve(self, rows: KernelRows, asked: Alpha) -> tuple[Solution, Chosen]:
        """The penalty, and the coefficients at it with scores of rows left out."""
        self._dual = None
        if self.invariants:
            by_folds = FromVMatrix(np.asarray(rows.kernel), rows.block, rows.intercept, self._classifies)
            chosen = by_folds.choose(asked)
            return by_folds.solve(chosen), chosen
        chosen = FromKernel(rows, self._classifies).choose(asked)
        found, dual = solve_rows(rows, chosen.alpha, chosen.unit), rows.dual
        if rows.intercept:
            self._dual = centring(dual.root, dual.row_means, dual.grand_mean)
        if self._classifies:
            held_out = from_kernel(dual, found, rows.block, rows.intercept, chosen.unit)
            found = replace(found, held_out=held_out)
        return found, chosen

    def _check_parameters(self) -> Alpha:
        """Refuse what cannot be fitted; the penalty as numbers or a word."""
        if not isinstance(self.kernel, Kernel):
            require_choice("kernel", self.kernel, ["gaussian", "laplacian", "matern", "cauchy"])
        if isinstance(self.bandwidth, str):
            require_choice("bandwidth", self.bandwidth, ["median"])
        else:
            require_positive("bandwidth", self.bandwidth)
        require_positive("nu", self.nu)
        if self.scale is not None:
            require_choice("scale", self.scale, ["auto", "robust", "standard"])
        return checked_alpha(self.alpha)

    def _settled_scaler(self, block: Block) -> ColumnScaler | None:
        """How columns are scaled: as asked, or as rows left out of a sample are predicted best."""
        if self.scale is not None and isinstance(self.bandwidth, str):
            require_squares(float(np.abs(block.X).max(initial=0.0)), "X")
        if self.scale != "auto":
            return None if self.scale is None else SCALERS[self.scale](different_rows(block.X))
        scalable = not isinstance(self.kernel, Kernel) or isinstance(self.kernel, ShiftInvariant)
        if not scalable or not isinstance(self.bandwidth, str) or getattr(self.kernel, "bandwidth", None) is not None:
            return None  # a number was given in the units of the rows, or the kernel has no bandwidth at all
        few = block.only(sample_rows(len(block.X), TRIED, seed=3))
        tried = different_rows(few.X)
        scalers = [ColumnScaler.robust(tried), ColumnScaler.standard(tried), None]
        errors = [self._error_with(scaler, few) for scaler in scalers]
        return scalers[int(np.argmin(errors))]

    def _error_with(self, scaler: ColumnScaler | None, block: Block) -> float:
        """The squared error of rows left out at the best penalty."""
        rows = np.asarray(block.X if scaler is None else scaler(block.X))
        folds = KernelFolds.of(
            self._settled_kernel(np.asarray(rows))(rows), block, self.fit_intercept, self._classifies
        )
        if len(folds.judged) < 2:
            return np.inf
        alphas = candidates("auto", float(folds.weights() @ np.diagonal(folds.kernel)))[::2]
        return float(np.min(folds.criteria(folds.errors(alphas)[0])))

    def _settled_kernel(self, X: np.ndarray) -> Kernel:
        named = {"gaussian": Gaussian(), "laplacian": Laplacian(), "matern": Matern(nu=self.nu), "cauchy": Cauchy()}
        kernel = self.kernel if isinstance(self.kernel, Kernel) else named[require_choice("kernel", self.kernel, named)]
        if isinstance(kernel, ShiftInvariant) and kernel.bandwidth is None:
            rows = different_rows(X[sample_rows(len(X), SAMPLE, seed=0)])
            return kernel.with_bandwidth(settle_bandwidth(self.bandwidth, rows, kernel.order))
        return kernel

    def _scores(self, X: MatrixLike) -> np.ndarray:
        check_is_fitted(self)
        valid = check_arrays(self, X, dtypes=FLOATS, accept_sparse=False, y_numeric=False)
        valid = valid if self.scaler_ is None else self.scaler_(valid)
        out = np.empty((len(valid), self.dual_coef_.shape[1]))
        for rows in row_slices(len(valid), 3 * len(self.X_fit_)):
            kernel = self.kernel_(valid[rows], self.X_fit_)
            kernel = kernel if self._dual is None else self._dual.center_new(kernel)
            out[rows] = kernel @ self.dual_coef_ + self.intercept_
        return out

    def explain_fit(self) -> str:
        """Say in words what was fitted, how and why so, and how good it is.

        Returns
        -------
        str
            One line for each decision.
        """
        check_is_fitted(self)
        return explain_exact(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, which `bochner.load` reads.

        The file holds the rows that the model was fitted to: predictions are made from them.

        Parameters
        ----------
        path : str or path-like
            Where to write. The file appears whole or not at all.
        """
        check_is_fitted(self)
        write(self, path, to_state(self))

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        return from_state(cls, state)

    def to_onnx(self, path: str | os.PathLike[str], *, dtype: str = "float32") -> None:
        """Write the model as an ONNX graph, for onnxruntime and its like.

        `bochner.onnx_export` says how near its results are.

        Parameters
        ----------
        path : str or path-like
            Where to write. The file appears whole or not at all.
        dtype : {'float32', 'float64'}, default='float32'
            Type of the graph's input and outputs.
        """
        from ..onnx_export import export

        check_is_fitted(self)
        export(self, path, dtype=dtype)


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

    Attributes
    ----------
    X_fit_ : ndarray of shape (n_samples, n_features_in_)
        The rows of the fit, scaled.
    dual_coef_ : ndarray of shape (n_samples, n_outputs)
        Coefficients of the kernel with each row of the fit.
    intercept_ : ndarray of shape (n_outputs,)
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
    ) -> None:
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.nu = nu
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.invariants = invariants
        self.scale = scale

    _targets: NumericTargets

    def _encoder(self) -> NumericTargets:
        return NumericTargets(self.fit_intercept)

    @by_partitions
    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict targets.

        Parameters
        ----------
        X : array-like, frame or tensor of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
            The predictions.
        """
        scores = self._scores(X)  # which asks whether there was a fit
        return self._targets.decode(scores)


class KernelRidgeClassifier(ClassifierMixin, KernelRidgeModel):
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

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    temperature_ : float
        Factor of the scores before the softmax of `predict_proba`.
    X_fit_ : ndarray of shape (n_samples, n_features_in_)
        The rows of the fit, scaled.
    dual_coef_ : ndarray of shape (n_samples, n_outputs)
        Coefficients of the kernel with each row of the fit.
    intercept_ : ndarray of shape (n_outputs,)
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
    ) -> None:
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.nu = nu
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.invariants = invariants
        self.scale = scale
        self.class_weight = class_weight

    _targets: LabelTargets

    def _encoder(self) -> LabelTargets:
        return LabelTargets(self.class_weight)

    @property
    def classes_(self) -> np.ndarray:
        """The labels, sorted."""
        return self._targets.classes

    @by_partitions
    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Compute the scores of the classes.

        Parameters
        ----------
        X : array-like, frame or tensor of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Scores; for two classes one number a row, positive for the second class.
        """
        scores = self._scores(X)  # which asks whether there was a fit
        return self._targets.decision(scores)

    @by_partitions
    def predict(self, X: MatrixLike) -> np.ndarray:
        """Return the label of the largest score of each row.

        Parameters
        ----------
        X : array-like, frame or tensor of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        scores = self.decision_function(X)  # which asks whether there was a fit
        return self._targets.decode(scores)

    @by_partitions
    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Predict the probabilities of the classes: the softmax of the scores times `temperature_`.

        Parameters
        ----------
        X : array-like, frame or tensor of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of `classes_`.
        """
        return probabilities(self.decision_function(X), self.temperature_)

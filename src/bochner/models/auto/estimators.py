"""`AutoRegressor` and `AutoClassifier`: fit a table within so many seconds, without settings."""

from __future__ import annotations

from typing import Literal, overload

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from ...blocks.base import RowsLike
from ...lazy import by_partitions
from ...typing import RandomStateLike, VectorLike
from ..regressor import MultiOutputRegressor
from ..scoring import score_of_rows
from ..targets import LabelTargets, NumericTargets
from .base import AutoModel, Encoded
from .deviations import Deviations, learned_deviations
from .placing import place_of
from .probabilities import Sharpness, likeliest


class AutoRegressor(MultiOutputRegressor, AutoModel):
    """Regression without settings: kernels in learned metrics, found and stacked within a budget of seconds.

    Columns of any kind become numbers (`TableEncoder`). On a sample of the rows, stable kernels learn which columns and
    directions matter, round by round, by the average gradient outer product of the fit before. What is best there is
    fitted to all rows, exactly where they are few, with as many centres as the budget allows where they are many. The
    members are then weighed by rows that they have not seen; plain ridge is always among them.

    Parameters
    ----------
    budget : float, default=30.0
        Seconds for the fit, about.
    max_trials : int or None, default=None
        Number of trials in place of seconds, so that the same seed gives the same model on every run.
    random_state : int, RandomState instance, Generator or None, default=None
        Seed of the samples.
    n_jobs : int, default=None
        Number of threads; None is all cores.
    device : str, default=None
        Where fits and predictions are made: 'cpu', or 'cuda', 'cuda:1' and so on, GPUs that torch sees. Tables become
        numbers on the host, and what was fitted holds arrays: a file says nothing of a device.
    verbose : int, default=0
        Whether to show progress and the best error so far.
    image_shape : tuple of int, default=None
        Height and width, or height, width and channels, of pictures that lie in the rows of X, one number a column:
        then features of their patches are fitted too (`PatchFeatures`). An array of three or four dimensions is taken
        for pictures by itself.

    Attributes
    ----------
    leaderboard_ : DataFrame or list of dict
        What was tried: model, rows, centres, error relative to that of the mean, weight in the stack, seconds.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of each column of X in the mean squared slope of the model, times the variance of the column.
    cv_score_ : float
        R^2 to expect on new rows, by rows left out.
    cv_standard_error_ : float
        Standard error of cv_score_.
    cv_error_ : float
        Squared error of rows left out, relative to that of the mean.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns of X; only if X is a frame or a table in files.
    recipe_ : Recipe
        How files with such columns become numbers, for `bochner.read`; only if columns have names.

    See Also
    --------
    AutoClassifier : The same for labels.
    RandomFeatureRegressor : One model of a basis that you choose, for any number of rows.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from bochner import AutoRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = AutoRegressor(max_trials=4, random_state=0).fit(X[:300], y[:300])
    >>> bool(model.score(X[300:], y[300:]) > 0.4)
    True
    >>> mean, deviation = model.predict(X[300:], return_std=True)
    """

    def __init__(
        self,
        *,
        budget: float = 30.0,
        max_trials: int | None = None,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
        device: str | None = None,
        verbose: int = 0,
        image_shape: tuple[int, ...] | None = None,
    ) -> None:
        self.budget = budget
        self.max_trials = max_trials
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device
        self.verbose = verbose
        self.image_shape = image_shape

    _deviations: Deviations

    def _encoder(self) -> NumericTargets:
        return NumericTargets()

    @overload
    def predict(self, X: RowsLike, return_std: Literal[False] = False) -> np.ndarray: ...
    @overload
    def predict(self, X: RowsLike, return_std: Literal[True]) -> tuple[np.ndarray, np.ndarray]: ...
    @by_partitions
    def predict(self, X: RowsLike, return_std: bool = False) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Predict targets, and on request how far they may be off.

        Parameters
        ----------
        X : frame, array-like of shape (n_samples, n_features) or Blocks
            The rows.
        return_std : bool, default=False
            Whether to return standard deviations too: 95 of 100 rows that were left out lie within 1.96 of them. They
            are larger where errors of such rows were, if that is clear, and the same for all rows if not.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets), or a tuple of two such arrays
            Predictions; with return_std also their standard deviations.
        """
        check_is_fitted(self)
        shape = (-1, *self._targets.shape)  # type: ignore[attr-defined]
        if not return_std:
            return (self._scores(X) + self._targets.offset).reshape(shape)
        both = self._of_rows(X, lambda rows: np.hstack([self._scores_of(rows), self._deviations(rows("robust"))]))
        scores, deviations = np.hsplit(both, 2)
        return (scores + self._targets.offset).reshape(shape), deviations.reshape(shape)

    def score(self, X: RowsLike, y: VectorLike | None = None, sample_weight: VectorLike | None = None) -> float:
        """Return R^2 of predictions, the mean over targets.

        Parameters
        ----------
        X : frame, array-like of shape (n_samples, n_features) or Blocks
            The rows; Blocks have their targets.
        y : array-like, default=None
            The targets; None for Blocks.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        float
            The score.
        """
        return score_of_rows(self.predict, X, y, sample_weight, classifies=False)

    def _learn_from(self, held_out: np.ndarray, codes: np.ndarray, encoded: Encoded) -> None:
        missed = np.abs(held_out - codes)
        self._deviations = learned_deviations(encoded("robust"), missed, place_of(self.device))
        size = np.maximum(np.var(codes, axis=0), np.finfo(float).tiny)
        shares = np.mean(missed**2 / size, axis=1)
        self.cv_score_ = float(1.0 - shares.mean())
        self.cv_standard_error_ = float(shares.std() / np.sqrt(len(shares)))

    def _expected(self) -> str:
        return f"R^2 {self.cv_score_:.4g} +- {self.cv_standard_error_:.2g}"


class AutoClassifier(ClassifierMixin, AutoModel):
    """Classification without settings: kernels in learned metrics, found and stacked within a budget of seconds.

    It works as `AutoRegressor` does, on codes +1 and -1 of the labels; probabilities are calibrated by rows left out.

    Parameters
    ----------
    budget : float, default=30.0
        Seconds for the fit, about.
    max_trials : int or None, default=None
        Number of trials in place of seconds, so that the same seed gives the same model on every run.
    random_state : int, RandomState instance, Generator or None, default=None
        Seed of the samples.
    n_jobs : int, default=None
        Number of threads; None is all cores.
    device : str, default=None
        Where fits and predictions are made: 'cpu', or 'cuda', 'cuda:1' and so on, GPUs that torch sees. Tables become
        numbers on the host, and what was fitted holds arrays: a file says nothing of a device.
    verbose : int, default=0
        Whether to show progress and the best error so far.
    image_shape : tuple of int, default=None
        Height and width, or height, width and channels, of pictures that lie in the rows of X, one number a column:
        then features of their patches are fitted too (`PatchFeatures`). An array of three or four dimensions is taken
        for pictures by itself.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    leaderboard_ : DataFrame or list of dict
        What was tried: model, rows, centres, error relative to that of the mean, weight in the stack, seconds.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of each column of X in the mean squared slope of the scores, times the variance of the column.
    cv_score_ : float
        Accuracy to expect on new rows, by rows left out.
    cv_standard_error_ : float
        Standard error of cv_score_.
    cv_error_ : float
        Squared error of the codes of rows left out, relative to that of the mean.
    sharpness_ : ndarray of shape (2,)
        Width and power by which scores become probabilities, the likeliest for rows left out (see `predict_proba`).
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns of X; only if X is a frame or a table in files.
    recipe_ : Recipe
        How files with such columns become numbers, for `bochner.read`; only if columns have names.

    See Also
    --------
    AutoRegressor : The same for numbers.
    RandomFeatureClassifier : One model of a basis that you choose, for any number of rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bochner import AutoClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AutoClassifier(max_trials=3, random_state=0).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.9)
    True
    """

    def __init__(
        self,
        *,
        budget: float = 30.0,
        max_trials: int | None = None,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
        device: str | None = None,
        verbose: int = 0,
        image_shape: tuple[int, ...] | None = None,
    ) -> None:
        self.budget = budget
        self.max_trials = max_trials
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device
        self.verbose = verbose
        self.image_shape = image_shape

    sharpness_: np.ndarray

    def _encoder(self) -> LabelTargets:
        return LabelTargets()

    @property
    def classes_(self) -> np.ndarray:
        """The labels, sorted."""
        check_is_fitted(self, "_targets")
        return self._targets.classes  # type: ignore[attr-defined]

    @by_partitions
    def decision_function(self, X: RowsLike) -> np.ndarray:
        """Compute the scores of the classes.

        Parameters
        ----------
        X : frame, array-like of shape (n_samples, n_features) or Blocks
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Scores; for two classes one number a row, positive for the second class.
        """
        check_is_fitted(self)
        return self._targets.decision(self._scores(X))  # type: ignore[attr-defined]

    @by_partitions
    def predict(self, X: RowsLike) -> np.ndarray:
        """Return the label of the largest score of each row.

        Parameters
        ----------
        X : frame, array-like of shape (n_samples, n_features) or Blocks
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        decision = self.decision_function(X)
        return self._targets.decode(decision)  # type: ignore[attr-defined]

    @by_partitions
    def predict_proba(self, X: RowsLike) -> np.ndarray:
        """Predict the probabilities of the classes.

        A score f estimates codes of +1 and -1, so that (1 + f)/2 is nearly a probability. With g(f) = w log(1 +
        exp((1 + f)/(2 w))), which is never negative, probabilities are in proportion to g(f)^t; `sharpness_` is (w, t).

        Parameters
        ----------
        X : frame, array-like of shape (n_samples, n_features) or Blocks
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of `classes_`.
        """
        decision = self.decision_function(X)
        return Sharpness(*self.sharpness_).probabilities(decision)

    def score(self, X: RowsLike, y: VectorLike | None = None, sample_weight: VectorLike | None = None) -> float:
        """Return the share of rows whose label is right.

        Parameters
        ----------
        X : frame, array-like of shape (n_samples, n_features) or Blocks
            The rows; Blocks have their targets.
        y : array-like, default=None
            The targets; None for Blocks.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        float
            The score.
        """
        return score_of_rows(self.predict, X, y, sample_weight, classifies=True)

    def _learn_from(self, held_out: np.ndarray, codes: np.ndarray, encoded: Encoded) -> None:
        if codes.shape[1] == 1:
            held_out, labels = held_out[:, 0], (codes[:, 0] > 0).astype(np.int64)
            right = (held_out > 0) == (labels == 1)
        else:
            labels = codes.argmax(axis=1)
            right = held_out.argmax(axis=1) == labels
        self.sharpness_ = np.array(likeliest(held_out, labels))
        self.cv_score_ = float(right.mean())
        self.cv_standard_error_ = float(right.std() / np.sqrt(len(right)))

    def _expected(self) -> str:
        return f"{1.0 - self.cv_score_:.4g} +- {self.cv_standard_error_:.2g} of labels wrong"

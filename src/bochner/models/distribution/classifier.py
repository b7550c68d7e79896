"""A label for each bag of points, and its probability."""

from __future__ import annotations

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score

from ...bases import Basis
from ...typing import ArrayLike, ClassWeight, Penalty, RandomStateLike, VectorLike
from ..base import RandomFeatureModel
from ..classifier import RandomFeatureClassifier
from .base import DistributionModel
from .tables import BagsLike, targets_of


class DistributionClassifier(ClassifierMixin, DistributionModel):
    """Classification of distributions: a label for each bag of points.

    A bag becomes the mean of the random features of its points, its mean embedding; a RandomFeatureClassifier of the
    embeddings does the rest. Points are read once and only sums of each bag are kept, so that neither bags nor their
    number need fit in memory.

    Parameters
    ----------
    basis : Basis, default=None
        Features of points; None is `RandomFourier(500)`, or `RandomFourier(100)` if learned.
    second_basis : Basis or 'linear', default=None
        Features of embeddings; None is `RandomFourier(1000)`, or `RandomFourier(100)` if learned. 'linear' takes the
        embeddings as they are.
    learned : bool, default=False
        Whether to learn the frequencies of both stages, from random ones as a start.
    alpha : float, array-like or {'auto', 'loo', 'gcv'}, default='auto'
        Penalty on squared coefficients, as in RandomFeatureRegressor. If learned, it is chosen before the frequencies
        are.
    half_size : float, default=None
        A number h gives a bag of n points the weight n / (n + h), since embeddings of small bags are noisy. None weighs
        all bags alike.
    scale : {'auto', 'robust', 'standard'} or None, default='auto'
        How the columns of points are scaled: 'robust' by medians and quartiles, with outliers smoothly clipped;
        'standard' by means and standard deviations; None not at all. 'auto' is 'robust' where the spreads of columns
        differ tenfold or points lie ten spreads out, and no bandwidth is given as a number.
    solver : str, default='auto'
        How coefficients are found, as in RandomFeatureRegressor.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which has no penalty.
    class_weight : dict, 'balanced' or None, default=None
        Weights of the classes: a dictionary from label to weight; 'balanced' is inversely proportional to the
        frequencies of the classes; None is 1 for each.
    frequency_alpha : float, default=0.0
        Penalty on squared frequencies, if learned.
    optimizer : {'lbfgs', 'adam'}, default='lbfgs'
        How frequencies are learned: from all bags at each step, or from batch_size of them.
    max_iter : int, default=100
        Most iterations of 'lbfgs', or epochs of 'adam'.
    batch_size : int, default=32
        Bags of a step of 'adam'.
    learning_rate : float, default=0.01
        Size of the steps of 'adam', relative to the size of what they change.
    device : {'cpu', 'cuda', 'cuda:1', ...} or None, default=None
        Where features of points, their sums and the second stage are made. Bags stand in the host's memory, or in
        files, and predictions are arrays.
    n_jobs : int, default=None
        Number of threads; None is all cores.
    verbose : int, default=0
        Whether to show progress: 0 is not, any other number is.
    random_state : int, RandomState instance, Generator or None, default=None
        Seed of the bases that have none of their own.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    second_ : RandomFeatureClassifier
        The fitted model of embeddings.
    basis_ : Basis
        The fitted basis of points, which takes points scaled by scaler_.
    scaler_ : ColumnScaler or None
        How columns of points are scaled; None if they are not.
    n_bags_ : int
        Number of bags.
    bag_sizes_ : tuple of two int
        Points of the smallest and of the largest bag.
    bag_ : str or None
        Name of the column that says which bag a point belongs to.
    seed_ : int
        Seed of the draws.
    loss_ : float
        Objective that was reached; only if learned.
    status_ : str
        In words, how the optimizer ended; only if learned.
    cv_score_ : float or None
        Accuracy to expect on new bags, by cross-validation; None if it is not known.
    cv_standard_error_ : float or None
        Standard error of cv_score_.
    n_features_in_ : int
        Number of columns of a point.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns; only if X is a frame.
    recipe_ : Recipe
        How the columns of files became numbers; only if they had to.

    See Also
    --------
    DistributionRegressor : The same for numbers.

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
        basis: Basis | None = None,
        second_basis: Basis | str | None = None,
        *,
        learned: bool = False,
        alpha: Penalty = "auto",
        half_size: float | None = None,
        scale: str | None = "auto",
        solver: str = "auto",
        fit_intercept: bool = True,
        class_weight: ClassWeight = None,
        frequency_alpha: float = 0.0,
        optimizer: str = "lbfgs",
        max_iter: int = 100,
        batch_size: int = 32,
        learning_rate: float = 0.01,
        device: str | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: RandomStateLike = None,
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
        self.device = device
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _second(self, basis: Basis, alpha: Penalty) -> RandomFeatureModel:
        return RandomFeatureClassifier(basis, class_weight=self.class_weight, **self._settings_of_second(alpha))

    @property
    def classes_(self) -> np.ndarray:
        """The labels, sorted, of shape (n_classes,)."""
        return self.second_.classes_

    def decision_function(self, X: BagsLike, *, bag: str | ArrayLike | None = None) -> np.ndarray:
        """Compute the scores of the classes.

        Parameters
        ----------
        X : list of array-like, array-like, frame or Blocks
            The bags: a list of matrices, one row for each point; an array of shape (n_bags, n_points, n_features); or
            all points as a matrix, frame or Blocks, with `bag` to tell them apart. Bags may differ in size.
        bag : str or array-like of shape (n_points,), default=None
            Which bag a point belongs to: a column of the frame or of the files, or one name for each point.

        Returns
        -------
        ndarray of shape (n_bags,) or (n_bags, n_classes)
            Scores; for two classes one number a bag, positive for the second class.
        """
        means = self.embed(X, bag=bag)
        return self.second_.decision_function(means)

    def predict_proba(self, X: BagsLike, *, bag: str | ArrayLike | None = None) -> np.ndarray:
        """Predict the probabilities of the classes, calibrated as those of RandomFeatureClassifier are.

        Parameters
        ----------
        X : list of array-like, array-like, frame or Blocks
            The bags: a list of matrices, one row for each point; an array of shape (n_bags, n_points, n_features); or
            all points as a matrix, frame or Blocks, with `bag` to tell them apart. Bags may differ in size.
        bag : str or array-like of shape (n_points,), default=None
            Which bag a point belongs to: a column of the frame or of the files, or one name for each point.

        Returns
        -------
        ndarray of shape (n_bags, n_classes)
            Probabilities, in the order of `classes_`.
        """
        means = self.embed(X, bag=bag)
        return self.second_.predict_proba(means)

    def calibrate(
        self, X: BagsLike, y: VectorLike | None = None, *, bag: str | ArrayLike | None = None, target: str | None = None
    ) -> DistributionClassifier:
        """Learn the temperature of probabilities from bags that the model was not fitted to.

        Parameters
        ----------
        X : list of array-like, array-like, frame or Blocks
            The bags: a list of matrices, one row for each point; an array of shape (n_bags, n_points, n_features); or
            all points as a matrix, frame or Blocks, with `bag` to tell them apart. Bags may differ in size.
        y : array-like of shape (n_bags,) or (n_bags, n_targets), default=None
            One target for each bag, in the order in which bags are met; None if `target` holds them.
        bag : str or array-like of shape (n_points,), default=None
            Which bag a point belongs to: a column of the frame or of the files, or one name for each point.
        target : str, default=None
            Name of the column of the frame X that holds the target of a point's bag, in place of y.

        Returns
        -------
        object
            The model itself.
        """
        bags, means = self._embed(X, bag, target)
        self.second_.calibrate(means, targets_of(bags, y))
        return self

    def predict(self, X: BagsLike, *, bag: str | ArrayLike | None = None) -> np.ndarray:
        """Predict labels, one for each bag in the order in which bags are met.

        Parameters
        ----------
        X : list of array-like, array-like, frame or Blocks
            The bags: a list of matrices, one row for each point; an array of shape (n_bags, n_points, n_features); or
            all points as a matrix, frame or Blocks, with `bag` to tell them apart. Bags may differ in size.
        bag : str or array-like of shape (n_points,), default=None
            Which bag a point belongs to: a column of the frame or of the files, or one name for each point.

        Returns
        -------
        ndarray of shape (n_bags,)
            The labels.
        """
        means = self.embed(X, bag=bag)
        return self.second_.predict(means)

    def partial_fit(
        self,
        X: BagsLike,
        y: VectorLike | None = None,
        classes: ArrayLike | None = None,
        sample_weight: VectorLike | None = None,
        *,
        bag: str | ArrayLike | None = None,
        target: str | None = None,
    ) -> DistributionClassifier:
        """Add bags, each of which belongs to one call; the first call settles both bases and the classes.

        Parameters
        ----------
        X : list of array-like, array-like, frame or Blocks
            The bags: a list of matrices, one row for each point; an array of shape (n_bags, n_points, n_features); or
            all points as a matrix, frame or Blocks, with `bag` to tell them apart. Bags may differ in size.
        y : array-like of shape (n_bags,) or (n_bags, n_targets), default=None
            One target for each bag, in the order in which bags are met; None if `target` holds them.
        classes : array-like of shape (n_classes,), default=None
            All labels; the first call needs them, unless its bags have them all.
        sample_weight : array-like of shape (n_bags,), default=None
            Weights of the bags; None is 1 for each.
        bag : str or array-like of shape (n_points,), default=None
            Which bag a point belongs to: a column of the frame or of the files, or one name for each point.
        target : str, default=None
            Name of the column of the frame X that holds the target of a point's bag, in place of y.

        Returns
        -------
        object
            The model itself.
        """
        self._add(X, y, sample_weight, bag, target, classes=classes)
        return self

    def score(
        self,
        X: BagsLike,
        y: VectorLike | None = None,
        sample_weight: VectorLike | None = None,
        *,
        bag: str | ArrayLike | None = None,
        target: str | None = None,
    ) -> float:
        """Return the accuracy over bags.

        Parameters
        ----------
        X : list of array-like, array-like, frame or Blocks
            The bags: a list of matrices, one row for each point; an array of shape (n_bags, n_points, n_features); or
            all points as a matrix, frame or Blocks, with `bag` to tell them apart. Bags may differ in size.
        y : array-like of shape (n_bags,) or (n_bags, n_targets), default=None
            One target for each bag, in the order in which bags are met; None if `target` holds them.
        sample_weight : array-like of shape (n_bags,), default=None
            Weights of the bags; None is 1 for each.
        bag : str or array-like of shape (n_points,), default=None
            Which bag a point belongs to: a column of the frame or of the files, or one name for each point.
        target : str, default=None
            Name of the column of the frame X that holds the target of a point's bag, in place of y.

        Returns
        -------
        float
            Share of bags that are labelled right.
        """
        return float(accuracy_score(*self._scored(X, y, bag, target), sample_weight=sample_weight))

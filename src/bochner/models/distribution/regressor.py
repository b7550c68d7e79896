"""A number for each bag of points, and how far it may be off."""

from __future__ import annotations

from typing import Literal, overload

import numpy as np
from sklearn.metrics import r2_score

from ...arrays import to_host
from ...bases import Basis
from ...typing import ArrayLike, Penalty, RandomStateLike, VectorLike
from ..base import RandomFeatureModel
from ..regressor import MultiOutputRegressor, RandomFeatureRegressor
from .bags import Bags
from .base import DistributionModel
from .embedding import embed, embed_with_scatter
from .scatter import Directions, Reference, Scatter, ScatterOf
from .survey import SampledPoints
from .tables import BagsLike


class DistributionRegressor(MultiOutputRegressor, DistributionModel):
    """Regression on distributions: a number for each bag of points.

    A bag becomes the mean of the random features of its points, its mean embedding; ridge regression on random features
    of the embeddings does the rest. Points are read once and only sums of each bag are kept, so that neither bags nor
    their number need fit in memory.

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
    second_ : RandomFeatureRegressor
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
        R^2 to expect on new bags, by cross-validation; None if it is not known.
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
    DistributionClassifier : The same for labels.

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
        basis: Basis | None = None,
        second_basis: Basis | str | None = None,
        *,
        learned: bool = False,
        alpha: Penalty = "auto",
        half_size: float | None = None,
        scale: str | None = "auto",
        solver: str = "auto",
        fit_intercept: bool = True,
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
        self.frequency_alpha = frequency_alpha
        self.optimizer = optimizer
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.device = device
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    _reference: Reference | None
    _noise_of_sizes: np.ndarray | None

    def _second(self, basis: Basis, alpha: Penalty) -> RandomFeatureModel:
        return RandomFeatureRegressor(basis, **self._settings_of_second(alpha))

    @overload
    def predict(
        self, X: BagsLike, return_std: Literal[False] = False, *, bag: str | ArrayLike | None = None
    ) -> np.ndarray: ...
    @overload
    def predict(
        self, X: BagsLike, return_std: Literal[True], *, bag: str | ArrayLike | None = None
    ) -> tuple[np.ndarray, np.ndarray]: ...
    def predict(
        self, X: BagsLike, return_std: bool = False, *, bag: str | ArrayLike | None = None
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Predict the targets of bags, and on request how far they may be off.

        The variance of a new target has three parts: noise, what the ridge does not know, and how far the embedding of
        so small a bag may stray.

        Parameters
        ----------
        X : list of array-like, array-like, frame or Blocks
            The bags: a list of matrices, one row for each point; an array of shape (n_bags, n_points, n_features); or
            all points as a matrix, frame or Blocks, with `bag` to tell them apart. Bags may differ in size.
        return_std : bool, default=False
            Whether to return standard deviations too.
        bag : str or array-like of shape (n_points,), default=None
            Which bag a point belongs to: a column of the frame or of the files, or one name for each point.

        Returns
        -------
        ndarray of shape (n_bags,) or (n_bags, n_targets), or a tuple of two such arrays
            Predictions, in the order in which bags are met; with return_std also their standard deviations.
        """
        bags = self._open(X, bag)
        if not return_std:
            return self.second_.predict(embed(self.basis_, bags, self.device))
        if self._reference is None:
            raise ValueError("return_std needs the sums of the fit: save with sums=True.")
        directions = self._reference.scatter.directions
        means, scattered = embed_with_scatter(self.basis_, bags, ScatterOf(directions), self.device)
        scatter = Scatter(directions, bags.sizes, scattered)
        mean, deviation = self.second_.predict(means, return_std=True)
        if self._noise_of_sizes is None:
            self._noise_of_sizes = self._reference.noise_of_sizes(self.second_._scores)
        added = scatter.squared_errors(self.second_._scores, means, self._reference.covariance)
        added -= np.minimum(self._noise_of_sizes, to_host(self.second_._refresh().noise))
        variance = np.maximum(deviation**2 + added.reshape(mean.shape), 0.0)
        if not np.isfinite(variance).all():
            raise ValueError("the variance of features within bags is not known: the sums do not fit the model.")
        return mean, np.sqrt(variance)

    def _embed_training(self, bags: Bags, sample: SampledPoints, weight: np.ndarray | None) -> np.ndarray:
        few = Reference.bags(bags.n_bags)
        directions = Directions(self.basis_, sample.points)
        means, scattered = embed_with_scatter(self.basis_, bags, ScatterOf(directions, few), self.device)
        scatter = Scatter(directions, bags.sizes, scattered)
        self._reference = Reference(scatter, np.array(means[few]), None if weight is None else weight[few])
        self._noise_of_sizes = None
        return means

    def partial_fit(
        self,
        X: BagsLike,
        y: VectorLike | None = None,
        sample_weight: VectorLike | None = None,
        *,
        bag: str | ArrayLike | None = None,
        target: str | None = None,
    ) -> DistributionRegressor:
        """Add bags, each of which belongs to one call; the first call settles both bases.

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
        object
            The model itself.
        """
        self._add(X, y, sample_weight, bag, target)
        self._noise_of_sizes = None
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
        """Return R^2 over bags.

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
            R^2 of the predictions.
        """
        return float(r2_score(*self._scored(X, y, bag, target), sample_weight=sample_weight))

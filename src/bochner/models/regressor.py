"""Ridge regression on random features, with a Gaussian-process posterior on request."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.metaestimators import available_if

from ..losses import LossLike
from ..solvers import OUT, HeldOutScores, SolverLike
from ..validation import FitWarning, option
from .base import RandomFeatureModel, Scored, adds_rows
from .doubts import leverage_share
from .targets import Numeric


class MultiOutputRegressor(RegressorMixin):
    """A regressor that takes one or more targets."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags


def widening(held_out: HeldOutScores, noise: np.ndarray) -> np.ndarray:
    """What deviations (k,) are to be multiplied by so that 95 of 100 rows left out lie within 1.96 of them.

    A row with leverage h is predicted without itself with the variance noise / (1 - h).
    """
    assert held_out.leverage is not None
    left = np.maximum(1.0 - held_out.leverage, 1e-12)[:, None]
    sizes = np.abs(held_out.scores - held_out.codes) * np.sqrt(left / np.maximum(noise, np.finfo(float).tiny))
    found = np.quantile(sizes, 0.95, axis=0, method="higher") / 1.96
    return np.where((noise > 0) & (found > 0) & np.isfinite(found), found, 1.0)


class RandomFeatureRegressor(Scored, Numeric, MultiOutputRegressor, RandomFeatureModel):
    """Ridge regression on random features.

    Parameters
    ----------
    basis : a basis such as RandomMaxout(2000), or the name of one, such as "maxout", for a thousand of its features;
        None is RandomFourier(1000). basis__bandwidth and the like are its parameters.
    loss : "squared", "huber" or "epsilon_insensitive" (with an epsilon of 0.1 spreads of y), or an object of
        bochner.losses (whose epsilon is in the units of y). Shifting and scaling y shifts and scales predictions.
    alpha : penalty on the coefficients, with the sum of squared errors, as in scikit-learn's Ridge on the (scaled)
        features. "auto" by the squared error of five folds, from sums (of a held-out fifth where features are many);
        "loo" by exact leave-one-out, which needs a second pass; "gcv" by generalised cross-validation, which fails
        where leverages are uneven; a list of candidates is judged as "auto" is.
    max_coefficient : a bound C, with |coefficients| <= C / n_components; None for none.
    solver : "auto"; for the squared loss "cholesky" (Gram matrix), "dual" (kernel matrix), "cg" (no matrix; features
        made in every pass); "newton"; "dual" for losses with kinks; "box" with max_coefficient; "sgd", "adam" and
        "doubly_stochastic", or objects of bochner.solvers with their settings. docs/learning.md says what suits what.
    fit_intercept : an exact intercept, without penalty.
    precision : None is that of the basis; "auto" takes integers where they lose nothing; or any precision of a basis.
    scale : how columns are scaled before features are made of them: "robust" by medians and quartiles, with far-out
        numbers smoothly clipped; "standard" by means and deviations; None not at all. "auto" takes what does best on
        rows left out of a sample; where a bandwidth or radius is given as a number, or columns are of 8 bits, rows are
        taken as they are.
    linear : whether the columns themselves stand beside the features; "auto" where it does better on rows left out.
    n_jobs, verbose : threads of BLAS; progress.
    random_state : seeds the basis if it has none of its own.

    Attributes
    ----------
    coef_, linear_coef_, intercept_, alpha_, solution_, basis_, design_, moments_
    cv_score_, cv_standard_error_ : the R^2 to expect on new rows, by cross-validation.
    noise_variance_, log_marginal_likelihood_ : of the Bayesian linear model.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import RandomFeatureRegressor
    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> model = RandomFeatureRegressor(random_state=0).fit(X, np.sin(X[:, 0]))
    >>> bool(model.score(X, np.sin(X[:, 0])) > 0.9999)
    True
    """

    def __init__(
        self,
        basis: Any = None,
        *,
        loss: str | LossLike = "squared",
        alpha: Any = "auto",
        max_coefficient: float | None = None,
        solver: str | SolverLike = "auto",
        fit_intercept: bool = True,
        precision: str | None = None,
        scale: str | None = "auto",
        linear: bool | str = "auto",
        device: str | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
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
        self.device = device
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _aligned(self, sums: Any, other: Any) -> Any:
        return sums.shifted_targets(other._offset - self._offset)

    @available_if(adds_rows)
    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, target: str | None = None
    ) -> RandomFeatureRegressor:
        """Add rows; the result is that of one fit to all of them with the basis of the first call.

        A frame is taken as `fit` takes it, by the recipe of the first call. target : the column of a frame X that
        holds y.
        """
        return self._add_rows(X, y, sample_weight, None, target)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predictions; with return_std also the standard deviation of a new observation, noise included.

        It is the posterior of a Gaussian process with the features' kernel, noise (1 + 1/n + z'(G + alpha I)^-1 z),
        times the factor with which 95 of 100 rows left out of the fit lie within 1.96 deviations.
        """
        scores = self._scores(X)
        self._tell_beyond(scores)
        mean = scores.reshape(-1, *self._outputs)
        if not return_std:
            return mean
        fit = self._refresh()
        if fit.posterior is None:
            raise ValueError(
                "return_std needs the Gram or the kernel matrix: fit with "
                f"{option('solver', 'cholesky')} or 'dual', and save with {option('sums', True)}."
            )
        n, blocks = self._rows_to_predict(X, fit.posterior.width)
        spread = np.empty(n)
        for rows, part in blocks:
            spread[rows] = fit.posterior.spread(self.design_.map, part)
        deviation = np.sqrt(np.outer(1.0 + spread, fit.noise)) * self._widening
        return mean, deviation.reshape(mean.shape)

    def _tell_beyond(self, scores: np.ndarray) -> None:
        """Warn of predictions that leave the range of the targets by more than its width."""
        if self._ends is None or not len(scores):
            return
        low, high = self._ends
        beyond = np.any((scores > 2.0 * high - low) | (scores < 2.0 * low - high), axis=1)
        if beyond.any():
            row = int(np.argmax(beyond))
            warnings.warn(
                f"{np.count_nonzero(beyond):,} of {len(scores):,} predictions (first at row {row}) leave the range of "
                "y by more than its width: these rows are unlike those of the fit.",
                FitWarning, stacklevel=3,
            )  # fmt: skip

    def _outdated(self) -> Any:
        self._ends = None  # rows came or went: the range of their targets is no longer known
        return super()._outdated()

    def _calibrate(self, held_out: HeldOutScores | None) -> None:
        self._leverage = leverage_share(held_out)
        self._widening = np.ones(self._output_count())
        if held_out is not None and held_out.how == OUT and held_out.leverage is not None:
            self._widening = widening(held_out, self._solved.noise)

    @property
    def noise_variance_(self) -> Any:
        """Variance of the noise in the Bayesian linear model, at its most likely."""
        return self._shaped(self._refresh().noise)

    @property
    def log_marginal_likelihood_(self) -> float:
        """log p(y) of the Gaussian process; the larger, the better a bandwidth suits the data."""
        fit = self._refresh()
        if fit.posterior is None:
            raise AttributeError("the marginal likelihood needs the Gram or the kernel matrix.")
        return fit.posterior.log_marginal_likelihood(fit.noise)

"""Ridge regression on random features, with a Gaussian-process posterior on request."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.metaestimators import available_if

from .base import RandomFeatureModel, Scored, adds_rows
from .targets import Numeric


class MultiOutputRegressor(RegressorMixin):
    """A regressor that takes one or more targets."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags


class RandomFeatureRegressor(Scored, Numeric, MultiOutputRegressor, RandomFeatureModel):
    """Ridge regression on random features.

    Parameters
    ----------
    basis : a basis such as RandomMaxout(2000); None is RandomFourier(1000).
    loss : "squared", "huber" or "epsilon_insensitive" (with an epsilon of 0.1 spreads of y), or an object of
        bochner.losses (whose epsilon is in the units of y). Shifting and scaling y shifts and scales predictions.
    alpha : penalty on the coefficients, with the sum of squared errors, as in scikit-learn's Ridge on the (scaled)
        features. "auto" by generalised cross-validation; "loo" by exact leave-one-out, which needs a second pass; a
        list of candidates is judged as "auto" is.
    max_coefficient : a bound C, with |coefficients| <= C / n_components; None for none.
    solver : "auto"; for the squared loss "cholesky" (Gram matrix), "dual" (kernel matrix), "cg" (no matrix; features
        made in every pass); "newton"; "dual" for losses with kinks; "box" with max_coefficient; "sgd", "adam" and
        "doubly_stochastic", or objects of bochner.solvers with their settings. docs/learning.md says what suits what.
    fit_intercept : an exact intercept, without penalty.
    precision : None is that of the basis; "auto" takes integers where they lose nothing; or any precision of a basis.
    n_jobs, verbose : threads of BLAS; progress.
    random_state : seeds the basis if it has none of its own.

    Attributes
    ----------
    coef_, intercept_, alpha_, solution_, basis_, moments_, noise_variance_, log_marginal_likelihood_

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
        loss: str = "squared",
        alpha: Any = "auto",
        max_coefficient: float | None = None,
        solver: Any = "auto",
        fit_intercept: bool = True,
        precision: str | None = None,
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
        self.device = device
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _aligned(self, moments: Any, other: Any) -> Any:
        return moments.shifted_targets(other._offset - self._offset)

    @available_if(adds_rows)
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> RandomFeatureRegressor:
        """Add rows; the result is that of one fit to all of them with the basis of the first call."""
        return self._add_rows(X, y, sample_weight)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predictions; with return_std also the standard deviation of a new observation, noise included.

        It is the posterior of a Gaussian process with the features' kernel: noise (1 + 1/n + z'(G + alpha I)^-1 z).
        """
        mean = self._scores(X).reshape(-1, *self._outputs)
        if not return_std:
            return mean
        fit = self._refresh()
        if fit.posterior is None:
            raise ValueError(
                "return_std needs the Gram or the kernel matrix: fit with solver='cholesky' or 'dual', and save with "
                "sums=True."
            )
        n, blocks = self._rows_to_predict(X, fit.posterior.width)
        spread = np.empty(n)
        for rows, part in blocks:
            spread[rows] = fit.posterior.spread(self.basis_, part)
        deviation = np.sqrt(np.outer(1.0 + spread, fit.noise))
        return mean, deviation.reshape(mean.shape)

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

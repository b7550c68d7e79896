"""Least squares from moments: one pass over the rows for the sums, then matrices of the size of the features."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from ..arrays import Array, cast, constant, like, namespace
from ..costs import is_many
from ..maps import FeatureMap
from ..moments import Centered, FoldedMoments
from ..ops import threads
from .base import Solution, Solver
from .cholesky import solve_factored, solve_quickly
from .factor import Factor, factor_gram
from .leave_one_out import from_moments
from .problem import Problem
from .sums import reduce_folds

ROWS = 128  # whose leverages are the work of one thread


class Cholesky(Solver):
    """The Gram matrix of all rows, factored."""

    name = "cholesky"
    needs = frozenset({"quadratic"})
    exact = True
    takes_tensors = True
    works_on = "sums"
    holds_out = True

    def solve(self, problem: Problem) -> Solution:
        sums = reduce_folds(problem) if problem.sums is None else problem.sums
        found = solve_sums(sums, problem.scale, problem.alpha, problem.intercept, problem.unit)
        assert isinstance(found.posterior, PrimalPosterior)
        held_out = from_moments(problem, found, found.posterior)
        found.posterior.forget()
        return replace(found, held_out=held_out)


def noise_variance(energy: Array, weight: float, count: float, intercept: bool) -> Array:
    """The most likely variance of an observation of average weight: energy = RSS + alpha |b|^2."""
    return energy / weight * count / max(count - float(intercept), 1.0)


def solve_sums(
    sums: FoldedMoments, scale: float | np.ndarray, alpha: float, intercept: bool, unit: float | None
) -> Solution:
    """The ridge model of sums; the noise is that of the Bayesian linear model."""
    centered = sums.centered(scale, intercept)
    # Where float32 factors could try penalties, one can mostly solve at the best of them.
    if is_many(len(centered.gram)) and unit is None:
        found, factor = solve_quickly(centered.gram, centered.cross, alpha)
    else:
        factor = factor_gram(centered.gram, alpha)
        found = solve_factored(centered.gram, centered.cross, alpha, factor)
    b = found.coefficients
    penalty = alpha * (b**2).sum(axis=0)
    error = (centered.square - (b * centered.cross).sum(axis=0) - penalty).clip(min=0.0)
    noise = noise_variance(error + penalty, centered.weight, centered.observations(unit), intercept)
    posterior = PrimalPosterior(sums, scale, alpha, intercept, unit, None if factor is None else (centered, factor))
    return replace(found, intercept=centered.mean_y - centered.mean_z @ b, noise=noise, posterior=posterior)


@dataclass
class PrimalPosterior:
    """The Gaussian posterior of the coefficients, covariance noise (G + alpha I)^-1; forgotten, it is made again."""

    sums: FoldedMoments = field(repr=False)
    scale: float | np.ndarray
    alpha: float
    intercept: bool
    unit: float | None  # the weight of one row; None is the mean
    _made: tuple[Centered, Factor] | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_made": None}

    def _factored(self) -> tuple[Centered, Factor]:
        if self._made is None:
            centered = self.sums.centered(self.scale, self.intercept)
            factor = factor_gram(centered.gram, self.alpha)
            if factor is None:
                raise ValueError(f"the posterior is improper at alpha={self.alpha:g}: use a larger penalty.")
            self._made = centered, factor
        return self._made

    @property
    def is_proper(self) -> bool:
        """Whether G + alpha I has an inverse in floating point."""
        try:
            self._factored()
        except ValueError:
            return False
        return True

    def forget(self) -> None:
        """Let go of the factor, which is as large as the sums."""
        self._made = None

    @property
    def centered(self) -> Centered:
        """The sums after centring, with scaled features."""
        return self._factored()[0]

    @property
    def width(self) -> int:
        """Numbers that a row becomes."""
        return 4 * self.sums.features

    def spread(self, feature_map: FeatureMap, X: Array) -> Array:
        """1/n + z'(G + alpha I)^-1 z of scaled features; times the noise it is the variance of the mean."""
        centered, factor = self._factored()
        features = like(feature_map(X), centered.mean_z)  # beside the factor, wherever the rows are
        offset = 1.0 / centered.weight if self.intercept else 0.0
        spread, scale = constant(offset, (features.shape[0],), features), like(feature_map.scale, features)

        def add(start: int) -> None:
            rows = slice(start, start + ROWS)
            some = features[rows].toarray() if hasattr(features, "toarray") else features[rows]
            z = cast(some, "float64") * scale
            z -= centered.mean_z
            spread[rows] += (factor.half_solve(z.T) ** 2).sum(axis=0)

        with threads.blas_limited():
            threads.run([partial(add, start) for start in range(0, len(spread), ROWS)])
        return spread * self.weight_of_one

    @property
    def weight_of_one(self) -> float:
        """The mean weight of what counts as one row."""
        return self.centered.weight / self.centered.observations(self.unit)

    def log_marginal_likelihood(self, noise: Array) -> float:
        """The log marginal likelihood of the targets, summed over outputs, for the variance of the noise of each."""
        centered, factor = self._factored()
        rows = max(centered.observations(self.unit) - float(self.intercept), 1.0)
        with np.errstate(divide="ignore"):
            determinant = factor.log_determinant - len(centered.gram) * np.log(self.alpha)
        return float(-0.5 * (rows * (namespace(noise).log(2.0 * np.pi * noise) + 1.0) + determinant).sum())

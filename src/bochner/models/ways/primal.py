"""Least squares from moments: one pass over the rows for the sums, then matrices of the size of the features."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import eigh

from ...bases import Basis
from ...blocks import Block
from ...moments import Centered, Moments, Rows
from ...solvers import RidgePath, Solution, factor_gram, solve_factored, solve_quickly
from .folds import MANY_FEATURES, by_folds, reduce_folds
from .penalty import FEW, candidates, edge_note, minimise, smallest, too_few
from .problem import Fit, Problem

LEAST = 1e-12  # what a leverage leaves, at least


def reduce_moments(problem: Problem, title: str = "moments") -> Moments:
    def rows(block: Block) -> Rows:
        return Rows(problem.features(block.X), block.y, block.weight)

    return problem.blocks.reduce(rows, add=Moments.plus_rows, width=int(3 * problem.width) + 1, title=title)


def fit_primal(problem: Problem, reason: str) -> tuple[Fit, Moments]:
    """The ridge model of all rows, and its moments."""
    if isinstance(problem.alpha, float) or not problem.classifies or problem.asks_for("loo"):
        moments = reduce_moments(problem)
        if problem.asks_for("loo"):
            alpha, note = by_leave_one_out(problem, moments.centered(problem.scale, problem.intercept))
            return finish(moments, problem.scale, alpha, note, problem.intercept, reason), moments
        return fit_moments(moments, problem.scale, problem.alpha, problem.intercept, reason), moments
    folded = reduce_folds(problem)
    alpha, note = by_folds(problem, folded)
    moments = folded.merged()
    # Where a float32 factor could try penalties, it can mostly solve at the best of them.
    quick = problem.basis.n_components > MANY_FEATURES
    return finish(moments, problem.scale, alpha, note, problem.intercept, reason, quick), moments


def fit_moments(moments: Moments, scale: float, alpha: Any, intercept: bool, reason: str) -> Fit:
    """The ridge model from moments alone; several candidates are judged by generalised cross-validation."""
    if isinstance(alpha, float):
        return finish(moments, scale, alpha, "given", intercept, reason)
    centered = moments.centered(scale, intercept)
    alphas = candidates(alpha, np.trace(centered.gram) / centered.observations)
    if too_few(centered.rows):
        return finish(moments, scale, float(alphas[-1]), FEW, intercept, reason)
    path = RidgePath(centered.gram, centered.cross, centered.square)

    def criterion(a: float) -> float:
        return path.generalised_cross_validation(a, centered.observations, intercept)

    best = minimise(criterion, alphas, refine=isinstance(alpha, str))
    note = "generalised cross-validation" + edge_note(best, alphas)
    return finish(moments, scale, best, note, intercept, reason)


def noise_variance(energy: np.ndarray, weight: float, count: float, intercept: bool) -> np.ndarray:
    """The most likely variance of an observation of average weight: energy = RSS + alpha |b|^2."""
    return energy / weight * count / max(count - float(intercept), 1.0)


def finish(
    moments: Moments, scale: float, alpha: float, note: str, intercept: bool, reason: str, quick: bool = False
) -> Fit:
    """Solve at the chosen penalty; the noise is that of the Bayesian linear model."""
    centered = moments.centered(scale, intercept)
    if quick:
        found, factor = solve_quickly(centered.gram, centered.cross, alpha)
    else:
        factor = factor_gram(centered.gram, alpha)
        found = solve_factored(centered.gram, centered.cross, alpha, factor)
    solution = Solution(found.coefficients, found.method, alpha, found.status, found.residual, found.iterations, reason)
    b = found.coefficients
    penalty = alpha * np.sum(b**2, axis=0)
    error = np.maximum(centered.square - np.sum(b * centered.cross, axis=0) - penalty, 0.0)
    noise = noise_variance(error + penalty, centered.weight, centered.observations, intercept)
    posterior = PrimalPosterior(moments, scale, alpha, intercept, None if factor is None else (centered, factor))
    return Fit(solution, centered.mean_y - centered.mean_z @ b, note, noise, posterior)


# ---- leave one out ----


def by_leave_one_out(problem: Problem, centered: Centered) -> tuple[float, str]:
    """Exact leave-one-out squared error: an eigen-decomposition and a second pass for the leverages."""
    alphas = candidates(problem.alpha, np.trace(centered.gram) / centered.observations, per_decade=2)
    if too_few(centered.rows):
        return float(alphas[-1]), FEW
    values, vectors = eigh(centered.gram)
    inverse = 1.0 / np.maximum(np.maximum(values, 0.0)[:, None] + alphas, np.finfo(float).tiny)
    rotated = vectors.T @ centered.cross

    def errors(block: Block) -> np.ndarray:
        features = np.asarray(problem.features(block.X) @ vectors) * problem.scale - centered.mean_z @ vectors
        weight = np.ones(len(features)) if block.weight is None else block.weight
        leverage = weight[:, None] * (features**2 @ inverse + float(problem.intercept) / centered.weight)
        total = np.zeros(len(alphas))
        for k in range(len(alphas)):
            residual = block.y - centered.mean_y - features @ (rotated * inverse[:, k : k + 1])
            left = np.maximum(1.0 - leverage[:, k : k + 1], LEAST)
            total[k] = np.sum(weight[:, None] * (residual / left) ** 2)
        return total

    totals = problem.blocks.reduce(errors, width=4 * problem.basis.n_components, title="leverages")
    best = float(alphas[smallest(alphas, totals)])
    return best, "exact leave-one-out, by a second pass" + edge_note(best, alphas)


# ---- posterior ----


@dataclass
class PrimalPosterior:
    """The Gaussian posterior of the coefficients, covariance noise (G + alpha I)^-1; forgotten, it is made again."""

    moments: Moments = field(repr=False)
    scale: float
    alpha: float
    intercept: bool
    _made: tuple[Centered, Any] | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_made": None}

    def _factored(self) -> tuple[Centered, Any]:
        if self._made is None:
            centered = self.moments.centered(self.scale, self.intercept)
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
        return self._factored()[0]

    @property
    def width(self) -> int:
        """Numbers that a row becomes."""
        return 4 * len(self.moments.sum_z)

    def spread(self, basis: Basis, X: Any) -> np.ndarray:
        """1/n + z'(G + alpha I)^-1 z of scaled features; times the noise it is the variance of the mean."""
        centered, factor = self._factored()
        features = basis.features(X)
        features = features.toarray() if hasattr(features, "toarray") else features
        z = features.astype(np.float64) * float(basis.scale_) - centered.mean_z
        offset = 1.0 / centered.weight if self.intercept else 0.0
        return (offset + np.sum(factor.half_solve(z.T) ** 2, axis=0)) * centered.weight / centered.observations

    def log_marginal_likelihood(self, noise: np.ndarray) -> float:
        centered, factor = self._factored()
        rows = max(centered.observations - float(self.intercept), 1.0)
        with np.errstate(divide="ignore"):
            determinant = factor.log_determinant - len(centered.gram) * np.log(self.alpha)
        return float(-0.5 * np.sum(rows * (np.log(2.0 * np.pi * noise) + 1.0) + determinant))

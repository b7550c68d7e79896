"""Least squares from moments: one pass over the rows for the sums, then matrices of the size of the features."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ... import ops
from ...arrays import Array, cast, constant, is_torch, like, namespace
from ...bases.design import Design, times_columns
from ...blocks import Block, SumOf
from ...moments import Centered, FoldedMoments, Moments
from ...ops import threads
from ...solvers import RidgePath, Solution, factor_gram, solve_factored, solve_quickly
from .folds import MANY_FEATURES, MomentsOf, by_labels, from_sums, reduce_folds
from .penalty import FEW, GIVEN, Chosen, CrossValidated, candidates, edge_note, end_of, minimise, smallest, too_few
from .problem import Featurizer, Fit, Problem, rounding_floor

LEAST = 1e-12  # what a leverage leaves, at least
ROWS = 128  # whose leverages are the work of one thread


def reduce_moments(problem: Problem, title: str = "moments") -> Moments:
    folded: FoldedMoments = problem.blocks.reduce(MomentsOf.problem(problem), title=title)
    return folded.total()


def fit_primal(problem: Problem, reason: str) -> tuple[Fit, FoldedMoments]:
    """The ridge model of all rows, and its sums."""
    folded = reduce_folds(problem)
    if problem.asks_for("loo"):
        chosen = by_leave_one_out(problem, folded.centered(problem.scale, problem.intercept))
    elif problem.classifies and len(folded.folds) > 1:
        chosen = by_labels(problem, folded)
    else:
        return fit_sums(folded, problem.basis, problem.alpha, problem.intercept, problem.classifies, reason), folded
    return finish(folded, problem.scale, chosen, problem.intercept, reason), folded


def fit_sums(
    folded: FoldedMoments, design: Design, alpha: Any, intercept: bool, classifies: bool, reason: str, scale: Any = None
) -> Fit:
    """The ridge model from sums alone; candidates are judged by folds, or by name by generalised cross-validation.

    `scale` is that of the design unless it is given.
    """
    scale = design.scale_ if scale is None else scale
    if isinstance(alpha, float):
        return finish(folded, scale, Chosen(alpha, GIVEN), intercept, reason)
    if len(folded.folds) == 1 or (isinstance(alpha, str) and alpha == "gcv"):
        chosen = by_generalised_cross_validation(folded.centered(scale, intercept), alpha, intercept)
    else:
        floor = rounding_floor(design, folded.rows)
        chosen = from_sums(folded, scale, alpha, intercept, classifies, floor, design.linear_columns)
    return finish(folded, scale, chosen, intercept, reason)


def by_generalised_cross_validation(centered: Centered, alpha: Any, intercept: bool) -> Chosen:
    """By the sums of all rows, which it takes for rows of equal leverage."""
    alphas = candidates(alpha, float(centered.gram.trace()))
    if too_few(centered.rows):
        return Chosen(float(alphas[-1]), FEW)
    path = RidgePath(centered.gram, centered.cross, centered.square)

    def criterion(a: float) -> float:
        return path.generalised_cross_validation(a, centered.rows, intercept)

    best = minimise(criterion, alphas, refine=isinstance(alpha, str))
    end = "lower" if best <= alphas[0] else "upper" if best >= alphas[-1] and len(alphas) > 1 else ""
    how = "generalised cross-validation" if alpha == "gcv" else "generalised cross-validation, for sums without folds"
    return Chosen(best, how + edge_note(end), None, end)


def noise_variance(energy: Array, weight: float, count: float, intercept: bool) -> Array:
    """The most likely variance of an observation of average weight: energy = RSS + alpha |b|^2."""
    return energy / weight * count / max(count - float(intercept), 1.0)


def finish(sums: FoldedMoments, scale: Any, chosen: Chosen, intercept: bool, reason: str) -> Fit:
    """Solve at the chosen penalty; the noise is that of the Bayesian linear model."""
    centered, alpha = sums.centered(scale, intercept), chosen.alpha
    # Where float32 factors could try penalties, one can mostly solve at the best of them.
    if len(centered.gram) > MANY_FEATURES and chosen.note != GIVEN:
        found, factor = solve_quickly(centered.gram, centered.cross, alpha)
    else:
        factor = factor_gram(centered.gram, alpha)
        found = solve_factored(centered.gram, centered.cross, alpha, factor)
    solution = Solution(found.coefficients, found.method, alpha, found.status, found.residual, found.iterations, reason)
    b = found.coefficients
    penalty = alpha * (b**2).sum(axis=0)
    error = (centered.square - (b * centered.cross).sum(axis=0) - penalty).clip(min=0.0)
    noise = noise_variance(error + penalty, centered.weight, centered.observations(chosen.unit), intercept)
    made = None if factor is None else (centered, factor)
    posterior = PrimalPosterior(sums, scale, alpha, intercept, chosen.unit, made)
    intercepts = centered.mean_y - centered.mean_z @ b
    return Fit(solution, intercepts, chosen.note, noise, posterior, validated=chosen.validated, end=chosen.end)


# ---- leave one out ----


def by_leave_one_out(problem: Problem, centered: Centered) -> Chosen:
    """Exact leave-one-out squared error: an eigen-decomposition and a second pass for the leverages."""
    alphas = candidates(problem.alpha, float(centered.gram.trace()), per_decade=2)
    if too_few(centered.rows):
        return Chosen(float(alphas[-1]), FEW)
    values, vectors = ops.eigh(centered.gram)
    inverse = 1.0 / (values.clip(min=0.0)[:, None] + like(alphas, values)).clip(min=np.finfo(float).tiny)
    rotated, scaled = vectors.T @ centered.cross, times_columns(problem.scale, vectors)

    offsets = centered.mean_z @ vectors, centered.mean_y, float(problem.intercept) / centered.weight
    totals = problem.blocks.reduce(
        Leverages(problem.feature_map, scaled, rotated, inverse, *offsets), title="leverages"
    )
    best = smallest(totals)
    end = end_of(best, len(alphas))
    score = 1.0 - float(totals[best]) / max(float(centered.square.sum()), np.finfo(float).tiny)
    validated = None if problem.classifies else CrossValidated(score, None, centered.rows, "rows left out one by one")
    note = "exact leave-one-out, by a second pass" + edge_note(end)
    return Chosen(float(alphas[best]), note, validated, end)


@dataclass(frozen=True)
class Leverages(SumOf):
    """Squared leave-one-out errors at each penalty, residual / (1 - leverage), in the axes of the eigenvectors.

    `axes` are the eigenvectors (m, m) times the scale, `rotated` the cross products along them, `inverse` the inverses
    of eigenvalues plus penalties (m, penalties); the last three are the means of features and targets, and 1/weight.
    """

    features: Featurizer
    axes: Array
    rotated: Array
    inverse: Array
    mean_z: Array
    mean_y: Array
    least: float

    @property
    def width(self) -> float:
        return 4.0 * len(self.axes)

    def of(self, block: Block) -> np.ndarray:
        features = self.features.features(block.X)
        features = (cast(features, "float64") if is_torch(features) else features) @ self.axes - self.mean_z
        weight = constant(1.0, (len(features),), features) if block.weight is None else block.weight
        leverage = weight[:, None] * (features**2 @ self.inverse + self.least)
        total = np.zeros(self.inverse.shape[1])
        for k in range(len(total)):
            residual = block.y - self.mean_y - features @ (self.rotated * self.inverse[:, k : k + 1])
            left = (1.0 - leverage[:, k : k + 1]).clip(min=LEAST)
            total[k] = float((weight[:, None] * (residual / left) ** 2).sum())
        return total


# ---- posterior ----


@dataclass
class PrimalPosterior:
    """The Gaussian posterior of the coefficients, covariance noise (G + alpha I)^-1; forgotten, it is made again."""

    sums: FoldedMoments = field(repr=False)
    scale: Any
    alpha: float
    intercept: bool
    unit: float | None  # the weight of one row; None is the mean
    _made: tuple[Centered, Any] | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_made": None}

    def _factored(self) -> tuple[Centered, Any]:
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
        return self._factored()[0]

    @property
    def width(self) -> int:
        """Numbers that a row becomes."""
        return 4 * self.sums.features

    def spread(self, design: Design, X: Any) -> Array:
        """1/n + z'(G + alpha I)^-1 z of scaled features; times the noise it is the variance of the mean."""
        centered, factor = self._factored()
        features = like(design.features(X), centered.mean_z)  # beside the factor, wherever the rows are
        offset = 1.0 / centered.weight if self.intercept else 0.0
        spread, scale = constant(offset, (features.shape[0],), features), like(design.scale_, features)

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
        centered, factor = self._factored()
        rows = max(centered.observations(self.unit) - float(self.intercept), 1.0)
        with np.errstate(divide="ignore"):
            determinant = factor.log_determinant - len(centered.gram) * np.log(self.alpha)
        return float(-0.5 * (rows * (namespace(noise).log(2.0 * np.pi * noise) + 1.0) + determinant).sum())

"""Least squares from the kernel matrix of the rows: for fewer rows than features, and for exact kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse
from scipy.linalg import eigh

from ...bases import Basis
from ...blocks import Block, MemoryBlocks
from ...config import memory_budget
from ...solvers import DualPath, DualProblem, Solution, dual_problem, factor_gram, solve_dual, solve_or_none
from .calibration import Judged
from .left_out import from_kernel
from .penalty import FEW, candidates, edge_note, minimise, smallest, too_few
from .primal import LEAST, noise_variance
from .problem import Fit, Problem, fold_of, wrong

FOLDS = 5


def tile_columns(rows: int) -> int:
    """How many columns of features of so many rows may be held at a time, in float64 and its copies."""
    return int(np.clip(memory_budget() // (8 * 8 * max(rows, 1)), 16, 4096))


def feature_kernel(problem: Problem, X: Any, Z: Any = None) -> np.ndarray:
    """Z Z' of scaled features, a tile of columns at a time."""
    total = np.zeros((X.shape[0], (X if Z is None else Z).shape[0]))
    columns = tile_columns(max(total.shape))
    tiles = problem.basis.column_tiles(X, columns)
    others = tiles if Z is None else problem.basis.column_tiles(Z, columns)
    pairs = (
        ((part, part) for _, part in tiles)
        if Z is None
        else ((a, b) for (_, a), (_, b) in zip(tiles, others, strict=True))
    )
    for left, right in pairs:
        left, right = left.astype(np.float64), right.astype(np.float64)
        product = left @ right.T
        total += product.toarray() if scipy.sparse.issparse(product) else product
    return total * problem.scale**2


def fit_dual(problem: Problem, reason: str, calibrates: bool = False) -> tuple[Fit, Judged | None]:
    """The ridge model of features, by its dual; the rows fit in memory by assumption. And scores of rows left out."""
    block = problem.blocks.read(0, problem.blocks.n_rows)
    X, y, weight = (None if part is None else part.copy() for part in block[:3])  # the caller may reuse its arrays
    block, problem = Block(X, y, weight, 0), replace(problem, blocks=MemoryBlocks(X, y, weight))
    kernel = feature_kernel(problem, block.X)
    found, dual = solve_kernel(kernel, block, problem.alpha, problem.intercept, problem.classifies)
    weights = np.ones(len(kernel)) if block.weight is None else block.weight
    share = weights / weights.sum()
    coefficients = np.empty((problem.basis.n_components, block.y.shape[1]))
    mean = np.zeros(problem.basis.n_components)
    for columns, part in problem.basis.column_tiles(block.X, tile_columns(len(kernel))):
        part = part.astype(np.float64)
        mean[columns] = np.asarray(part.T @ share).ravel() * problem.scale if problem.intercept else 0.0
        coefficients[columns] = problem.scale * np.asarray(part.T @ found.solution.coefficients)
    # Dual coefficients of centred rows sum to zero, but for rounding, which is taken out here.
    coefficients -= np.outer(mean, found.solution.coefficients.sum(axis=0))
    s = found.solution
    solution = Solution(coefficients, s.method, s.alpha, s.status, s.residual, s.iterations, reason)
    posterior = DualPosterior(problem, block.X, dual, s.alpha)
    judged = from_kernel(dual, s.coefficients, s.alpha, block, problem.intercept) if calibrates else None
    return Fit(solution, dual.mean_y - mean @ coefficients, found.penalty, found.noise, posterior), judged


def solve_kernel(
    kernel: np.ndarray, block: Block, alpha: Any, intercept: bool, classifies: bool
) -> tuple[Fit, DualProblem]:
    """Dual coefficients for a kernel matrix, the penalty chosen as `alpha` says; the intercept is the mean of y."""
    dual = dual_problem(kernel, block.y.astype(np.float64), block.weight, intercept)
    alpha, note = choose_alpha(kernel, dual, block, alpha, intercept, classifies)
    solution = solve_dual(dual, alpha)
    # y'(K + alpha I)^-1 y alpha = RSS + alpha |b|^2
    energy = alpha * np.sum(dual.target * solution.coefficients / dual.root[:, None], axis=0)
    weight = float(np.sum(dual.root**2))
    noise = noise_variance(np.maximum(energy, 0.0), weight, max(weight, len(kernel)), intercept)
    return Fit(solution, dual.mean_y, note, noise), dual


def choose_alpha(
    kernel: np.ndarray, dual: DualProblem, block: Block, alpha: Any, intercept: bool, classifies: bool
) -> tuple[float, str]:
    if isinstance(alpha, float):
        return alpha, "given"
    count = max(float(np.sum(dual.root**2)), float(len(kernel)))
    unit = float(np.trace(dual.kernel)) / count
    if too_few(len(kernel)):
        return float(candidates(alpha, unit)[-1]), FEW
    if isinstance(alpha, str) and alpha == "loo":
        alphas = candidates(alpha, unit, per_decade=2)
        best = float(alphas[smallest(alphas, leave_one_out(dual, alphas, intercept))])
        return best, "exact leave-one-out" + edge_note(best, alphas)
    alphas = candidates(alpha, unit)
    if classifies:
        best = float(alphas[smallest(alphas, fold_errors(kernel, block, alphas, intercept))])
        return best, f"error of {FOLDS} folds" + edge_note(best, alphas)
    path = DualPath(dual.kernel, dual.target)

    def criterion(a: float) -> float:
        return path.generalised_cross_validation(a, count, intercept)

    best = minimise(criterion, alphas, refine=isinstance(alpha, str))
    return best, "generalised cross-validation" + edge_note(best, alphas)


def leave_one_out(dual: DualProblem, alphas: np.ndarray, intercept: bool) -> np.ndarray:
    """The exact sum of squared leave-one-out errors for each penalty: residual_i / (1 - leverage_i).

    With an intercept, the direction of the means has leverage 1 and is reflected out first, so that nothing cancels.
    """
    kernel, reflection = dual.kernel, np.eye(len(dual.kernel))
    if intercept:
        axis = dual.root / np.linalg.norm(dual.root)
        axis[0] += np.copysign(1.0, axis[0])
        reflection = (reflection - np.outer(axis, axis) * (2.0 / (axis @ axis)))[:, 1:]
        kernel = reflection.T @ kernel @ reflection
    values, vectors = eigh(kernel)
    vectors = reflection @ vectors
    rotated, totals = vectors.T @ dual.target, np.zeros(len(alphas))
    for k, alpha in enumerate(alphas):
        share = alpha / (np.maximum(values, 0.0) + alpha)
        residual, left = vectors @ (share[:, None] * rotated), np.maximum(vectors**2 @ share, LEAST)
        totals[k] = np.sum((residual / left[:, None]) ** 2)
    return totals


def fold_errors(kernel: np.ndarray, block: Block, alphas: Sequence[float] | np.ndarray, intercept: bool) -> np.ndarray:
    """Weighted number of rows that are classified wrongly by a model of the other folds, for each penalty."""
    folds = fold_of(block, FOLDS)
    counts = np.zeros(len(alphas))
    for fold in range(FOLDS):
        out, rest = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        if not len(out) or not len(rest):
            continue
        weight = None if block.weight is None else block.weight[rest]
        part = dual_problem(kernel[np.ix_(rest, rest)], block.y[rest].astype(np.float64), weight, intercept)
        rows = kernel[np.ix_(out, rest)]
        rows = part.center_new(rows) if intercept else rows
        weights = np.ones(len(out)) if block.weight is None else block.weight[out]
        for k, alpha in enumerate(alphas):
            found = solve_or_none(part.kernel, part.target, float(alpha))
            if found is None:
                counts[k] = np.inf
                continue
            counts[k] += weights @ wrong(rows @ (found * part.root[:, None]) + part.mean_y, block.y[out])
    return counts


@dataclass
class DualPosterior:
    """Predictive variances from the kernel of new rows with the training rows, which it keeps."""

    problem: Problem
    X: Any = field(repr=False)
    dual: DualProblem = field(repr=False)
    alpha: float
    _factor: Any = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_factor": None}

    def factor(self) -> Any:
        if self._factor is None:
            self._factor = factor_gram(self.dual.kernel, self.alpha)
        if self._factor is None:
            raise ValueError(f"the posterior is improper at alpha={self.alpha:g}: use a larger penalty.")
        return self._factor

    @property
    def width(self) -> int:
        """Numbers that a row becomes."""
        return 4 * len(self.dual.root)

    def spread(self, basis: Basis, X: Any) -> np.ndarray:
        """1/n + (k(x, x) - k'(K + alpha I)^-1 k) / alpha, with centred kernels."""
        raw = feature_kernel(self.problem, X, self.X)
        square = np.zeros(X.shape[0])
        for _, part in basis.column_tiles(X, tile_columns(X.shape[0])):
            part = part.astype(np.float64)
            squares = part.power(2) if hasattr(part, "power") else part**2
            square += np.asarray(squares.sum(axis=1)).ravel()
        square *= self.problem.scale**2
        weight = float(np.sum(self.dual.root**2))
        if self.problem.intercept:
            share = self.dual.root**2 / weight
            square = square - 2.0 * (raw @ share) + self.dual.grand_mean
            raw = self.dual.center_new(raw)
        rows = raw * self.dual.root
        explained = np.sum(rows * self.factor().solve(rows.T).T, axis=1)
        offset = 1.0 / weight if self.problem.intercept else 0.0
        spread = offset + np.maximum(square - explained, 0.0) / self.alpha
        return spread * weight / max(weight, float(len(self.dual.root)))

    def log_marginal_likelihood(self, noise: np.ndarray) -> float:
        count = max(float(np.sum(self.dual.root**2)), float(len(self.dual.root)))
        rows = max(count - float(self.problem.intercept), 1.0)
        with np.errstate(divide="ignore"):
            determinant = self.factor().log_determinant - len(self.dual.root) * np.log(self.alpha)
        return float(-0.5 * np.sum(rows * (np.log(2.0 * np.pi * noise) + 1.0) + determinant))

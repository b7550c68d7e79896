"""Least squares from the kernel matrix of the rows: for fewer rows than features, and for exact kernels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse
from scipy.linalg import eigh

from ... import ops
from ...bases.design import Design
from ...blocks import Block, MemoryBlocks
from ...config import memory_budget
from ...ops import blas
from ...solvers import DualPath, DualProblem, Solution, dual_problem, factor_gram, solve_dual, solve_or_none
from .calibration import HeldOutScores
from .leave_one_out import from_kernel
from .penalty import (
    ABOVE,
    BELOW,
    FEW,
    FOLDS,
    GIVEN,
    Chosen,
    CrossValidated,
    candidates,
    edge_note,
    end_of,
    minimise,
    settled,
    smallest,
    too_few,
)  # fmt: skip
from .primal import LEAST, noise_variance
from .problem import Fit, Problem, fold_of, wrong

LEADING_ROWS = 600  # with which all candidates are tried


def tile_columns(rows: int) -> int:
    """How many columns of features of so many rows may be held at a time, in float64 and its copies."""
    return int(np.clip(memory_budget() // (8 * 8 * max(rows, 1)), 16, 4096))


def scaled_tiles(problem: Problem, X: Any, columns: int) -> Iterator[tuple[slice, Any]]:
    """Columns of scaled features of some rows in float64, a tile at a time: which, and their values."""
    scale = np.broadcast_to(problem.scale, problem.basis.n_components)
    for part, tile in problem.basis.column_tiles(X, columns):
        tile = tile.astype(np.float64)
        scaled = tile @ scipy.sparse.diags_array(scale[part]) if scipy.sparse.issparse(tile) else tile * scale[part]
        yield part, scaled


def feature_kernel(problem: Problem, X: Any, Z: Any = None) -> np.ndarray:
    """Z Z' of scaled features, a tile of columns at a time."""
    total = np.zeros((X.shape[0], (X if Z is None else Z).shape[0]))
    columns = tile_columns(max(total.shape))
    tiles = scaled_tiles(problem, X, columns)
    others = tiles if Z is None else scaled_tiles(problem, Z, columns)
    pairs = (
        ((part, part) for _, part in tiles)
        if Z is None
        else ((a, b) for (_, a), (_, b) in zip(tiles, others, strict=True))
    )
    for left, right in pairs:
        product = ops.gram(left.T) if Z is None and isinstance(left, np.ndarray) else blas.product(left, right.T)
        total += product.toarray() if scipy.sparse.issparse(product) else product
    return total


def fit_dual(problem: Problem, reason: str) -> tuple[Fit, HeldOutScores]:
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
    for columns, part in scaled_tiles(problem, block.X, tile_columns(len(kernel))):
        mean[columns] = np.asarray(part.T @ share).ravel() if problem.intercept else 0.0
        coefficients[columns] = np.asarray(part.T @ found.solution.coefficients)
    # Dual coefficients of centred rows sum to zero, but for rounding, which is taken out here.
    coefficients -= np.outer(mean, found.solution.coefficients.sum(axis=0))
    s = found.solution
    solution = Solution(coefficients, s.method, s.alpha, s.status, s.residual, s.iterations, reason)
    posterior = DualPosterior(problem, block.X, dual, s.alpha, Chosen(s.alpha, found.penalty).unit)
    judged = from_kernel(dual, found, block, problem.intercept)
    return replace(found, solution=solution, intercept=dual.mean_y - mean @ coefficients, posterior=posterior), judged


def solve_kernel(
    kernel: np.ndarray, block: Block, alpha: Any, intercept: bool, classifies: bool
) -> tuple[Fit, DualProblem]:
    """Dual coefficients for a kernel matrix, the penalty chosen as `alpha` says; the intercept is the mean of y."""
    dual = dual_problem(kernel, block.y.astype(np.float64), block.weight, intercept)
    chosen = choose_alpha(kernel, dual, block, alpha, intercept, classifies)
    solution = solve_dual(dual, chosen.alpha)
    # y'(K + alpha I)^-1 y alpha = RSS + alpha |b|^2
    energy = chosen.alpha * np.sum(dual.target * solution.coefficients / dual.root[:, None], axis=0)
    weight = float(np.sum(dual.root**2))
    rows = max(weight / chosen.unit, len(kernel)) if chosen.unit else len(kernel)
    noise = noise_variance(np.maximum(energy, 0.0), weight, rows, intercept)
    return Fit(solution, dual.mean_y, chosen.note, noise, validated=chosen.validated, end=chosen.end), dual


def choose_alpha(
    kernel: np.ndarray, dual: DualProblem, block: Block, alpha: Any, intercept: bool, classifies: bool
) -> Chosen:
    if isinstance(alpha, float):
        return Chosen(alpha, GIVEN)
    rows = len(kernel)
    unit = float(np.trace(dual.kernel))
    if too_few(rows):
        return Chosen(float(candidates(alpha, unit)[-1]), FEW)
    if isinstance(alpha, str) and alpha == "loo":
        alphas = candidates(alpha, unit, per_decade=2)
        totals = leave_one_out(dual, alphas, intercept)
        best, size = smallest(totals), float(np.sum(dual.target**2))
        end = end_of(best, len(alphas))
        score = 1.0 - float(totals[best]) / max(size, np.finfo(float).tiny)
        validated = None if classifies else CrossValidated(score, None, rows, "rows left out one by one")
        return Chosen(float(alphas[best]), "exact leave-one-out" + edge_note(end), validated, end)
    alphas = candidates(alpha, unit)
    if isinstance(alpha, str) and alpha == "gcv":
        path = DualPath(dual.kernel, dual.target)
        best_alpha = minimise(lambda a: path.generalised_cross_validation(a, rows, intercept), alphas, refine=True)
        end = "lower" if best_alpha <= alphas[0] else "upper" if best_alpha >= alphas[-1] else ""
        return Chosen(best_alpha, "generalised cross-validation" + edge_note(end), None, end)
    return by_kernel_folds(KernelFolds.of(kernel, block, intercept, classifies), alphas, isinstance(alpha, str))


@dataclass
class KernelFolds:
    """Kernel matrices of rows by rows, of which each fold is left out once."""

    kernel: np.ndarray
    block: Block
    folds: np.ndarray
    intercept: bool
    classifies: bool

    @classmethod
    def of(cls, kernel: np.ndarray, block: Block, intercept: bool, classifies: bool) -> KernelFolds:
        return cls(kernel, block, fold_of(block, FOLDS), intercept, classifies)

    @property
    def judged(self) -> list[int]:
        """The folds that have rows, and leave some."""
        sizes = np.bincount(self.folds.astype(np.int64), minlength=FOLDS)
        return [fold for fold in range(FOLDS) if 0 < sizes[fold] < len(self.folds) - 1]

    def leading(self, rows: int) -> KernelFolds:
        """Of the first rows alone."""
        part = slice(0, rows)
        block = self.block.only(np.arange(min(rows, len(self.kernel))))
        return KernelFolds(self.kernel[part, part], block, self.folds[part], self.intercept, self.classifies)

    def errors(self, alphas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Squared errors (penalties, folds, outputs) and weights of wrong labels (penalties,) of the rows left out."""
        y, judged = self.block.y.astype(np.float64), self.judged
        squares, counts = np.full((len(alphas), len(judged), y.shape[1]), np.inf), np.zeros(len(alphas))
        for place, fold in enumerate(judged):
            out, rest = np.flatnonzero(self.folds == fold), np.flatnonzero(self.folds != fold)
            weight = None if self.block.weight is None else self.block.weight[rest]
            part = dual_problem(self.kernel[np.ix_(rest, rest)], y[rest], weight, self.intercept)
            rows = self.kernel[np.ix_(out, rest)]
            rows = part.center_new(rows) if self.intercept else rows
            weights = np.ones(len(out)) if self.block.weight is None else self.block.weight[out]
            for k, alpha in enumerate(alphas):
                found = solve_or_none(part.kernel, part.target, float(alpha))
                if found is None:
                    counts[k] = np.inf
                    continue
                scores = rows @ (found * part.root[:, None]) + part.mean_y
                squares[k, place] = weights @ (scores - y[out]) ** 2
                if self.classifies:
                    counts[k] += weights @ wrong(scores, y[out])
        return squares, counts

    def criteria(self, squares: np.ndarray) -> np.ndarray:
        """One number for each penalty, to be made small: as those of sums."""
        total, size = squares.sum(axis=1), self.deviations()
        if not self.classifies and (size > 0).any():
            total = total[:, size > 0] / size[size > 0]
        return np.sum(total, axis=1)

    def weights(self) -> np.ndarray:
        return np.ones(len(self.folds)) if self.block.weight is None else self.block.weight

    def deviations(self) -> np.ndarray:
        y, weight = self.block.y.astype(np.float64), self.weights()
        mean = weight @ y / weight.sum() if self.intercept else 0.0
        return weight @ (y - mean) ** 2

    def validated(self, squares: np.ndarray, count: float) -> CrossValidated:
        """What the rows left out say of one penalty."""
        rows, how, weight = len(self.folds), f"{len(self.judged)} folds", self.weights()
        if self.classifies:
            share = float(count / weight.sum())
            return CrossValidated(1.0 - share, float(np.sqrt(share * (1.0 - share) / rows)), rows, how)
        size = self.deviations()
        there = size > 0
        if not there.any():
            return CrossValidated(1.0 if not squares.any() else 0.0, None, rows, how)
        parts = np.array([weight[self.folds == fold].sum() for fold in self.judged])
        means = np.mean(squares[:, there] / parts[:, None] / (size[there] / weight.sum()), axis=1)
        score = float(np.mean(1.0 - squares.sum(axis=0)[there] / size[there]))
        return CrossValidated(score, float(np.sqrt(np.var(means, ddof=1) / len(means))), rows, how)


def by_kernel_folds(folds: KernelFolds, alphas: np.ndarray, refine: bool) -> Chosen:
    """The penalty of smallest squared error of rows left out; for labels, of fewest errors near there."""
    if len(folds.judged) < 2:
        return Chosen(float(alphas[-1]), FEW)
    tried = np.arange(len(alphas))
    if refine and len(folds.kernel) > LEADING_ROWS:  # where to look is told by fewer rows, at a fraction of the cost
        few = folds.leading(LEADING_ROWS)
        start = smallest(few.criteria(few.errors(alphas)[0]))
        tried = np.arange(max(start - 2, 0), min(start + ABOVE + 1, len(alphas)))
    squares, counts = folds.errors(alphas[tried])
    criteria = folds.criteria(squares)
    best, chosen = settled(alphas[tried], criteria)
    if folds.classifies:
        window = slice(max(best - BELOW, 0), best + ABOVE + 1)
        best = window.start + smallest(counts[window])
    end = end_of(int(tried[best]), len(alphas))
    chosen = chosen if refine and not folds.classifies else float(alphas[tried][best])
    validated = folds.validated(squares[best], float(counts[best]))
    how = "errors" if folds.classifies else "squared error"
    return Chosen(chosen, f"{how} of {len(folds.judged)} folds{edge_note(end)}", validated, end)


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


@dataclass
class DualPosterior:
    """Predictive variances from the kernel of new rows with the training rows, which it keeps."""

    problem: Problem
    X: Any = field(repr=False)
    dual: DualProblem = field(repr=False)
    alpha: float
    unit: float | None  # the weight of one row; None is the mean
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

    def spread(self, design: Design, X: Any) -> np.ndarray:
        """1/n + (k(x, x) - k'(K + alpha I)^-1 k) / alpha, with centred kernels."""
        raw = feature_kernel(self.problem, X, self.X)
        square = np.zeros(X.shape[0])
        for _, part in scaled_tiles(self.problem, X, tile_columns(X.shape[0])):
            squares = part.power(2) if hasattr(part, "power") else part**2
            square += np.asarray(squares.sum(axis=1)).ravel()
        weight = float(np.sum(self.dual.root**2))
        if self.problem.intercept:
            share = self.dual.root**2 / weight
            square = square - 2.0 * (raw @ share) + self.dual.grand_mean
            raw = self.dual.center_new(raw)
        rows = raw * self.dual.root
        explained = np.sum(rows * self.factor().solve(rows.T).T, axis=1)
        offset = 1.0 / weight if self.problem.intercept else 0.0
        spread = offset + np.maximum(square - explained, 0.0) / self.alpha
        return spread * weight / self.observations

    @property
    def observations(self) -> float:
        """How many rows these are if a weight of `unit`, or the mean weight, is one; never less than there are."""
        rows = float(len(self.dual.root))
        return max(float(np.sum(self.dual.root**2)) / self.unit, rows) if self.unit else rows

    def log_marginal_likelihood(self, noise: np.ndarray) -> float:
        rows = max(self.observations - float(self.problem.intercept), 1.0)
        with np.errstate(divide="ignore"):
            determinant = self.factor().log_determinant - len(self.dual.root) * np.log(self.alpha)
        return float(-0.5 * np.sum(rows * (np.log(2.0 * np.pi * noise) + 1.0) + determinant))

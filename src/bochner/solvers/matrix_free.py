"""Least squares when neither the Gram nor the kernel matrix fits: a pass over the rows for each product."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse

from ..arrays import Array
from ..blocks import Block, SumOf
from ..config import memory_budget
from ..moments import times_columns, times_rows
from ..streams import sample_rows
from .base import HeldOutScores, Solution, Solver
from .conjugate_gradient import Product, sampled_preconditioner, solve_products
from .factor import factor_gram
from .feature_cache import kept_features
from .leave_one_out import LEVERAGES, by_refitting, scores_of, without_itself
from .primal import noise_variance
from .problem import Problem

TOLERANCE, SINGLE_TOLERANCE = 1e-9, 1e-4  # relative residual; products of float32 features hold no more digits


@dataclass
class Sums:
    """The sums that need no matrix of the size of the features."""

    rows: int
    weight: float
    sum_z: np.ndarray
    sum_y: np.ndarray
    cross: np.ndarray
    square: np.ndarray

    def __iadd__(self, other: Sums) -> Sums:
        return Sums(*(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))


class ConjugateGradient(Solver):
    """Conjugate gradients on the normal equations, with the intercept taken out of every product."""

    name = "cg"
    needs = frozenset({"quadratic"})
    exact = True
    holds_out = True

    def solve(self, problem: Problem) -> Solution:
        if not problem.calibrates:
            return NormalEquations(problem).solve()[0]
        room = int(min(memory_budget() // (128 * problem.columns), LEVERAGES))
        if room < LEVERAGES:  # a second fit costs less than so wide right-hand sides
            return by_refitting(problem, lambda part: NormalEquations(part).solve()[0])
        equations = NormalEquations(problem)
        found, precondition = equations.solve()
        return replace(found, held_out=equations.leave_out(found, precondition, room))


class NormalEquations:
    """Z'Z b = Z'y of centred features, by passes over the rows."""

    def __init__(self, problem: Problem) -> None:
        self.problem, scale = problem, problem.scale
        self.features = kept_features(problem)
        self.sums: Sums = self.features.reduce(FirstSums(), "sums")
        weight, k = self.sums.weight, len(self.sums.sum_y)
        self.mean_z = scale * self.sums.sum_z / weight if problem.intercept else np.zeros(problem.columns)
        self.mean_y = self.sums.sum_y / weight if problem.intercept else np.zeros(k)
        self.cross = times_columns(scale, self.sums.cross) - weight * np.outer(self.mean_z, self.mean_y)
        self.square = np.maximum(self.sums.square - weight * self.mean_y**2, 0.0)

    def product(self, v: np.ndarray) -> np.ndarray:
        scale = self.problem.scale
        total = self.features.reduce(NormalProduct(times_columns(scale, v)), "product")
        return times_columns(scale, total) - self.sums.weight * np.outer(self.mean_z, self.mean_z @ v)

    def solve(self) -> tuple[Solution, Product]:
        """The solution, and the preconditioner that led to it."""
        problem, sums, alpha = self.problem, self.sums, self.problem.alpha
        precondition, kind = preconditioner(problem, self.mean_z, sums.weight, alpha)
        tolerance = SINGLE_TOLERANCE if kind == np.float32 else TOLERANCE
        found = solve_products(self.product, self.cross, alpha, precondition=precondition, tolerance=tolerance)
        b = found.coefficients
        # (G + alpha I) b = c gives RSS + alpha |b|^2 = y'y - b'c.
        energy = np.maximum(self.square - np.sum(b * self.cross, axis=0), 0.0)
        rows = max(sums.weight / problem.unit, sums.rows) if problem.unit else sums.rows
        noise = noise_variance(energy, sums.weight, rows, problem.intercept)
        return replace(found, intercept=self.mean_y - self.mean_z @ b, noise=noise), precondition

    def leave_out(self, found: Solution, precondition: Product, most: int) -> HeldOutScores:
        """Scores of a few rows left out: their leverages are the answers to further right-hand sides."""
        problem, sums = self.problem, self.sums
        block = problem.blocks.take(sample_rows(problem.blocks.n_rows, most, seed=9))
        sampled = problem.features(block.X)
        sampled = (sampled.toarray() if hasattr(sampled, "toarray") else sampled).astype(np.float64)
        sampled = sampled * problem.scale - self.mean_z
        answers = solve_products(
            self.product, sampled.T.copy(), problem.alpha, precondition=precondition, tolerance=1e-3
        ).coefficients
        spread = np.sum(sampled * answers.T, axis=1) + problem.intercept / sums.weight
        unit = problem.unit or sums.weight / sums.rows
        return without_itself(scores_of(problem, found, block.X), spread, block, unit)


def preconditioner(problem: Problem, mean_z: np.ndarray, weight: float, alpha: float) -> tuple[Product, np.dtype]:
    """The Gram matrix of as many sampled rows as a quarter of the memory budget holds; and the type of features.

    Its shift is above alpha by what the sample leaves unexplained, spread over the features: found on rows held out.
    """
    m, n = problem.columns, problem.blocks.n_rows
    most = min(memory_budget() // (4 * 4 * m), int(np.sqrt(memory_budget() / 64)))
    chosen = sample_rows(n, int(max(2, min(most, m, n))), seed=5)
    block = problem.blocks.take(chosen)
    features = problem.features(block.X)
    # Half the memory will do for a preconditioner, unless squares would overflow.
    small = float(abs(features).max()) ** 2 * float(np.max(problem.scale)) ** 2 * m < 1e30
    rows = features.astype(np.float32 if small else np.float64, copy=False)
    rows = scaled(rows, problem.scale)
    if not hasattr(rows, "toarray"):
        rows -= mean_z.astype(rows.dtype)
    weights = np.ones(block.X.shape[0]) if block.weight is None else block.weight
    if block.weight is not None:
        rows = times_rows(rows, np.sqrt(weights)).astype(rows.dtype)
    out = max(1, min(200, len(weights) // 10))
    rest, held = rows[out:], rows[:out]
    ratio = weight / max(float(np.sum(weights[out:])), 1e-300)
    unexplained = float(np.sum(unexplained_squares(rest, held))) / max(float(np.sum(weights[:out])), 1e-300)
    return sampled_preconditioner(rest, ratio, 3.0 * (alpha + weight * unexplained / m)), features.dtype


def scaled(rows: Array, scale: float | np.ndarray) -> Array:
    """Columns of rows, dense or sparse, times a number, or each times its own."""
    if np.ndim(scale) and scipy.sparse.issparse(rows):
        return (rows @ scipy.sparse.diags_array(scale)).astype(rows.dtype)
    return rows * (scale.astype(rows.dtype) if isinstance(scale, np.ndarray) else rows.dtype.type(scale))


def unexplained_squares(rows: Array, held: Array) -> np.ndarray:
    """Squared distance of each held-out row from the span of the others."""

    def dense(a: Array) -> np.ndarray:
        return np.asarray(a.toarray() if hasattr(a, "toarray") else a, dtype=np.float64)

    inner, between = dense(rows @ rows.T), dense(rows @ held.T)
    squares = np.diagonal(dense(held @ held.T))
    factor = factor_gram(inner, 1e-5 * max(float(np.mean(np.diagonal(inner))), 1e-300))
    return squares if factor is None else np.maximum(squares - np.sum(between * factor.solve(between), axis=0), 0.0)


@dataclass(frozen=True)
class FirstSums(SumOf):
    """The sums of blocks of features that need no matrix of their size."""

    room: int = 1

    @property
    def width(self) -> float:
        return self.room

    def of(self, block: Block) -> Sums:
        y = block.y.astype(np.float64)
        weight = np.ones(len(y)) if block.weight is None else block.weight
        weighted = y * weight[:, None]
        cross = np.asarray(block.X.T @ np.column_stack([weight, weighted]), dtype=np.float64)
        sums_y = weighted.sum(axis=0), cross[:, 1:], np.sum(y * weighted, axis=0)
        return Sums(len(y), float(weight.sum()), cross[:, 0], *sums_y)


@dataclass(frozen=True)
class NormalProduct(SumOf):
    """Z'W Z v of blocks of features."""

    v: np.ndarray

    def of(self, block: Block) -> np.ndarray:
        features = block.X
        narrow = self.v.astype(features.dtype) if features.dtype.kind == "f" else self.v
        image = np.asarray(features @ narrow, dtype=np.float64)
        if block.weight is not None:
            image *= block.weight[:, None]
        return np.asarray(features.T @ image.astype(narrow.dtype), dtype=np.float64)

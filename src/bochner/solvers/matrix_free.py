"""Least squares when neither the Gram nor the kernel matrix fits: a pass over the rows for each product."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse

from .. import ops
from ..arrays import (
    Array,
    cast,
    constant,
    contiguous,
    dtype_name,
    is_float,
    is_torch,
    like,
    namespace,
    scalar,
)  # fmt: skip
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
MANY = 1 << 14  # integer features from which on a device makes products with four digits, in a tenth of the time
PRECONDITIONER = 5  # the seed of its rows


@dataclass
class Sums:
    """The sums that need no matrix of the size of the features."""

    rows: int
    weight: float
    sum_z: Array
    sum_y: Array
    cross: Array
    square: Array

    def __iadd__(self, other: Sums) -> Sums:
        return Sums(*(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))


class ConjugateGradient(Solver):
    """Conjugate gradients on the normal equations, with the intercept taken out of every product."""

    name = "cg"
    needs = frozenset({"quadratic"})
    exact = True
    takes_tensors = True
    holds_out = True

    def samples(self, fewest: int, most: int) -> tuple[tuple[int, int], ...]:
        return ((rows_of_preconditioner(fewest, most), PRECONDITIONER),)

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
        weight, self._outer = self.sums.weight, namespace(self.sums.cross).outer
        self.mean_z = like(scale, self.sums.sum_z) * self.sums.sum_z / weight
        self.mean_y = self.sums.sum_y / weight
        if not problem.intercept:
            self.mean_z, self.mean_y = (constant(0.0, mean.shape, mean) for mean in (self.mean_z, self.mean_y))
        self.cross = times_columns(scale, self.sums.cross) - weight * self._outer(self.mean_z, self.mean_y)
        self.square = (self.sums.square - weight * self.mean_y**2).clip(min=0.0)

    def product(self, v: Array) -> Array:
        scale = self.problem.scale
        total = self.features.reduce(NormalProduct(times_columns(scale, v)), "product")
        return times_columns(scale, total) - self.sums.weight * self._outer(self.mean_z, self.mean_z @ v)

    def solve(self) -> tuple[Solution, Product]:
        """The solution, and the preconditioner that led to it."""
        problem, sums, alpha = self.problem, self.sums, self.problem.alpha
        precondition, kind = preconditioner(problem, self.mean_z, sums.weight, alpha)
        tolerance = SINGLE_TOLERANCE if kind == "float32" else TOLERANCE
        found = solve_products(self.product, self.cross, alpha, precondition=precondition, tolerance=tolerance)
        b = found.coefficients
        # (G + alpha I) b = c gives RSS + alpha |b|^2 = y'y - b'c.
        energy = (self.square - (b * self.cross).sum(axis=0)).clip(min=0.0)
        rows = max(sums.weight / problem.unit, sums.rows) if problem.unit else sums.rows
        noise = noise_variance(energy, sums.weight, rows, problem.intercept)
        return replace(found, intercept=self.mean_y - self.mean_z @ b, noise=noise), precondition

    def leave_out(self, found: Solution, precondition: Product, most: int) -> HeldOutScores:
        """Scores of a few rows left out: their leverages are the answers to further right-hand sides."""
        problem, sums = self.problem, self.sums
        block = problem.blocks.take(sample_rows(problem.blocks.n_rows, most, seed=9))
        sampled = problem.features(block.X)
        sampled = cast(sampled.toarray() if hasattr(sampled, "toarray") else sampled, "float64")
        sampled = sampled * like(problem.scale, sampled) - self.mean_z
        answers = solve_products(
            self.product, contiguous(sampled.T), problem.alpha, precondition=precondition, tolerance=1e-3
        ).coefficients
        spread = (sampled * answers.T).sum(axis=1) + problem.intercept / sums.weight
        unit = problem.unit or sums.weight / sums.rows
        return without_itself(scores_of(problem, found, block.X), spread, block, unit)


def rows_of_preconditioner(fewest: int, most: int) -> int:
    """How many rows are sampled for a number of columns between two: one per column, if they find room."""
    room = min(memory_budget() // (4 * 4 * fewest), int(np.sqrt(memory_budget() / 64)))
    return int(max(2, min(room, most)))


def preconditioner(problem: Problem, mean_z: Array, weight: float, alpha: float) -> tuple[Product, str]:
    """The Gram matrix of as many sampled rows as a quarter of the memory budget holds; and the type of
    products of features.

    Its shift is above alpha by what the sample leaves unexplained, spread over the features: found on rows held out.
    """
    m, n = problem.columns, problem.blocks.n_rows
    block = problem.blocks.take(sample_rows(n, min(rows_of_preconditioner(m, m), max(2, n)), PRECONDITIONER))
    features = problem.features(block.X)
    # Half the memory will do for a preconditioner, unless squares would overflow.
    small = float(abs(features).max()) ** 2 * float(np.max(problem.scale)) ** 2 * m < 1e30
    rows = scaled(cast(features, "float32" if small else "float64"), problem.scale)
    if not hasattr(rows, "toarray"):
        rows -= cast(mean_z, dtype_name(rows))
    weights = constant(1.0, (block.X.shape[0],), mean_z) if block.weight is None else block.weight
    if block.weight is not None:
        rows = cast(times_rows(rows, namespace(weights).sqrt(weights)), dtype_name(rows))
    out = max(1, min(200, len(weights) // 10))
    rest, held = rows[out:], rows[:out]
    ratio = weight / max(float(weights[out:].sum()), 1e-300)
    unexplained = float(unexplained_squares(rest, held).sum()) / max(float(weights[:out].sum()), 1e-300)
    kind = "float32" if by_halves(features) else dtype_name(features)
    return sampled_preconditioner(rest, ratio, 3.0 * (alpha + weight * unexplained / m)), kind


def scaled(rows: Array, scale: float | np.ndarray) -> Array:
    """Columns of rows, dense or sparse, times a number, or each times its own."""
    if np.ndim(scale) and scipy.sparse.issparse(rows):
        return (rows @ scipy.sparse.diags_array(scale)).astype(rows.dtype)
    if isinstance(scale, np.ndarray):
        return rows * like(scale.astype(dtype_name(rows)), rows)
    return rows * scalar(scale, rows)


def unexplained_squares(rows: Array, held: Array) -> Array:
    """Squared distance of each held-out row from the span of the others."""

    def dense(a: Array) -> Array:
        return cast(a.toarray() if hasattr(a, "toarray") else a, "float64")

    inner, between = dense(rows @ rows.T), dense(rows @ held.T)
    squares = dense(held @ held.T).diagonal()
    factor = factor_gram(inner, 1e-5 * max(float(inner.diagonal().mean()), 1e-300))
    return squares if factor is None else (squares - (between * factor.solve(between)).sum(axis=0)).clip(min=0.0)


@dataclass(frozen=True)
class FirstSums(SumOf):
    """The sums of blocks of features that need no matrix of their size."""

    room: int = 1

    @property
    def width(self) -> float:
        return self.room

    def of(self, block: Block) -> Sums:
        y = cast(block.y, "float64")
        weight = constant(1.0, (len(y),), y) if block.weight is None else block.weight
        weighted = y * weight[:, None]
        columns = namespace(y).column_stack([weight, weighted])
        cross = cast(as_factor(block.X, "float64").T @ columns, "float64")
        sums_y = weighted.sum(axis=0), cross[:, 1:], (y * weighted).sum(axis=0)
        return Sums(len(y), float(weight.sum()), cross[:, 0], *sums_y)


@dataclass(frozen=True)
class NormalProduct(SumOf):
    """Z'W Z v of blocks of features."""

    v: Array

    def of(self, block: Block) -> Array:
        if by_halves(block.X):
            return ops.normal_product(block.X, self.v, block.weight)
        narrow = dtype_name(block.X) if is_float(block.X) else "float64"
        features = as_factor(block.X, narrow)
        image = cast(features @ cast(self.v, narrow), "float64")
        if block.weight is not None:
            image *= block.weight[:, None]
        return cast(features.T @ cast(image, narrow), "float64")


def by_halves(features: Array) -> bool:
    """Whether products of integer features are made in halves of numbers, on a device: of so many as to be worth it."""
    return dtype_name(features) == "int8" and features.shape[1] >= MANY and ops.has_fast("normal_product", features)


def as_factor(features: Array, dtype: str) -> Array:
    """Features that floats of this dtype can be multiplied by: tensors multiply their own kind alone."""
    return cast(features, dtype) if is_torch(features) else features

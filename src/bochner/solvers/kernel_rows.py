"""Least squares from the kernel matrix of the rows: for fewer rows than features, and for exact kernels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

from .. import ops
from ..arrays import Array, cast, constant, copied, empty, is_csr, like, namespace
from ..blocks import Block, MemoryBlocks
from ..config import memory_budget
from ..maps import FeatureMap
from ..ops import blas
from .base import Solution, Solver
from .dual import DualProblem, dual_problem, solve_dual
from .factor import Factor, factor_gram
from .leave_one_out import from_kernel
from .primal import noise_variance
from .problem import Problem


@dataclass
class KernelRows:
    """Rows with coded targets and weights, and the kernel of each with each."""

    kernel: Array
    block: Block
    intercept: bool

    @cached_property
    def dual(self) -> DualProblem:
        return dual_problem(self.kernel, cast(self.block.y, "float64"), self.block.weight, self.intercept)

    @property
    def weights(self) -> Array:
        return constant(1.0, (len(self.kernel),), self.kernel) if self.block.weight is None else self.block.weight


class Dual(Solver):
    """The kernel matrix of all rows, factored; the rows fit in memory by assumption."""

    name = "dual"
    needs = frozenset({"quadratic"})
    exact = True
    takes_tensors = True
    works_on = "kernel"
    holds_out = True

    def solve(self, problem: Problem) -> Solution:
        problem = with_kernel(problem)
        assert problem.kernel is not None
        rows, dual = problem.kernel, problem.kernel.dual
        found = solve_rows(rows, problem.alpha, problem.unit)
        share = rows.weights / rows.weights.sum()
        coefficients = empty((problem.columns, rows.block.y.shape[1]), rows.kernel)
        mean = constant(0.0, (problem.columns,), rows.kernel)
        for columns, part in scaled_tiles(problem, rows.block.X, tile_columns(len(rows.kernel))):
            mean[columns] = (part.T @ share).ravel() if problem.intercept else 0.0
            coefficients[columns] = part.T @ found.coefficients
        # Dual coefficients of centred rows sum to zero, but for rounding, which is taken out here.
        coefficients -= namespace(mean).outer(mean, found.coefficients.sum(axis=0))
        kept = replace(problem, kernel=None, journal=None)
        return replace(
            found,
            coefficients=coefficients,
            intercept=dual.mean_y - mean @ coefficients,
            posterior=DualPosterior(kept, rows.block.X, dual, problem.alpha, problem.unit),
            held_out=from_kernel(dual, found, rows.block, problem.intercept, problem.unit),
        )


def with_kernel(problem: Problem) -> Problem:
    """The problem with its rows in memory, in copies, since the caller may reuse its arrays; and their kernel."""
    if problem.kernel is not None:
        return problem
    block = problem.blocks.read(0, problem.blocks.n_rows)
    X, y = copied(block.X), copied(block.y)
    weight = None if block.weight is None else copied(block.weight)
    blocks = MemoryBlocks(X, y, weight, originals=block.originals)
    problem = replace(problem, blocks=blocks)
    return replace(problem, kernel=KernelRows(feature_kernel(problem, X), blocks.read(0, len(y)), problem.intercept))


def solve_rows(rows: KernelRows, alpha: float, unit: float | None) -> Solution:
    """Dual coefficients for a kernel matrix; the intercept is the mean of y."""
    dual = rows.dual
    solution = solve_dual(dual, alpha)
    # y'(K + alpha I)^-1 y alpha = RSS + alpha |b|^2
    energy = alpha * (dual.target * solution.coefficients / dual.root[:, None]).sum(axis=0)
    weight = float((dual.root**2).sum())
    count = max(weight / unit, len(rows.kernel)) if unit else len(rows.kernel)
    noise = noise_variance(energy.clip(min=0.0), weight, count, rows.intercept)
    return replace(solution, intercept=dual.mean_y, noise=noise)


def tile_columns(rows: int) -> int:
    """How many columns of features of so many rows may be held at a time, in float64 and its copies."""
    return int(np.clip(memory_budget() // (8 * 8 * max(rows, 1)), 16, 4096))


def scaled_tiles(problem: Problem, X: Array, columns: int) -> Iterator[tuple[slice, Array]]:
    """Columns of scaled features of some rows in float64, a tile at a time: which, and their values."""
    scale = np.broadcast_to(problem.scale, problem.columns)
    for part, tile in problem.map.tiles(X, columns):
        tile, factors = cast(tile, "float64", copy=True), like(scale[part], tile)
        if is_csr(tile):
            tile.data *= factors[tile.indices]
        else:
            tile *= factors
        yield part, tile


def feature_kernel(problem: Problem, X: Array, Z: Array | None = None) -> Array:
    """Z Z' of scaled features, a tile of columns at a time."""
    total = constant(0.0, (X.shape[0], (X if Z is None else Z).shape[0]), X)
    columns = tile_columns(max(total.shape))
    tiles = scaled_tiles(problem, X, columns)
    others = tiles if Z is None else scaled_tiles(problem, Z, columns)
    pairs = (
        ((part, part) for _, part in tiles)
        if Z is None
        else ((a, b) for (_, a), (_, b) in zip(tiles, others, strict=True))
    )
    for left, right in pairs:
        if scipy.sparse.issparse(left):
            total += sparse_product(left, right)
        else:
            total += ops.gram(left.T) if Z is None else blas.product(left, right.T)
    return total


def sparse_product(left: scipy.sparse.csr_matrix, right: scipy.sparse.csr_matrix) -> np.ndarray:
    """Z W' of sparse rows, dense. Cells of trees, one in each, are counted: that is many times faster."""
    cells = cells_of_trees(left, right)
    if cells is None:
        return (left @ right.T).toarray()
    return ops.matches(*cells) * float(left.data[0] * right.data[0])


def cells_of_trees(*matrices: scipy.sparse.csr_matrix) -> list[np.ndarray] | None:
    """In which of its columns each tree is filled (n, trees), of each matrix; None if rows are not made of trees.

    Rows are made of trees if all have as many entries, all of one size, and entry t of any row comes before entry
    t + 1 of any other.
    """
    found = []
    for matrix in matrices:
        n, entries = matrix.shape[0], matrix.nnz // max(matrix.shape[0], 1)
        even = entries and (np.diff(matrix.indptr) == entries).all() and matrix.has_sorted_indices
        if not even or (matrix.data != matrix.data[0]).any():
            return None
        found.append(matrix.indices.reshape(n, entries))
    if len({places.shape[1] for places in found}) > 1:
        return None
    first = np.min([places.min(axis=0) for places in found], axis=0)
    last = np.max([places.max(axis=0) for places in found], axis=0)
    if (last[:-1] >= first[1:]).any():
        return None
    kind = np.uint8 if (last - first).max() < 256 else np.int32
    return [(places - first).astype(kind) for places in found]


@dataclass
class DualPosterior:
    """Predictive variances from the kernel of new rows with the training rows, which it keeps."""

    problem: Problem
    X: Array = field(repr=False)
    dual: DualProblem = field(repr=False)
    alpha: float
    unit: float | None  # the weight of one row; None is the mean
    _factor: Factor | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_factor": None}

    def factor(self) -> Factor:
        """The factor of K + alpha I, made when it is first asked for."""
        if self._factor is None:
            self._factor = factor_gram(self.dual.kernel, self.alpha)
        if self._factor is None:
            raise ValueError(f"the posterior is improper at alpha={self.alpha:g}: use a larger penalty.")
        return self._factor

    @property
    def width(self) -> int:
        """Numbers that a row becomes."""
        return 4 * len(self.dual.root)

    def spread(self, feature_map: FeatureMap, X: Array) -> Array:
        """1/n + (k(x, x) - k'(K + alpha I)^-1 k) / alpha, with centred kernels."""
        X = like(X, self.dual.root)
        raw = feature_kernel(self.problem, X, self.X)
        square = constant(0.0, (X.shape[0],), X)
        for _, part in scaled_tiles(self.problem, X, tile_columns(X.shape[0])):
            square += np.asarray(part.power(2).sum(axis=1)).ravel() if is_csr(part) else (part**2).sum(axis=1)
        weight = float((self.dual.root**2).sum())
        if self.problem.intercept:
            share = self.dual.root**2 / weight
            square = square - 2.0 * (raw @ share) + self.dual.grand_mean
            raw = self.dual.center_new(raw)
        rows = raw * self.dual.root
        explained = (rows * self.factor().solve(rows.T).T).sum(axis=1)
        offset = 1.0 / weight if self.problem.intercept else 0.0
        spread = offset + (square - explained).clip(min=0.0) / self.alpha
        return spread * weight / self.observations

    @property
    def observations(self) -> float:
        """How many rows these are if a weight of `unit`, or the mean weight, is one; never less than there are."""
        rows = float(len(self.dual.root))
        return max(float((self.dual.root**2).sum()) / self.unit, rows) if self.unit else rows

    def log_marginal_likelihood(self, noise: Array) -> float:
        """The log marginal likelihood of the targets, summed over outputs, for the variance of the noise of each."""
        rows = max(self.observations - float(self.problem.intercept), 1.0)
        with np.errstate(divide="ignore"):
            determinant = self.factor().log_determinant - len(self.dual.root) * np.log(self.alpha)
        return float(-0.5 * (rows * (namespace(noise).log(2.0 * np.pi * noise) + 1.0) + determinant).sum())

"""Least squares when neither the Gram nor the kernel matrix fits: a pass over the rows for each product."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from ...arrays import (
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
from ...bases.design import times_columns
from ...blocks import Block, SumOf
from ...config import memory_budget
from ...moments import times_rows
from ...solvers import Solution, factor_gram, sampled_preconditioner, solve_products
from ...streams import sample_rows
from ...validation import option
from .calibration import Judged
from .dual import feature_kernel, solve_kernel
from .feature_cache import kept_features
from .left_out import LEVERAGES, by_refitting, scores_of, without_itself
from .penalty import GIVEN, Chosen
from .primal import noise_variance
from .problem import Fit, Problem

PROBE = 2000  # rows from which the penalty is chosen
TOLERANCE, SINGLE_TOLERANCE = 1e-9, 1e-4  # relative residual; products of float32 features hold no more digits


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


def fit_matrix_free(problem: Problem, reason: str, calibrates: bool = False) -> tuple[Fit, Judged | None]:
    """Conjugate gradients on the normal equations, with the intercept taken out of every product.

    And scores of a few rows left out: their leverages are the answers to further right-hand sides.
    """
    if problem.asks_for("loo"):
        loo = option("alpha", "loo")
        raise ValueError(f"{loo} needs the Gram or the kernel matrix, and conjugate gradients make neither.")
    scale, m = problem.scale, int(problem.basis.n_components)
    most = int(min(memory_budget() // (128 * m), LEVERAGES))
    if calibrates and most < LEVERAGES:  # a second fit costs less than so wide right-hand sides
        return by_refitting(problem, lambda part, start: fit_matrix_free(part, reason)[0])
    features = kept_features(problem)
    sums = features.reduce(FirstSums(), "sums")
    outer = namespace(sums.cross).outer
    mean_z = like(scale, sums.sum_z) * sums.sum_z / sums.weight
    mean_y = sums.sum_y / sums.weight
    if not problem.intercept:
        mean_z, mean_y = (constant(0.0, mean.shape, mean) for mean in (mean_z, mean_y))
    cross = times_columns(scale, sums.cross) - sums.weight * outer(mean_z, mean_y)
    square = (sums.square - sums.weight * mean_y**2).clip(min=0.0)
    chosen = probe_alpha(problem)
    alpha = chosen.alpha

    def product(v: Array) -> Array:
        total = features.reduce(NormalProduct(times_columns(scale, v)), "product")
        return times_columns(scale, total) - sums.weight * outer(mean_z, mean_z @ v)

    precondition, kind = preconditioner(problem, mean_z, sums.weight, alpha)
    tolerance = SINGLE_TOLERANCE if kind == "float32" else TOLERANCE
    found = solve_products(product, cross, alpha, precondition=precondition, tolerance=tolerance)
    b = found.coefficients
    solution = Solution(b, found.method, alpha, found.status, found.residual, found.iterations, reason)
    # (G + alpha I) b = c gives RSS + alpha |b|^2 = y'y - b'c.
    energy = (square - (b * cross).sum(axis=0)).clip(min=0.0)
    rows = max(sums.weight / chosen.unit, sums.rows) if chosen.unit else sums.rows
    noise = noise_variance(energy, sums.weight, rows, problem.intercept)
    fit = Fit(solution, mean_y - mean_z @ b, chosen.note, noise, validated=chosen.validated, end=chosen.end)
    if not calibrates:
        return fit, None
    block = problem.blocks.take(sample_rows(problem.blocks.n_rows, most, seed=9))
    sampled = problem.features(block.X)
    sampled = cast(sampled.toarray() if hasattr(sampled, "toarray") else sampled, "float64")
    sampled = sampled * like(scale, sampled) - mean_z
    answers = solve_products(
        product, contiguous(sampled.T), alpha, precondition=precondition, tolerance=1e-3
    ).coefficients
    spread = (sampled * answers.T).sum(axis=1) + problem.intercept / sums.weight
    unit = chosen.unit or sums.weight / sums.rows
    return fit, without_itself(scores_of(problem, fit, block.X), spread, block, unit)


def preconditioner(problem: Problem, mean_z: Array, weight: float, alpha: float) -> tuple[Any, str]:
    """The Gram matrix of as many sampled rows as a quarter of the memory budget holds; and the type of features.

    Its shift is above alpha by what the sample leaves unexplained, spread over the features: found on rows held out.
    """
    m, n = int(problem.basis.n_components), problem.blocks.n_rows
    most = min(memory_budget() // (4 * 4 * m), int(np.sqrt(memory_budget() / 64)))
    chosen = sample_rows(n, int(max(2, min(most, m, n))), seed=5)
    block = problem.blocks.take(chosen)
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
    return sampled_preconditioner(rest, ratio, 3.0 * (alpha + weight * unexplained / m)), dtype_name(features)


def scaled(rows: Any, scale: Any) -> Any:
    """Columns of rows, dense or sparse, times a number, or each times its own."""
    if np.ndim(scale) and scipy.sparse.issparse(rows):
        return (rows @ scipy.sparse.diags_array(scale)).astype(rows.dtype)
    return rows * (like(scale.astype(dtype_name(rows)), rows) if np.ndim(scale) else scalar(scale, rows))


def unexplained_squares(rows: Any, held: Any) -> Array:
    """Squared distance of each held-out row from the span of the others."""

    def dense(a: Any) -> Array:
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
        narrow = dtype_name(block.X) if is_float(block.X) else "float64"
        features = as_factor(block.X, narrow)
        image = cast(features @ cast(self.v, narrow), "float64")
        if block.weight is not None:
            image *= block.weight[:, None]
        return cast(features.T @ cast(image, narrow), "float64")


def as_factor(features: Any, dtype: str) -> Any:
    """Features that floats of this dtype can be multiplied by: tensors multiply their own kind alone."""
    return cast(features, dtype) if is_torch(features) else features


def probe_alpha(problem: Problem) -> Chosen:
    """Alpha from an exact dual fit of a sample of rows: it estimates a ratio of variances, which rows do not change."""
    if isinstance(problem.alpha, float):
        return Chosen(problem.alpha, GIVEN)
    most = int(min(PROBE, np.sqrt(memory_budget() / 48)))
    rows = sample_rows(problem.blocks.n_rows, max(most, 20), seed=2)
    block = problem.blocks.take(rows)
    found, _ = solve_kernel(
        feature_kernel(problem, block.X), block, problem.alpha, problem.intercept, problem.classifies
    )  # fmt: skip
    return Chosen(found.solution.alpha, f"{found.penalty} on {len(rows):,} sampled rows", found.validated, found.end)

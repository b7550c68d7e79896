"""Least squares when neither the Gram nor the kernel matrix fits: a pass over the rows for each product."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from ...bases.design import times_columns
from ...blocks import Block, SumOf
from ...config import memory_budget
from ...moments import times_rows
from ...solvers import Solution, factor_gram, sampled_preconditioner, solve_products
from ...streams import sample_rows
from ...validation import option
from .calibration import HeldOutScores
from .dual import feature_kernel, solve_kernel
from .feature_cache import kept_features
from .leave_one_out import LEVERAGES, by_refitting, scores_of, without_itself
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
    sum_z: np.ndarray
    sum_y: np.ndarray
    cross: np.ndarray
    square: np.ndarray

    def __iadd__(self, other: Sums) -> Sums:
        return Sums(*(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))


def fit_matrix_free(problem: Problem, reason: str, calibrates: bool = False) -> tuple[Fit, HeldOutScores | None]:
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
    mean_z = scale * sums.sum_z / sums.weight if problem.intercept else np.zeros(m)
    mean_y = sums.sum_y / sums.weight if problem.intercept else np.zeros(len(sums.sum_y))
    cross = times_columns(scale, sums.cross) - sums.weight * np.outer(mean_z, mean_y)
    square = np.maximum(sums.square - sums.weight * mean_y**2, 0.0)
    chosen = probe_alpha(problem)
    alpha = chosen.alpha

    def product(v: np.ndarray) -> np.ndarray:
        total = features.reduce(NormalProduct(times_columns(scale, v)), "product")
        return times_columns(scale, total) - sums.weight * np.outer(mean_z, mean_z @ v)

    precondition, kind = preconditioner(problem, mean_z, sums.weight, alpha)
    tolerance = SINGLE_TOLERANCE if kind == np.float32 else TOLERANCE
    found = solve_products(product, cross, alpha, precondition=precondition, tolerance=tolerance)
    b = found.coefficients
    solution = Solution(b, found.method, alpha, found.status, found.residual, found.iterations, reason)
    # (G + alpha I) b = c gives RSS + alpha |b|^2 = y'y - b'c.
    energy = np.maximum(square - np.sum(b * cross, axis=0), 0.0)
    rows = max(sums.weight / chosen.unit, sums.rows) if chosen.unit else sums.rows
    noise = noise_variance(energy, sums.weight, rows, problem.intercept)
    fit = Fit(solution, mean_y - mean_z @ b, chosen.note, noise, validated=chosen.validated, end=chosen.end)
    if not calibrates:
        return fit, None
    block = problem.blocks.take(sample_rows(problem.blocks.n_rows, most, seed=9))
    sampled = problem.features(block.X)
    sampled = (sampled.toarray() if hasattr(sampled, "toarray") else sampled).astype(np.float64) * scale - mean_z
    answers = solve_products(product, sampled.T.copy(), alpha, precondition=precondition, tolerance=1e-3).coefficients
    spread = np.sum(sampled * answers.T, axis=1) + problem.intercept / sums.weight
    unit = chosen.unit or sums.weight / sums.rows
    return fit, without_itself(scores_of(problem, fit, block.X), spread, block, unit)


def preconditioner(problem: Problem, mean_z: np.ndarray, weight: float, alpha: float) -> tuple[Any, Any]:
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


def scaled(rows: Any, scale: Any) -> Any:
    """Columns of rows, dense or sparse, times a number, or each times its own."""
    if np.ndim(scale) and scipy.sparse.issparse(rows):
        return (rows @ scipy.sparse.diags_array(scale)).astype(rows.dtype)
    return rows * (scale.astype(rows.dtype) if np.ndim(scale) else rows.dtype.type(scale))


def unexplained_squares(rows: Any, held: Any) -> np.ndarray:
    """Squared distance of each held-out row from the span of the others."""

    def dense(a: Any) -> np.ndarray:
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

"""Least squares when neither the Gram nor the kernel matrix fits: features are made again in every pass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..blocks import Block, MemoryBlocks
from ..config import memory_budget
from ..solvers import Solution, solve_products
from ..streams import sample_rows
from .dual import feature_kernel, solve_kernel
from .problem import Fit, Problem

PROBE = 2000  # rows from which the penalty is chosen
TOLERANCE = 1e-6


@dataclass
class Sums:
    """The sums that need no matrix of the size of the features."""

    weight: float
    sum_z: np.ndarray
    sum_y: np.ndarray
    cross: np.ndarray
    square: np.ndarray

    def __iadd__(self, other: Sums) -> Sums:
        return Sums(*(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))


def fit_matrix_free(problem: Problem, reason: str) -> Fit:
    """Conjugate gradients on the normal equations, with the intercept taken out of every product."""
    scale, m = problem.scale, problem.basis.n_components
    sums = problem.blocks.reduce(lambda block: first_sums(problem, block), width=3 * m, title="sums")
    mean_z = scale * sums.sum_z / sums.weight if problem.intercept else np.zeros(m)
    mean_y = sums.sum_y / sums.weight if problem.intercept else np.zeros(len(sums.sum_y))
    cross = scale * sums.cross - sums.weight * np.outer(mean_z, mean_y)
    square = np.maximum(sums.square - sums.weight * mean_y**2, 0.0)
    alpha, note = probe_alpha(problem)

    def product(v: np.ndarray) -> np.ndarray:
        def part(block: Block) -> np.ndarray:
            features = problem.features(block.X)
            narrow = v.astype(features.dtype) if features.dtype.kind == "f" else v
            image = np.asarray(features @ narrow, dtype=np.float64)
            if block.weight is not None:
                image *= block.weight[:, None]
            return np.asarray(features.T @ image.astype(narrow.dtype), dtype=np.float64)

        total = problem.blocks.reduce(part, width=2 * m + 2 * v.shape[1], title="product")
        return scale**2 * total - sums.weight * np.outer(mean_z, mean_z @ v)

    rank = int(np.clip(memory_budget() // (8 * 8 * m), 10, 300))
    found = solve_products(product, cross, alpha, rank=rank, tolerance=TOLERANCE, seed=problem.basis.seed_)
    b = found.coefficients
    solution = Solution(b, found.method, alpha, found.status, found.residual, found.iterations, reason)
    # b'Gb from the solved equations: (G + alpha I) b = c.
    noise = np.maximum(square - np.sum(b * cross, axis=0), 0.0) / max(
        problem.blocks.n_rows - float(problem.intercept), 1.0
    )
    return Fit(solution, mean_y - mean_z @ b, note, noise)


def first_sums(problem: Problem, block: Block) -> Sums:
    features, y = problem.features(block.X), block.y.astype(np.float64)
    weight = np.ones(len(y)) if block.weight is None else block.weight
    weighted = y * weight[:, None]
    cross = np.asarray(features.T @ np.column_stack([weight, weighted]), dtype=np.float64)
    return Sums(float(weight.sum()), cross[:, 0], weighted.sum(axis=0), cross[:, 1:], np.sum(y * weighted, axis=0))


def probe_alpha(problem: Problem) -> tuple[float, str]:
    """Alpha from an exact dual fit of a sample of rows: it estimates a ratio of variances, which rows do not change."""
    if isinstance(problem.alpha, float):
        return problem.alpha, "given"
    if problem.asks_for("loo"):
        raise ValueError("alpha='loo' needs the Gram or the kernel matrix, and neither fits the memory budget.")
    rows = sample_rows(problem.blocks.n_rows, PROBE, seed=2)
    block = take(problem, rows)
    found, _ = solve_kernel(
        feature_kernel(problem, block.X), block, problem.alpha, problem.intercept, problem.classifies
    )  # fmt: skip
    return found.solution.alpha, f"{found.penalty} on {len(rows):,} sampled rows"


def take(problem: Problem, rows: np.ndarray) -> Block:
    """Some rows of the blocks, by their numbers."""
    blocks = problem.blocks
    if isinstance(blocks, MemoryBlocks):
        X, y, weight = (None if a is None else a[rows] for a in (blocks.X, blocks.y, blocks.weight))
        return Block(X, y, weight, 0)
    parts = []
    for block in blocks.walk(blocks.n_columns):
        local = rows[(rows >= block.start) & (rows < block.start + block.X.shape[0])] - block.start
        parts.append([None if a is None else a[local] for a in (block.X, block.y, block.weight)])
    X, y, weight = (None if part[0] is None else np.concatenate(part) for part in zip(*parts, strict=True))
    return Block(X, y, weight, 0)

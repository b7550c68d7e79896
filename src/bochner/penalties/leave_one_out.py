"""Exact leave-one-out squared errors at each of many penalties: residual / (1 - leverage), by eigenvectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import ops
from ..arrays import Array, cast, constant, is_torch, like, namespace
from ..blocks import Block, SumOf
from ..maps import FeatureMap
from ..moments import Centered, times_columns
from ..solvers import DualProblem
from ..solvers.leave_one_out import LEAST
from ..solvers.problem import Problem


def errors_by_pass(problem: Problem, centered: Centered, alphas: np.ndarray) -> np.ndarray:
    """From the sums, and a second pass for the leverages."""
    values, vectors = ops.eigh(centered.gram)
    inverse = 1.0 / (values.clip(min=0.0)[:, None] + like(alphas, values)).clip(min=np.finfo(float).tiny)
    rotated, scaled = vectors.T @ centered.cross, times_columns(problem.scale, vectors)
    offsets = centered.mean_z @ vectors, centered.mean_y, float(problem.intercept) / centered.weight
    return problem.blocks.reduce(Leverages(problem.map, scaled, rotated, inverse, *offsets), title="leverages")


@dataclass(frozen=True)
class Leverages(SumOf):
    """Squared leave-one-out errors at each penalty, residual / (1 - leverage), in the axes of the eigenvectors.

    `axes` are the eigenvectors (m, m) times the scale, `rotated` the cross products along them, `inverse` the inverses
    of eigenvalues plus penalties (m, penalties); the last three are the means of features and targets, and 1/weight.
    """

    map: FeatureMap
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
        features = self.map(block.X)
        features = (cast(features, "float64") if is_torch(features) else features) @ self.axes - self.mean_z
        weight = constant(1.0, (len(features),), features) if block.weight is None else block.weight
        leverage = weight[:, None] * (features**2 @ self.inverse + self.least)
        total = np.zeros(self.inverse.shape[1])
        for k in range(len(total)):
            residual = block.y - self.mean_y - features @ (self.rotated * self.inverse[:, k : k + 1])
            left = (1.0 - leverage[:, k : k + 1]).clip(min=LEAST)
            total[k] = float((weight[:, None] * (residual / left) ** 2).sum())
        return total


def errors_of_kernel(dual: DualProblem, alphas: np.ndarray, intercept: bool) -> np.ndarray:
    """From the kernel matrix alone.

    With an intercept, the direction of the means has leverage 1 and is reflected out first, so that nothing cancels.
    """
    kernel, reflection = dual.kernel, like(np.eye(len(dual.kernel)), dual.kernel)
    if intercept:
        xp = namespace(kernel)
        axis = dual.root / xp.linalg.norm(dual.root)
        axis[0] += 1.0  # roots of weights are not negative, so that nothing cancels
        reflection = (reflection - xp.outer(axis, axis) * (2.0 / (axis @ axis)))[:, 1:]
        kernel = reflection.T @ kernel @ reflection
    values, vectors = ops.eigh(kernel)
    vectors = reflection @ vectors
    rotated, totals = vectors.T @ dual.target, np.zeros(len(alphas))
    for k, alpha in enumerate(alphas.tolist()):
        share = alpha / (values.clip(min=0.0) + alpha)
        residual, left = vectors @ (share[:, None] * rotated), (vectors**2 @ share).clip(min=LEAST)
        totals[k] = float(((residual / left[:, None]) ** 2).sum())
    return totals

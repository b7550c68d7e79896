"""Two layers of waves with a mean over each bag between them, and the closed-form gradient of its squared loss.

    phi(x) = (cos<v_1, x>, sin<v_1, x>, ...)/sqrt(m)        waves of points, frequencies v
    mu_b = mean of phi(x) over the points of bag b           pooling
    psi(mu) = waves of mu, frequencies w
    score_b = psi(mu_b)'beta + intercept
    loss = sum_b weight_b |score_b - y_b|^2 + alpha |beta|^2 + frequency_alpha (|V|^2 + |W|^2)

A wave and its derivative are each other's: with c = h cos p and s = h sin p, dc/dp = -s and ds/dp = c. So what comes
back from a pair with gradients (g_c, g_s) is c g_s - s g_c; one common derivative for both halves is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...arrays import Array
from ...blocks import Block, KeptBlocks, SumOf
from ...blocks.base import unchanged
from ...costs import may_be_kept
from ..learned import layer
from .bag_sums import BagSums, sums_per_bag
from .bags import Bags

NO_PHASES = np.empty(0)


class Net(NamedTuple):
    """Frequencies of points (m, d), of embeddings (k, 2m), coefficients (2k, outputs) and intercepts (outputs,)."""

    points: np.ndarray
    embeddings: np.ndarray
    coefficients: np.ndarray
    intercept: np.ndarray

    def flat(self) -> np.ndarray:
        return np.concatenate([part.ravel() for part in self])

    def shaped(self, flat: np.ndarray) -> Net:
        """The net of these numbers, in the shapes of this one."""
        parts = np.split(flat, np.cumsum([part.size for part in self])[:-1])
        return Net(*(part.reshape(like.shape) for part, like in zip(parts, self, strict=True)))


@dataclass(frozen=True)
class Task:
    """Bags with coded targets (bags, outputs) and weights; penalties; how many points are worked on at a time."""

    bags: Bags
    y: np.ndarray
    weight: np.ndarray
    alpha: float
    frequency_alpha: float
    intercept: bool
    rows: int

    @cached_property
    def points(self) -> KeptBlocks:
        """The points where passes over them are made, and kept there if there is room."""
        keeps = may_be_kept(8 * self.bags.n_rows * self.bags.n_columns)
        return KeptBlocks(self.bags, unchanged, self.rows, keeps)


def waves(projections: Array) -> Array:
    """Interleaved cosines and sines over the root of their number."""
    return layer.features(projections, NO_PHASES, 1.0 / np.sqrt(projections.shape[1]))


def waves_back(features: Array, gradient: Array) -> Array:
    """The gradient with respect to the projections, from waves and the gradient with respect to them."""
    return layer.projection_gradient(gradient, features, features[:, ::2], NO_PHASES, 1.0)


@dataclass(frozen=True)
class PooledOf(SumOf):
    """Sums of the waves of each bag's points, for frequencies (m, d)."""

    frequencies: np.ndarray

    def of(self, block: Block) -> BagSums:
        points, owner = block.X
        return sums_per_bag(waves(points @ self.frequencies.T), owner)


@dataclass(frozen=True)
class PointGradientOf(SumOf):
    """The gradient by the frequencies (m, d) of points, from that by the waves of each bag's points (bags, 2m)."""

    frequencies: np.ndarray
    back: np.ndarray

    def of(self, block: Block) -> np.ndarray:
        points, owner = block.X
        return waves_back(waves(points @ self.frequencies.T), self.back[owner]).T @ points


def pooled(net: Net, task: Task) -> np.ndarray:
    """The mean of the waves of each bag's points."""
    (sums,) = task.points.reduce(PooledOf(net.points)).tables
    return sums / task.bags.sizes[:, None]


def loss_and_gradient(net: Net, task: Task) -> tuple[float, Net]:
    """The loss, and its gradient in the shape of the net: two passes over the points."""
    means = pooled(net, task)
    top = waves(means @ net.embeddings.T)
    error = top @ net.coefficients + net.intercept - task.y
    back = 2.0 * task.weight[:, None] * error
    back_embeddings = waves_back(top, back @ net.coefficients.T)
    back_means = back_embeddings @ net.embeddings / task.bags.sizes[:, None]
    to_points = task.points.reduce(PointGradientOf(net.points, back_means))
    to_points += 2.0 * task.frequency_alpha * net.points
    frequencies = float(np.sum(net.points**2) + np.sum(net.embeddings**2))
    loss = float(np.sum(task.weight[:, None] * error**2))
    loss += task.alpha * float(np.sum(net.coefficients**2)) + task.frequency_alpha * frequencies
    gradient = Net(
        to_points,
        back_embeddings.T @ means + 2.0 * task.frequency_alpha * net.embeddings,
        top.T @ back + 2.0 * task.alpha * net.coefficients,
        back.sum(axis=0) * task.intercept,
    )
    return loss, gradient

"""What learning frequencies sums over rows: losses, their gradients, and products of features.

All are aggregates of some numbers each, and a pass is made by whatever engine folds blocks. Features stay with their
block until other frequencies are asked for: the output layer is solved for in many passes at the same ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...arrays import Array, constant, like, namespace
from ...blocks import TOGETHER, Block, SumOf, rows_per_block
from ...config import device_room, get_config
from ...costs import may_be_kept
from .directions import Directions
from .layer import features, projection_gradient
from .losses import Loss

TILE = 1 << 19  # features of a block: a few thousand rows are work for several threads


def rows_of(columns: int) -> int:
    """Rows of a block that has so many features a row."""
    rows = rows_per_block(TOGETHER * columns)
    return rows if get_config()["block_rows"] != "auto" or device_room() else max(1, min(rows, TILE // columns))


def fits(rows: int, columns: int) -> bool:
    """Whether the features of all rows, and the half as many projections, may be kept."""
    return may_be_kept(12 * columns * rows)


class Tile(NamedTuple):
    """Projections of some rows, and their features."""

    projections: Array
    features: Array


@dataclass(frozen=True)
class Waves:
    """The features of blocks for frequencies of some parameters."""

    directions: Directions
    parameters: np.ndarray
    height: float
    stay: bool  # with their block, for the next pass

    @property
    def phases(self) -> np.ndarray:
        return self.directions.phases

    def of(self, block: Block) -> Tile:
        assert block.state is not None
        before = block.state.pop("waves", None)
        if before is not None and np.array_equal(before[0], self.parameters):
            block.state["waves"] = before
            return before[1]
        projections = self.directions.project(block.X, self.parameters)
        tile = Tile(projections, features(projections, self.phases, self.height))
        if self.stay:
            block.state["waves"] = self.parameters, tile
        return tile


@dataclass(frozen=True)
class ScoresOf(SumOf):
    """Scores of rows, a list of arrays in the order of rows."""

    waves: Waves
    coefficients: np.ndarray
    intercept: np.ndarray

    def scores(self, tile: Tile) -> Array:
        return tile.features @ like(self.coefficients, tile.features) + like(self.intercept, tile.features)

    def of(self, block: Block) -> list[Array] | Array:
        return [self.scores(self.waves.of(block))]


@dataclass(frozen=True)
class MeanLossOf(ScoresOf):
    """sum_i v_i loss(s_i, y_i)."""

    loss: Loss

    def of(self, block: Block) -> Array:
        return self.losses(block, self.waves.of(block))[0]

    def losses(self, block: Block, tile: Tile) -> tuple[Array, Array]:
        """The share of the loss that some rows have, and its gradient by their scores."""
        losses, gradient = self.loss(self.scores(tile), block.y)
        return block.weight @ losses, gradient * block.weight[:, None]


@dataclass(frozen=True)
class OutputGradientOf(MeanLossOf):
    """The mean loss, and its gradient by the coefficients and by the intercepts, as one vector."""

    fit_intercept: bool

    def of(self, block: Block) -> Array:
        tile = self.waves.of(block)
        loss, gradient = self.losses(block, tile)
        return namespace(gradient).hstack([loss, *self.by_output(tile, gradient)])

    def by_output(self, tile: Tile, gradient: Array) -> tuple[Array, Array]:
        by_intercept = gradient.sum(axis=0) if self.fit_intercept else constant(0.0, gradient.shape[1:], gradient)
        return (tile.features.T @ gradient).ravel(), by_intercept


@dataclass(frozen=True)
class GradientOf(OutputGradientOf):
    """The same, with the gradient by the parameters of the frequencies between the two."""

    def of(self, block: Block) -> Array:
        waves, tile = self.waves, self.waves.of(block)
        loss, gradient = self.losses(block, tile)
        back = projection_gradient(
            gradient @ like(self.coefficients, gradient).T, tile.features, tile.projections, waves.phases, waves.height
        )
        by_parameters = waves.directions.gradient(block.X, back)
        return namespace(gradient).hstack([loss, by_parameters, *self.by_output(tile, gradient)])


@dataclass(frozen=True)
class CurvatureOf(SumOf):
    """c [Z 1]'V[Z 1], for the bound c on the curvature of a loss."""

    waves: Waves
    curvature: float

    def of(self, block: Block) -> Array:
        root = (self.curvature * block.weight[:, None]) ** 0.5
        weighted = namespace(root).hstack([self.waves.of(block).features * root, root])
        return weighted.T @ weighted

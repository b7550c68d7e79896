"""The objective (4) of the paper and its gradient in closed form, a tile of rows at a time.

T = sum_i v_i loss(s_i, y_i) + alpha |beta|^2 + frequency_alpha |Omega|^2,   s_i = beta' phi(x_i) + b,   sum_i v_i = 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from ...config import memory_budget
from ...typing import Matrix
from ..checks import row_slices
from .directions import Directions
from .layer import features, projection_gradient
from .losses import Loss


class Output(NamedTuple):
    """The coefficients beta (m, k) and the intercepts b (k,) of the output layer; or a gradient by them."""

    coefficients: np.ndarray
    intercept: np.ndarray


class Tile(NamedTuple):
    """Some rows, their projections and their features."""

    rows: slice
    projections: np.ndarray
    features: np.ndarray


@dataclass
class Objective:
    """Rows with targets (n, k) and shares v (n,), and what is minimised over them."""

    X: Matrix
    targets: np.ndarray
    shares: np.ndarray
    directions: Directions
    loss: Loss
    alpha: float
    frequency_alpha: float
    fit_intercept: bool
    n_columns: int
    _kept: tuple[np.ndarray, list[Tile]] | None = field(default=None, repr=False)

    @property
    def height(self) -> float:
        return float(np.sqrt(2.0 / self.n_columns))

    def only(self, rows: np.ndarray) -> Objective:
        """The same over some of the rows."""
        shares = self.shares[rows] / self.shares[rows].sum()
        return replace(self, X=self.X[rows], targets=self.targets[rows], shares=shares, _kept=None)

    def __call__(self, parameters: np.ndarray, output: Output) -> tuple[float, np.ndarray, Output]:
        """T, and its gradients by the parameters of the frequencies and by the output layer."""
        value, slopes = self.penalty(parameters, output), self._penalty_slopes(output)
        slope = 2.0 * self.frequency_alpha * self.directions.sizes * parameters
        for tile in self.tiles(parameters):
            loss, gradient = self._losses(tile, output)
            value += loss
            back = projection_gradient(
                gradient @ output.coefficients.T, tile.features, tile.projections, self.directions.phases, self.height
            )
            slope += self.directions.gradient(self.X[tile.rows], back)
            self._add(slopes, tile, gradient)
        return value, slope, slopes

    def by_output(self, parameters: np.ndarray, output: Output) -> tuple[float, Output]:
        """T, and its gradient by the output layer alone."""
        value, slopes = self.penalty(parameters, output), self._penalty_slopes(output)
        for tile in self.tiles(parameters):
            loss, gradient = self._losses(tile, output)
            value += loss
            self._add(slopes, tile, gradient)
        return value, slopes

    def mean_loss(self, parameters: np.ndarray, output: Output) -> float:
        """T without the penalties."""
        return sum(self._losses(tile, output)[0] for tile in self.tiles(parameters))

    def penalty(self, parameters: np.ndarray, output: Output) -> float:
        frequencies = np.vdot(self.directions.sizes * parameters, parameters)
        return float(
            self.alpha * np.vdot(output.coefficients, output.coefficients) + self.frequency_alpha * frequencies
        )

    def tiles(self, parameters: np.ndarray) -> Iterator[Tile]:
        """All rows with their features, which stay for the next call with the same parameters if there is room."""
        if self._kept is not None and np.array_equal(self._kept[0], parameters):
            yield from self._kept[1]
            return
        self._kept, tiles = None, []
        room = 12 * self.n_columns * len(self.targets) <= memory_budget() // 4
        for rows in row_slices(len(self.targets), 4 * self.n_columns):
            projections = self.directions.project(self.X[rows], parameters)
            tile = Tile(rows, projections, features(projections, self.directions.phases, self.height))
            if room:
                tiles.append(tile)
            yield tile
        self._kept = (parameters.copy(), tiles) if room else None

    def _losses(self, tile: Tile, output: Output) -> tuple[float, np.ndarray]:
        """The share of T that some rows have, and its gradient by their scores."""
        scores = tile.features @ output.coefficients + output.intercept
        losses, gradient = self.loss(scores, self.targets[tile.rows])
        shares = self.shares[tile.rows]
        return float(shares @ losses), gradient * shares[:, None]

    def _penalty_slopes(self, output: Output) -> Output:
        return Output(2.0 * self.alpha * output.coefficients, np.zeros_like(output.intercept))

    def _add(self, slopes: Output, tile: Tile, gradient: np.ndarray) -> None:
        slopes.coefficients[:] += tile.features.T @ gradient
        if self.fit_intercept:
            slopes.intercept[:] += gradient.sum(axis=0)


class Joint:
    """T of one vector, the parameters of the frequencies and then the output layer: what the paper minimises."""

    def __init__(self, objective: Objective) -> None:
        self.objective = objective

    def join(self, parameters: np.ndarray, output: Output) -> np.ndarray:
        return np.concatenate([parameters, output.coefficients.ravel(), output.intercept])

    def split(self, vector: np.ndarray) -> tuple[np.ndarray, Output]:
        outputs = self.objective.targets.shape[1]
        first, last = len(self.objective.directions.start), len(vector) - outputs
        return vector[:first], Output(vector[first:last].reshape(-1, outputs), vector[last:])

    def __call__(self, vector: np.ndarray, rows: np.ndarray | None = None) -> tuple[float, np.ndarray]:
        """T and its gradient; of a batch of rows, an estimate of both."""
        objective = self.objective if rows is None else self.objective.only(rows)
        value, slope, slopes = objective(*self.split(vector))
        return value, self.join(slope, slopes)

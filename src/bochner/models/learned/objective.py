"""The objective (4) of the paper and its gradient in closed form, summed over blocks of rows.

T = sum_i v_i loss(s_i, y_i) + alpha |beta|^2 + frequency_alpha |Omega|^2,   s_i = beta' phi(x_i) + b,   sum_i v_i = 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...arrays import Array, Rows, is_torch, to_host
from ...blocks import Aggregate, KeptBlocks, MemoryBlocks
from ...blocks.aggregate import P
from ...blocks.base import unchanged
from .directions import Directions
from .losses import Loss
from .sums import GradientOf, MeanLossOf, OutputGradientOf, Waves, fits, rows_of


class Output(NamedTuple):
    """The coefficients beta (m, k) and the intercepts b (k,) of the output layer; or a gradient by them."""

    coefficients: np.ndarray
    intercept: np.ndarray

    def shaped(self, flat: np.ndarray) -> Output:
        """The output layer of these numbers, in the shapes of this one."""
        size = self.coefficients.size
        return Output(flat[:size].reshape(self.coefficients.shape), flat[size:])


@dataclass
class Objective:
    """Rows with targets (n, k) and shares v (n,), and what is minimised over them."""

    X: Rows
    targets: Array
    shares: Array
    directions: Directions
    loss: Loss
    alpha: float
    frequency_alpha: float
    fit_intercept: bool
    n_columns: int
    blocks: KeptBlocks | None = field(default=None, repr=False)  # the rows, where passes over them are made

    def __post_init__(self) -> None:
        if self.blocks is None:
            rows = MemoryBlocks(self.X, self.targets, self.shares)
            self.blocks = KeptBlocks(rows, unchanged, rows_of(self.n_columns), keeps=True)

    @cached_property
    def stays(self) -> bool:
        """Whether features stay with their rows from one pass to the next."""
        return fits(len(self.targets), self.n_columns)

    @property
    def height(self) -> float:
        return float(np.sqrt(2.0 / self.n_columns))

    def only(self, rows: Array) -> Objective:
        """The same over some of the rows."""
        shares = self.shares[rows] / self.shares[rows].sum()
        return replace(self, X=self.X[rows], targets=self.targets[rows], shares=shares, blocks=None)

    def waves(self, parameters: np.ndarray) -> Waves:
        """The features of rows for frequencies of these parameters."""
        return Waves(self.directions, parameters.copy(), self.height, self.stays)

    def __call__(self, parameters: np.ndarray, output: Output) -> tuple[float, np.ndarray, Output]:
        """T, and its gradients by the parameters of the frequencies and by the output layer."""
        sums = self.summed(GradientOf(self.waves(parameters), *output, self.loss, self.fit_intercept))
        last = 1 + len(parameters)
        slope = sums[1:last] + 2.0 * self.frequency_alpha * self.directions.sizes * parameters
        return self.penalty(parameters, output) + float(sums[0]), slope, self._with_penalty(sums[last:], output)

    def by_output(self, parameters: np.ndarray, output: Output) -> tuple[float, Output]:
        """T, and its gradient by the output layer alone."""
        sums = self.summed(OutputGradientOf(self.waves(parameters), *output, self.loss, self.fit_intercept))
        return self.penalty(parameters, output) + float(sums[0]), self._with_penalty(sums[1:], output)

    def mean_loss(self, parameters: np.ndarray, output: Output) -> float:
        """T without the penalties."""
        return float(self.reduce(MeanLossOf(self.waves(parameters), *output, self.loss)))

    def penalty(self, parameters: np.ndarray, output: Output) -> float:
        frequencies = np.vdot(self.directions.sizes * parameters, parameters)
        return float(
            self.alpha * np.vdot(output.coefficients, output.coefficients) + self.frequency_alpha * frequencies
        )

    def _with_penalty(self, sums: np.ndarray, output: Output) -> Output:
        slopes = output.shaped(sums)
        slopes.coefficients[:] += 2.0 * self.alpha * output.coefficients
        return slopes

    def reduce(self, aggregate: Aggregate[P]) -> P:
        """What an aggregate makes of all rows."""
        assert self.blocks is not None
        return self.blocks.reduce(aggregate)

    def summed(self, aggregate: Aggregate[Array]) -> np.ndarray:
        """The same as numpy has it: numbers for each parameter, with which the host goes downhill."""
        found = self.reduce(aggregate)
        return to_host(found[None])[0] if is_torch(found) else np.asarray(found)


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

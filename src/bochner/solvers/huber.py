"""Huber's loss with its scale, which is learned: the sum of losses at the best scale, as a function of coefficients.

The loss is convex in scores and scale together, so it is convex in the scores at the scale that is best for them. Its
gradient there is that at a fixed scale; its second derivative is H - c c'/d, with the derivatives c by coefficients and
scale and d twice by the scale. One search finds both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..blocks import Block
from ..config import memory_budget
from ..losses import Huber
from .objective import Metric, RiskObjective
from .problem import Problem
from .risk import AtPlace, LossTerms
from .units import units_of

LEAST_SCALE = 1e-3  # of the spread of targets: the loss of smaller residuals is their square, and not their size


class HuberObjective(RiskObjective):
    """min over s of sum_i w_i loss(f_i, y_i; s), plus alpha |b|^2; every output has its own s."""

    def __init__(self, problem: Problem, metric: Metric | None = None) -> None:
        needed = 24 * problem.blocks.n_rows * problem.outputs
        if needed > memory_budget() // 2:
            raise ValueError(
                f"the scale of huber's loss needs residuals of {problem.blocks.n_rows:,} rows and {problem.outputs} "
                f"outputs, {needed / 1e9:.3g} GB with their order, over half the memory budget: give it more memory."
            )
        super().__init__(problem, metric)
        self._least = LEAST_SCALE * units_of(problem, targets=True).spread
        self._bent: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    def value_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        assert isinstance(self.loss, Huber)
        self.loss = replace(self.loss, scale=self.scale_at(x))
        return super().value_and_gradient(x)

    def hessian_product(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        if self._bent is None or self._bent[0] is not x:
            self._bent = x, *self.by_scale(x)
        _, mixed, twice = self._bent
        image, along = super().hessian_product(x, v), np.sum(mixed * v, axis=0)
        # The scale stays where it is held at its least.
        bent = (twice > 0) & (self.loss.scale > self._least)  # type: ignore[attr-defined]
        return image - mixed * np.divide(along, twice, out=np.zeros_like(along), where=bent)

    def scale_at(self, x: np.ndarray) -> np.ndarray:
        """The best scales for the residuals at x."""
        assert isinstance(self.loss, Huber)
        parts = self.blocks.reduce(Residuals(*self.at(x)), "scale")
        residuals, weight = (np.concatenate(part) for part in zip(*parts, strict=True))
        return self.loss.best_scale(residuals, weight, self._least)

    def by_scale(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """c (m + 1, k) and d (k,)."""
        m = self.problem.columns
        sums = self.blocks.reduce(MixedDerivatives(*self.at(x)), "scale")
        mixed = self.zeros()
        mixed[:m], mixed[m:] = sums[:m] - np.outer(self._metric.mean, sums[m]), sums[m]
        return mixed, sums[m + 1]


@dataclass(frozen=True)
class Residuals(AtPlace):
    """The residuals and weights of all rows, a list of pairs."""

    def of(self, block: Block) -> list[tuple[np.ndarray, np.ndarray]]:
        return [(self.scores(block) - block.y, block.weight)]


@dataclass(frozen=True)
class MixedDerivatives(AtPlace):
    """Derivatives of Huber's loss by coefficients and scale; then their sum, and that of those twice by the scale."""

    def of(self, block: Block) -> np.ndarray:
        assert isinstance(self.terms, LossTerms)
        assert isinstance(self.terms.loss, Huber)
        both = self.terms.loss.mixed(self.scores(block), block.y)
        mixed, twice = (block.weight[:, None] * derivative for derivative in both)
        return np.vstack([self.model.transposed(block.X, mixed), mixed.sum(axis=0), twice.sum(axis=0)])

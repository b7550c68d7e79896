"""The units in which a loss is minimised: targets in their spreads, weights by their mean.

Steps, tolerances and candidates for the penalty then mean the same whatever y is measured in. With y = c + s t, f = c +
s g and weights W w, a loss of degree d turns sum W w loss(f, y) + alpha |b|^2 into W s^d times sum w loss(g, t) +
(alpha s^(2-d) / W) |b/s|^2: a penalty that is given keeps its meaning.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..blocks import Block
from ..streams import sample_rows
from .base import Solution, Units
from .problem import Alpha, Problem

MEASURED = 2000  # rows by which targets and weights are measured
NORMAL = 1.4826  # deviations of a normal distribution in the median distance from its median


@dataclass(frozen=True)
class InUnits:
    """A block with its targets and weights in units."""

    units: Units

    def __call__(self, block: Block) -> Block:
        units, y, weight = self.units, block.y, block.weight
        if (units.spread != 1.0).any() or units.centre.any():
            y = (y - units.centre) / units.spread
        return block._replace(y=y, weight=None if weight is None else weight / units.weight)


class Measure:
    """The way into units and back, for one problem."""

    def __init__(self, problem: Problem, units: Units | None = None) -> None:
        """`units` are taken if they are known already. Bounds are in the units of y, which then stay as they are."""
        self.asked, loss = problem.asked, problem.loss
        targets = problem.bound is None and not problem.classifies and loss.degree is not None
        self.own = own = units_of(problem, targets) if units is None else units
        self.units = own
        if loss.degree != 2 and not isinstance(problem.asked, str):  # one penalty for all outputs needs one unit
            self.units = replace(own, spread=np.full_like(own.spread, geometric_mean(own.spread)))
        degree = 2 if loss.degree is None else loss.degree  # spreads are 1 then
        self.factor = geometric_mean(self.units.spread) ** (2 - degree) / self.units.weight
        self.loss = loss.in_units(own.spread, self.units.spread)
        blocks = problem.blocks.map(InUnits(self.units))
        self.problem = replace(problem, blocks=blocks, asked=self._penalties(), loss=self.loss)

    def _penalties(self) -> Alpha:
        if isinstance(self.asked, str | float):
            return self.asked if isinstance(self.asked, str) else self.asked * self.factor
        return np.asarray(self.asked, dtype=np.float64) * self.factor

    def inward(self, solution: Solution) -> Solution:
        """A solution in these units."""
        spread = self.units.spread
        return replace(
            solution, coefficients=solution.coefficients / spread, alpha=solution.alpha * self.factor,
            intercept=(solution.intercepts - self.units.centre) / spread,
        )  # fmt: skip

    def outward(self, solution: Solution) -> Solution:
        """A solution in the units of y."""
        units, status, alpha = self.units, solution.status, solution.alpha / self.factor
        if not isinstance(self.asked, str):  # the very number that was given
            given = np.ravel(self.asked)
            alpha = float(given[np.argmin(np.abs(given - alpha))])
        if solution.scale is not None:
            status += f"; scale {listed(solution.scale * units.spread)}"
        if self.loss.told_in(units.spread):
            status += f"; {self.loss.told_in(units.spread)}"
        training = None if solution.training is None else replace(solution.training, units=self.own)
        return replace(
            solution, coefficients=solution.coefficients * units.spread, alpha=alpha, status=status,
            intercept=solution.intercepts * units.spread + units.centre,
            noise=solution.noises * units.spread * units.spread, training=training, start=None,
        )  # fmt: skip


def units_of(problem: Problem, targets: bool) -> Units:
    """From the medians of targets, which a few far-out ones do not move; without an intercept measured from zero."""
    sample = problem.blocks.take(sample_rows(problem.blocks.n_rows, MEASURED, seed=11))
    there = sample.X.shape[0] > 0  # the rows sampled may all be of weight zero
    weight = None if sample.weight is None or not there else sample.weight
    centre, spread = np.zeros(problem.outputs), np.ones(problem.outputs)
    if targets and there:
        y = sample.y.astype(np.float64)
        if problem.intercept:
            centre = weighted_median(y, weight)
        far = np.abs(y - centre)
        spread = NORMAL * weighted_median(far, weight)
        # More than half of the targets may be equal, or all of them.
        for size in (np.average(far, axis=0, weights=weight), np.abs(centre), np.ones(problem.outputs)):
            spread = np.where(spread > 1e-12 * np.abs(centre), spread, size)
    return Units(centre, spread, 1.0 if weight is None else float(weight.mean()))


def weighted_median(values: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Of each column, the mean of the values at which half of the weight is reached, from below and from above.

    Rows that are repeated are rows of more weight, and the median of -y is minus that of y.
    """
    order = np.argsort(values, axis=0, kind="stable")
    weights = np.ones(len(values)) if weight is None else weight
    reached = np.cumsum(weights[order], axis=0)
    ends = [np.argmax(reached >= (0.5 + sign * 1e-12) * reached[-1], axis=0) for sign in (-1, 1)]
    sorted_values = np.take_along_axis(values, order, axis=0)
    return np.mean(np.take_along_axis(sorted_values, np.stack(ends), axis=0), axis=0)


def geometric_mean(spread: np.ndarray) -> float:
    return float(spread[0]) if len(spread) == 1 else float(np.exp(np.mean(np.log(spread))))


def listed(numbers: np.ndarray) -> str:
    return ", ".join(f"{number:.4g}" for number in np.ravel(numbers))

"""Losses with kinks (hinge, epsilon-insensitive) to their optimum, by the method of multipliers.

minimise sum_i w_i loss(t_i) + alpha |b|^2 with t = Z b + c, by multipliers u for that equation: given u and a stiffness
s, the best t is the loss's proximal map of f + u/s, which leaves a smooth, piecewise quadratic function of (b, c) for
Newton's method; then u becomes its slope. The u are the variables of the dual, as in a support vector machine, so at
the minimum over (b, c) the duality gap is known: sum of w loss(f) - w loss(t) - u (f - t).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..blocks import Block, SumOf
from ..config import memory_budget
from ..losses import Loss
from ..validation import option
from .base import Solution, Solver
from .minimise import Minimum, minimise
from .newton import finished
from .objective import Metric, RiskObjective
from .problem import Problem
from .risk import AtPlace, Terms

ROUNDS, STIFFER, WELL = 50, 5.0, 0.2  # at most; s grows by this unless the gap falls below this share of the last one
MULTIPLIERS = "multipliers"  # of rows, in the state of their block
SOFTER = 25.0  # s falls by this where a search gets stuck


class AugmentedLagrangian(Solver):
    """The dual of a loss with kinks, by multipliers."""

    name = "dual"
    needs = frozenset({"proximal", "separable"})

    def solve(self, problem: Problem) -> Solution:
        objective = Envelope(problem)
        x = objective.zeros() if problem.start is None else np.asarray(problem.start)
        goals = (1e-6, 1e-5) if objective.kind == np.float32 else (1e-10, 1e-9)
        return finished(objective, approach_optimum(objective, x, *goals), "multipliers with Newton")


def approach_optimum(objective: Envelope, x: np.ndarray, goal: float, finest: float) -> Minimum:
    """To a relative duality gap of `goal`, with the envelope's minima to a relative gradient of `finest`."""
    gap = previous = stiffest = stuck = np.inf
    steps = 0
    tolerance = 1e-2
    for _ in range(ROUNDS):
        found = minimise(objective, x, tolerance=tolerance, reference=objective.reference)
        steps, x = steps + found.iterations, found.x
        if not found.converged:  # all rows may be on straight parts, where nothing bends: softer, some are not
            if objective.stiffness >= stuck:  # what was too stiff twice will be so again
                stiffest = objective.stiffness / STIFFER
            stuck = min(stuck, objective.stiffness)
            objective.stiffness /= SOFTER
            continue
        gap = objective.raise_multipliers(x)
        if gap <= goal and tolerance <= finest:
            break
        tolerance = max(min(0.1 * tolerance, gap), finest)
        if gap > WELL * previous:
            objective.stiffness = min(STIFFER * objective.stiffness, stiffest)
        previous = gap
    ended = "converged" if found.converged and gap <= 10 * goal else "stopped"
    status = f"{ended} in {steps} steps, relative duality gap {gap:.1e}"
    return Minimum(x, found.value, status, gap, steps)


class Envelope(RiskObjective):
    """The smooth function that multipliers and a stiffness make of a loss with kinks.

    Only rows at the kink bend it, and in the end they are few: then the second derivative is inverted exactly.
    """

    least = 0.0  # sum of losses and penalty that the duality gap is measured by, if they are smaller

    def __init__(self, problem: Problem, metric: Metric | None = None) -> None:
        needed = 16 * problem.blocks.n_rows * problem.outputs
        if needed > memory_budget() // 2:
            raise ValueError(
                f"one multiplier for each of {problem.blocks.n_rows:,} rows and {problem.outputs} outputs needs "
                f"{needed / 1e9:.3g} GB, over half the memory budget: use {option('solver', 'sgd')} or a smooth loss."
            )
        super().__init__(problem, metric)
        self._first = self.stiffness = 0.5 * self.typical_ratio()
        self.nothing, gradient = self.value_and_gradient(self.zeros())  # the model 0
        self.reference = self.size(gradient)

    def begin(self, name: str | None = None, stiffness: float | None = None) -> None:
        """From the multipliers that a like problem ended with, by the name they were kept by, or from zero."""
        self.blocks.reduce(CopyState(name, MULTIPLIERS))
        self.stiffness = self._first if stiffness is None else stiffness

    def keep(self, name: str) -> None:
        """Keep the multipliers of all rows by a name."""
        self.blocks.reduce(CopyState(MULTIPLIERS, name))

    def typical_ratio(self) -> float:
        """Mean weight over mean target: a stiffness that puts scores near zero on the curved part of the envelope."""
        targets, weights = self.blocks.reduce(TargetSizes(), "targets")
        return float(weights / targets) if targets > 0 else 1.0

    @property
    def terms(self) -> Terms:
        return EnvelopeTerms(self.loss, self.stiffness)

    def raise_multipliers(self, x: np.ndarray) -> float:
        """Set the multipliers to the slopes at x; the duality gap, relative to the sum of losses and penalty."""
        gap, losses = self.blocks.reduce(RaiseMultipliers(*self.at(x)), "multipliers")
        primal = losses + self.alpha * np.sum(self.model(x)[0] ** 2)
        return float(abs(gap) / max(primal, self.least, np.finfo(float).tiny))


@dataclass(frozen=True)
class EnvelopeTerms:
    """What rows add to the envelope; their multipliers are in the state of the block, zero to begin with."""

    loss: Loss
    stiffness: float

    def shifted(self, block: Block, f: np.ndarray) -> np.ndarray:
        """f + u/s"""
        multipliers = (block.state or {}).get(MULTIPLIERS)
        return f if multipliers is None else f + multipliers / self.stiffness

    def prox(self, block: Block, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """t, and the slope s (f + u/s - t), which the multipliers are to become."""
        shifted = self.shifted(block, f)
        t = self.loss.prox(shifted, block.y, block.weight[:, None] / self.stiffness)
        return t, self.stiffness * (shifted - t)

    def terms(self, block: Block, f: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        t, slope = self.prox(block, f)
        value = block.weight @ self.loss.value(t, block.y) + np.sum(slope**2) / (2.0 * self.stiffness)
        return float(value), slope, self.curvature(block, f, t)

    def hessian_product(self, block: Block, f: np.ndarray, change: np.ndarray) -> np.ndarray:
        return self.curvature(block, f, self.prox(block, f)[0]) * change

    def curvature(self, block: Block, f: np.ndarray, t: np.ndarray) -> np.ndarray:
        """s (1 - dt/df): s at a kink, to which t is drawn; zero on straight parts."""
        step = block.weight[:, None] / self.stiffness
        return self.stiffness * (1.0 - self.loss.prox_derivative(self.shifted(block, f), t, block.y, step))


@dataclass(frozen=True)
class RaiseMultipliers(AtPlace):
    """Sets the multipliers of a block to the slopes at x: the duality gap, and the sum of losses."""

    @property
    def leaves_state(self) -> bool:
        return True

    def of(self, block: Block) -> np.ndarray:
        assert isinstance(self.terms, EnvelopeTerms)
        assert block.state is not None
        f, loss = self.scores(block), self.terms.loss
        t, slope = self.terms.prox(block, f)
        block.state[MULTIPLIERS] = slope
        losses = float(block.weight @ loss.value(f, block.y))
        return np.array([losses - float(block.weight @ loss.value(t, block.y) + np.sum(slope * (f - t))), losses])


@dataclass(frozen=True)
class CopyState(SumOf):
    """Copies a part of the state of each block to another name, or clears what is there."""

    source: str | None
    target: str

    @property
    def leaves_state(self) -> bool:
        return True

    def of(self, block: Block) -> int:
        assert block.state is not None
        block.state[self.target] = None if self.source is None else block.state.get(self.source)
        return 0


@dataclass(frozen=True)
class TargetSizes(SumOf):
    """The sum of the sizes of targets, and of weights."""

    def of(self, block: Block) -> np.ndarray:
        return np.array([np.abs(block.y).mean(axis=1).sum(), block.weight.sum()])

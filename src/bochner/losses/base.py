"""What a loss is: a value and a gradient by scores, what else it can do, and what it declares of itself.

Scores f and targets y are (n, k). Labels are coded -1 and +1; with more than two classes every class has a score. A
model minimises the sum of losses over rows plus alpha |b|^2.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np

Numbers: TypeAlias = float | np.ndarray  # one number, or one for each output or row

# What a loss may declare, and how a message says that it does not.
CAPABILITIES = {
    "quadratic": "whose solution is not linear in the targets",
    "smooth": "which has kinks, and no curvature for Newton's method",
    "proximal": "which has no proximal map for the multipliers",
    "separable": "which couples the outputs of a row",
    "probabilistic": "whose scores are no log-odds",
    "bounded_slope": "whose slope has no bound, so that one step can undo all others",
}


@dataclass(frozen=True)
class Loss(ABC):
    """A convex loss, and what it declares.

    quadratic : it is (y - f)^2, whose minimum is the solution of linear equations.
    smooth : the gradient is continuous, and `curvature` is its derivative, as Newton's method needs it.
    proximal : `prox` is its proximal map, by which losses with kinks are minimised.
    separable : it is a sum over the k outputs of a row.
    probabilistic : scores are log-odds, of which softmax makes probabilities.
    bounded_slope : the gradient grows no faster than the scores.
    learns_scale : it has a scale that is learned together with the scores; not every solver does that.
    degree : of homogeneity: residuals times s, and whatever the loss measures them by, make it s^degree as large. None
        if it has none: then targets are left in their own units.
    """

    quadratic = False
    smooth = False
    proximal = False
    separable = False
    probabilistic = False
    bounded_slope = False
    learns_scale = False
    degree: ClassVar[int | None] = 1
    classifies = True

    @property
    def capabilities(self) -> frozenset[str]:
        """The names of what it declares."""
        return frozenset(name for name in CAPABILITIES if getattr(self, name))

    @abstractmethod
    def value(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The loss of each row (n,)."""

    @abstractmethod
    def gradient(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        """By the scores (n, k); of a loss with a kink, some subgradient."""

    def curvature(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Second derivatives by each score (n, k); zero where there is none."""
        return np.zeros_like(f)

    def hessian_product(self, f: np.ndarray, y: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The second derivative times a change v (n, k) of the scores."""
        return self.curvature(f, y) * v

    def prox(self, f: np.ndarray, y: np.ndarray, step: Numbers) -> np.ndarray:
        """The proximal map: argmin over t of step loss(t) + (t - f)^2 / 2."""
        raise NotImplementedError(f"{type(self).__name__} has no proximal map.")

    def prox_derivative(self, f: np.ndarray, t: np.ndarray, y: np.ndarray, step: Numbers) -> np.ndarray:
        """The derivative of t = prox(f) by each score; by differences, unless a loss knows it."""
        h = 1e-6 * np.maximum(np.abs(f), 1.0)
        return (self.prox(f + h, y, step) - self.prox(f - h, y, step)) / (2.0 * h)

    def in_units(self, spread: np.ndarray, unit: np.ndarray) -> Loss:
        """The loss of targets that are divided by `unit`, where their own spread is `spread`."""
        return self

    def told_in(self, unit: np.ndarray) -> str:
        """What a solution says of the loss, with targets multiplied by `unit` again; nothing for most."""
        return ""

    def lipschitz(self, bound: float) -> float:
        """How steep the loss of a label is in one score up to `bound` in size; with k scores, up to sqrt(k) of it."""
        raise ValueError(f"it is not known how steep {type(self).__name__} is: give the Lipschitz constant.")

    def at_zero(self) -> float:
        """The loss of a score 0 with a label 1."""
        return float(self.value(np.zeros((1, 1)), np.ones((1, 1)))[0])


class Kinked(Loss):
    """A loss of slopes between -1 and 1 that change at kinks alone."""

    proximal = True
    separable = True
    bounded_slope = True

    def prox_derivative(self, f: np.ndarray, t: np.ndarray, y: np.ndarray, step: Numbers) -> np.ndarray:
        """0 for what is drawn to a kink, by less than a whole step; 1 on the straight parts."""
        moved = np.abs(f - t)
        return np.where((moved > 0) & (moved < step * (1 - 1e-12)), 0.0, 1.0)

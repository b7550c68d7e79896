"""Losses of scores S (n, k) as learning frequencies needs them: with a bound on the curvature, and with an output.

Targets are numbers, or codes of +-1: one column for two classes, else one column a class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from ... import losses
from ...arrays import Array, cast, namespace, special


class Loss(ABC):
    """A function of scores and targets, row by row."""

    curvature: float | None  # of each score, at most; None where the loss is not convex
    quadratic = False  # the bound is the second derivative itself

    @abstractmethod
    def __call__(self, scores: Array, targets: Array) -> tuple[Array, Array]:
        """Losses (n,) and their gradients (n, k)."""

    def output(self, scores: Array) -> Array:
        """What the scores say about the targets."""
        return scores


class Convex(Loss):
    """One of the library's losses."""

    loss: losses.Squared | losses.Logistic

    def __call__(self, scores: Array, targets: Array) -> tuple[Array, Array]:
        return self.loss.value(scores, targets), self.loss.gradient(scores, targets)


class Squared(Convex):
    """|s - y|^2: identity output."""

    loss, curvature, quadratic = losses.Squared(), 2.0, True


class Logistic(Convex):
    """Sigmoid output, two classes."""

    loss, curvature = losses.Logistic(), 0.25

    def output(self, scores: Array) -> Array:
        expit = special(scores).expit
        return namespace(scores).hstack([expit(-scores), expit(scores)])


class Softmax(Convex):
    """Softmax output. The second derivative is at most 1/2 (Bohning, 1992)."""

    loss, curvature = losses.Logistic(), 0.5

    def output(self, scores: Array) -> Array:
        return special(scores).softmax(scores, 1)


class SquaredProbability(Loss):
    """The paper's loss, |probabilities - 1[y]|^2 of sigmoid or softmax; for two classes, of the second one alone."""

    curvature = None

    def __call__(self, scores: Array, targets: Array) -> tuple[Array, Array]:
        known, expit = cast(targets > 0, "float64"), special(scores).expit
        if scores.shape[1] == 1:
            probabilities = expit(scores)
            residuals = probabilities - known
            return residuals[:, 0] ** 2, 2.0 * residuals * probabilities * expit(-scores)
        probabilities = special(scores).softmax(scores, 1)
        residuals = probabilities - known
        slopes = 2.0 * probabilities * residuals
        return (residuals**2).sum(axis=1), slopes - probabilities * slopes.sum(axis=1)[:, None]

    def output(self, scores: Array) -> Array:
        return Logistic().output(scores) if scores.shape[1] == 1 else special(scores).softmax(scores, 1)

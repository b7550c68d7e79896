"""Losses of scores S (n, k) as learning frequencies needs them: with a bound on the curvature, and with an output.

Targets are numbers, or codes of +-1: one column for two classes, else one column a class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from scipy.special import expit, softmax

from ... import losses


class Loss(ABC):
    """A function of scores and targets, row by row."""

    curvature: float | None  # of each score, at most; None where the loss is not convex
    quadratic = False  # the bound is the second derivative itself

    @abstractmethod
    def __call__(self, scores: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Losses (n,) and their gradients (n, k)."""

    def output(self, scores: np.ndarray) -> np.ndarray:
        """What the scores say about the targets."""
        return scores


class Convex(Loss):
    """One of the library's losses."""

    loss: losses.Loss

    def __call__(self, scores: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.loss.value(scores, targets), self.loss.gradient(scores, targets)


class Squared(Convex):
    """|s - y|^2: identity output."""

    loss, curvature, quadratic = losses.Squared(), 2.0, True


class Logistic(Convex):
    """Sigmoid output, two classes."""

    loss, curvature = losses.Logistic(), 0.25

    def output(self, scores: np.ndarray) -> np.ndarray:
        return np.hstack([expit(-scores), expit(scores)])


class Softmax(Convex):
    """Softmax output. The second derivative is at most 1/2 (Bohning, 1992)."""

    loss, curvature = losses.Logistic(), 0.5

    def output(self, scores: np.ndarray) -> np.ndarray:
        return softmax(scores, axis=1)


class SquaredProbability(Loss):
    """The paper's loss, |probabilities - 1[y]|^2 of sigmoid or softmax; for two classes, of the second one alone."""

    curvature = None

    def __call__(self, scores: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if scores.shape[1] == 1:
            probabilities = expit(scores)
            residuals = probabilities - (targets > 0)
            return residuals[:, 0] ** 2, 2.0 * residuals * probabilities * expit(-scores)
        probabilities = softmax(scores, axis=1)
        residuals = probabilities - (targets > 0)
        slopes = 2.0 * probabilities * residuals
        return np.einsum("ij,ij->i", residuals, residuals), slopes - probabilities * slopes.sum(axis=1, keepdims=True)

    def output(self, scores: np.ndarray) -> np.ndarray:
        return Logistic().output(scores) if scores.shape[1] == 1 else softmax(scores, axis=1)

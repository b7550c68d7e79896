"""Losses of scores S (n, k): each gives the losses of rows, their gradients, and a bound on their second derivative.

Targets are numbers, or codes of +-1: one column for two classes, else one column a class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from scipy.special import expit, log_expit, logsumexp, softmax


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


class Squared(Loss):
    """|s - y|^2: identity output."""

    curvature, quadratic = 2.0, True

    def __call__(self, scores: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        residuals = scores - targets
        return np.einsum("ij,ij->i", residuals, residuals), 2.0 * residuals


class Logistic(Loss):
    """log(1 + exp(-y s)): sigmoid output, two classes."""

    curvature = 0.25

    def __call__(self, scores: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        margins = targets * scores
        return -log_expit(margins)[:, 0], -targets * expit(-margins)

    def output(self, scores: np.ndarray) -> np.ndarray:
        return np.hstack([expit(-scores), expit(scores)])


class Softmax(Loss):
    """log sum exp(s) - s_y: softmax output. Its second derivative is at most 1/2 (Bohning, 1992)."""

    curvature = 0.5

    def __call__(self, scores: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        chosen = targets > 0
        losses = logsumexp(scores, axis=1) - scores[chosen]
        return losses, softmax(scores, axis=1) - chosen

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

"""Losses of scores f against targets y, both (n, k): value, gradient, curvature, and how steep they can be.

Labels are coded -1 and +1; with more than two classes every class has a score. A model minimises the sum of losses over
rows plus alpha |b|^2. Values do not overflow where the loss itself does not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, log_expit, softmax

from .validation import require_choice, require_positive


@dataclass(frozen=True)
class Loss(ABC):
    """A convex loss, a sum over the k outputs of a row unless it says otherwise."""

    classifies = True
    smooth = True  # whether the gradient is continuous, as Newton's method needs it
    degree = 1  # of homogeneity: residuals times s, and whatever the loss measures them by, make it s^degree as large

    @abstractmethod
    def value(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The loss of each row (n,)."""

    @abstractmethod
    def gradient(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        """By the scores (n, k); of a loss with a kink, some subgradient."""

    @abstractmethod
    def curvature(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Second derivatives by each score (n, k); zero where there is none."""

    def hessian_product(self, f: np.ndarray, y: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The second derivative times a change v (n, k) of the scores."""
        return self.curvature(f, y) * v

    @abstractmethod
    def lipschitz(self, bound: float) -> float:
        """How steep the loss of a label is in one score up to `bound` in size; with k scores, up to sqrt(k) of it."""

    def at_zero(self) -> float:
        """The loss of a score 0 with a label 1."""
        return float(self.value(np.zeros((1, 1)), np.ones((1, 1)))[0])


@dataclass(frozen=True)
class Squared(Loss):
    """(y - f)^2"""

    degree = 2

    def value(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.sum((y - f) ** 2, axis=1)

    def gradient(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        return 2.0 * (f - y)

    def curvature(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.full_like(f, 2.0)

    def lipschitz(self, bound: float) -> float:
        return 2.0 * (1.0 + bound)


@dataclass(frozen=True)
class Hinge(Loss):
    """max(0, 1 - y f), for each class against the rest."""

    smooth = False

    def value(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.sum(np.maximum(1.0 - y * f, 0.0), axis=1)

    def gradient(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.where(y * f < 1.0, -y, 0).astype(f.dtype)

    def curvature(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.zeros_like(f)

    def prox(self, f: np.ndarray, y: np.ndarray, step: Any) -> np.ndarray:
        """The proximal map: argmin over t of step loss(t) + (t - f)^2 / 2."""
        margin = y * f
        return y * np.where(margin < 1.0, np.minimum(margin + step, 1.0), margin)

    def lipschitz(self, bound: float) -> float:
        return 1.0


@dataclass(frozen=True)
class SquaredHinge(Loss):
    """max(0, 1 - y f)^2, for each class against the rest."""

    def value(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.sum(np.maximum(1.0 - y * f, 0.0) ** 2, axis=1)

    def gradient(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        return -2.0 * y * np.maximum(1.0 - y * f, 0.0)

    def curvature(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        return 2.0 * (y * f < 1.0).astype(f.dtype)

    def lipschitz(self, bound: float) -> float:
        return 2.0 * (1.0 + bound)


@dataclass(frozen=True)
class Logistic(Loss):
    """log(1 + exp(-y f)) for two classes; for more, -log softmax(f) at the right one, together for all outputs."""

    def value(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        if f.shape[1] == 1:
            return -log_expit(y * f)[:, 0]
        return log_sum_exp(f) - np.sum(np.where(y > 0, f, 0.0), axis=1)

    def gradient(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        if f.shape[1] == 1:
            return -y * expit(-y * f)
        return softmax(f, axis=1) - (y > 0)

    def curvature(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        p = expit(f) if f.shape[1] == 1 else softmax(f, axis=1)
        return p * (1.0 - p)

    def hessian_product(self, f: np.ndarray, y: np.ndarray, v: np.ndarray) -> np.ndarray:
        if f.shape[1] == 1:
            return self.curvature(f, y) * v
        p = softmax(f, axis=1)
        return p * (v - np.sum(p * v, axis=1, keepdims=True))

    def lipschitz(self, bound: float) -> float:
        """Of two classes; softmax is never steeper than 1 in a score."""
        return float(expit(bound))


@dataclass(frozen=True)
class Exponential(Loss):
    """exp(-y f), for each class against the rest."""

    def value(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):  # an infinite loss is one that no step is taken to
            return np.sum(np.exp(-y * f), axis=1)

    def gradient(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            return -y * np.exp(-y * f)

    def curvature(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            return np.exp(-y * f)

    def lipschitz(self, bound: float) -> float:
        return float(np.exp(bound))


@dataclass(frozen=True)
class Huber(Loss):
    """scale + scale H((f - y)/scale), H(r) = r^2 up to |r| = epsilon, and a line beyond; as scikit-learn has it.

    With the scale (one per output) in it the loss is convex in both, and the scale can be learned: by `best_scale`.
    """

    epsilon: float = 1.35
    scale: Any = 1.0
    classifies = False

    def __post_init__(self) -> None:
        if not require_positive("epsilon", self.epsilon) > 1.0:
            raise ValueError(f"epsilon must be greater than 1; got {self.epsilon!r}.")

    def value(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        r, e = np.abs(f - y) / self.scale, self.epsilon
        return np.sum(self.scale * (1.0 + np.where(r < e, r**2, 2.0 * e * r - e**2)), axis=1)

    def gradient(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        return 2.0 * np.clip((f - y) / self.scale, -self.epsilon, self.epsilon)

    def curvature(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.where(np.abs(f - y) < self.epsilon * self.scale, 2.0 / self.scale, 0.0)

    def best_scale(self, residuals: np.ndarray, weight: np.ndarray, least: Any = 0.0) -> np.ndarray:
        """For each column of residuals (n, k) the scale s of smallest loss, sum of w min(r/s, epsilon)^2 = sum of w.

        Of sorted residuals it is known how many are near at it; then s^2 = near squares / (total - epsilon^2 far).
        """
        order = np.argsort(np.abs(residuals), axis=0)
        r = np.take_along_axis(np.abs(residuals), order, axis=0)
        near = np.cumsum(weight[order], axis=0)
        squares = np.cumsum(weight[order] * r**2, axis=0)
        left = near[-1] - self.epsilon**2 * (near[-1] - near)
        inside = left * r**2 >= self.epsilon**2 * squares  # where s = r / epsilon is too large
        first = np.where(inside.any(axis=0), np.argmax(inside, axis=0), len(r)) - 1
        at = np.maximum(first, 0)[None]
        left, squares = (np.take_along_axis(sums, at, axis=0)[0] for sums in (left, squares))
        known = (first >= 0) & (left > 0)
        return np.maximum(np.sqrt(np.divide(squares, left, out=np.zeros_like(left), where=known)), least)

    def mixed(self, f: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Second derivatives by score and scale, and twice by the scale (n, k)."""
        r = (f - y) / self.scale
        r = np.where(np.abs(r) < self.epsilon, r, 0.0)
        return -2.0 * r / self.scale, 2.0 * r**2 / self.scale

    def lipschitz(self, bound: float) -> float:
        return 2.0 * self.epsilon


@dataclass(frozen=True)
class EpsilonInsensitive(Loss):
    """max(0, |f - y| - epsilon)

    epsilon is in the units of y (one number, or one for each output); with `in_spreads`, as where the loss is given by
    its name, in spreads of y: the median distance from the median, times 1.48, the deviation of normal targets.
    """

    epsilon: Any = 0.1
    in_spreads: bool = False
    classifies = False
    smooth = False

    def __post_init__(self) -> None:
        for epsilon in np.ravel(self.epsilon).tolist():
            if epsilon != 0:
                require_positive("epsilon", epsilon)

    def value(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.sum(np.maximum(np.abs(f - y) - self.epsilon, 0.0), axis=1)

    def gradient(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.where(np.abs(f - y) > self.epsilon, np.sign(f - y), 0.0)

    def curvature(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.zeros_like(f)

    def prox(self, f: np.ndarray, y: np.ndarray, step: Any) -> np.ndarray:
        """The proximal map: argmin over t of step loss(t) + (t - f)^2 / 2."""
        beyond = np.maximum(np.abs(f - y) - self.epsilon, 0.0)
        return f - np.sign(f - y) * np.minimum(beyond, step)

    def lipschitz(self, bound: float) -> float:
        return 1.0


CLASSIFYING: dict[str, Loss] = {
    "squared": Squared(), "hinge": Hinge(), "squared_hinge": SquaredHinge(), "logistic": Logistic(),
    "exponential": Exponential(),
}  # fmt: skip
REGRESSING: dict[str, Loss] = {
    "squared": Squared(), "huber": Huber(), "epsilon_insensitive": EpsilonInsensitive(in_spreads=True),
}  # fmt: skip
LOSSES = {**CLASSIFYING, **REGRESSING}
KINDS = {type(loss) for loss in LOSSES.values()}


def log_sum_exp(f: np.ndarray) -> np.ndarray:
    """log of the sum of exponentials of each row; of few rows much quicker than scipy's."""
    top = f.max(axis=1, keepdims=True)
    return top[:, 0] + np.log(np.sum(np.exp(f - top), axis=1))


def name_of(loss: Loss) -> str:
    return next(name for name, known in LOSSES.items() if type(known) is type(loss))


def loss_of(given: Any, among: Iterable[str]) -> Loss:
    """A loss from its name, or as it is; one that does not belong there is refused."""
    among = list(among)
    name = name_of(given) if isinstance(given, Loss) and type(given) in KINDS else given
    if isinstance(name, str) and name in LOSSES and name not in among:
        kind = "labels: use a classifier" if name in CLASSIFYING else "numbers: use a regressor"
        raise ValueError(f"loss={name!r} is for {kind}, or one of {', '.join(map(repr, among))}.")
    if isinstance(given, Loss) and type(given) in KINDS:
        return given
    return LOSSES[require_choice("loss", given, among)]

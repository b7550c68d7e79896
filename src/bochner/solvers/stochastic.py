"""Gradient steps on batches of rows: with momentum (SGD), or scaled by the history of each coefficient (Adam).

Rates are for the gradient of the mean loss over a batch. A schedule turns the first rate into that of any moment.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..validation import require_choice, require_integer, require_positive

STEADY = 50  # steps of about the first rate
SCHEDULES = ("constant", "inverse", "cosine")


@dataclass(frozen=True)
class Stochastic(ABC):
    """How to train: epochs over the rows in a new order each, batch by batch.

    learning_rate : "auto" tries several on a sample of the rows; a number is for targets in their spreads.
    schedule : "cosine" to zero at the last epoch, "inverse" 1/(1 + epoch), or "constant".
    validation : share of rows held out (at most 5,000), by whose loss the best epoch is known; 0 for none.
    patience : epochs without a better one after which it ends.
    """

    epochs: int = 50
    batch_size: int = 50
    learning_rate: float | str = "auto"
    schedule: str = "cosine"
    validation: float = 0.1
    patience: int = 10

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "patience"):
            require_integer(name, getattr(self, name))
        if self.learning_rate != "auto":
            require_positive("learning_rate", self.learning_rate)
        require_choice("schedule", self.schedule, SCHEDULES)
        if not isinstance(self.validation, int | float) or not 0 <= self.validation < 1:
            raise ValueError(f"validation must be a share of the rows below 1, or 0; got {self.validation!r}.")

    def rate(self, first: float, done: float) -> float:
        """The rate after `done` epochs."""
        if self.schedule == "cosine":
            return first * 0.5 * (1.0 + float(np.cos(np.pi * min(done / self.epochs, 1.0))))
        return first / (1.0 + done) if self.schedule == "inverse" else first

    @abstractmethod
    def begin(self, x: np.ndarray) -> dict[str, Any]:
        """The state of a training that starts at x: arrays and numbers."""

    @abstractmethod
    def step(self, state: dict[str, Any], gradient: np.ndarray, rate: float) -> None:
        """Move state["x"]."""

    @abstractmethod
    def rates(self, square: float, curvature: float) -> np.ndarray:
        """First rates to try, for rows of mean squared length `square` and a loss of curvature about `curvature`."""


@dataclass(frozen=True)
class SGD(Stochastic):
    """v <- momentum v - rate g, x <- x + v"""

    momentum: float = 0.9

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.momentum < 1:
            raise ValueError(f"momentum must be at least 0 and below 1; got {self.momentum!r}.")

    def begin(self, x: np.ndarray) -> dict[str, Any]:
        return {"x": x, "velocity": np.zeros_like(x)}

    def step(self, state: dict[str, Any], gradient: np.ndarray, rate: float) -> None:
        if not self.momentum:
            state["x"] -= rate * gradient
            return
        state["velocity"] *= self.momentum
        state["velocity"] -= rate * gradient
        state["x"] += state["velocity"]

    def rates(self, square: float, curvature: float) -> np.ndarray:
        return 10.0 ** np.arange(-2, 2.5, 0.5) * (1.0 - self.momentum) / (square * curvature)


@dataclass(frozen=True)
class Adam(Stochastic):
    """x <- x - rate m / (sqrt(v) + 1e-8) with running means m of g and v of g^2, free of their start at zero."""

    first_decay: float = 0.9
    second_decay: float = 0.999

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("first_decay", "second_decay"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 0 and below 1; got {getattr(self, name)!r}.")

    def begin(self, x: np.ndarray) -> dict[str, Any]:
        return {"x": x, "first": np.zeros_like(x), "second": np.zeros_like(x), "count": 0}

    def step(self, state: dict[str, Any], gradient: np.ndarray, rate: float) -> None:
        state["count"] += 1
        for name, decay, new in (("first", self.first_decay, gradient), ("second", self.second_decay, gradient**2)):
            state[name] *= decay
            state[name] += (1.0 - decay) * new
        first = state["first"] / (1.0 - self.first_decay ** state["count"])
        second = state["second"] / (1.0 - self.second_decay ** state["count"])
        state["x"] -= rate * first / (np.sqrt(second) + 1e-8)

    def rates(self, square: float, curvature: float) -> np.ndarray:
        return 10.0 ** np.arange(-3.5, 0.5, 0.5) / np.sqrt(square)


@dataclass(frozen=True)
class DoublyStochastic:
    """Each step has a new batch of rows and new features: functional gradient descent in the kernel's own space.

    At step t the function f is scaled by 1 - rate nu and gets new features, with coefficients -rate times the mean of
    loss'(f(x_i)) z(x_i). With nu = 2 alpha / n and rates 1 / (nu (t + t0)) the mean squared distance from the optimum
    falls like 1/t (Dai and others, 2014). t0 makes the first rate a stable one, unless learning_rate says what it is:
    the inverse of the curvature of a batch.

    A basis of m columns has m / features steps in all, and directions of small curvature need thousands. It is for
    streams too long for anything else; docs/learning.md has numbers. On many classes expect two to three times the
    errors of least squares, and more steps (smaller `features`, or more columns) to help.
    """

    batch_size: int = 256
    features: int = 128  # of a step, about
    learning_rate: float | str = "auto"

    def __post_init__(self) -> None:
        require_integer("batch_size", self.batch_size)
        require_integer("features", self.features)
        if self.learning_rate != "auto":
            require_positive("learning_rate", self.learning_rate)

    def rate(self, first: float, nu: float, step: int) -> float:
        """first at step 0; like 1/(nu t) in the end; with a small nu, or one that falls as rows come, 1/sqrt(t)."""
        return first / max(1.0 + first * nu * step, float(np.sqrt(1.0 + step / STEADY)))

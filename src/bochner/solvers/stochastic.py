"""Steps of mini-batch training: with momentum (SGD), or scaled by the history of each coefficient (Adam)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .minibatch import Stochastic


@dataclass(frozen=True)
class SGD(Stochastic):
    """v <- momentum v - rate g, x <- x + v"""

    name = "sgd"

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

    name = "adam"

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

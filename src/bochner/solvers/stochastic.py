"""Steps of mini-batch training: with momentum (SGD), or scaled by the history of each coefficient (Adam)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .minibatch import Stochastic


@dataclass(frozen=True)
class SGD(Stochastic):
    """Stochastic gradient descent with momentum, for any loss: v <- momentum v - rate g, x <- x + v.

    Give it to a model as its solver.

    Parameters
    ----------
    epochs : int, default=50
        Most passes over the rows.
    batch_size : int, default=50
        Rows of a step.
    learning_rate : float or 'auto', default='auto'
        Size of the first steps, for targets in their standard deviations; 'auto' tries several on a sample of the rows.
    schedule : {'constant', 'inverse', 'cosine'}, default='cosine'
        How the size falls: not at all, as 1 / (1 + epoch), or as a cosine to zero at the last epoch.
    validation : float, default=0.1
        Share of the rows to hold out (at most 5,000 rows), by whose loss the best epoch is known; 0 is none.
    patience : int, default=10
        Epochs without a better one after which training ends.
    momentum : float, default=0.9
        Share of the last step that goes into the next one.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import RandomFeatureRegressor, RandomFourier
    >>> from bochner.solvers import SGD
    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> model = RandomFeatureRegressor(RandomFourier(50), solver=SGD(epochs=20), alpha=1e-3, random_state=0)
    >>> bool(model.fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.9)
    True
    """

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
    """Adam, for any loss: gradient steps scaled by the history of each coefficient.

    x <- x - rate m / (sqrt(v) + 1e-8) with running means m of g and v of g^2, corrected for their start at zero. Give
    it to a model as its solver.

    Parameters
    ----------
    epochs : int, default=50
        Most passes over the rows.
    batch_size : int, default=50
        Rows of a step.
    learning_rate : float or 'auto', default='auto'
        Size of the first steps, for targets in their standard deviations; 'auto' tries several on a sample of the rows.
    schedule : {'constant', 'inverse', 'cosine'}, default='cosine'
        How the size falls: not at all, as 1 / (1 + epoch), or as a cosine to zero at the last epoch.
    validation : float, default=0.1
        Share of the rows to hold out (at most 5,000 rows), by whose loss the best epoch is known; 0 is none.
    patience : int, default=10
        Epochs without a better one after which training ends.
    first_decay : float, default=0.9
        Decay of the running mean of gradients.
    second_decay : float, default=0.999
        Decay of the running mean of squared gradients.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import RandomFeatureRegressor, RandomFourier
    >>> from bochner.solvers import Adam
    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> model = RandomFeatureRegressor(RandomFourier(50), solver=Adam(epochs=20), alpha=1e-3, random_state=0)
    >>> bool(model.fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.9)
    True
    """

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

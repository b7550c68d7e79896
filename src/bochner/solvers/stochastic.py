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
    """What solvers share that take gradient steps on batches of rows, in a new order in each epoch.

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

    Examples
    --------
    >>> from bochner.solvers import SGD, Stochastic
    >>> isinstance(SGD(), Stochastic)
    True
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
        """Return the size of steps at some moment.

        Parameters
        ----------
        first : float
            Size of the first steps.
        done : float
            Epochs that are done.

        Returns
        -------
        float
            The size.
        """
        if self.schedule == "cosine":
            return first * 0.5 * (1.0 + float(np.cos(np.pi * min(done / self.epochs, 1.0))))
        return first / (1.0 + done) if self.schedule == "inverse" else first

    @abstractmethod
    def begin(self, x: np.ndarray) -> dict[str, Any]:
        """Return the state of a descent that starts at x.

        Parameters
        ----------
        x : ndarray
            The start.

        Returns
        -------
        dict
            Arrays and numbers, the coefficients as 'x'.
        """

    @abstractmethod
    def step(self, state: dict[str, Any], gradient: np.ndarray, rate: float) -> None:
        """Take a step: change state['x'].

        Parameters
        ----------
        state : dict
            What `begin` returned.
        gradient : ndarray
            Gradient of the mean loss over a batch.
        rate : float
            Size of the step.
        """

    @abstractmethod
    def rates(self, square: float, bend: float) -> np.ndarray:
        """Return sizes of the first steps to try.

        Parameters
        ----------
        square : float
            Mean squared length of the rows.
        bend : float
            Curvature of the loss, about.

        Returns
        -------
        ndarray
            The sizes.
        """


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

    def rates(self, square: float, bend: float) -> np.ndarray:
        return 10.0 ** np.arange(-2, 2.5, 0.5) * (1.0 - self.momentum) / (square * bend)


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

    def rates(self, square: float, bend: float) -> np.ndarray:
        return 10.0 ** np.arange(-3.5, 0.5, 0.5) / np.sqrt(square)


@dataclass(frozen=True)
class DoublyStochastic:
    """Descent with a new batch of rows and new features in each step, in the kernel's own function space.

    At step t the function f is scaled by 1 - rate nu and gets new features, with coefficients -rate times the mean of
    loss'(f(x_i)) z(x_i). With nu = 2 alpha / n and rates 1 / (nu (t + t0)) the mean squared distance from the optimum
    falls like 1/t. t0 makes the first rate a stable one, unless learning_rate says what it is.

    A basis of m columns has m / features steps in all, and directions of small curvature need thousands: it is for
    streams too long for anything else (docs/learning.md has numbers). On many classes expect two to three times the
    errors of least squares.

    Parameters
    ----------
    batch_size : int, default=256
        Rows of a step.
    features : int, default=128
        Features of a step, about.
    learning_rate : float or 'auto', default='auto'
        Size of the first step; 'auto' is the inverse of the curvature of a batch.

    References
    ----------
    Dai and others, Scalable Kernel Methods via Doubly Stochastic Gradients, 2014.

    Examples
    --------
    >>> from bochner import RandomFeatureRegressor, RandomFourier
    >>> from bochner.solvers import DoublyStochastic
    >>> RandomFeatureRegressor(RandomFourier(4096), solver=DoublyStochastic(features=64)).solver.features
    64
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
        """Return the size of a step: first at step 0, like 1/(nu t) in the end; with a small nu, like 1/sqrt(t).

        Parameters
        ----------
        first : float
            Size of the first step.
        nu : float
            Strength of the penalty, 2 alpha / n.
        step : int
            Number of the step.

        Returns
        -------
        float
            The size.
        """
        return first / max(1.0 + first * nu * step, float(np.sqrt(1.0 + step / STEADY)))

"""Ways down a smooth function of one vector: `OPTIMISERS[name](function, start, settings, watch)`.

`function(x)` gives value and gradient. `watch(x)` is told every step (every epoch of the stochastic ones) and may say
that it is enough. Every optimiser says in words how it ended.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from ...solvers import SGD, Adam, Stochastic
from ...streams import Stream

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult


MOST_FOR_NELDER_MEAD = 100
SLOPE = 1e-7  # the largest slope by one parameter that counts as none
LEARNING_RATES = {"sgd": 0.1, "adam": 0.02, "gradient_descent": 1.0}
Watch = Callable[[np.ndarray], bool]
Differentiable = Callable[..., tuple[float, np.ndarray]]  # of x, and of a batch of rows where there is one


@dataclass(frozen=True)
class Settings:
    """max_iter : steps, or epochs; tol : relative decrease of a step at which to stop."""

    max_iter: int
    tol: float
    learning_rate: float
    batch_size: int
    rows: int
    seed: int


class Outcome(NamedTuple):
    x: np.ndarray
    iterations: int
    status: str


def lbfgs(function: Differentiable, start: np.ndarray, settings: Settings, watch: Watch) -> Outcome:
    options = {"maxiter": settings.max_iter, "ftol": settings.tol, "gtol": SLOPE}
    return by_scipy("L-BFGS-B", function, start, watch, options, jac=True)


def trust_region(function: Differentiable, start: np.ndarray, settings: Settings, watch: Watch) -> Outcome:
    """Newton's steps, each as long as the quadratic model could be trusted so far."""
    options = {"maxiter": settings.max_iter, "gtol": SLOPE}
    return by_scipy("trust-krylov", function, start, watch, options, jac=True, hessp=second_derivative(function))


def nelder_mead(function: Differentiable, start: np.ndarray, settings: Settings, watch: Watch) -> Outcome:
    """A simplex that walks; as many of scipy's steps for each of ours as there are numbers."""
    if len(start) > MOST_FOR_NELDER_MEAD:
        raise ValueError(
            f"optimizer='nelder_mead' is for at most {MOST_FOR_NELDER_MEAD} numbers, and here are {len(start)}: use "
            "'lbfgs'."
        )
    options = {"maxiter": settings.max_iter * len(start), "fatol": settings.tol, "adaptive": True}
    return by_scipy("Nelder-Mead", lambda x: function(x)[0], start, watch, options)


def by_scipy(
    method: str, function: Callable[..., object], start: np.ndarray, watch: Watch, options: dict[str, Any],
    **more: object,
) -> Outcome:  # fmt: skip
    def callback(intermediate_result: OptimizeResult) -> None:
        if watch(intermediate_result.x):
            raise StopIteration

    found = minimize(function, start, method=method, callback=callback, options=options, **more)
    if "StopIteration" in str(found.message):
        status = "stopped early"
    elif found.nit >= options["maxiter"]:
        status = "all iterations were used"
    else:
        status = "converged" if found.success else f"ended by scipy: {found.message}"
    return Outcome(found.x, int(found.nit), status)


def second_derivative(function: Differentiable) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """H v, the central difference of two gradients."""

    def product(x: np.ndarray, direction: np.ndarray) -> np.ndarray:
        step = 1e-4 * (1.0 + float(np.abs(x).max())) / max(float(np.linalg.norm(direction)), 1e-300)
        return (function(x + step * direction)[1] - function(x - step * direction)[1]) / (2.0 * step)

    return product


def gradient_descent(function: Differentiable, start: np.ndarray, settings: Settings, watch: Watch) -> Outcome:
    """Steps along the gradient: a step that does not gain enough is halved, and one that does is doubled for the next.

    Enough is a tenth of what the gradient promises (Armijo).
    """
    x, rate = start, settings.learning_rate
    value, slope = function(x)
    for iteration in range(1, settings.max_iter + 1):
        promised = float(slope @ slope)
        while True:
            new_value, new_slope = function(x - rate * slope)
            if new_value <= value - 0.1 * rate * promised:
                break
            rate *= 0.5
            if rate * promised <= np.finfo(float).eps * max(abs(value), 1.0):
                return Outcome(x, iteration, "no step gains more than rounding")
        gain = value - new_value
        x, value, slope, rate = x - rate * slope, new_value, new_slope, 2.0 * rate
        if watch(x):
            return Outcome(x, iteration, "stopped early")
        if gain <= settings.tol * max(abs(value), 1.0):
            return Outcome(x, iteration, "the last step gained less than tol")
    return Outcome(x, settings.max_iter, "all iterations were used")


def stochastic(method: Stochastic) -> Callable[..., Outcome]:
    """Steps along gradients of batches, smaller with each epoch."""

    def optimiser(function: Differentiable, start: np.ndarray, settings: Settings, watch: Watch) -> Outcome:
        state = method.begin(start.copy())
        for epoch in range(settings.max_iter):
            rate = settings.learning_rate / np.sqrt(1.0 + epoch)
            order = Stream(settings.seed, "batches").permutation(epoch, epoch + 1, settings.rows)[0]
            for first in range(0, settings.rows, settings.batch_size):
                slope = function(state["x"], order[first : first + settings.batch_size])[1]
                method.step(state, slope, rate)
            if watch(state["x"]):
                return Outcome(state["x"], epoch + 1, "stopped early")
        return Outcome(state["x"], settings.max_iter, "all epochs were used")

    return optimiser


OPTIMISERS: dict[str, Callable[..., Outcome]] = {
    "lbfgs": lbfgs,
    "trust_region": trust_region,
    "gradient_descent": gradient_descent,
    "sgd": stochastic(SGD(momentum=0)),
    "adam": stochastic(Adam()),
    "nelder_mead": nelder_mead,
}
STOCHASTIC = ("sgd", "adam")

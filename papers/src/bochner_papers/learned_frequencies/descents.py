"""Five ways down the paper's objective, timed to the same values of it, for the paper does not say where it stopped.

A descent is watched: the first time its mean squared error falls below each of some levels, the seconds of the
processor are noted, and the parameters, so that errors are compared at the same objective too. It ends with the last
level or the seconds allowed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import minimize

from .network import FourierNetwork

STEP = 0.1  # the paper's
NUDGE = 1e-6  # for products of the Hessian with a direction, by differences of gradients


class EndedError(Exception):
    """The last level or the last second."""


@dataclass
class Watch:
    """The objective over all rows, and when it first fell below each level (seconds, parameters)."""

    network: FourierNetwork
    X: np.ndarray
    y: np.ndarray
    levels: Sequence[float]
    allowed: float
    best: float = float("inf")
    vector: np.ndarray = field(default_factory=lambda: np.empty(0))
    reached: list[tuple[float, np.ndarray]] = field(default_factory=list)
    begun: float = field(default_factory=time.process_time)

    def objective(self, vector: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient; every evaluation is seen."""
        value, gradient = self.network.objective(vector, self.X, self.y)
        self.see(value, vector)
        return value, gradient

    def value(self, vector: np.ndarray) -> float:
        return self.objective(vector)[0]

    def see(self, value: float, vector: np.ndarray) -> None:
        seconds = time.process_time() - self.begun
        if value < self.best:
            self.best, self.vector = value, vector.copy()
        while len(self.reached) < len(self.levels) and value <= self.levels[len(self.reached)]:
            self.reached.append((seconds, vector.copy()))
        if len(self.reached) == len(self.levels) or seconds > self.allowed:
            raise EndedError


def quasi_newton(watch: Watch, start: np.ndarray) -> None:
    """BFGS, as the packages of the paper's languages have it."""
    minimize(watch.objective, start, jac=True, method="BFGS", options={"gtol": 0.0, "maxiter": 10**6})


def trust_region(watch: Watch, start: np.ndarray) -> None:
    """Newton steps by conjugate gradients within a trusted radius; the Hessian by differences of gradients."""

    def hessian_product(vector: np.ndarray, direction: np.ndarray) -> np.ndarray:
        step = NUDGE / max(float(np.linalg.norm(direction)), 1e-12)
        ahead, behind = (watch.objective(vector + s * direction)[1] for s in (step, -step))
        return (ahead - behind) / (2 * step)

    options = {"gtol": 0.0, "maxiter": 10**6}
    minimize(watch.objective, start, jac=True, hessp=hessian_product, method="trust-ncg", options=options)


def nelder_mead(watch: Watch, start: np.ndarray) -> None:
    """The simplex, with coefficients that suit many dimensions; it has no gradient to ask for."""
    options = {"adaptive": True, "maxiter": 10**9, "maxfev": 10**9, "xatol": 0.0, "fatol": 0.0}
    minimize(watch.value, start, method="Nelder-Mead", options=options)


def gradient_descent(watch: Watch, start: np.ndarray) -> None:
    """Equations 7 and 8."""
    vector = start.copy()
    while True:
        vector -= STEP * watch.objective(vector)[1]


def one_by_one(watch: Watch, start: np.ndarray) -> None:
    """Equations 10 and 11: stochastic gradient descent over rows in their order; the objective is seen once a pass."""
    vector = start.copy()
    while True:
        watch.objective(vector)
        for row in range(len(watch.y)):
            part = slice(row, row + 1)
            vector -= STEP * watch.network.objective(vector, watch.X[part], watch.y[part])[1]


DESCENTS: dict[str, Callable[[Watch, np.ndarray], None]] = {
    "quasi-Newton": quasi_newton,
    "trust region": trust_region,
    "Nelder-Mead": nelder_mead,
    "gradient descent": gradient_descent,
    "stochastic gradient descent": one_by_one,
}


def descend(name: str, watch: Watch, start: np.ndarray) -> Watch:
    """Run until the watch ends it, or until the method itself finds no way on."""
    with suppress(EndedError):
        DESCENTS[name](watch, start)
    return watch

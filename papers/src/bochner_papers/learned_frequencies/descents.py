"""Three ways down the paper's objective: quasi-Newton steps, gradient descent, and one row at a time.

All end by one rule, so that their times can be compared: when the mean squared error is below 0.01, so that all rows
are as good as fitted; when twenty passes have lowered it by less than a hundredth; or after the passes allowed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from .network import FourierNetwork

STEP = 0.1  # the paper's
PATIENCE, GAIN, FITTED = 20, 0.01, 0.01


class Descent(NamedTuple):
    """Where it ended, and the objective after each pass."""

    vector: np.ndarray
    values: list[float]


def is_settled(values: list[float]) -> bool:
    if values[-1] < FITTED or len(values) <= PATIENCE:
        return values[-1] < FITTED
    return min(values[-PATIENCE:]) > (1.0 - GAIN) * min(values[:-PATIENCE])


def quasi_newton(network: FourierNetwork, start: np.ndarray, X: np.ndarray, y: np.ndarray, passes: int) -> Descent:
    """BFGS, as the packages of the paper's languages have it; every evaluation is a pass."""
    values: list[float] = []
    best = [start]

    def objective(vector: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = network.objective(vector, X, y)
        if not values or value < min(values):
            best[0] = vector.copy()
        values.append(value)
        return value, gradient

    def callback(intermediate_result: object) -> None:
        if is_settled(values) or len(values) >= passes:
            raise StopIteration

    minimize(objective, start, jac=True, method="BFGS", callback=callback)
    return Descent(best[0], values)


def gradient_descent(network: FourierNetwork, start: np.ndarray, X: np.ndarray, y: np.ndarray, passes: int) -> Descent:
    """Equations 7 and 8."""
    vector, values = start.copy(), []
    for _ in range(passes):
        value, gradient = network.objective(vector, X, y)
        values.append(value)
        if is_settled(values):
            break
        vector -= STEP * gradient
    return Descent(vector, values)


def one_by_one(network: FourierNetwork, start: np.ndarray, X: np.ndarray, y: np.ndarray, passes: int) -> Descent:
    """Equations 10 and 11: stochastic gradient descent over rows in their order."""
    vector, values = start.copy(), []
    for _ in range(passes):
        for row in range(len(y)):
            vector -= STEP * network.objective(vector, X[row : row + 1], y[row : row + 1])[1]
        values.append(network.objective(vector, X, y)[0])
        if is_settled(values):
            break
    return Descent(vector, values)


Way = Callable[[FourierNetwork, np.ndarray, np.ndarray, np.ndarray, int], Descent]
DESCENTS: dict[str, Way] = {
    "quasi-Newton": quasi_newton,
    "gradient descent": gradient_descent,
    "stochastic gradient descent": one_by_one,
}

"""A convex function of a matrix x (m, k), within bounds or without, by Newton's method with conjugate gradients inside.

Where x is at a bound and the gradient pushes outward, it stays; the rest moves along a Newton direction, and what would
leave the bounds is put back on them (projected Newton). The step is halved until the function falls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

MOST_PRODUCTS = 200  # in one direction
ARMIJO = 1e-4
SHORTEST = 1e-12


class Objective(Protocol):
    """What is minimised; every call may be a pass over all rows."""

    rounding: float  # relative, of its value
    separable: bool  # whether every column is a problem of its own

    def look(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient."""

    def product(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Second derivative times v."""

    def approach(self, x: np.ndarray) -> None:
        """A direction at x is wanted: the moment to make a better preconditioner."""

    def precondition(self, v: np.ndarray) -> np.ndarray:
        """Roughly the inverse of the second derivative, times v."""


@dataclass(frozen=True)
class Minimum:
    """Where the search ended; `residual` is the gradient's size, relative to that of the start."""

    x: np.ndarray
    value: float
    status: str
    residual: float
    iterations: int


def minimise(
    objective: Objective,
    start: np.ndarray,
    *,
    bound: Any = np.inf,
    tolerance: float = 1e-8,
    reference: float | None = None,
    max_iterations: int = 100,
) -> Minimum:
    """The minimum over |x| <= bound (a number, or an array to match x), to a relative gradient of `tolerance`.

    Gradients are measured by sqrt(g'P g) with the preconditioner P, which does not depend on units; `reference` is such
    a size to measure by instead of that at the start.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # a step that overflows is one that is not taken
        return _minimise(objective, np.clip(start, -bound, bound), bound, tolerance, reference, max_iterations)


def _minimise(
    objective: Objective, x: np.ndarray, bound: Any, tolerance: float, reference: float | None, max_iterations: int
) -> Minimum:
    value, gradient = objective.look(x)
    size, status = np.inf, f"stopped after {max_iterations} steps, short of the tolerance {tolerance:.0e}"
    steps = 0
    for steps in range(max_iterations + 1):
        free = ~((x >= bound) & (gradient < 0) | (x <= -bound) & (gradient > 0))
        size = length(objective, np.where(free, gradient, 0.0))
        reference = (size if reference is None else reference) or 1.0
        size /= reference
        if size <= tolerance:
            status = f"converged in {steps} steps"
            break
        if steps == max_iterations:
            break
        direction = newton_direction(objective, x, gradient, free, min(0.3, np.sqrt(size)))
        found = search(objective, x, value, gradient, direction, bound)
        if found is None:
            reached = size <= np.sqrt(tolerance)
            status = f"{'converged' if reached else 'stopped'} in {steps} steps, where rounding ends all progress"
            break
        x, value, gradient = found
    return Minimum(x, value, status, float(size), steps)


def length(objective: Objective, gradient: np.ndarray) -> float:
    return float(np.sqrt(max(np.sum(gradient * objective.precondition(gradient)), 0.0)))


def newton_direction(
    objective: Objective, x: np.ndarray, gradient: np.ndarray, free: np.ndarray, forcing: float
) -> np.ndarray:
    """Roughly -H^-1 g in the free coordinates: conjugate gradients until the residual is `forcing` times the first.

    Columns that do not meet in H are so many problems, each with its own steps.
    """

    def inner(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.sum(a * b, axis=0 if objective.separable else None, keepdims=True)

    objective.approach(x)
    direction, remainder = np.zeros_like(x), np.where(free, -gradient, 0.0)
    auxiliary = np.where(free, objective.precondition(remainder), 0.0)
    pointing, energy = auxiliary, inner(remainder, auxiliary)
    enough = forcing**2 * energy
    for _ in range(MOST_PRODUCTS):
        image = np.where(free, objective.product(x, pointing), 0.0)
        curvature = inner(pointing, image)
        bent = curvature > 0.0
        if not bent.any():  # flat to rounding: the gradient is all there is
            return direction if direction.any() else auxiliary
        step = np.divide(energy, curvature, out=np.zeros_like(energy), where=bent)
        direction, remainder = direction + step * pointing, remainder - step * image
        auxiliary = np.where(free, objective.precondition(remainder), 0.0)
        previous, energy = energy, inner(remainder, auxiliary)
        going = bent & (energy > enough)
        if not going.any():
            break
        ratio = np.divide(energy, previous, out=np.zeros_like(energy), where=going)
        pointing = np.where(going, auxiliary + ratio * pointing, 0.0)
    return direction


def search(
    objective: Objective, x: np.ndarray, value: float, gradient: np.ndarray, direction: np.ndarray, bound: Any
) -> tuple[np.ndarray, float, np.ndarray] | None:
    """The first of the steps 1, 1/2, 1/4, ... that lowers the function enough, or None."""
    step = 1.0
    while step > SHORTEST:
        trial = np.clip(x + step * direction, -bound, bound)
        new_value, new_gradient = objective.look(trial)
        promised = ARMIJO * float(np.sum(gradient * (trial - x)))
        # At the end differences of values are rounding: then the gradient must fall, which it tells more finely.
        close = abs(new_value - value) <= objective.rounding * abs(value)
        if new_value <= value + promised or (close and np.linalg.norm(new_gradient) < np.linalg.norm(gradient)):
            return (trial, new_value, new_gradient) if (trial != x).any() else None
        step /= 2.0
        if close and step < 1e-3:
            return None
    return None

"""A convex function of a matrix x (m, k), within bounds or without, by Newton's method with conjugate gradients inside.

Where x is at a bound and the gradient pushes outward, it stays; the rest moves along a Newton direction, and what would
leave the bounds is put back on them (projected Newton). The step is halved until the function falls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.optimize import minimize

MOST_PRODUCTS = 200  # in one direction
MOST_TURNS, HALVINGS = 100, 5  # of a direction within bounds
ARMIJO = 1e-4
SHORTEST = 1e-12


class Objective(Protocol):
    """What is minimised; every call may be a pass over all rows."""

    rounding: float  # relative, of its value
    separable: bool  # whether every column is a problem of its own

    def value_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient."""

    def hessian_product(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Second derivative times v."""

    def update_preconditioner(self, x: np.ndarray) -> None:
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

    @property
    def converged(self) -> bool:
        """Whether the search ended at a minimum, within the tolerance or as near as rounding allows."""
        return self.status.startswith("converged")


def minimise(
    objective: Objective,
    start: np.ndarray,
    *,
    bound: float | np.ndarray = np.inf,
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


def minimise_by_slopes(objective: Objective, start: np.ndarray, tolerance: float) -> np.ndarray:
    """Roughly the minimum of a function whose second derivative is not known, by limited-memory BFGS."""

    def at(flat: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = objective.value_and_gradient(flat.reshape(start.shape))
        return value, gradient.ravel()

    found = minimize(at, start.ravel(), jac=True, method="L-BFGS-B", options={"ftol": 0.1 * tolerance**2})
    return np.asarray(found.x).reshape(start.shape)


def _minimise(
    objective: Objective,
    x: np.ndarray,
    bound: float | np.ndarray,
    tolerance: float,
    reference: float | None,
    max_iterations: int,
) -> Minimum:
    value, gradient = objective.value_and_gradient(x)
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
        objective.update_preconditioner(x)
        forcing = min(0.3, np.sqrt(size))
        if np.isfinite(bound).any():
            direction = bounded_direction(objective, x, gradient, free, forcing, bound)
        else:
            direction = newton_direction(objective, x, -gradient, free, forcing)
        found = search(objective, x, value, gradient, direction, bound)
        if found is None:
            reached = size <= np.sqrt(tolerance)
            status = f"{'converged' if reached else 'stopped'} in {steps} steps, where rounding ends all progress"
            break
        x, value, gradient = found
    return Minimum(x, value, status, float(size), steps)


def length(objective: Objective, gradient: np.ndarray) -> float:
    """The size of a gradient g, sqrt(g'P g) with the preconditioner P."""
    return float(np.sqrt(max(np.sum(gradient * objective.precondition(gradient)), 0.0)))


def inner(objective: Objective, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a'b; of each column by itself where columns are so many problems, each with its own steps."""
    return np.sum(a * b, axis=0 if objective.separable else None, keepdims=True)


def newton_direction(
    objective: Objective, x: np.ndarray, slope: np.ndarray, free: np.ndarray, forcing: float
) -> np.ndarray:
    """Roughly H^-1 slope in the free coordinates: conjugate gradients until `forcing` times the slope is left."""
    direction, remainder = np.zeros_like(x), np.where(free, slope, 0.0)
    auxiliary = np.where(free, objective.precondition(remainder), 0.0)
    pointing, energy = auxiliary, inner(objective, remainder, auxiliary)
    enough = forcing**2 * energy
    for _ in range(MOST_PRODUCTS):
        image = np.where(free, objective.hessian_product(x, pointing), 0.0)
        curvature = inner(objective, pointing, image)
        bent = curvature > 0.0
        if not bent.any():  # flat to rounding: the gradient is all there is
            return direction if direction.any() else auxiliary
        step = np.divide(energy, curvature, out=np.zeros_like(energy), where=bent)
        direction, remainder = direction + step * pointing, remainder - step * image
        auxiliary = np.where(free, objective.precondition(remainder), 0.0)
        previous, energy = energy, inner(objective, remainder, auxiliary)
        going = bent & (energy > enough)
        if not going.any():
            break
        ratio = np.divide(energy, previous, out=np.zeros_like(energy), where=going)
        pointing = np.where(going, auxiliary + ratio * pointing, 0.0)
    return direction


def bounded_direction(
    objective: Objective,
    x: np.ndarray,
    gradient: np.ndarray,
    free: np.ndarray,
    forcing: float,
    bound: float | np.ndarray,
) -> np.ndarray:
    """A change d with x + d within the bounds at which the quadratic g'd + d'Hd/2 is nearly least on a face of them.

    A Newton direction that would leave the bounds is put back on them as far as that lowers the quadratic; what is then
    at a bound stays there, and the rest goes on. So every turn settles some coordinates.
    """
    change, slope = np.zeros_like(x), -gradient
    first = np.linalg.norm(np.where(free, slope, 0.0))
    for _ in range(MOST_TURNS):
        further = newton_direction(objective, x, slope, free, forcing)
        inside = np.clip(x + change + further, -bound, bound) - x
        if (np.abs(x + change + further) <= bound).all():
            return inside
        change = put_back(objective, x, gradient, change, further, bound)
        slope = -gradient - objective.hessian_product(x, change)
        at = x + change
        free = free & ~((at >= bound) & (further > 0) | (at <= -bound) & (further < 0))
        if np.linalg.norm(np.where(free, slope, 0.0)) <= forcing * first:
            break
    return change


def put_back(
    objective: Objective,
    x: np.ndarray,
    gradient: np.ndarray,
    change: np.ndarray,
    further: np.ndarray,
    bound: float | np.ndarray,
) -> np.ndarray:
    """change + t further within the bounds, for the first t of 1, 1/2, 1/4, ... that lowers the quadratic.

    If none of the first few does, t is where the first coordinate meets its bound: up to there it falls for sure.
    """

    def quadratic(d: np.ndarray) -> np.ndarray:
        return inner(objective, gradient, d) + 0.5 * inner(objective, d, objective.hessian_product(x, d))

    now = quadratic(change)
    chosen, open_ones, step = change.copy(), np.ones_like(now, dtype=bool), 1.0
    for _ in range(HALVINGS):
        trial = np.clip(x + change + step * further, -bound, bound) - x
        falls = open_ones & (quadratic(trial) < now)
        chosen, open_ones = np.where(falls, trial, chosen), open_ones & ~falls
        if not open_ones.any():
            return chosen
        step /= 2.0
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(further != 0, (np.sign(further) * bound - x - change) / further, np.inf)
    nearest = np.min(room, axis=0 if objective.separable else None, keepdims=True)
    return np.where(open_ones, np.clip(x + change + np.minimum(nearest, 1.0) * further, -bound, bound) - x, chosen)


def search(
    objective: Objective,
    x: np.ndarray,
    value: float,
    gradient: np.ndarray,
    direction: np.ndarray,
    bound: float | np.ndarray,
) -> tuple[np.ndarray, float, np.ndarray] | None:
    """The first of the steps 1, 1/2, 1/4, ... that lowers the function enough, or None."""
    step = 1.0
    while step > SHORTEST:
        trial = np.clip(x + step * direction, -bound, bound)
        new_value, new_gradient = objective.value_and_gradient(trial)
        promised = ARMIJO * float(np.sum(gradient * (trial - x)))
        # At the end differences of values are rounding: then the gradient must fall, which it tells more finely.
        close = abs(new_value - value) <= objective.rounding * abs(value)
        if new_value <= value + promised or (close and np.linalg.norm(new_gradient) < np.linalg.norm(gradient)):
            return (trial, new_value, new_gradient) if (trial != x).any() else None
        step /= 2.0
        if close and step < 1e-3:
            return None
    return None

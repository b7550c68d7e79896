"""Kernels of ridge functions s(<w, x> + b) with normal weights: arc-cosine in closed form, others by quadrature."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from ..validation import require_choice, require_integer
from .base import Kernel, cosines

REACH = 8.5  # standard deviations that the quadrature covers
STEP, FINE_STEP = 0.125, 0.04  # of its grid, for smooth activations and for callables, which may have kinks

ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "sigmoid": expit,
    "tanh": np.tanh,
    "relu": lambda t: np.maximum(t, 0),
}


def activation_function(
    activation: str | Callable[[np.ndarray], np.ndarray],
) -> Callable[[np.ndarray], np.ndarray]:
    """The function of a name, or the callable itself."""
    return activation if callable(activation) else ACTIVATIONS[require_choice("activation", activation, ACTIVATIONS)]


@dataclass(frozen=True)
class ArcCosine(Kernel):
    """2 E[s(<w, x>) s(<w, z>)], s(t) = t^order for t > 0 (Cho and Saul, 2009); order 1 is twice the ReLU kernel."""

    order: int = 1

    def __post_init__(self) -> None:
        if require_integer("order", self.order, minimum=0) > 2:
            raise ValueError(f"order must be 0, 1 or 2; got {self.order}.")

    def _evaluate(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        rho, norms = cosines(X, Z)
        theta = np.arccos(rho)
        sine, cosine = np.sin(theta), rho
        if self.order == 0:
            angular = np.pi - theta
        elif self.order == 1:
            angular = sine + (np.pi - theta) * cosine
        else:
            angular = 3.0 * sine * cosine + (np.pi - theta) * (1.0 + 2.0 * cosine**2)
        return norms**self.order * angular / np.pi


@dataclass(frozen=True)
class Ridge(Kernel):
    """E[s(<w, x> + b) s(<w, z> + b)], w ~ N(0, scale^2 I), b ~ N(0, bias_scale^2).

    ReLU in closed form (half the arc-cosine kernel of order 1, with the bias as one more coordinate); others by a
    two-dimensional trapezoid rule on a grid as fine as the steepest unit needs: it converges geometrically for smooth
    activations, and with the square of the step for those with kinks.
    """

    activation: str | Callable[[np.ndarray], np.ndarray] = "sigmoid"
    scale: float = 1.0
    bias_scale: float = 1.0

    def _evaluate(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        X, Z = (np.hstack([self.scale * A, np.full((len(A), 1), self.bias_scale)]) for A in (X, Z))
        if self.activation == "relu":
            return 0.5 * ArcCosine(1)(X, Z)
        rho, _ = cosines(X, Z)
        lengths = np.linalg.norm(X, axis=1), np.linalg.norm(Z, axis=1)
        step = FINE_STEP if callable(self.activation) else STEP
        activation = activation_function(self.activation)
        out = np.empty(rho.shape)
        for i, a in enumerate(lengths[0]):
            for j, c in enumerate(lengths[1]):
                out[i, j] = _expectation(activation, a, c, rho[i, j], step)
        return out


def _expectation(activation: Callable[[np.ndarray], np.ndarray], a: float, c: float, rho: float, step: float) -> float:
    """E[s(a g) s(c g')] for standard normals of correlation rho, the sum of g and g' and their difference as axes."""
    step *= min(1.0, 2.8 / max(a, c, 1e-3))
    grid = np.arange(-REACH, REACH + step, step)
    weights = np.exp(-0.5 * grid**2) / np.sqrt(2.0 * np.pi) * step
    both, apart = np.sqrt(0.5 + 0.5 * rho) * grid[:, None], np.sqrt(0.5 - 0.5 * rho) * grid[None, :]
    return float(weights @ (activation(a * (both + apart)) * activation(c * (both - apart))) @ weights)

"""Kernels of ridge functions s(<w, x> + b) with normal weights: arc-cosine in closed form, others by quadrature."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from ..arrays import Array, constant, namespace, special
from ..validation import require_choice, require_integer
from .base import Kernel, cosines

REACH = 8.5  # standard deviations that the quadrature covers
STEP, FINE_STEP = 0.125, 0.04  # of its grid, for smooth activations and for callables, which may have kinks
MOST_NODES = 4096  # along one axis of the grid
TERMS, NEAR = 400, 0.96  # of the Hermite series, and the |rho| above which it is not used: 0.96^400 < 1e-7

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "sigmoid": lambda t: special(t).expit(t),
    "tanh": lambda t: namespace(t).tanh(t),
    "relu": lambda t: t.clip(min=0),
}


Activation: TypeAlias = str | Callable[[Array], Array]


def activation_function(
    activation: Activation,
) -> Callable[[Array], Array]:
    """Return the function of a name, or the callable itself.

    Parameters
    ----------
    activation : {'sigmoid', 'tanh', 'relu'} or callable
        The activation.

    Returns
    -------
    callable
        A function of an array.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.kernels import activation_function
    >>> activation_function("relu")(np.array([-1.0, 2.0]))
    array([0., 2.])
    """
    return activation if callable(activation) else ACTIVATIONS[require_choice("activation", activation, ACTIVATIONS)]


@dataclass(frozen=True)
class ArcCosine(Kernel):
    """The arc-cosine kernel, 2 E[s(<w, x>) s(<w, z>)] with s(t) = t^order for t > 0: an infinite layer of ReLUs.

    Parameters
    ----------
    order : int, default=1
        Power of the rectified projection: 0, 1 or 2. Order 1 is twice the kernel of ReLU.

    References
    ----------
    Cho and Saul, Kernel Methods for Deep Learning, 2009.

    Examples
    --------
    >>> from bochner.kernels import ArcCosine
    >>> ArcCosine()([[1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]).round(4)
    array([[1.    , 0.3183]])
    """

    order: int = 1
    takes_tensors: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if require_integer("order", self.order, minimum=0) > 2:
            raise ValueError(f"order must be 0, 1 or 2; got {self.order}.")

    def _evaluate(self, X: Array, Z: Array) -> Array:
        (rho, norms), xp = cosines(X, Z), namespace(X)
        theta: Any = xp.arccos(rho)
        sine, cosine = xp.sin(theta), rho
        if self.order == 0:
            angular = np.pi - theta
        elif self.order == 1:
            angular = sine + (np.pi - theta) * cosine
        else:
            angular = 3.0 * sine * cosine + (np.pi - theta) * (1.0 + 2.0 * cosine**2)
        return norms**self.order * angular / np.pi


@dataclass(frozen=True)
class Ridge(Kernel):
    """The kernel of ridge functions, E[s(<w, x> + b) s(<w, z> + b)] with w ~ N(0, scale^2 I), b ~ N(0, bias_scale^2).

    ReLU has a closed form (half the arc-cosine kernel of order 1, with the bias as one more coordinate). Others are
    computed by their Hermite series, and near |rho| = 1 by a trapezoid rule on a grid as fine as the steepness asks
    for: to about 1e-6 for smooth activations and |x| up to some hundreds, to about 1e-3 for those with kinks or jumps.

    Parameters
    ----------
    activation : {'sigmoid', 'tanh', 'relu'} or callable, default='sigmoid'
        The function s of an array.
    scale : float, default=1.0
        Standard deviation of the weights.
    bias_scale : float, default=1.0
        Standard deviation of the bias.

    Examples
    --------
    >>> from bochner.kernels import Ridge
    >>> Ridge("relu", bias_scale=0.0)([[1.0, 0.0]], [[1.0, 0.0]])
    array([[0.5]])
    """

    activation: Activation = "sigmoid"
    scale: float = 1.0
    bias_scale: float = 1.0

    @property
    def takes_tensors(self) -> bool:  # type: ignore[override]
        """Whether the kernel has a closed form: quadrature goes pair by pair, in numpy."""
        return self.activation == "relu"

    def _evaluate(self, X: Array, Z: Array) -> Array:
        beside = namespace(X).hstack
        X, Z = (beside([self.scale * A, constant(self.bias_scale, (len(A), 1), A)]) for A in (X, Z))
        if self.activation == "relu":
            return 0.5 * ArcCosine(1)(X, Z)
        rho, _ = cosines(X, Z)
        activation = activation_function(self.activation)
        lengths = np.linalg.norm(X, axis=1), np.linalg.norm(Z, axis=1)
        out = _hermite_series(activation, *lengths, rho)
        step = FINE_STEP if callable(self.activation) else STEP
        for i, j in zip(*np.nonzero(np.abs(rho) > NEAR), strict=True):
            out[i, j] = _expectation(activation, lengths[0][i], lengths[1][j], rho[i, j], step)
        return out


def _hermite_series(activation: Callable[[Array], Array], a: np.ndarray, c: np.ndarray, rho: Array) -> Array:
    """sum_k rho^k f_k(a) f_k(c) with the Hermite coefficients f_k of s(a g): fast unless |rho| is near 1 (Mehler)."""
    grid = np.linspace(-REACH, REACH, 8001)
    root = np.exp(-0.25 * grid**2) * ((grid[1] - grid[0]) / np.sqrt(2.0 * np.pi)) ** 0.5
    left, right = (activation(np.outer(lengths, grid)) * root for lengths in (a, c))
    previous, current = np.zeros_like(grid), root.copy()  # Hermite functions, by their stable recurrence
    power, total = np.ones_like(rho), np.zeros_like(rho)
    for k in range(TERMS):
        total += power * np.outer(left @ current, right @ current)
        previous, current = current, (grid * current - np.sqrt(k) * previous) / np.sqrt(k + 1.0)
        power *= np.where(np.abs(rho) > NEAR, 0.0, rho)
    return total


def _expectation(activation: Callable[[Array], Array], a: float, c: float, rho: float, step: float) -> float:
    """E[s(a g) s(c g')] for correlation rho: trapezoid rule along g + g' and g - g', each as fine as needed."""
    total = 0.0
    shares = np.sqrt(0.5 + 0.5 * rho), np.sqrt(0.5 - 0.5 * rho)
    grids = []
    for share in shares:
        nodes = int(np.clip(2.0 * REACH / (step * min(1.0, 2.8 / max(a * share, c * share, 1e-3))), 136, MOST_NODES))
        grids.append(np.linspace(-REACH, REACH, nodes))
    weights = [np.exp(-0.5 * grid**2) / np.sqrt(2.0 * np.pi) * (grid[1] - grid[0]) for grid in grids]
    apart = shares[1] * grids[1][None, :]
    for start in range(0, len(grids[0]), 256):  # a stripe at a time, to bound memory
        both = shares[0] * grids[0][start : start + 256, None]
        values = activation(a * (both + apart)) * activation(c * (both - apart))
        total += float(weights[0][start : start + 256] @ values @ weights[1])
    return total

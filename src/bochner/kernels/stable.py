"""Stable kernels exp(-|x - z|_p^q / s^q): from smooth physics (p = 2) to tables with axis-aligned structure (p = 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .. import ops, portable
from ..arrays import Array, namespace
from ..streams import Stream
from ..validation import require_positive
from .base import Coordinatewise

FARTHEST = 27.6  # log of the largest frequency, 1e12: phases out there are uniform, and beyond are no floats


@dataclass(frozen=True, init=False)
class Stable(Coordinatewise):
    """The stable kernels, exp(-|x - z|_p^q / s^q) with 0 < q <= p <= 2.

    They reach from smooth functions (p = 2) to tables with axis-aligned structure (p = 1).

    (2, 2) is the Gaussian kernel exp(-|x - z|^2 / s^2), (1, 1) the Laplacian one, (2, 1) the exponential of the
    distance. A frequency is w = A^(1/p) S / s: S has independent symmetric p-stable coordinates, E exp(i t S) =
    exp(-|t|^p), and A is positive and (q/p)-stable, E exp(-t A) = exp(-t^(q/p)), or 1 if q = p. Both are drawn as
    Chambers, Mallows and Stuck (1976) do, in logarithms.

    Parameters
    ----------
    p : float, default=1.0
        The norm: 1 for axis-aligned structure, 2 where no direction is special.
    q : float, default=1.0
        The power of the distance, at most p: the smaller, the rougher at short distances and the longer its reach.
    bandwidth : float, default=None
        Length scale s. None is 1 when the kernel is called, and is chosen by the data where a basis or model is given
        the kernel.

    Examples
    --------
    >>> from bochner import RandomFourier, kernels
    >>> kernels.Stable(1, 0.5)([[0.0, 0.0]], [[1.0, 3.0]]).round(4)
    array([[0.1353]])
    >>> RandomFourier(100, kernel=kernels.Stable(1, 0.5), random_state=0).fit([[0.0], [1.0]]).transform([[2.0]]).shape
    (1, 100)
    """

    p: float = 1.0
    q: float = 1.0
    takes_tensors: ClassVar[bool] = True

    def __init__(self, p: float = 1.0, q: float = 1.0, bandwidth: float | None = None) -> None:
        for name, value in {"bandwidth": bandwidth, "p": float(p), "q": float(q)}.items():
            object.__setattr__(self, name, value)
        self.__post_init__()

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive("p", self.p)
        require_positive("q", self.q)
        if not self.q <= self.p <= 2.0:
            raise ValueError(f"a stable kernel has 0 < q <= p <= 2; got p={self.p:g}, q={self.q:g}.")

    @property
    def order(self) -> float:
        return self.p

    def _evaluate(self, X: Array, Z: Array) -> Array:
        return namespace(X).exp(-((ops.distances(X, Z, self.p) / self.scale) ** self.q))

    @property
    def draws(self) -> int:
        return 1 if self.p in (1.0, 2.0) else 2

    def coordinates(self, uniforms: np.ndarray) -> np.ndarray:
        if self.p == 2.0:
            return np.sqrt(2.0) * portable.normal_quantile(uniforms)
        if self.p == 1.0:
            return portable.cauchy_quantile(uniforms)
        angle, other = np.split(uniforms, 2, axis=1)
        turns = 0.5 * (angle - 0.5)  # V = 2 pi turns, between -pi/2 and pi/2
        p, exponential = self.p, -portable.log(other)
        size = _log_sine(p * np.abs(turns)) - portable.log(portable.cosine_of_turns(turns)) / p
        rest = portable.log(portable.cosine_of_turns((1.0 - p) * turns)) - portable.log(exponential)
        return np.sign(turns) * portable.exp(np.minimum(size + (1.0 - p) / p * rest, FARTHEST))

    def mixing(self, stream_seed: int, start: int, stop: int) -> np.ndarray:
        b = self.q / self.p
        if b == 1.0:
            return np.ones(stop - start)
        angle, other = Stream(stream_seed, "stable mixing").uniform(start, stop, 2).T
        turns = 0.5 * angle  # U = 2 pi turns, between 0 and pi
        rest = _log_sine((1.0 - b) * turns) - portable.log(-portable.log(other))
        logarithm = _log_sine(b * turns) - _log_sine(turns) / b + (1.0 - b) / b * rest
        return portable.exp(np.minimum(logarithm / self.p, FARTHEST))


def _log_sine(turns: np.ndarray) -> np.ndarray:
    """log sin(2 pi t) for t between 0 and a half turn; never of nothing, where rounding makes it so."""
    return portable.log(np.maximum(portable.cosine_of_turns(turns - 0.25), 1e-300))

"""Random stumps: sgn(x_k - t), k a uniform coordinate, t a random threshold; over sqrt(m).

Drawn: (k, t) per column. Kernel: 1 - |x - z|_1/(a d) for t uniform on [-a, a]; 1 - (2/d) sum_k |F(x_k) - F(z_k)| for
standard normal t. A comparison is exact, so integer precisions need no rounding of x.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from ..kernels import Kernel, NormalStump, UniformStump
from ..streams import Stream
from ..validation import require_choice, require_positive
from .base import Basis, Bounds


class RandomStumps(Basis):
    """Random decision stumps (the kitchen-sinks and random-bases papers).

    Parameters
    ----------
    n_components : number of stumps, one column each.
    thresholds : "uniform" on [-radius, radius], or standard "normal" (for standardised columns).
    radius : the number a of uniform thresholds, or "max", the largest |x| seen in fit.
    precision, random_state : as in RandomFourier. Integer features are -1 and +1.

    Examples
    --------
    >>> from bochner import RandomStumps
    >>> RandomStumps(4, random_state=0).fit_transform([[1.0], [-1.0]])
    array([[ 0.5,  0.5,  0.5,  0.5],
           [-0.5, -0.5, -0.5, -0.5]])
    """

    quantizes_input = False
    refuses_infinity = True
    multiplies_sparse = False

    def __init__(
        self,
        n_components: int = 100,
        *,
        thresholds: str = "uniform",
        radius: float | str = "max",
        precision: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.thresholds = thresholds
        self.radius = radius
        self.precision = precision
        self.random_state = random_state

    def _settle(self, rows: np.ndarray, largest: float) -> None:
        require_choice("thresholds", self.thresholds, ["uniform", "normal"])
        if isinstance(self.radius, str):
            require_choice("radius", self.radius, ["max"])
            # A column of zeros has no largest value to speak of.
            self.radius_ = largest or 1.0
        else:
            self.radius_ = require_positive("radius", self.radius)
        self.scale_ = 1.0 / float(np.sqrt(self._m)) if self._is_integer else 1.0

    def _exact_kernel(self) -> Kernel:
        return UniformStump(self.radius_) if self.thresholds == "uniform" else NormalStump()

    @property
    def bounds(self) -> Bounds:
        return Bounds(columns=1, product=1.0, second_moment=1.0)

    def output_dtype(self, X: Any) -> np.dtype:
        return np.dtype(np.int8) if self._is_integer else np.dtype(X.dtype)

    def _units(self) -> tuple[int, int, int]:
        return self._m, 2, 1

    def _is_fused(self, dtype: np.dtype) -> bool:
        return ops.has_fast("stumps")

    def _columns(self, unit: int) -> int:
        return unit

    def _draw(self, start: int, stop: int) -> tuple[np.ndarray, ...]:
        coordinates = Stream(self.seed_, "coordinates").integers(start, stop, self.n_features_in_)[:, 0]
        stream = Stream(self.seed_, "thresholds")
        if self.thresholds == "normal":
            thresholds = stream.normal(start, stop)[:, 0]
        else:
            thresholds = (2.0 * stream.uniform(start, stop)[:, 0] - 1.0) * self.radius_
        return coordinates.astype(np.int32), thresholds

    def _map(self, X: Any, weights: tuple[np.ndarray, ...]) -> np.ndarray:
        return ops.stumps(X, *weights, X.dtype.type(1.0 / np.sqrt(self._m)))

    def _map_integer(self, X: Any, weights: tuple[np.ndarray, ...]) -> np.ndarray:
        return ops.stumps(X, *weights, np.int8(1))

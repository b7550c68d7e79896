"""Random stumps: sgn(x_k - t), k a uniform coordinate, t a random threshold; over sqrt(m).

Drawn: (k, t) per column. Kernel: 1 - |x - z|_1/(a d) for t uniform on [-a, a]; 1 - (2/d) sum_k |F(x_k) - F(z_k)| for
standard normal t. A comparison is exact, so integer precisions need no rounding of x.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .. import ops
from ..arrays import Array, Rows, scalar
from ..fields import LARGEST, number, text
from ..kernels import Kernel, NormalStump, UniformStump
from ..streams import Stream
from .units import Drawn, UnitMap, Units, Weights


@dataclass(frozen=True, eq=False, kw_only=True)
class StumpsMap(UnitMap):
    """The map of RandomStumps: thresholds are "uniform" up to the radius, or "normal"."""

    thresholds: str = "uniform"
    radius: float = 1.0

    name = "RandomStumps"
    quantizes_input = False
    refuses_infinity = True
    multiplies_sparse = False
    checks: ClassVar = {"thresholds": text("uniform", "normal"), "radius": number(1.0 / LARGEST, LARGEST)}

    def exact_kernel(self) -> Kernel:
        return UniformStump(self.radius) if self.thresholds == "uniform" else NormalStump()

    def output_dtype(self, X: Rows) -> np.dtype:
        return np.dtype(np.int8) if self.is_integer else super().output_dtype(X)

    @property
    def units(self) -> Units:
        return Units(self.columns, 2, 1)

    def is_fused(self, X: Array) -> bool:
        return ops.has_fast("stumps", X)

    def first_column(self, unit: int) -> int:
        return unit

    def draw(self, start: int, stop: int) -> Drawn:
        coordinates = Stream(self.seed, "coordinates").integers(start, stop, self.inputs)[:, 0]
        stream = Stream(self.seed, "thresholds")
        if self.thresholds == "normal":
            thresholds = stream.normal(start, stop)[:, 0]
        else:
            thresholds = (2.0 * stream.uniform(start, stop)[:, 0] - 1.0) * self.radius
        return coordinates.astype(np.int32), thresholds

    def apply(self, X: Rows, weights: Weights) -> Array:
        return ops.stumps(X, *weights, scalar(1.0 / np.sqrt(self.columns), X))

    def apply_integer(self, X: Rows, weights: Weights) -> Array:
        return ops.stumps(X, *weights, np.int8(1))

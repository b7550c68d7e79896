"""Two-sided soft thresholds: max(0, z - t) and max(0, -z - t) with z = <w, x> / sqrt(d), w normal, over sqrt(units).

Drawn: w per pair of columns. Kernel: 2 E[s(z) s(z')] with s(z) = max(0, z - t), by quadrature. What lies within t of
zero counts for nothing, so a filter of pictures speaks up only where its pattern is, or its negative.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from .. import ops
from ..arrays import Array, Rows, namespace
from ..fields import number
from ..kernels import Kernel, Ridge
from ..streams import Stream, int8_normal_deviation
from .quantize import Quantizer
from .units import Drawn, UnitMap, Units, Weights

REACH = 4.5  # of z, which is about 1: features of integers end there


@dataclass(frozen=True, eq=False, kw_only=True)
class ThresholdMap(UnitMap):
    """The map of thresholds, which has no face of its own: PatchFeatures takes it by itself.

    least : what a projection must exceed.
    """

    least: float = 0.5

    name = "thresholds"
    has_slopes = True
    takes_directions = True
    checks: ClassVar = {"least": number(0.0, REACH)}

    @classmethod
    def of(
        cls, columns: int, inputs: int, seed: int, precision: str | None, quantizer: Quantizer | None
    ) -> ThresholdMap:
        """The map whose integer features, times its scale, are its float ones."""
        made = cls(columns=columns, inputs=inputs, seed=seed, precision=precision, quantizer=quantizer)
        return replace(made, scale=made.feature_step) if made.is_integer else made

    @property
    def units(self) -> Units:
        return Units(self.columns // 2, self.inputs, 3)

    def first_column(self, unit: int) -> int:
        return 2 * unit

    def is_prefix(self, columns: int) -> bool:
        return columns % 2 == 0

    def exact_kernel(self) -> Kernel:
        return Ridge(SoftThreshold(self.least), 1.0 / float(np.sqrt(self.inputs)), 0.0)

    def draw(self, start: int, stop: int) -> Drawn:
        stream = Stream(self.seed, "directions")
        return ((stream.normal_int8 if self.is_integer else stream.normal)(start, stop, self.inputs),)

    def apply(self, X: Rows, weights: Weights) -> Array:
        z = X @ weights[0].T / np.sqrt(self.inputs)
        both = namespace(z).stack((z - self.least, -z - self.least), axis=2).reshape(len(z), -1)
        return both.clip(min=0) / np.sqrt(self.columns // 2)

    def apply_integer(self, X: Rows, weights: Weights) -> Array:
        return ops.project_threshold(X, weights[0], *self.integers)

    @property
    def pools_at_once(self) -> bool:
        return self.is_integer

    def apply_pooled(self, X: Rows, weights: Weights, cells: Array, grid: int, largest: bool) -> Array:
        if not self.pools_at_once:
            return super().apply_pooled(X, weights, cells, grid, largest)
        return ops.pooled_threshold(X, weights[0], *self.integers, cells, grid, largest)

    def slopes(self, X: Rows, coefficients: Array) -> Array:
        (directions,) = self.weights()
        z = np.asarray(X, dtype=np.float64) @ directions.T / np.sqrt(self.inputs)
        weighted = coefficients.reshape(-1, 2, coefficients.shape[1]) / np.sqrt(self.inputs * self.columns // 2)
        steep = (z > self.least)[:, :, None] * weighted[:, 0] - (z < -self.least)[:, :, None] * weighted[:, 1]
        return np.stack([steep[:, :, k] @ directions for k in range(steep.shape[2])], axis=2)

    @property
    def integers(self) -> tuple[int, int, int]:
        """(shift, least, limit): bits that projections lose, and what is left of them that counts for nothing."""
        shift = 0
        while REACH * self._codes_per_unit(shift) > self.limit:
            shift += 1
        return shift, int(np.rint(self.least * self._codes_per_unit(shift))), self.limit

    def _codes_per_unit(self, shift: int) -> float:
        """What z = 1 is in integer features."""
        assert self.quantizer is not None
        return int8_normal_deviation() * float(np.sqrt(self.inputs)) / self.quantizer.step / 2.0**shift

    @property
    def feature_step(self) -> float:
        """What one step of an integer feature is in float ones."""
        return 1.0 / (self._codes_per_unit(self.integers[0]) * float(np.sqrt(self.columns // 2)))

    def require_sound(self) -> None:
        super().require_sound()
        if self.columns % 2:
            raise ValueError("thresholds come in pairs")


@dataclass(frozen=True)
class SoftThreshold:
    """sqrt(2) max(0, z - least), as an activation: by symmetry both sides have the kernel of this one."""

    least: float

    def __call__(self, z: Array) -> Array:
        return (z - self.least).clip(min=0) * 2.0**0.5

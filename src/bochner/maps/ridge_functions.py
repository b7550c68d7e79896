"""Random ridge functions: s(<w, x> + b) with normal w and b, s a sigmoid, tanh, ReLU or any function; over sqrt(m).

Drawn: (w, b) per column, w ~ N(0, scale^2 I), b ~ N(0, bias_scale^2). Kernel: E[s(<w, x> + b) s(<w, z> + b)], closed
form for ReLU (half the arc-cosine kernel), otherwise by quadrature.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .. import ops, portable
from ..arrays import Array, Rows, cast, dtype_name, is_torch, scalar
from ..fields import LARGEST, number, text, whole
from ..kernels import Kernel, Ridge, activation_function
from ..kernels.ridge import Activation
from ..streams import Stream
from .units import Drawn, UnitMap, Units, Weights

# Activations of the integer tables, without libm; a callable is tabulated as it is.
PORTABLE: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "sigmoid": portable.sigmoid,
    "tanh": lambda t: 2.0 * portable.sigmoid(2.0 * t) - 1.0,
    "relu": lambda t: np.maximum(t, 0.0),
}
TABLE_BITS = {"int8": 10, "int14": 14}
SMALL = 1e-4  # step of a difference
POSITIVE = number(1.0 / LARGEST, LARGEST)


@dataclass(frozen=True, eq=False, kw_only=True)
class RidgeMap(UnitMap):
    """The map of RandomRidge.

    weight_scale, bias_scale : standard deviations of the weights and of the bias.
    reach, height : of the integer table: projections up to `reach`, and the largest activation among them.
    multiplier, table_shift : the fixed-point factor from integer projections to cells of the table.
    """

    activation: Activation
    weight_scale: float = 1.0
    bias_scale: float = 1.0
    reach: float = 1.0
    height: float = 1.0
    multiplier: int = 1
    table_shift: int = 1

    name = "RandomRidge"
    has_slopes = True
    takes_directions = True
    checks: ClassVar = {
        "activation": text(*PORTABLE), "weight_scale": POSITIVE, "bias_scale": number(0.0), "reach": POSITIVE,
        "height": POSITIVE, "multiplier": whole(1, 2**31), "table_shift": whole(1, 62),
    }  # fmt: skip

    def exact_kernel(self) -> Kernel:
        return Ridge(self.activation, self.weight_scale, self.bias_scale)

    @property
    def units(self) -> Units:
        return Units(self.columns, self.inputs + 1, 2)

    def first_column(self, unit: int) -> int:
        return unit

    @property
    def length(self) -> float:
        return self.weight_scale

    def draw(self, start: int, stop: int) -> Drawn:
        stream, d = Stream(self.seed, "weights"), self.inputs
        bias = self.bias_scale * Stream(self.seed, "bias").normal(start, stop)[:, 0]
        if not self.is_integer:
            return self.weight_scale * stream.normal(start, stop, d), bias
        cell = table_cell(self.reach, str(self.precision))
        offsets = np.rint(bias / cell * 2.0**self.table_shift).astype(np.int64)
        table = np.rint(self.limit * activation_table(self.activation, self.reach, str(self.precision)) / self.height)
        return stream.normal_int8(start, stop, d), offsets, table.astype(self.output_dtype(None))

    def apply(self, X: Rows, weights: Weights) -> Array:
        directions, bias = weights
        projections = X @ directions.T
        projections += bias
        features = activation_function(self.activation)(projections)
        features = features if is_torch(features) else np.asarray(features)
        if features.shape != projections.shape:
            raise ValueError(f"the activation changed the shape from {projections.shape} to {features.shape}.")
        return cast(features, dtype_name(projections)) * scalar(1.0 / np.sqrt(self.columns), projections)

    def slopes(self, X: Rows, coefficients: Array) -> Array:
        directions, bias = self.weights()
        steep = activation_slope(self.activation, np.asarray(X, dtype=np.float64) @ directions.T + bias)
        weighted = coefficients / np.sqrt(self.columns)
        return np.stack([(steep * column) @ directions for column in weighted.T], axis=2)

    def apply_integer(self, X: Rows, weights: Weights) -> Array:
        directions, offsets, table = weights
        return ops.project_lookup(X, directions, self.multiplier, self.table_shift, offsets, table)


def activation_slope(activation: Activation, t: np.ndarray) -> np.ndarray:
    """The derivative of an activation; of a callable, by differences."""
    if activation == "relu":
        return (t > 0).astype(np.float64)
    function = activation_function(activation)
    if activation == "tanh":
        return np.asarray(1.0 - function(t) ** 2)
    if activation == "sigmoid":
        return np.asarray(function(t) * (1.0 - function(t)))
    return (np.asarray(function(t + SMALL)) - np.asarray(function(t - SMALL))) / (2.0 * SMALL)


def table_cell(reach: float, precision: str) -> float:
    """The width of a cell of the integer table."""
    return 2.0 * reach / (1 << TABLE_BITS[precision])


def activation_table(activation: Activation, reach: float, precision: str) -> np.ndarray:
    """The activation at the middles of the table's cells, as floats."""
    size = 1 << TABLE_BITS[precision]
    grid = (np.arange(size) - size // 2) * (2.0 * reach / size)
    function = activation if callable(activation) else PORTABLE[activation]
    return np.asarray(function(grid), dtype=np.float64)

"""Random ridge functions: s(<w, x> + b) with normal w and b, s a sigmoid, tanh, ReLU or any function; over sqrt(m).

Drawn: (w, b) per column, w ~ N(0, scale^2 I), b ~ N(0, bias_scale^2). Kernel: E[s(<w, x> + b) s(<w, z> + b)], closed
form for ReLU (half the arc-cosine kernel), otherwise by quadrature.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import ops, portable
from ..kernels import Kernel, Ridge, activation_function
from ..streams import Stream, int8_normal_deviation
from ..validation import require_choice, require_positive
from .base import Basis, Bounds
from .quantize import fixed_point, round_digits
from .settle import row_norms

# Activations of the integer tables, without libm; a callable is tabulated as it is.
PORTABLE: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "sigmoid": portable.sigmoid,
    "tanh": lambda t: 2.0 * portable.sigmoid(2.0 * t) - 1.0,
    "relu": lambda t: np.maximum(t, 0.0),
}
TABLE_BITS = {"int8": 10, "int14": 14}
SATURATED = 8.0  # where sigmoid and tanh are flat


class RandomRidge(Basis):
    """Random ridge functions: a random layer of a network.

    Parameters
    ----------
    n_components : number of functions, one column each.
    activation : "sigmoid", "tanh", "relu", or a function of an array that returns an array of the same shape.
    scale, bias_scale : standard deviations of the weights and of the bias.
    precision, random_state : as in RandomFourier. Integer features look the activation up in a table.

    Examples
    --------
    >>> from bochner import RandomRidge
    >>> RandomRidge(5, activation="relu", random_state=0).fit_transform([[1.0, 2.0]]).shape
    (1, 5)
    """

    def __init__(
        self,
        n_components: int = 100,
        *,
        activation: str | Callable[[np.ndarray], np.ndarray] = "sigmoid",
        scale: float = 1.0,
        bias_scale: float = 1.0,
        precision: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.activation = activation
        self.scale = scale
        self.bias_scale = bias_scale
        self.precision = precision
        self.random_state = random_state

    def _settle(self, rows: np.ndarray, largest: float) -> None:
        if not callable(self.activation):
            require_choice("activation", self.activation, PORTABLE)
        require_positive("scale", self.scale)
        if self.bias_scale != 0:
            require_positive("bias_scale", self.bias_scale)
        self.scale_ = 1.0
        if self._is_integer:
            reach = SATURATED
            if self.activation not in ("sigmoid", "tanh"):
                length = np.hypot(self.scale * np.quantile(row_norms(rows), 0.99), self.bias_scale)
                reach = round_digits(4.0 * length + 1e-9, 3)
            self.reach_ = reach
            cell = 2.0 * reach / (1 << TABLE_BITS[str(self.precision)])
            per_code = self.quantizer_.step * self.scale / int8_normal_deviation()
            self.multiplier_, self.table_shift_ = fixed_point(per_code / cell, bits=20)
            self.height_ = float(np.abs(self._activation_table()).max()) or 1.0
            self.scale_ = self.height_ / (self._limit * float(np.sqrt(self._m)))

    def _exact_kernel(self) -> Kernel:
        return Ridge(self.activation, self.scale, self.bias_scale)

    @property
    def bounds(self) -> Bounds:
        if self.activation in ("sigmoid", "tanh"):
            lipschitz = 0.25 if self.activation == "sigmoid" else 1.0
            return Bounds(1, product=1.0, second_moment=1.0, lipschitz=lipschitz, weight_moment=self.scale**2)
        length = self.scale**2 + self.bias_scale**2  # ReLU at |x| = 1: E relu^4 = 3/2 length^2
        moment = 1.5 * length**2 if self.activation == "relu" else np.inf
        return Bounds(1, product=np.inf, second_moment=moment, lipschitz=1.0, weight_moment=self.scale**2)

    def _units(self) -> tuple[int, int, int]:
        return self._m, self.n_features_in_ + 1, 2

    def _columns(self, unit: int) -> int:
        return unit

    def _draw(self, start: int, stop: int) -> tuple[np.ndarray, ...]:
        stream, d = Stream(self.seed_, "weights"), self.n_features_in_
        bias = self.bias_scale * Stream(self.seed_, "bias").normal(start, stop)[:, 0]
        if not self._is_integer:
            return self.scale * stream.normal(start, stop, d), bias
        cell = 2.0 * self.reach_ / (1 << TABLE_BITS[str(self.precision)])
        offsets = np.rint(bias / cell * 2.0**self.table_shift_).astype(np.int64)
        table = np.rint(self._limit * self._activation_table() / self.height_)
        return (
            stream.normal_int8(start, stop, d),
            offsets,
            table.astype(np.int8 if self._limit <= 127 else np.int16),
        )

    def _map(self, X: Any, weights: tuple[np.ndarray, ...]) -> np.ndarray:
        directions, bias = weights
        projections = np.asarray(X @ directions.T)
        projections += bias
        features = np.asarray(activation_function(self.activation)(projections))
        if features.shape != projections.shape:
            raise ValueError(f"the activation changed the shape from {projections.shape} to {features.shape}.")
        return features.astype(projections.dtype, copy=False) * projections.dtype.type(1.0 / np.sqrt(self._m))

    def _map_integer(self, X: Any, weights: tuple[np.ndarray, ...]) -> np.ndarray:
        directions, offsets, table = weights
        return ops.project_lookup(X, directions, self.multiplier_, self.table_shift_, offsets, table)

    def _activation_table(self) -> np.ndarray:
        """The activation at the middles of the table's cells, as floats."""
        size = 1 << TABLE_BITS[str(self.precision)]
        grid = (np.arange(size) - size // 2) * (2.0 * self.reach_ / size)
        activation = self.activation if callable(self.activation) else PORTABLE[self.activation]
        return np.asarray(activation(grid), dtype=np.float64)

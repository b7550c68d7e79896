"""Random ridge functions: integer tables are settled here, `maps/ridge_functions.py` has the formula and the kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..maps.quantize import fixed_point, round_digits
from ..maps.ridge_functions import PORTABLE, RidgeMap, activation_table, table_cell
from ..maps.rows import row_norms
from ..streams import int8_normal_deviation
from ..validation import require_choice, require_positive
from .base import Basis, Bounds

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

    kind = RidgeMap

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
        if self.is_integer:
            reach = SATURATED
            if self.activation not in ("sigmoid", "tanh"):
                length = np.hypot(self.scale * np.quantile(row_norms(rows), 0.99), self.bias_scale)
                reach = round_digits(4.0 * length + 1e-9, 3)
            self.reach_ = reach
            cell = table_cell(reach, str(self.precision))
            per_code = self.quantizer_.step * self.scale / int8_normal_deviation()
            self.multiplier_, self.table_shift_ = fixed_point(per_code / cell, bits=20)
            self.height_ = float(np.abs(activation_table(self.activation, reach, str(self.precision))).max()) or 1.0
            self.scale_ = self.height_ / (self._limit * float(np.sqrt(self._m)))

    def _own_fields(self) -> dict[str, Any]:
        own = {"activation": self.activation, "weight_scale": self.scale, "bias_scale": self.bias_scale}
        if self.is_integer:
            own |= {"reach": self.reach_, "height": self.height_}
            own |= {"multiplier": self.multiplier_, "table_shift": self.table_shift_}
        return own

    @property
    def bounds(self) -> Bounds:
        if self.activation in ("sigmoid", "tanh"):
            lipschitz = 0.25 if self.activation == "sigmoid" else 1.0
            return Bounds(1, product=1.0, second_moment=1.0, lipschitz=lipschitz, weight_moment=self.scale**2)
        length = self.scale**2 + self.bias_scale**2  # ReLU at |x| = 1: E relu^4 = 3/2 length^2
        moment = 1.5 * length**2 if self.activation == "relu" else np.inf
        return Bounds(1, product=np.inf, second_moment=moment, lipschitz=1.0, weight_moment=self.scale**2)

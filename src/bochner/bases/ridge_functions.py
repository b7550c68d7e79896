"""Random ridge functions: integer tables are settled here, `maps/ridge_functions.py` has the formula and the kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Rows
from ..kernels.ridge import Activation
from ..maps.quantize import fixed_point, round_digits
from ..maps.ridge_functions import PORTABLE, RidgeMap, activation_table, table_cell
from ..maps.rows import row_norms
from ..streams import int8_normal_deviation
from ..typing import RandomStateLike
from ..validation import require_choice, require_positive
from .base import Basis, Bounds

SATURATED = 8.0  # where sigmoid and tanh are flat


class RandomRidge(Basis):
    """Random ridge functions: a layer of a neural network with random weights.

        phi_l(x) = s(<w_l, x> + b_l) / sqrt(n_components),   w_l and b_l normal, s an activation.

    Parameters
    ----------
    n_components : int, default=100
        Number of features: one for each function.
    activation : {'sigmoid', 'tanh', 'relu'} or callable, default='sigmoid'
        The function s; a callable takes an array and returns one of the same shape.
    scale : float, default=1.0
        Standard deviation of the weights.
    bias_scale : float, default=1.0
        Standard deviation of the biases; 0 is no bias.
    precision : {'float32', 'float64', 'int8', 'int14'}, default=None
        Number type of the features. None keeps that of X. 'int8' and 'int14' compute in integers alone: the same bits
        on every machine, and faster. Such features are to be multiplied by `scale_`.
    random_state : int, RandomState instance, Generator or None, default=None
        Seed of the random draws. An int gives the same features on every machine; None draws a seed.

    Attributes
    ----------
    seed_ : int
        Seed of the draws; with the other fitted numbers it determines the features.
    map_ : FeatureMap
        The feature map: small, immutable, and callable as `map_(X)`.
    scale_ : float
        Factor after which integer features have `<phi(x), phi(z)> ~ k(x, z)`; 1.0 for floats.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns of X; only if X is a frame whose column names are all strings.
    quantizer_ : Quantizer
        How X is rounded to 8 bits; only for integer precisions.
    clipped_fraction_ : float
        Share of the sampled numbers that rounding clips; only for integer precisions.
    reach_, height_ : float
        Largest projection in the table of the activation, and its largest value; only for integer precisions.
    multiplier_, table_shift_ : int
        Fixed-point factor, and the bits to shift by, from projections to places of that table; only for integer
        precisions.

    See Also
    --------
    bochner.kernels.Ridge : The kernel of these features.
    bochner.kernels.ArcCosine : Twice that of ReLU, in closed form.

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
        activation: Activation = "sigmoid",
        scale: float = 1.0,
        bias_scale: float = 1.0,
        precision: str | None = None,
        random_state: RandomStateLike = None,
    ) -> None:
        self.n_components = n_components
        self.activation = activation
        self.scale = scale
        self.bias_scale = bias_scale
        self.precision = precision
        self.random_state = random_state

    def _settle(self, rows: Rows, largest: float) -> None:
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

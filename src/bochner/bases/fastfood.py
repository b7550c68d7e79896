"""Fastfood, Fourier features in O(m log d): the bandwidth is settled here, `maps/fastfood.py` has the rest."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels import BallMatern, Gaussian, Radial
from ..maps.fastfood import FastfoodMap
from ..maps.hadamard import integer_shift, padded_size
from .base import Basis, Bounds
from .frequencies import FrequencyBasis
from .stored import largest_factor


class Fastfood(FrequencyBasis):
    """Fourier features of a radial kernel in log-linear time (Le, Sarlos and Smola; McKernel).

    Parameters
    ----------
    n_components : number of columns, interleaved (cos, sin) pairs.
    kernel : "gaussian", "ball_matern" (RBF-Matern of McKernel), or a radial kernel object.
    bandwidth : the scale s of the kernel, "median" or a multiple of it, such as "0.5*median".
    degree : the number t of ball points whose sum is a frequency of "ball_matern". Its kernel depends on the padded
        dimension, the next power of two of the number of columns of X.
    calibration : factors of the drawn lengths, one a frequency, as a model learned them; None is none.
    precision, random_state : as in RandomFourier.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import Fastfood
    >>> Fastfood(2048, random_state=0).fit_transform(np.eye(5)).shape
    (5, 2048)
    """

    kind = FastfoodMap
    map_: FastfoodMap

    def __init__(
        self,
        n_components: int = 100,
        *,
        kernel: Any = "gaussian",
        bandwidth: float | str = "median",
        degree: int = 40,
        calibration: Any = None,
        precision: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.degree = degree
        self.calibration = calibration
        self.precision = precision
        self.random_state = random_state

    def _settle(self, rows: np.ndarray, largest: float) -> None:
        named = {"gaussian": Gaussian(), "ball_matern": BallMatern(degree=self.degree)}
        self._settle_kernel(named, self.bandwidth, rows)
        self.kernel_ = self.kernel_.in_dimension(self._dimension)
        if not isinstance(self.kernel_, Radial):
            raise ValueError(f"kernel={self.kernel!r} is not radial, so Fastfood cannot draw it; use RandomFourier.")
        if self.is_integer:
            largest_code = max(-self.quantizer_.low, self.quantizer_.high)
            self.shift_ = integer_shift(largest_code, self.n_features_in_, padded_size(self.n_features_in_))

    def _own_fields(self) -> dict[str, Any]:
        shift = self.shift_ if self.is_integer else 0
        return {**super()._own_fields(), "calibration": self.calibration, "shift": shift}

    def _require_settled(self, example: Any) -> None:
        super()._require_settled(example)
        if np.abs(self.map_.factors(0, self.map_.units.number)).max() > largest_factor(self.precision):
            raise ValueError("calibration is too large for waves")

    @property
    def _dimension(self) -> int:
        return padded_size(self.n_features_in_)

    @property
    def bounds(self) -> Bounds:
        # Expansions are independent of each other, the frequencies of one are not.
        return Bounds(columns=2 * padded_size(self.n_features_in_), product=1.0, second_moment=1.0, lipschitz=1.0)

    def sized(self, n_components: int) -> Basis:
        most = n_components if self.calibration is None else 2 * len(self.calibration)
        return super().sized(min(n_components, most))

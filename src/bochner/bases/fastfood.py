"""Fastfood: Fourier features whose frequencies are products of Hadamard and diagonal matrices, in O(m log d) time.

Drawn: per expansion of n = next power of two of d frequencies, signs B, a permutation Pi, normals G, and lengths s_i
(the calibration C) from the kernel's radial law. Nothing is stored: all is drawn again from the stream.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from ..kernels import BallMatern, Gaussian, Radial
from .base import Basis, Bounds
from .frequencies import TURN, FrequencyBasis, turns_to_words
from .hadamard import draw_expansions, integer_shift, padded_size
from .settle import largest_factor


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

    multiplies_sparse = False

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
        self._factors(0, 1)
        if self._is_integer:
            largest_code = max(-self.quantizer_.low, self.quantizer_.high)
            self.shift_ = integer_shift(largest_code, self.n_features_in_, padded_size(self.n_features_in_))

    def _require_settled(self, example: Any) -> None:
        super()._require_settled(example)
        if np.abs(self._factors(0, self._units()[0])).max() > largest_factor(self.precision):
            raise ValueError("calibration is too large for waves")

    @property
    def _dimension(self) -> int:
        return padded_size(self.n_features_in_)

    @property
    def bounds(self) -> Bounds:
        # Expansions are independent of each other, the frequencies of one are not.
        return Bounds(columns=2 * padded_size(self.n_features_in_), product=1.0, second_moment=1.0, lipschitz=1.0)

    def _units(self) -> tuple[int, int, int]:
        size = padded_size(self.n_features_in_)
        expansions = -(-self._m // (2 * size))
        return expansions, 5 * size, 2 * size

    def _columns(self, unit: int) -> int:
        return min(2 * unit * padded_size(self.n_features_in_), self._m)

    def sized(self, n_components: int) -> Basis:
        most = n_components if self.calibration is None else 2 * len(self.calibration)
        return super().sized(min(n_components, most))

    def _draw(self, start: int, stop: int) -> tuple[np.ndarray, ...]:
        size = padded_size(self.n_features_in_)
        expansion = draw_expansions(self.seed_, start, stop, size, self._is_integer)
        assert isinstance(self.kernel_, Radial)
        radii = self.kernel_.radii(self.seed_, start * size, stop * size, size).reshape(-1, size)
        calibration = radii * expansion.inverse_length() / self.bandwidth_ * self._factors(start, stop)
        kept = -(-(self._columns(stop) - self._columns(start)) // 2)
        odd = self._columns(stop) % 2  # the last column stands alone, a phased cosine
        words = self._phase_words(start * size + kept - odd, start * size + kept)
        if self._is_integer:
            calibration = turns_to_words(calibration * (2.0**self.shift_ * self.quantizer_.step / TURN))
        return (*expansion, calibration, words, np.array(kept))

    def _factors(self, start: int, stop: int) -> Any:
        """The given factors of the lengths in expansions start..stop-1, one expansion a row."""
        if self.calibration is None:
            return 1.0
        factors, size = np.asarray(self.calibration, dtype=np.float64), padded_size(self.n_features_in_)
        if factors.ndim != 1 or len(factors) < -(-self._m // 2) or not np.isfinite(factors).all():
            raise ValueError(
                f"calibration must hold a finite number for each of {-(-self._m // 2)} frequencies; its shape is "
                f"{factors.shape}."
            )
        whole = np.ones(self._units()[0] * size)
        whole[: min(len(factors), len(whole))] = factors[: len(whole)]
        return whole.reshape(-1, size)[start:stop]

    def _map(self, X: Any, weights: tuple[np.ndarray, ...]) -> np.ndarray:
        *expansion, calibration, words, kept = weights
        return ops.fastfood_cos_sin(X, *expansion, calibration, int(kept), *self._phases(words, X.dtype))

    def _map_integer(self, X: Any, weights: tuple[np.ndarray, ...]) -> np.ndarray:
        *expansion, multipliers, words, kept = weights
        table = self._cosine_table()
        return ops.fastfood_cos_sin_integer(X, *expansion, self.shift_, multipliers.ravel(), int(kept), words, table)

"""Fastfood, Fourier features in O(m log d): the bandwidth is settled here, `maps/fastfood.py` has the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays import Rows
from ..kernels import BallMatern, Gaussian, Kernel, Radial
from ..maps.fastfood import FastfoodMap
from ..maps.hadamard import integer_shift, padded_size
from ..typing import RandomStateLike
from .base import Basis, Bounds
from .frequencies import FrequencyBasis
from .stored import largest_factor


class Fastfood(FrequencyBasis):
    """Fourier features of a radial kernel in log-linear time.

    Frequencies are the rows of S H G P H B, with Hadamard matrices H, random signs B, a permutation P, normal numbers G
    and lengths S. Projections of a row then cost O(n_components log n_features) and need no matrix of frequencies. Use
    it in place of RandomFourier where X has hundreds of columns or more.

    Parameters
    ----------
    n_components : int, default=100
        Number of features: interleaved pairs of cosines and sines.
    kernel : {'gaussian', 'ball_matern'} or Kernel, default='gaussian'
        Kernel to approximate: a name, or a radial kernel object. 'ball_matern' is the RBF-Matern kernel of McKernel.
    bandwidth : float or str, default='median'
        Length scale s of the kernel. 'median' takes the median distance between sampled rows, and '0.5*median' a
        multiple of it. A number is in the units of X.
    degree : int, default=40
        For 'ball_matern', how many points of the unit ball are added up to a frequency. This kernel depends on the
        padded dimension, the next power of two of the number of columns.
    calibration : array-like of shape (n_components / 2,), default=None
        Factors of the drawn lengths of the frequencies, as LearnedFourierRegressor learns them; None is no factors.
    precision : {'float32', 'float64', 'int8', 'int14'}, default=None
        Number type of the features. None keeps that of X. 'int8' and 'int14' compute in integers alone: the same bits
        on every machine, and faster. Such features are to be multiplied by `scale_`.
    random_state : int, RandomState instance, Generator or None, default=None
        Seed of the random draws. An int gives the same features on every machine; None draws a seed.

    Attributes
    ----------
    bandwidth_ : float
        The bandwidth that was given, or was found by looking at X.
    kernel_ : Kernel
        The kernel with that bandwidth, in the padded dimension.
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
    shift_ : int
        Bits that the integer transform drops; only for integer precisions.

    See Also
    --------
    RandomFourier : Fourier features with a full matrix of frequencies, for more kernels.

    References
    ----------
    Le, Sarlos and Smola, Fastfood: Approximating Kernel Expansions in Loglinear Time, 2013.

    Curto and others, McKernel: A Library for Approximate Kernel Expansions in Log-linear Time, 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import Fastfood
    >>> X = np.random.default_rng(0).normal(size=(20, 300))
    >>> basis = Fastfood(4096, random_state=0).fit(X)
    >>> Z = basis.transform(X)
    >>> bool(abs(Z @ Z.T - basis.kernel(X)).max() < 0.1)
    True
    """

    kind = FastfoodMap
    map_: FastfoodMap

    def __init__(
        self,
        n_components: int = 100,
        *,
        kernel: str | Kernel = "gaussian",
        bandwidth: float | str = "median",
        degree: int = 40,
        calibration: Sequence[float] | np.ndarray | None = None,
        precision: str | None = None,
        random_state: RandomStateLike = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.degree = degree
        self.calibration = calibration
        self.precision = precision
        self.random_state = random_state

    def _settle(self, rows: Rows, largest: float) -> None:
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

    def _require_settled(self, example: Basis) -> None:
        super()._require_settled(example)
        if np.abs(self.map_.factors(0, self.map_.units.number)).max() > largest_factor(self.precision):
            raise ValueError("calibration has factors that are too large")

    @property
    def _dimension(self) -> int:
        return padded_size(self.n_features_in_)

    @property
    def bounds(self) -> Bounds:
        # Expansions are independent of each other, the frequencies of one are not.
        return Bounds(columns=2 * padded_size(self.n_features_in_), product=1.0, second_moment=1.0, lipschitz=1.0)

    def sized(self, n_components: int) -> Basis:
        """Return an unfitted copy with another number of features, at most two for each calibrated frequency.

        Parameters
        ----------
        n_components : int
            Number of features.

        Returns
        -------
        Fastfood
            The copy, not fitted.
        """
        most = n_components if self.calibration is None else 2 * len(self.calibration)
        return super().sized(min(n_components, most))

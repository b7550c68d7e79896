"""Random maxout: the reach of integers is settled here, `maps/maxout.py` has the formula and the kernel."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np

from ..arrays import Rows
from ..kernels import maximum_mean, maximum_moment
from ..maps.hadamard import integer_shift, padded_size
from ..maps.maxout import MaxoutMap
from ..maps.quantize import projection_scale
from ..maps.rows import row_norms, to_dense
from ..typing import RandomStateLike
from ..validation import require_integer
from .base import Basis, Bounds

REACH = 4.0  # deviations above the mean that an integer feature can hold, at a typical large |x|


class RandomMaxout(Basis):
    """Random maxout features: the largest of a few random projections.

        h_l(x) = max_j <w_j, x>, j = 1..pool_size,

    less its mean. Features are piecewise linear in x, and so is a linear model on them: `local_coefficients` of the
    models shows the slopes around each row. The kernel grows with the lengths of rows and depends on the angle between
    them, so that the columns of X should have like units.

    Parameters
    ----------
    n_components : int, default=100
        Number of features: one for each unit.
    pool_size : int, default=4
        Number of projections q of which a unit takes the largest; 1 is a plain random projection.
    shared_projections : int, default=None
        If a number, so many projections are drawn once, and each unit takes the largest of pool_size different ones of
        them. None draws new projections for each unit.
    structured : bool, default=False
        Whether projections come from Hadamard transforms, which take O(n_components pool_size log n_features).
    center : bool, default=True
        Whether the mean of a feature, mu_q |x|, is subtracted.
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
    multiplier_, rescale_shift_ : int
        Fixed-point factor, and the bits to shift by, from projections to features; only for integer precisions.
    shift_ : int
        Bits that the integer Hadamard transform drops; only for integer precisions with `structured`.

    See Also
    --------
    GatedLinear : Locally linear features whose kernel is <x, z> times a probability.
    MaxoutHash : Which projection is the largest, as a code.

    References
    ----------
    Mroueh, Rennie and Goel, Random Maxout Features, 2015. Its kernel is corrected in docs/errata.md.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import RandomMaxout
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> basis = RandomMaxout(4000, pool_size=8, random_state=0).fit(X)
    >>> Z = basis.transform(X)
    >>> Z.shape
    (50, 4000)
    >>> bool(abs(Z @ Z.T - basis.kernel(X)).max() < 1.0)
    True
    """

    kind = MaxoutMap

    def __init__(
        self,
        n_components: int = 100,
        *,
        pool_size: int = 4,
        shared_projections: int | None = None,
        structured: bool = False,
        center: bool = True,
        precision: str | None = None,
        random_state: RandomStateLike = None,
    ) -> None:
        self.n_components = n_components
        self.pool_size = pool_size
        self.shared_projections = shared_projections
        self.structured = structured
        self.center = center
        self.precision = precision
        self.random_state = random_state

    @property
    def _q(self) -> int:
        return int(self.pool_size)

    def _settle(self, rows: Rows, largest: float) -> None:
        require_integer("pool_size", self.pool_size)
        if self.shared_projections is not None:
            require_integer("shared_projections", self.shared_projections)
            if self.shared_projections < self._q:
                raise ValueError(
                    f"shared_projections={self.shared_projections} is fewer than pool_size={self._q}: "
                    "a unit takes different projections."
                )
            if self.structured:
                raise ValueError("shared_projections and structured exclude each other: choose one.")
        self.scale_ = 1.0
        if self.is_integer:
            reach = REACH + (0.0 if self.center else maximum_mean(self._q))
            settled = projection_scale(row_norms(self.quantizer_(to_dense(rows))), reach, self._limit)
            self.multiplier_, self.rescale_shift_, unit = settled
            self.scale_ = self.quantizer_.step * unit / float(np.sqrt(self._m))
            if self.structured:
                largest_code = max(-self.quantizer_.low, self.quantizer_.high)
                self.shift_ = integer_shift(largest_code, self.n_features_in_, padded_size(self.n_features_in_))

    def _own_fields(self) -> dict[str, Any]:
        shared = None if self.shared_projections is None else int(self.shared_projections)
        own = {
            "pool_size": self._q, "shared_projections": shared, "structured": self.structured, "center": self.center,
        }  # fmt: skip
        if self.is_integer:
            own |= {"multiplier": self.multiplier_, "rescale_shift": self.rescale_shift_}
            own |= {"shift": self.shift_} if self.structured else {}
        return own

    @property
    def bounds(self) -> Bounds:
        if self.shared_projections is not None:
            raise ValueError("no bound is known for shared projections: the units depend on each other.")
        # E h(x)^2 h(z)^2 <= E h^4, by Cauchy-Schwarz; the centred unit has central moments.
        mean = maximum_mean(self._q) if self.center else 0.0
        moments = [maximum_moment(self._q, k) for k in range(5)]
        fourth = sum(comb(4, k) * moments[k] * (-mean) ** (4 - k) for k in range(5))
        columns = padded_size(self.n_features_in_) if self.structured else 1
        return Bounds(columns=columns, product=np.inf, second_moment=fourth, lipschitz=1.0, weight_moment=1.0)

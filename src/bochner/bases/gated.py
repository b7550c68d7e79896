"""Gated linear units: the reach of integers is settled here, `maps/gated.py` has the formula and the kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Rows
from ..maps.gated import GatedMap
from ..maps.quantize import projection_scale
from ..maps.rows import row_norms, to_dense
from ..typing import RandomStateLike
from ..validation import require_integer
from .base import Basis, Bounds

REACH = 4.0  # deviations that an integer feature can hold, at a typical large |x|


class GatedLinear(Basis):
    """Gated linear features: a random projection, passed by the one of a few gates that wins.

        u_lj(x) = <v_l, x> if j = argmax_i <w_li, x>, else 0,   i, j = 1..pool_size.

    A unit has pool_size columns, of which one is not zero. Its kernel is <x, z> P[both have the same winner], so a
    linear model on these features is linear around each row, with slopes that change from place to place.

    Parameters
    ----------
    n_components : int, default=100
        Number of features: units times pool_size, which must divide it.
    pool_size : int, default=4
        Number of gates q of a unit.
    sparse_output : bool, default=False
        Whether `transform` returns a CSR matrix.
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

    See Also
    --------
    RandomMaxout : The largest projection itself.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import GatedLinear
    >>> Z = GatedLinear(40, pool_size=4, random_state=0).fit_transform(np.eye(2))
    >>> (Z != 0).sum(axis=1)
    array([10, 10])
    """

    kind = GatedMap

    def __init__(
        self,
        n_components: int = 100,
        *,
        pool_size: int = 4,
        sparse_output: bool = False,
        precision: str | None = None,
        random_state: RandomStateLike = None,
    ) -> None:
        self.n_components = n_components
        self.pool_size = pool_size
        self.sparse_output = sparse_output
        self.precision = precision
        self.random_state = random_state

    @property
    def _q(self) -> int:
        return int(self.pool_size)

    @property
    def _together(self) -> int:
        return self._q

    def _settle(self, rows: Rows, largest: float) -> None:
        require_integer("pool_size", self.pool_size)
        if self._m % self._q:
            below = self._m - self._m % self._q
            raise ValueError(
                f"pool_size={self._q} does not divide n_components={self._m}; the nearest that it "
                f"divides are {below} and {below + self._q}."
            )
        self.scale_ = 1.0
        if self.is_integer:
            settled = projection_scale(row_norms(self.quantizer_(to_dense(rows))), REACH, self._limit)
            self.multiplier_, self.rescale_shift_, unit = settled
            self.scale_ = self.quantizer_.step * unit / float(np.sqrt(self._unit_count))

    @property
    def _unit_count(self) -> int:
        return self._m // self._q

    @property
    def entries(self) -> int:
        """Numbers that the features of a row take in memory: for CSR output, values and where they are."""
        return 2 * self._unit_count if self.sparse_output else self._m  # values, and where they are

    def _own_fields(self) -> dict[str, Any]:
        own = {"pool_size": self._q, "sparse_output": self.sparse_output}
        if self.is_integer:
            own |= {"multiplier": self.multiplier_, "rescale_shift": self.rescale_shift_}
        return own

    @property
    def bounds(self) -> Bounds:
        return Bounds(columns=self._q, product=np.inf, second_moment=3.0, weight_moment=1.0)

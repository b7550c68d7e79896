"""Random maxout: the reach of integers is settled here, `maps/maxout.py` has the formula and the kernel."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np

from ..kernels import maximum_mean, maximum_moment
from ..maps.hadamard import integer_shift, padded_size
from ..maps.maxout import MaxoutMap
from ..maps.quantize import projection_scale
from ..maps.rows import row_norms, to_dense
from ..validation import require_integer
from .base import Basis, Bounds

REACH = 4.0  # deviations above the mean that an integer feature can hold, at a typical large |x|


class RandomMaxout(Basis):
    """Random maxout features (Mroueh, Rennie and Goel).

    Parameters
    ----------
    n_components : number of units, one column each.
    pool_size : projections q per unit; 1 is a plain random projection.
    shared_projections : None draws q new projections per unit; a number draws that many once, and each unit takes
        the largest of q different ones of them.
    structured : Hadamard projections (projection j of every unit from block j), in O(m q log d).
    center : subtract the mean mu_q |x|.
    precision, random_state : as in RandomFourier.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import RandomMaxout
    >>> RandomMaxout(300, pool_size=8, random_state=0).fit_transform(np.eye(5)).shape
    (5, 300)
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
        random_state: Any = None,
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

    def _settle(self, rows: np.ndarray, largest: float) -> None:
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

"""Gated linear units: the reach of integers is settled here, `maps/gated.py` has the formula and the kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..maps.gated import GatedMap
from ..maps.quantize import projection_scale
from ..maps.rows import row_norms, to_dense
from ..validation import require_integer
from .base import Basis, Bounds

REACH = 4.0  # deviations that an integer feature can hold, at a typical large |x|


class GatedLinear(Basis):
    """Gated linear features: locally linear for real, and sparse (one of q columns of a unit is not zero).

    Parameters
    ----------
    n_components : number of columns, units times pool_size; pool_size must divide it.
    pool_size : gates q per unit.
    sparse_output : return a CSR matrix.
    precision, random_state : as in RandomFourier.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import GatedLinear
    >>> int((GatedLinear(40, pool_size=4, random_state=0).fit_transform(np.eye(2)) != 0).sum())
    20
    """

    kind = GatedMap

    def __init__(
        self,
        n_components: int = 100,
        *,
        pool_size: int = 4,
        sparse_output: bool = False,
        precision: str | None = None,
        random_state: Any = None,
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

    def _settle(self, rows: np.ndarray, largest: float) -> None:
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
        return 2 * self._unit_count if self.sparse_output else self._m  # values, and where they are

    def _own_fields(self) -> dict[str, Any]:
        own = {"pool_size": self._q, "sparse_output": self.sparse_output}
        if self.is_integer:
            own |= {"multiplier": self.multiplier_, "rescale_shift": self.rescale_shift_}
        return own

    @property
    def bounds(self) -> Bounds:
        return Bounds(columns=self._q, product=np.inf, second_moment=3.0, weight_moment=1.0)

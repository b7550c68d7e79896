"""Random bins: their bandwidth is settled here, `maps/bins.py` has the formula and the kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..maps.bins import BinsMap
from ..validation import require_integer
from .base import Basis, Bounds
from .heuristics import settle_bandwidth


class RandomBins(Basis):
    """Random binning features, as a CSR matrix with n_grids entries a row.

    Parameters
    ----------
    n_components : number of columns that cells are hashed to.
    n_grids : number of grids P.
    bandwidth : the scale s of the kernel exp(-|x - z|_1 / s), "median" or a multiple of it, such as "0.5*median".
    precision, random_state : as in RandomFourier. Integer features are -1, 0 and +1, or small sums of them where cells
        of two grids share a column.

    Examples
    --------
    >>> from bochner import RandomBins
    >>> RandomBins(64, n_grids=4, random_state=0).fit_transform([[0.0], [5.0]]).shape
    (2, 64)
    """

    kind = BinsMap

    def __init__(
        self,
        n_components: int = 4096,
        *,
        n_grids: int = 50,
        bandwidth: float | str = "median",
        precision: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.n_grids = n_grids
        self.bandwidth = bandwidth
        self.precision = precision
        self.random_state = random_state

    @property
    def _grids(self) -> int:
        return int(self.n_grids)

    @property
    def entries(self) -> int:
        return 2 * self._grids  # values, and where they are

    def _settle(self, rows: np.ndarray, largest: float) -> None:
        require_integer("n_grids", self.n_grids)
        if self._m > 2**31:
            raise ValueError(f"n_components must be at most 2^31 for hashed bins; got {self._m}.")
        self.bandwidth_ = settle_bandwidth(self.bandwidth, rows, 1.0)
        self.scale_ = 1.0 / float(np.sqrt(self._grids)) if self.is_integer else 1.0

    def _own_fields(self) -> dict[str, Any]:
        return {"n_grids": self._grids, "bandwidth": self.bandwidth_}

    @property
    def bounds(self) -> Bounds:
        # A grid's indicator has variance 1/4 at most; colliding cells add 1/m, which no number of grids removes.
        return Bounds(columns=1, product=1.0, second_moment=0.25, floor=1.0 / self._m)

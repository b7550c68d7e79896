"""Random bins: their bandwidth is settled here, `maps/bins.py` has the formula and the kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Rows
from ..maps.bins import BinsMap
from ..typing import RandomStateLike
from ..validation import require_integer
from .base import Basis, Bounds
from .heuristics import settle_bandwidth


class RandomBins(Basis):
    """Random binning features: which cell of each of several random grids a row is in.

    A grid has a random pitch and shift in each column. Its cell is hashed to one of n_components columns, which gets +1
    or -1. The kernel is the Laplacian one, exp(-|x - z|_1 / bandwidth), rough and local. Features are sparse: a CSR
    matrix with n_grids numbers in a row.

    Parameters
    ----------
    n_components : int, default=4096
        Number of columns that cells are hashed to.
    n_grids : int, default=50
        Number of grids: the more, the smaller the variance.
    bandwidth : float or str, default='median'
        Length scale s of the kernel. 'median' takes the median L1 distance between sampled rows, and '0.5*median' a
        multiple of it. A number is in the units of X.
    precision : {'float32', 'float64', 'int8', 'int14'}, default=None
        Number type of the features. None keeps that of X. 'int8' and 'int14' compute in integers alone: the same bits
        on every machine, and faster. Such features are to be multiplied by `scale_`.
    random_state : int, RandomState instance, Generator or None, default=None
        Seed of the random draws. An int gives the same features on every machine; None draws a seed.

    Attributes
    ----------
    bandwidth_ : float
        The bandwidth that was given, or was found by looking at X.
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

    See Also
    --------
    RandomFourier : Fourier features of the same kernel, with kernel='laplacian'.

    References
    ----------
    Rahimi and Recht, Random Features for Large-Scale Kernel Machines, 2007.

    Examples
    --------
    >>> from bochner import RandomBins
    >>> Z = RandomBins(64, n_grids=4, random_state=0).fit_transform([[0.0], [5.0]])
    >>> Z.shape, Z.nnz
    ((2, 64), 8)
    """

    kind = BinsMap

    def __init__(
        self,
        n_components: int = 4096,
        *,
        n_grids: int = 50,
        bandwidth: float | str = "median",
        precision: str | None = None,
        random_state: RandomStateLike = None,
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
        """Numbers that the features of a row take in memory: values of a CSR matrix, and where they are."""
        return 2 * self._grids  # values, and where they are

    def _settle(self, rows: Rows, largest: float) -> None:
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

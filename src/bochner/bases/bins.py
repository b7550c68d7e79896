"""Random bins: the cell of x in P random grids, each cell hashed with a sign to one of m columns; over sqrt(P).

Drawn per grid and coordinate: pitch ~ Gamma(2) times s, shift uniform on [0, pitch]; and the hash. Kernel:
P[same cell] = exp(-|x - z|_1 / s). Signs make colliding cells cancel on average, so hashing adds noise but no bias.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse

from .. import ops
from ..kernels import Binning, Kernel
from ..streams import Stream
from ..validation import require_integer
from .base import Basis, Bounds
from .settle import settle_bandwidth


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

    quantizes_input = False
    takes_bytes = False
    multiplies_sparse = False

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
        self.bandwidth_ = settle_bandwidth(self.bandwidth, rows, "cityblock")
        self.scale_ = 1.0 / float(np.sqrt(self._grids)) if self._is_integer else 1.0

    def _exact_kernel(self) -> Kernel:
        return Binning(self.bandwidth_)

    @property
    def bounds(self) -> Bounds:
        # A grid's indicator has variance 1/4 at most; colliding cells add 1/m, which no number of grids removes.
        return Bounds(columns=1, product=1.0, second_moment=0.25, floor=1.0 / self._m)

    def output_dtype(self, X: Any) -> np.dtype:
        return np.dtype(np.int8) if self.is_integer else np.dtype(X.dtype)

    def _units(self) -> tuple[int, int, int]:
        return self._grids, 4 * self.n_features_in_, self.n_features_in_

    def _columns(self, unit: int) -> int:
        return unit

    def _prefixes(self, columns: int) -> set[int]:
        return set()  # cells are hashed to all columns

    def column_tiles(self, X: Any, columns: int, first: int = 0) -> Iterator[tuple[slice, Any]]:
        if first == 0:
            yield slice(0, self._m), self.features(X)  # every grid can reach every column

    def _draw(self, start: int, stop: int) -> tuple[np.ndarray, ...]:
        d = self.n_features_in_
        pitch = self.bandwidth_ * Stream(self.seed_, "pitch").gamma(2.0, start, stop, d)
        shift = pitch * Stream(self.seed_, "shift").uniform(start, stop, d)
        words = Stream(self.seed_, "hash").bits(start, stop, 2 * (d + 1)).astype(np.uint64)
        return shift, pitch, (words[:, 0::2] << np.uint64(32)) | words[:, 1::2]

    def _map(self, X: Any, weights: tuple[np.ndarray, ...]) -> np.ndarray:
        return ops.bins(X, *weights, self._m)

    _map_integer = _map

    def _transform(self, X: Any, first: int = 0, last: int | None = None) -> scipy.sparse.csr_matrix:
        n, grids = X.shape[0], self._grids
        tiles = list(self._tiles(n, 0, grids, ops.has_fast("bins") and not scipy.sparse.issparse(X)))

        def cells_of(units: tuple[int, int], rows: slice) -> np.ndarray:
            # Pitches stay in float64 whatever X is: a cell is a comparison, and comparisons should not round.
            return self._map(self._prepare(X[rows]), self._weights(*units, np.float64))

        if len(tiles) == 1:
            cells = cells_of(*tiles[0])
        else:
            cells = np.empty((n, grids), dtype=np.int64)
            for units, rows in tiles:
                cells[rows, slice(*units)] = cells_of(units, rows)
        # int8 saturates, but more than 127 cells in one column are a matter of faith.
        height = np.int8(1) if self._is_integer else X.dtype.type(1.0 / np.sqrt(grids))
        matrix = scipy.sparse.csr_matrix(ops.binned(cells, self._m, height), shape=(n, self._m))
        matrix.has_canonical_format = True
        return matrix

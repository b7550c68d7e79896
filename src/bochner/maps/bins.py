"""Random bins: the cell of x in P random grids, each cell hashed with a sign to one of m columns; over sqrt(P).

Drawn per grid and coordinate: pitch ~ Gamma(2) times s, shift uniform on [0, pitch]; and the hash. Kernel:
P[same cell] = exp(-|x - z|_1 / s). Signs make colliding cells cancel on average, so hashing adds noise but no bias.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse

from .. import ops
from ..arrays import Rows
from ..fields import LARGEST, number, whole
from ..kernels import Binning, Kernel
from ..streams import Stream
from .rows import require_arrays
from .units import Drawn, UnitMap, Units, Weights


@dataclass(frozen=True, eq=False, kw_only=True)
class BinsMap(UnitMap):
    """The map of RandomBins. A unit is a grid, and every grid can reach every column."""

    n_grids: int
    bandwidth: float

    name = "RandomBins"
    quantizes_input = False
    takes_bytes = False
    multiplies_sparse = False
    checks: ClassVar = {"n_grids": whole(1), "columns": whole(1, 2**31), "bandwidth": number(1.0 / LARGEST, LARGEST)}

    @property
    def entries(self) -> int:
        return 2 * self.n_grids  # values, and where they are

    def exact_kernel(self) -> Kernel:
        return Binning(self.bandwidth)

    def output_dtype(self, X: Rows) -> np.dtype:
        return np.dtype(np.int8) if self.is_integer else super().output_dtype(X)

    @property
    def units(self) -> Units:
        return Units(self.n_grids, 4 * self.inputs, self.inputs)

    def first_column(self, unit: int) -> int:
        return unit

    def is_prefix(self, columns: int) -> bool:
        return False  # cells are hashed to all columns

    def tile_count(self, columns: int) -> int:
        return 1

    def tiles(self, X: Rows, columns: int, first: int = 0) -> Iterator[tuple[slice, Any]]:
        if first == 0:
            yield slice(0, self.columns), self(X)

    def draw(self, start: int, stop: int) -> Drawn:
        d = self.inputs
        pitch = self.bandwidth * Stream(self.seed, "pitch").gamma(2.0, start, stop, d)
        shift = pitch * Stream(self.seed, "shift").uniform(start, stop, d)
        words = Stream(self.seed, "hash").bits(start, stop, 2 * (d + 1)).astype(np.uint64)
        return shift, pitch, (words[:, 0::2] << np.uint64(32)) | words[:, 1::2]

    def apply(self, X: Rows, weights: Weights) -> np.ndarray:
        """Compute the column and sign of the cell of each row in some grids, as one code each.

        Parameters
        ----------
        X : ndarray or CSR matrix
            A tile of rows, as `prepared` makes it.
        weights : tuple of ndarray
            Weights of a tile of units.

        Returns
        -------
        ndarray
            The codes.
        """
        return ops.bins(X, *weights, self.columns)

    apply_integer = apply

    def evaluate(self, X: Rows) -> scipy.sparse.csr_matrix:
        require_arrays(X, "sparse features, which RandomBins makes")
        n = X.shape[0]
        tiles = list(self.work(X, 0, self.n_grids, ops.has_fast("bins", X) and not scipy.sparse.issparse(X)))

        def cells_of(units: tuple[int, int], rows: slice) -> np.ndarray:
            # Pitches stay in float64 whatever X is: a cell is a comparison, and comparisons should not round.
            return self.apply(self.prepared(X[rows]), self.weights(*units))

        if len(tiles) == 1:
            cells = cells_of(*tiles[0])
        else:
            cells = np.empty((n, self.n_grids), dtype=np.int64)
            for units, rows in tiles:
                cells[rows, slice(*units)] = cells_of(units, rows)
        # int8 saturates, but more than 127 cells in one column are a matter of faith.
        height = np.int8(1) if self.is_integer else X.dtype.type(1.0 / np.sqrt(self.n_grids))
        matrix = scipy.sparse.csr_matrix(ops.binned(cells, self.columns, height), shape=(n, self.columns))
        matrix.has_canonical_format = True
        return matrix

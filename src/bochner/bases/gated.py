"""Gated linear units: the winner of a pool decides where an independent projection <v, x> is written.

Unit l is a q-vector that is zero but for entry argmax_j <w_j, x>, which holds <v, x>; over sqrt(units). Kernel:
<x, z> kappa_q(x, z), the locally linear kernel that the maxout paper set out to have. Drawn: q + 1 projections a unit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from .. import ops
from ..kernels import Gated, Kernel
from ..streams import Stream
from ..validation import require_integer
from .base import Basis, Bounds
from .quantize import projection_scale
from .settle import row_norms

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
        if self._is_integer:
            settled = projection_scale(row_norms(self._prepare(rows)), REACH, self._limit)
            self.multiplier_, self.rescale_shift_, unit = settled
            self.scale_ = self.quantizer_.step * unit / float(np.sqrt(self._unit_count))

    @property
    def _unit_count(self) -> int:
        return self._m // self._q

    @property
    def entries(self) -> int:
        return 2 * self._unit_count if self.sparse_output else self._m  # values, and where they are

    def _exact_kernel(self) -> Kernel:
        return Gated(self._q)

    @property
    def bounds(self) -> Bounds:
        return Bounds(columns=self._q, product=np.inf, second_moment=3.0, weight_moment=1.0)

    def _units(self) -> tuple[int, int, int]:
        return self._unit_count, (self._q + 1) * self.n_features_in_, 2 * self._q

    def _columns(self, unit: int) -> int:
        return unit * self._q

    def _prefixes(self, columns: int) -> set[int]:
        return {columns} if columns % self._q == 0 else set()

    def local_linear(self, X: Any, coefficients: np.ndarray) -> np.ndarray:
        """sum_l c_(l, winner) v_l / sqrt(units): features times c are <this, x>."""
        if self._is_integer:
            raise ValueError("local coefficients need a float precision: integer features are steps.")
        X = self._validate(X, reset=False)
        c = coefficients.reshape(self._unit_count, self._q, -1)
        out = np.zeros((X.shape[0], self.n_features_in_, c.shape[2]))
        for (start, stop), rows in self._tiles(X.shape[0], 0, self._unit_count):
            gates, values = self._weights(start, stop, np.float64)
            winners = ops.dense_winners(X[rows], gates, self._q)
            chosen = c[np.arange(start, stop), winners]  # (rows, units, k)
            out[rows] += np.einsum("nuk,ud->ndk", chosen, values, optimize=True) / np.sqrt(self._unit_count)
        return out

    def _draw(self, start: int, stop: int) -> tuple[np.ndarray, ...]:
        d, q = self.n_features_in_, self._q
        gates, values = Stream(self.seed_, "gates"), Stream(self.seed_, "values")
        if self._is_integer:
            return gates.normal_int8(start * q, stop * q, d), values.normal_int8(start, stop, d)
        return gates.normal(start * q, stop * q, d), values.normal(start, stop, d)

    def _open_gates(self, X: Any, weights: tuple[np.ndarray, ...]) -> tuple[np.ndarray, np.ndarray]:
        """The winner of each unit and the number it lets through."""
        gates, values = weights
        if self._is_integer:
            none = np.zeros(len(X), dtype=np.int32)  # a projection alone is a pool of one without a centre
            through = ops.project_maxout(X, values, 1, none, self.multiplier_, self.rescale_shift_, self._limit)
            return ops.project_winners(X, gates, self._q), through
        through = np.asarray(X @ values.T)
        through *= through.dtype.type(1.0 / np.sqrt(self._unit_count))
        return ops.dense_winners(X, gates, self._q), through

    def _map(self, X: Any, weights: tuple[np.ndarray, ...]) -> np.ndarray:
        return ops.gates(*self._open_gates(X, weights), self._q)

    _map_integer = _map

    def _transform(self, X: Any, first: int = 0, last: int | None = None) -> Any:
        if not self.sparse_output:
            return super()._transform(X, first, last)
        last = self._unit_count if last is None else last
        n, units = X.shape[0], last - first
        columns = np.empty((n, units), dtype=np.int64)
        data = np.empty((n, units), dtype=self.output_dtype(X))
        for (start, stop), rows in self._tiles(n, first, last):
            weights, tile = self._weights(start, stop, X.dtype), slice(start - first, stop - first)
            winners, data[rows, tile] = self._open_gates(self._prepare(X[rows]), weights)
            columns[rows, tile] = winners + self._q * np.arange(start - first, stop - first)
        shape = (n, units * self._q)
        return scipy.sparse.csr_matrix((data.ravel(), columns.ravel(), np.arange(0, n * units + 1, units)), shape=shape)

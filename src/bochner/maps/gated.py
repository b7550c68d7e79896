"""Gated linear units: the winner of a pool decides where an independent projection <v, x> is written.

Unit l is a q-vector that is zero but for entry argmax_j <w_j, x>, which holds <v, x>; over sqrt(units). Kernel:
<x, z> kappa_q(x, z), the locally linear kernel that the maxout paper set out to have. Drawn: q + 1 projections a unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse

from .. import ops
from ..arrays import Array, Rows, arange, cast, constant, namespace, scalar
from ..fields import flag, whole
from ..kernels import Gated, Kernel
from ..streams import Stream
from .rows import require_arrays
from .units import Drawn, UnitMap, Units, Weights


@dataclass(frozen=True, eq=False, kw_only=True)
class GatedMap(UnitMap):
    """The map of GatedLinear; multiplier and rescale_shift bring integer projections to the precision."""

    pool_size: int
    sparse_output: bool = False
    multiplier: int = 1
    rescale_shift: int = 1

    name = "GatedLinear"
    has_slopes = True
    takes_directions = True
    checks: ClassVar = {
        "pool_size": whole(1), "sparse_output": flag, "multiplier": whole(1, 2**31), "rescale_shift": whole(1, 62),
    }  # fmt: skip

    @property
    def unit_count(self) -> int:
        """Number of units."""
        return self.columns // self.pool_size

    @property
    def units(self) -> Units:
        return Units(self.unit_count, (self.pool_size + 1) * self.inputs, 2 * self.pool_size)

    @property
    def entries(self) -> int:
        return 2 * self.unit_count if self.sparse_output else self.columns  # values, and where they are

    def exact_kernel(self) -> Kernel:
        return Gated(self.pool_size)

    def first_column(self, unit: int) -> int:
        return unit * self.pool_size

    def is_prefix(self, columns: int) -> bool:
        return columns % self.pool_size == 0

    def local_linear(self, X: Rows, coefficients: Array) -> Array:
        """Compute the slopes around each row: sum_l c_(l, winner) v_l / sqrt(units).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, inputs)
            The rows.
        coefficients : ndarray of shape (columns, n_outputs)
            Coefficients of the features.

        Returns
        -------
        ndarray of shape (n_samples, inputs, n_outputs)
            Around row x the function is <slope, x>.
        """
        if self.is_integer:
            raise ValueError("local coefficients need float features: integer ones are constant around a row.")
        X, moveaxis = cast(self.rows(X), "float64"), namespace(coefficients).moveaxis
        c = coefficients.reshape(self.unit_count, self.pool_size, -1)
        out = constant(0.0, (X.shape[0], self.inputs, c.shape[2]), X)
        for (start, stop), rows in self.work(X, 0, self.unit_count):
            gates, values = self.weights_beside(X, start, stop)
            winners = ops.dense_winners(X[rows], gates, self.pool_size)
            chosen = c[start + arange(stop - start, c), winners]  # (rows, units, k)
            out[rows] += moveaxis(moveaxis(chosen, 2, 1) @ values, 1, 2) / np.sqrt(self.unit_count)
        return out

    def draw(self, start: int, stop: int) -> Drawn:
        d, q = self.inputs, self.pool_size
        gates, values = Stream(self.seed, "gates"), Stream(self.seed, "values")
        if self.is_integer:
            return gates.normal_int8(start * q, stop * q, d), values.normal_int8(start, stop, d)
        return gates.normal(start * q, stop * q, d), values.normal(start, stop, d)

    def _open_gates(self, X: Rows, weights: Weights) -> tuple[Array, Array]:
        """The winner of each unit and the number it lets through."""
        gates, values = weights
        if self.is_integer:
            none = constant(0, (len(X),), X, "int32")  # a projection alone is a pool of one without a centre
            through = ops.project_maxout(X, values, 1, none, self.multiplier, self.rescale_shift, self.limit)
            return ops.project_winners(X, gates, self.pool_size), through
        through = X @ values.T
        through *= scalar(1.0 / np.sqrt(self.unit_count), through)
        return ops.dense_winners(X, gates, self.pool_size), through

    def apply(self, X: Rows, weights: Weights) -> Array:
        return ops.gates(*self._open_gates(X, weights), self.pool_size)

    apply_integer = apply

    def of_units(self, X: Rows, first: int, last: int) -> Rows:
        if not self.sparse_output:
            return super().of_units(X, first, last)
        require_arrays(X, "sparse features, which GatedLinear(sparse_output=True) makes")
        n, units = X.shape[0], last - first
        columns = np.empty((n, units), dtype=np.int64)
        data = np.empty((n, units), dtype=self.output_dtype(X))
        for (start, stop), rows in self.work(X, first, last):
            weights, tile = self.weights_beside(X, start, stop), slice(start - first, stop - first)
            winners, data[rows, tile] = self._open_gates(self.prepared(X[rows]), weights)
            columns[rows, tile] = winners + self.pool_size * np.arange(start - first, stop - first)
        shape = (n, units * self.pool_size)
        return scipy.sparse.csr_matrix((data.ravel(), columns.ravel(), np.arange(0, n * units + 1, units)), shape=shape)

    def require_sound(self) -> None:
        super().require_sound()
        if self.columns % self.pool_size:
            raise ValueError("the pools do not divide the columns")

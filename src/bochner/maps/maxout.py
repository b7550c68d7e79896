"""Random maxout: h(x) = max_j <w_j, x> over a pool of q normal vectors, over sqrt(m); centred by its mean mu_q |x|.

Drawn: q projections per unit (or a choice of q from a shared pool). Kernel: |x||z| (mu_q^2 + integral_0^rho kappa_q),
without mu_q^2 if centred. The constant mu_q^2 swamps the Gram matrix and wastes the penalty, hence the default.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .. import ops
from ..arrays import Array, Rows, cast, constant, dtype_name, like, namespace, scalar
from ..fields import either, flag, nothing, whole
from ..kernels import Kernel, Maxout, maximum_mean
from ..streams import Stream, int8_normal_deviation
from .hadamard import draw_expansions, padded_size
from .quantize import round_digits
from .rows import row_norms, squared_lengths, to_dense
from .units import Drawn, UnitMap, Units, Weights

CALIBRATION_SHIFT = 24  # fractional bits of the calibration of integer Hadamard projections


@dataclass(frozen=True, eq=False, kw_only=True)
class MaxoutMap(UnitMap):
    """The map of RandomMaxout.

    multiplier, rescale_shift : the fixed-point factor that brings integer maxima to the precision.
    shift : by how many bits integer Hadamard projections are shifted on their way.
    """

    pool_size: int
    shared_projections: int | None = None
    structured: bool = False
    center: bool = True
    multiplier: int = 1
    rescale_shift: int = 1
    shift: int = 0

    name = "RandomMaxout"
    has_slopes = True
    takes_directions = True
    checks: ClassVar = {
        "pool_size": whole(1), "shared_projections": either(nothing, whole(1)), "structured": flag, "center": flag,
        "multiplier": whole(1, 2**31), "rescale_shift": whole(1, 62), "shift": whole(0, 62),
    }  # fmt: skip

    def exact_kernel(self) -> Kernel:
        return Maxout(self.pool_size, self.center)

    # A unit of work is one maxout unit; for a shared pool, all of them; for a structured map, as many as a block has.

    @property
    def units(self) -> Units:
        if self.shared_projections is not None:
            drawn = self.shared_projections * self.inputs + self.columns * self.pool_size
            made = self.columns // 2 if self.is_integer else 2 * self.columns  # beside projections: integers are bytes
            return Units(1, drawn, self.shared_projections + made)
        if self.structured:
            return Units(-(-self.columns // self.size), 5 * self.size * self.pool_size, self.size * self.pool_size)
        return Units(self.columns, self.pool_size * self.inputs, self.pool_size)

    @property
    def size(self) -> int:
        """Units of a block of Hadamard projections: the next power of two of the number of inputs."""
        return padded_size(self.inputs)

    @property
    def is_plain(self) -> bool:
        """Whether every unit has projections of its own, drawn one by one."""
        return not self.structured and self.shared_projections is None

    def first_column(self, unit: int) -> int:
        if self.shared_projections is not None:
            return unit * self.columns
        return min(unit * self.size, self.columns) if self.structured else unit

    def local_linear(self, X: Rows, coefficients: Array) -> Array:
        """Compute the slopes around each row: sum_l c_l (w_winner - mu_q x/|x|) / sqrt(m), since |x| = <x/|x|, x>.

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
        if self.is_integer or not self.is_plain:
            raise ValueError("local coefficients need float features, structured=False and shared_projections=None.")
        X, where = cast(self.rows(X), "float64"), namespace(coefficients).where
        out = constant(0.0, (X.shape[0], self.inputs, coefficients.shape[1]), X)
        for (start, stop), rows in self.work(X, 0, self.columns):
            (directions,) = self.weights_beside(X, start, stop)
            winners = ops.dense_winners(X[rows], directions, self.pool_size)
            c = coefficients[start:stop]
            for j in range(self.pool_size):
                for k in range(c.shape[1]):
                    out[rows, :, k] += where(winners == j, c[:, k], 0.0) @ directions[j :: self.pool_size]
        if self.center:
            dense = to_dense(X)
            norms = row_norms(dense)
            unit = dense / where(norms > 0, norms, 1.0)[:, None]
            out -= maximum_mean(self.pool_size) * unit[:, :, None] * coefficients.sum(axis=0)
        return out / np.sqrt(self.columns)

    def draw(self, start: int, stop: int) -> Drawn:
        d, q = self.inputs, self.pool_size
        if self.structured:
            return self._draw_structured(start, stop)
        stream = Stream(self.seed, "projections")
        normal = stream.normal_int8 if self.is_integer else stream.normal
        if self.shared_projections is not None:
            return normal(0, self.shared_projections, d), self._choices(self.shared_projections)
        return (normal(start * q, stop * q, d),)

    def draw_beside(self, X: Array, start: int, stop: int) -> Weights | None:
        if not self.is_integer or self.filters is not None or self.structured:
            return None
        key, q = Stream(self.seed, "projections").key, self.pool_size
        if self.shared_projections is None:
            return (ops.normal_int8(X, key, start * q, stop * q, self.inputs),)
        pool = self.shared_projections
        return ops.normal_int8(X, key, 0, pool, self.inputs), like(self._choices(pool), X)

    def apply(self, X: Rows, weights: Weights) -> Array:
        centre, scale = self._float_centre(X)
        if self.is_plain:
            return ops.dense_maxout(X, weights[0], self.pool_size, centre, scale)
        if self.structured:
            *expansion, calibration, kept = weights
            h = self._pool_blocks(ops.fastfood(to_dense(X), *expansion, calibration))[:, : int(kept)]
        else:
            h = ops.largest_chosen(X @ weights[0].T, weights[1])
        return (h - centre[:, None]) * scale

    def apply_into(self, out: Array, X: Rows, weights: Weights) -> None:
        if self.is_integer or not self.is_plain:
            super().apply_into(out, X, weights)
        else:
            ops.dense_maxout(X, weights[0], self.pool_size, *self._float_centre(X), out)

    def _float_centre(self, X: Rows) -> tuple[Array, Any]:
        """mu_q |x| of each row, or zeros if the maxima are not centred; and the scale 1/sqrt(m)."""
        mean = maximum_mean(self.pool_size) if self.center else 0.0
        return cast(mean * row_norms(X), dtype_name(X)), scalar(1.0 / np.sqrt(self.columns), X)

    def is_fused(self, X: Array) -> bool:
        if not self.is_plain:
            return False
        return ops.has_fast("project_maxout", X) if self.is_integer else ops.projects_dense(X)

    def apply_integer(self, X: Rows, weights: Weights) -> Array:
        centre, scale = self._integer_centre(X), (self.multiplier, self.rescale_shift, self.limit)
        if self.is_plain:
            return ops.project_maxout(X, weights[0], self.pool_size, centre, *scale)
        if self.structured:
            *expansion, multipliers, kept = weights
            raw = ops.fastfood_integer(X, *expansion, self.shift)
            h = self._pool_blocks(ops.calibrate(raw, multipliers.ravel(), CALIBRATION_SHIFT))[:, : int(kept)]
        else:  # to rescale keeps the order: done first, it is done once for each projection
            return ops.largest_chosen(ops.project_maxout(X, weights[0], 1, centre, *scale), weights[1])
        return ops.rescale(h - centre[:, None], *scale)

    @property
    def pools_at_once(self) -> bool:
        return self.is_integer and self.is_plain

    def apply_pooled(self, X: Rows, weights: Weights, cells: Array, grid: int, largest: bool) -> Array:
        if not self.pools_at_once:
            return super().apply_pooled(X, weights, cells, grid, largest)
        scale = (self.multiplier, self.rescale_shift, self.limit)
        return ops.pooled_maxout(X, weights[0], self.pool_size, self._integer_centre(X), *scale, cells, grid, largest)

    def _integer_centre(self, X: Array) -> Array:
        """mu_q |x| of each row in units of projections, or zeros if the maxima are not centred."""
        if not self.center or self.pool_size == 1:
            return constant(0, (len(X),), X, "int32")
        # The squares are whole and few enough for floats to be exact, and root and product are correctly rounded: so
        # the centre is the same integer everywhere.
        xp = namespace(X)
        return cast(xp.round(xp.sqrt(squared_lengths(X)) * self.integer_mean), "int32")

    @property
    def integer_mean(self) -> float:
        """mu_q in units of int8 normals; so many digits that its own last bits, which come from libm, do not matter."""
        return int8_normal_deviation() * (round_digits(maximum_mean(self.pool_size), 12) if self.pool_size > 1 else 0.0)

    def _pool_blocks(self, projections: Array) -> Array:
        """The maximum over the q expansions of each group of blocks."""
        blocks = projections.reshape(len(projections), -1, self.pool_size, self.size)
        return namespace(blocks).amax(blocks, axis=2).reshape(len(projections), -1)

    def _choices(self, pool: int) -> np.ndarray:
        """q different members of the pool for each unit, by Floyd's algorithm."""
        chosen = np.empty((self.columns, self.pool_size), dtype=np.int64)
        words = Stream(self.seed, "choices").bits(0, self.columns, self.pool_size).astype(np.uint64)
        for j in range(self.pool_size):
            last = pool - self.pool_size + j
            candidate = ((words[:, j] * np.uint64(last + 1)) >> np.uint64(32)).astype(np.int64)
            taken = (chosen[:, :j] == candidate[:, None]).any(axis=1)
            chosen[:, j] = np.where(taken, last, candidate)
        return chosen

    def _draw_structured(self, start: int, stop: int) -> Drawn:
        """Group g of units has the expansions g q .. g q + q - 1: projection j of its units is a row of the j-th."""
        q, size = self.pool_size, self.size
        expansion = draw_expansions(self.seed, start * q, stop * q, size, self.is_integer)
        radii = Stream(self.seed, "radii").chi(size, start * q * size, stop * q * size).reshape(-1, size)
        calibration = radii * expansion.inverse_length()
        kept = np.array(self.first_column(stop) - self.first_column(start))
        if self.is_integer:  # in units of int8 normals, as the unstructured projections are
            calibration *= int8_normal_deviation() * 2.0 ** (self.shift + CALIBRATION_SHIFT)
            return (*expansion, np.rint(calibration).astype(np.int64), kept)
        return (*expansion, calibration, kept)

    def require_sound(self) -> None:
        super().require_sound()
        if self.shared_projections is not None and (self.structured or self.shared_projections < self.pool_size):
            raise ValueError("a shared pool is unstructured, and no smaller than the pools taken from it")

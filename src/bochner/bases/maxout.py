"""Random maxout: h(x) = max_j <w_j, x> over a pool of q normal vectors, over sqrt(m); centred by its mean mu_q |x|.

Drawn: q projections per unit (or a choice of q from a shared pool). Kernel: |x||z| (mu_q^2 + integral_0^rho kappa_q),
without mu_q^2 if centred. The constant mu_q^2 swamps the Gram matrix and wastes the penalty, hence the default.
"""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
import scipy.sparse

from .. import ops
from ..kernels import Kernel, Maxout, maximum_mean, maximum_moment
from ..streams import Stream, int8_normal_deviation
from ..validation import require_integer
from .base import Basis, Bounds
from .hadamard import Expansion, draw_expansions, integer_shift, padded_size
from .quantize import projection_scale, round_digits
from .settle import row_norms

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
        if self._is_integer:
            reach = REACH + (0.0 if self.center else maximum_mean(self._q))
            settled = projection_scale(row_norms(self._prepare(rows)), reach, self._limit)
            self.multiplier_, self.rescale_shift_, unit = settled
            self.scale_ = self.quantizer_.step * unit / float(np.sqrt(self._m))
            if self.structured:
                largest_code = max(-self.quantizer_.low, self.quantizer_.high)
                self.shift_ = integer_shift(largest_code, self.n_features_in_, padded_size(self.n_features_in_))

    def _exact_kernel(self) -> Kernel:
        return Maxout(self._q, self.center)

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

    # A unit of work is one maxout unit; for a shared pool, all of them; for a structured basis, as many as a block has.

    def _units(self) -> tuple[int, int, int]:
        if self.shared_projections is not None:
            drawn = self.shared_projections * self.n_features_in_ + self._m * self._q
            return 1, drawn, self.shared_projections + 2 * self._m
        if self.structured:
            size = padded_size(self.n_features_in_)
            return -(-self._m // size), 5 * size * self._q, size * self._q
        return self._m, self._q * self.n_features_in_, self._q

    def _columns(self, unit: int) -> int:
        if self.shared_projections is not None:
            return unit * self._m
        return min(unit * padded_size(self.n_features_in_), self._m) if self.structured else unit

    def local_linear(self, X: Any, coefficients: np.ndarray) -> np.ndarray:
        """sum_l c_l (w_winner - mu_q x/|x|) / sqrt(m): features times c are <this, x>, since |x| = <x/|x|, x>."""
        if self._is_integer or not self._is_plain:
            raise ValueError("local coefficients need float, unstructured and unshared projections.")
        X = self._validate(X, reset=False)
        out = np.zeros((X.shape[0], self.n_features_in_, coefficients.shape[1]))
        for (start, stop), rows in self._tiles(X.shape[0], 0, self._m):
            (directions,) = self._weights(start, stop, np.float64)
            winners = ops.dense_winners(X[rows], directions, self._q)
            c = coefficients[start:stop]
            for j, pool in enumerate(directions.reshape(stop - start, self._q, -1).transpose(1, 0, 2)):
                for k in range(c.shape[1]):
                    out[rows, :, k] += np.where(winners == j, c[:, k], 0.0) @ pool
        if self.center:
            dense = X.toarray() if scipy.sparse.issparse(X) else X
            norms = row_norms(dense)
            unit = dense / np.where(norms > 0, norms, 1.0)[:, None]
            out -= maximum_mean(self._q) * unit[:, :, None] * coefficients.sum(axis=0)
        return out / np.sqrt(self._m)

    def _draw(self, start: int, stop: int) -> tuple[np.ndarray, ...]:
        d, q = self.n_features_in_, self._q
        if self.structured:
            return self._draw_structured(start, stop)
        stream = Stream(self.seed_, "projections")
        normal = stream.normal_int8 if self._is_integer else stream.normal
        if self.shared_projections is not None:
            return normal(0, self.shared_projections, d), self._choices(self.shared_projections)
        return (normal(start * q, stop * q, d),)

    def _map(self, X: Any, weights: tuple[np.ndarray, ...]) -> np.ndarray:
        centre, scale = self._float_centre(X)
        if self._is_plain:
            return ops.dense_maxout(X, weights[0], self._q, centre, scale)
        if self.structured:
            X = X.toarray() if scipy.sparse.issparse(X) else X
            *expansion, calibration, kept = weights
            h = self._pool_blocks(ops.fastfood(X, *expansion, calibration))[:, : int(kept)]
        else:
            h = self._pool(np.asarray(X @ weights[0].T), weights[1])
        return (h - centre[:, None]) * scale

    def _map_into(self, out: np.ndarray, feature_map: Any, X: Any, weights: tuple[np.ndarray, ...]) -> None:
        if self._is_integer or not self._is_plain:
            super()._map_into(out, feature_map, X, weights)
        else:
            ops.dense_maxout(X, weights[0], self._q, *self._float_centre(X), out)

    def _float_centre(self, X: Any) -> tuple[np.ndarray, Any]:
        """mu_q |x| of each row, or zeros if the maxima are not centred; and the scale 1/sqrt(m)."""
        mean = maximum_mean(self._q) if self.center else 0.0
        return (mean * row_norms(X)).astype(X.dtype), X.dtype.type(1.0 / np.sqrt(self._m))

    @property
    def _is_plain(self) -> bool:
        return not self.structured and self.shared_projections is None

    def _is_fused(self, dtype: np.dtype) -> bool:
        if not self._is_plain:
            return False
        return ops.has_fast("project_maxout") if self._is_integer else ops.projects_dense(dtype)

    def _map_integer(self, X: Any, weights: tuple[np.ndarray, ...]) -> np.ndarray:
        centre, scale = self._integer_centre(X), (self.multiplier_, self.rescale_shift_, self._limit)
        if self._is_plain:
            return ops.project_maxout(X, weights[0], self._q, centre, *scale)
        if self.structured:
            *expansion, multipliers, kept = weights
            raw = ops.fastfood_integer(X, *Expansion(*expansion), self.shift_)
            h = self._pool_blocks(ops.calibrate(raw, multipliers.ravel(), CALIBRATION_SHIFT))[:, : int(kept)]
        else:
            h = self._pool(ops.project(X, weights[0]), weights[1])
        return ops.rescale(h - centre[:, None], *scale)

    def _integer_centre(self, X: np.ndarray) -> np.ndarray:
        """mu_q |x| of each row in units of projections, or zeros if the maxima are not centred."""
        if not self.center or self._q == 1:
            return np.zeros(len(X), dtype=np.int32)
        # The square root and product are correctly rounded, so the centre is the same integer everywhere.
        norms = np.sqrt(np.einsum("nd,nd->n", X, X, dtype=np.int64).astype(np.float64))
        # So many digits of mu_q that its own last bits, which come from libm, do not matter.
        return np.rint(norms * (int8_normal_deviation() * round_digits(maximum_mean(self._q), 12))).astype(np.int32)

    def _pool(self, projections: np.ndarray, choices: np.ndarray) -> np.ndarray:
        """The maximum over the members of the shared pool that each unit chose."""
        best = projections[:, choices[:, 0]]
        for j in range(1, self._q):
            np.maximum(best, projections[:, choices[:, j]], out=best)
        return best

    def _pool_blocks(self, projections: np.ndarray) -> np.ndarray:
        """The maximum over the q expansions of each group of blocks."""
        size = padded_size(self.n_features_in_)
        blocks = projections.reshape(len(projections), -1, self._q, size)
        return blocks.max(axis=2).reshape(len(projections), -1)

    def _choices(self, pool: int) -> np.ndarray:
        """q different members of the pool for each unit, by Floyd's algorithm."""
        chosen = np.empty((self._m, self._q), dtype=np.int64)
        words = Stream(self.seed_, "choices").bits(0, self._m, self._q).astype(np.uint64)
        for j in range(self._q):
            last = pool - self._q + j
            candidate = ((words[:, j] * np.uint64(last + 1)) >> np.uint64(32)).astype(np.int64)
            taken = (chosen[:, :j] == candidate[:, None]).any(axis=1)
            chosen[:, j] = np.where(taken, last, candidate)
        return chosen

    def _draw_structured(self, start: int, stop: int) -> tuple[np.ndarray, ...]:
        """Group g of units has the expansions g q .. g q + q - 1: projection j of its units is a row of the j-th."""
        q, size = self._q, padded_size(self.n_features_in_)
        expansion = draw_expansions(self.seed_, start * q, stop * q, size, self._is_integer)
        radii = Stream(self.seed_, "radii").chi(size, start * q * size, stop * q * size).reshape(-1, size)
        calibration = radii * expansion.inverse_length()
        kept = np.array(self._columns(stop) - self._columns(start))
        if self._is_integer:  # in units of int8 normals, as the unstructured projections are
            calibration *= int8_normal_deviation() * 2.0 ** (self.shift_ + CALIBRATION_SHIFT)
            return (*expansion, np.rint(calibration).astype(np.int64), kept)
        return (*expansion, calibration, kept)


CALIBRATION_SHIFT = 24  # fractional bits of the calibration of integer Hadamard projections

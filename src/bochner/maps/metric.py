"""A map after a metric: the features of x R, with R a matrix, or a diagonal given as a vector.

With M = R R' its kernel is k(R'x, R'z): distances are (x - z)' M (x - z). A diagonal metric is the scales of the
columns: each number of x R is then one product, rounded in one way everywhere.

A product with a matrix is a sum, which floats add up differently on different machines. So for integer maps it is one
of integers: x in 8-bit codes times R in 14 bits, added up in 32 bits, and one shift,

    S = codes(x) T + offset,   T = round(R (step of x / step of z) 2^shift),   code of z = (S + 2^(shift-1)) >> shift,

where the step of z is that of the map's own 8-bit codes. A map without such codes (comparisons, several maps in one)
takes S 2^-shift (step of x) as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import fsum
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse

from .. import ops
from ..arrays import Array, Rows, cast, dtype_name, is_csr, like
from ..fields import numbers, require_sound
from .base import FeatureMap, read_only
from .cache import WEIGHTS
from .quantize import Quantizer, choose_quantizer
from .rows import in_precision, to_dense
from .units import Drawn, UnitMap

LARGEST_CODE = 8191  # of an entry of the matrix: 14 bits
MOST_BITS = 30  # of the shift
LARGEST_OFFSET = 2.0**52  # which float64 and ONNX's doubles hold exactly, sums added
DIGIT = 128  # an entry is DIGIT high + low, both of 8 bits


class IntegerMatrix(NamedTuple):
    """The matrix in integers of so many fractional bits, and what is added to every product."""

    entries: np.ndarray
    offset: np.ndarray
    shift: int


@dataclass(frozen=True, eq=False)
class Metric(FeatureMap):
    """A map after a linear change of x: the features of x R, whose kernel is k(R'x, R'z).

    Parameters
    ----------
    map : FeatureMap
        The map, of as many inputs as x R has columns.
    matrix : ndarray of shape (n_features, n_inputs) or (n_features,)
        The matrix R, or its diagonal.
    quantizer : Quantizer, default=None
        The 8-bit codes of x that a full matrix of an integer map works on; `Metric.of` chooses them.

    Attributes
    ----------
    columns : int
        Number of features of a row.
    inputs : int
        Number of columns of a row x.
    precision : str or None
        Number type of the features.
    scale : float or ndarray of shape (columns,)
        Factor after which features have `<phi(x), phi(z)> ~ k(R'x, R'z)`.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import RandomFourier
    >>> from bochner.maps import Metric
    >>> X, R = np.eye(2), np.array([[1.0, 2.0], [0.0, 3.0]])
    >>> inner = RandomFourier(6, random_state=0).fit(X @ R).map_
    >>> bool((Metric(inner, R)(X) == inner(X @ R)).all())
    True
    """

    map: FeatureMap
    matrix: np.ndarray
    quantizer: Quantizer | None = None

    columns: int = field(init=False)
    inputs: int = field(init=False)
    precision: str | None = field(init=False)
    scale: float | np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        matrix = read_only(self.matrix)
        if matrix.ndim not in (1, 2) or matrix.shape[-1] != self.map.inputs or not np.isfinite(matrix).all():
            raise ValueError(
                f"matrix must be finite, with {self.map.inputs} columns, or a diagonal of that length; "
                f"its shape is {matrix.shape}."
            )
        derived = {"columns": self.map.columns, "inputs": len(matrix), "scale": self.map.scale}
        for name, value in {**derived, "precision": self.map.precision, "matrix": matrix}.items():
            object.__setattr__(self, name, value)
        if self.is_exact and self.quantizer is None:
            raise ValueError("a full metric of an integer map works on 8-bit codes of x: Metric.of(map, R, rows).")
        if self.quantizer is not None and not self.is_exact:
            raise ValueError("only a full metric of an integer map works on 8-bit codes of x.")
        if self.quantizer is not None and self.quantizer.center.shape not in ((1,), (self.inputs,)):
            raise ValueError("the quantizer has another number of columns.")
        if self.is_exact:
            self._integers()  # which refuses what integers cannot hold

    @classmethod
    def of(cls, feature_map: FeatureMap, matrix: np.ndarray, rows: Rows) -> Metric:
        """Make the map after a metric, with 8-bit codes of x where such are needed.

        Parameters
        ----------
        feature_map : FeatureMap
            The map, of as many inputs as x R has columns.
        matrix : array-like of shape (n_features, n_inputs) or (n_features,)
            The matrix R, or its diagonal.
        rows : ndarray or sparse matrix of shape (n_samples, n_features)
            Rows like those to come, to choose the codes by.

        Returns
        -------
        Metric
            The map.
        """
        full = np.ndim(matrix) == 2 and feature_map.is_integer
        return cls(feature_map, matrix, choose_quantizer(rows, not is_csr(rows)) if full else None)

    @property
    def name(self) -> str:  # type: ignore[override]
        """Name of the map in messages."""
        return self.map.name

    @property
    def is_exact(self) -> bool:
        """Whether x R is computed in integers."""
        return self.is_integer and self.matrix.ndim == 2

    # ---- x R ----

    def moved(self, X: Rows) -> Rows:
        """Compute x R, as the map takes it.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray or CSR matrix of shape (n_samples, n_inputs)
            The rows x R.
        """
        if self.is_exact:
            return self._moved_integers(to_dense(X))
        dtype = self._float_type(X)
        X, matrix = cast(X, dtype), like(self.matrix.astype(dtype), X)
        if self.matrix.ndim == 2:
            return X @ matrix
        return scipy.sparse.csr_matrix(X.multiply(matrix)) if is_csr(X) else X * matrix

    @staticmethod
    def _float_type(X: Array) -> str:
        return "float32" if dtype_name(X) == "float32" else "float64"

    def _moved_integers(self, X: Array) -> Array:
        assert self.quantizer is not None
        whole, codes = self.integers, self.quantizer(X)
        high = np.rint(whole.entries / DIGIT).astype(np.int8)
        low = (whole.entries - DIGIT * high.astype(np.int32)).astype(np.int8)
        sums = DIGIT * cast(ops.project(codes, high.T.copy()), "int64") + ops.project(codes, low.T.copy())
        sums += like(whole.offset, X)
        if self.target is None:
            return sums * (float(self.quantizer.step) * 2.0**-whole.shift)
        rounded = (sums + ((1 << whole.shift) >> 1)) >> whole.shift
        # The map's own rounding gives these very codes back.
        return rounded.clip(self.target.low, self.target.high) * float(self.target.step) + like(self.target.center, X)

    @property
    def target(self) -> Quantizer | None:
        """The codes of x R that the map works on, if it has one kind of them."""
        return self.map.quantizer if isinstance(self.map, UnitMap) else None

    @property
    def integers(self) -> IntegerMatrix:
        """R in integers, with its shift and offset: that of the centre of x, less the centre of the map's codes."""
        entries, offset, shift = WEIGHTS.get((self.identity(), "integers"), self._integers)
        return IntegerMatrix(entries, offset, int(shift))

    def _integers(self) -> Drawn:
        assert self.quantizer is not None
        unit = self.quantizer.step if self.target is None else self.target.step
        ratio = self.matrix * (self.quantizer.step / unit)
        shift = next((bits for bits in range(MOST_BITS, -1, -1) if self._fits(np.rint(ratio * 2.0**bits))), None)
        if shift is None:
            raise ValueError(
                f"the metric is too large for integers: it makes over {LARGEST_CODE} steps of one step of x."
            )
        center = np.broadcast_to(self.quantizer.center, self.inputs)
        origin = np.zeros(1) if self.target is None else self.target.center
        # fsum rounds once, so the offset does not hang on the order of a sum.
        middle = np.array([fsum(center * column) for column in self.matrix.T]) - origin
        offset = np.rint(middle / unit * 2.0**shift)
        if not np.abs(offset).max(initial=0.0) < LARGEST_OFFSET:
            raise ValueError("the rows lie too far from the origin for a metric in integers: shift them first.")
        return np.rint(ratio * 2.0**shift).astype(np.int32), offset.astype(np.int64), np.array(shift)

    def _fits(self, entries: np.ndarray) -> bool:
        """Whether entries have 14 bits, and sums of products with codes 32."""
        assert self.quantizer is not None
        code = max(-self.quantizer.low, self.quantizer.high)
        sizes = np.abs(entries)
        return bool(sizes.max(initial=0.0) <= LARGEST_CODE and code * sizes.sum(axis=0).max(initial=0.0) < 2.0**31)

    # ---- features ----

    def rows(self, X: Rows, finite: bool = True) -> Rows:
        return in_precision(self.checked(X, bytes_stay=True), None)  # it is x R that the map rounds to its precision

    def evaluate(self, X: Rows) -> Rows:
        return self.map(self.moved(X))

    def tile_count(self, columns: int) -> int:
        return self.map.tile_count(columns)

    def tiles(self, X: Rows, columns: int, first: int = 0) -> Iterator[tuple[slice, Any]]:
        return self.map.tiles(self.moved(self.rows(X)), columns, first)

    @property
    def rounds_input(self) -> bool:
        return self.is_exact or self.map.rounds_input

    @property
    def has_prefixes(self) -> bool:
        return self.map.has_prefixes

    @property
    def entries(self) -> int:
        return self.map.entries

    def output_dtype(self, X: Rows) -> np.dtype:
        if self.is_integer:
            return self.map.output_dtype(None)
        return np.dtype(self.precision or self._float_type(X))

    def truncated(self, columns: int) -> Metric:
        return replace(self, map=self.map.truncated(columns))

    def enlarged(self, columns: int) -> Metric:
        return replace(self, map=self.map.enlarged(columns))

    def prefix_scale(self, widest: Self) -> float | np.ndarray:
        return self.map.prefix_scale(widest.map)

    def exact_gram(self, X: Rows, Z: Rows = None) -> Array:
        moved = (None if rows is None else self._moved_exactly(self.rows(rows)) for rows in (X, Z))
        return self.map.exact_gram(*moved)

    def _moved_exactly(self, X: Rows) -> Array:
        """x R in float64, without the rounding of integer maps."""
        dense = cast(to_dense(X), "float64")
        matrix = like(self.matrix, dense)
        return dense @ matrix if matrix.ndim == 2 else dense * matrix

    def local_linear(self, X: Rows, coefficients: Array) -> Array:
        """Compute the slopes around each row: R times those of the map at x R.

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
        local = self.map.local_linear(self.moved(self.rows(X)), coefficients)
        matrix = like(self.matrix, local)
        return matrix[:, None] * local if matrix.ndim == 1 else matrix @ local

    def require_sound(self) -> None:
        super().require_sound()
        require_sound({"matrix": self.matrix}, {"matrix": numbers(*(None,) * self.matrix.ndim)})

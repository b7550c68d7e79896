"""Fourier features of given frequencies: those that a model learned, or that a user knows to be in the data.

Drawn: nothing. Kernel: the mean of cos<w_j, x - z> over the frequencies themselves, so with pairs it is met exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import ops
from ..kernels import Kernel
from ..validation import require_finite
from .base import Basis, Bounds
from .frequencies import TABLE_BITS, TURN, turns_to_words
from .settle import largest_factor


@dataclass(frozen=True, eq=False)
class MeanCosine(Kernel):
    """The mean of cos<w_j, x - z>, each w_j counted as often as it has columns."""

    frequencies: np.ndarray
    shares: np.ndarray

    def _evaluate(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        left, right = X @ self.frequencies.T, Z @ self.frequencies.T
        return (np.cos(left) * self.shares) @ np.cos(right).T + (np.sin(left) * self.shares) @ np.sin(right).T


class FixedFourier(Basis):
    """Fourier features of given frequencies.

    Parameters
    ----------
    frequencies : array (p, d), one a row.
    phases : angles b of the last frequencies, each of which has one column cos(<w, x> + b); the others have
        interleaved pairs cos<w, x>, sin<w, x>. None is no such frequency.
    precision : as in RandomFourier.
    random_state : of no effect, since nothing is drawn; models set it in every basis.

    Attributes
    ----------
    n_components : the number of columns, 2 p less one for each phase.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import FixedFourier
    >>> FixedFourier([[np.pi, 0.0]]).fit_transform([[1.0, 5.0]]).round(4)
    array([[-1.,  0.]])
    """

    shift_invariant = True

    has_units = True  # frequencies are

    def __init__(
        self, frequencies: Any, *, phases: Any = None, precision: str | None = None, random_state: Any = None
    ) -> None:
        self.frequencies = frequencies
        self.phases = phases
        self.precision = precision
        self.random_state = random_state

    @property
    def n_components(self) -> int:  # type: ignore[override]
        table, angles = self._given()
        return 2 * len(table) - len(angles)

    def _given(self) -> tuple[np.ndarray, np.ndarray]:
        """The frequencies and phases as arrays of finite numbers."""
        table = np.asarray(self.frequencies, dtype=np.float64)
        angles = np.zeros(0) if self.phases is None else np.asarray(self.phases, dtype=np.float64)
        if table.ndim != 2 or not table.size:
            raise ValueError(f"frequencies must be a matrix, one a row; got an array of shape {table.shape}.")
        if angles.ndim != 1 or len(angles) > len(table):
            raise ValueError(
                f"phases must be a list of at most one angle for each of {len(table)} frequencies; its shape is "
                f"{angles.shape}."
            )
        require_finite(table, "frequencies")
        require_finite(angles, "phases")
        return table, angles

    def _settle(self, rows: Any, largest: float) -> None:
        columns = self._given()[0].shape[1]
        if self.n_features_in_ != columns:
            raise ValueError(f"X has {self.n_features_in_} columns, but the given frequencies have {columns}.")
        self.seed_ = 0  # nothing is drawn: bases of equal frequencies are equal
        self.scale_ = float(np.sqrt(2.0 / self._m)) / self._limit if self._is_integer else 1.0

    def _exact_kernel(self) -> Kernel:
        table, angles = self._given()
        counts = np.full(len(table), 2.0)
        counts[len(table) - len(angles) :] = 1.0
        return MeanCosine(table, counts / self._m)

    @property
    def bounds(self) -> Bounds:
        raise ValueError("no bound holds for given frequencies: they are no sample of a law.")

    def truncated(self, n_components: int) -> Basis:
        if n_components == self._m:
            return self
        raise ValueError("given frequencies are taken as they are: make a FixedFourier of those you want.")

    enlarged = truncated

    def _require_settled(self, example: Any) -> None:
        largest = largest_factor(self.precision)
        if max(np.abs(table).max(initial=0.0) for table in self._given()) > largest:
            raise ValueError(f"frequencies beyond {largest:g} have no waves")

    def _example_columns(self, columns: int) -> int:
        if columns != self._given()[0].shape[1]:
            raise ValueError("the basis and its frequencies have different columns")
        return columns

    def _units(self) -> tuple[int, int, int]:
        return len(self._given()[0]), self.n_features_in_, 2

    def _columns(self, unit: int) -> int:
        table, angles = self._given()
        return 2 * unit - max(0, unit - (len(table) - len(angles)))

    def _draw(self, start: int, stop: int) -> tuple[np.ndarray, ...]:
        table, angles = self._given()
        first = len(table) - len(angles)
        words = turns_to_words(angles[max(0, start - first) : max(0, stop - first)] / TURN)
        if not self._is_integer:
            return table[start:stop].copy(), words
        return turns_to_words(table[start:stop] * (self.quantizer_.step / TURN)), words

    def _map(self, X: Any, weights: tuple[np.ndarray, ...]) -> np.ndarray:
        table, words = weights
        phases = (words * (TURN * 2.0**-32)).astype(X.dtype)
        return ops.dense_cos_sin(X, table, phases, X.dtype.type(np.sqrt(2.0 / self._m)))

    def _map_integer(self, X: Any, weights: tuple[np.ndarray, ...]) -> np.ndarray:
        table, words = weights
        cosines = ops.cosine_table(TABLE_BITS[str(self.precision)], self._limit)
        return ops.cos_sin_integer(ops.project_phase(X, table), words, cosines)

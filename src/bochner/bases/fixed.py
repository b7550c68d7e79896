"""Fourier features of given frequencies: those that a model learned, or that a user knows to be in the data."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..maps.fixed import FixedFourierMap
from ..validation import require_finite
from .base import Basis, Bounds
from .stored import largest_factor


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

    kind = FixedFourierMap
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
        self.scale_ = float(np.sqrt(2.0 / self._m)) / self._limit if self.is_integer else 1.0

    def _own_fields(self) -> dict[str, Any]:
        frequencies, phases = self._given()
        return {"frequencies": frequencies, "phases": phases}

    @property
    def bounds(self) -> Bounds:
        raise ValueError("no bound holds for given frequencies: they are no sample of a law.")

    def _require_settled(self, example: Any) -> None:
        largest = largest_factor(self.precision)
        if max(np.abs(table).max(initial=0.0) for table in self._given()) > largest:
            raise ValueError(f"frequencies beyond {largest:g} have no waves")

    def _example_columns(self, columns: int) -> int:
        if columns != self._given()[0].shape[1]:
            raise ValueError("the basis and its frequencies have different columns")
        return columns

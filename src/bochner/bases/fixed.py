"""Fourier features of given frequencies: those that a model learned, or that a user knows to be in the data."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Rows
from ..maps.fixed import FixedFourierMap
from ..typing import ArrayLike, RandomStateLike
from ..validation import require_finite
from .base import Basis, Bounds
from .stored import largest_factor


class FixedFourier(Basis):
    """Fourier features of given frequencies.

    Use it for frequencies that a model learned, or that follow from what one knows of the data, such as periods of a
    day and a week. The kernel is the mean of cos(<w, x - z>) over the frequencies.

    Parameters
    ----------
    frequencies : array-like of shape (n_frequencies, n_features)
        The frequencies w, one a row.
    phases : array-like of shape (n_phases,), default=None
        Angles b of the last n_phases frequencies, each of which gives one column cos(<w, x> + b). All others give a
        pair of columns, cos<w, x> and sin<w, x>. None is no phases.
    precision : {'float32', 'float64', 'int8', 'int14'}, default=None
        Number type of the features. None keeps that of X. 'int8' and 'int14' compute in integers alone: the same bits
        on every machine, and faster. Such features are to be multiplied by `scale_`.
    random_state : int, RandomState instance, Generator or None, default=None
        Ignored, since nothing is drawn; it is here because models set it in every basis.

    Attributes
    ----------
    n_components : int
        Number of columns: two for each frequency, less one for each phase.
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
    quantizer_ : Quantizer
        How X is rounded to 8 bits; only for integer precisions.
    clipped_fraction_ : float
        Share of the sampled numbers that rounding clips; only for integer precisions.

    See Also
    --------
    RandomFourier : Fourier features of frequencies drawn from the law of a kernel.
    LearnedFourierRegressor : Learns frequencies; its `to_basis` returns them as a basis.

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
        self,
        frequencies: ArrayLike,
        *,
        phases: ArrayLike | None = None,
        precision: str | None = None,
        random_state: RandomStateLike = None,
    ) -> None:
        self.frequencies = frequencies
        self.phases = phases
        self.precision = precision
        self.random_state = random_state

    @property
    def n_components(self) -> int:  # type: ignore[override]
        """Number of columns: two for each frequency, less one for each phase."""
        table, angles = self._given()
        return 2 * len(table) - len(angles)

    def _given(self) -> tuple[np.ndarray, np.ndarray]:
        """The frequencies and phases as arrays of finite numbers."""
        table = np.asarray(self.frequencies, dtype=np.float64)
        angles = np.zeros(0) if self.phases is None else np.asarray(self.phases, dtype=np.float64)
        if table.ndim != 2 or not table.size:
            raise ValueError(f"frequencies must be a matrix, one frequency a row; got an array of shape {table.shape}.")
        if angles.ndim != 1 or len(angles) > len(table):
            raise ValueError(
                f"phases must be a list of at most one angle for each of {len(table)} frequencies; its shape is "
                f"{angles.shape}."
            )
        require_finite(table, "frequencies")
        require_finite(angles, "phases")
        return table, angles

    def _settle(self, rows: Rows, largest: float) -> None:
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
        raise ValueError("there is no bound for given frequencies: they are not drawn from a distribution.")

    def _require_settled(self, example: Basis) -> None:
        largest = largest_factor(self.precision)
        if max(np.abs(table).max(initial=0.0) for table in self._given()) > largest:
            raise ValueError(f"frequencies must be at most {largest:g} in size")

    def _example_columns(self, columns: int) -> int:
        if columns != self._given()[0].shape[1]:
            raise ValueError("the basis and its frequencies have different columns")
        return columns

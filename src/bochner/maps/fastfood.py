"""Fastfood: Fourier features whose frequencies are products of Hadamard and diagonal matrices, in O(m log d) time.

Drawn: per expansion of n = next power of two of d frequencies, signs B, a permutation Pi, normals G, and lengths s_i
(the calibration C) from the kernel's radial law. Nothing is stored: all is drawn again from the stream.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .. import ops
from ..arrays import Array, Rows, dtype_name
from ..fields import either, nothing, numbers, whole
from ..kernels import Radial
from .base import read_only
from .frequencies import TURN, FrequencyMap, turns_to_words
from .hadamard import draw_expansions, padded_size
from .units import Drawn, Units, Weights


@dataclass(frozen=True, eq=False, kw_only=True)
class FastfoodMap(FrequencyMap):
    """The map of Fastfood. `shift` is by how many bits integer projections are shifted on their way."""

    calibration: np.ndarray | None = None
    shift: int = 0

    name = "Fastfood"
    multiplies_sparse = False
    checks: ClassVar = {"calibration": either(nothing, numbers(None)), "shift": whole(0, 62)}

    def __post_init__(self) -> None:
        if self.calibration is not None:
            object.__setattr__(self, "calibration", read_only(self.calibration))
            self.require_calibration()

    @property
    def size(self) -> int:
        """Frequencies of an expansion: the next power of two of the number of inputs."""
        return padded_size(self.inputs)

    @property
    def units(self) -> Units:
        return Units(-(-self.columns // (2 * self.size)), 5 * self.size, 2 * self.size)

    def first_column(self, unit: int) -> int:
        return min(2 * unit * self.size, self.columns)

    def draw(self, start: int, stop: int) -> Drawn:
        size = self.size
        expansion = draw_expansions(self.seed, start, stop, size, self.is_integer)
        assert isinstance(self.kernel, Radial)
        radii = self.kernel.radii(self.seed, start * size, stop * size, size).reshape(-1, size)
        calibration = radii * expansion.inverse_length() / self.bandwidth * self.factors(start, stop)
        words = self.phase_words(start, stop)
        if self.is_integer:
            assert self.quantizer is not None
            calibration = turns_to_words(calibration * (2.0**self.shift * self.quantizer.step / TURN))
        return (*expansion, calibration, words, np.array(self._kept(start, stop)))

    def wave_vectors(self) -> np.ndarray:
        number = self.units.number
        expansion = draw_expansions(self.seed, 0, number, self.size, self.is_integer)
        assert isinstance(self.kernel, Radial)
        radii = self.kernel.radii(self.seed, 0, number * self.size, self.size).reshape(-1, self.size)
        calibration = radii * expansion.inverse_length() / self.bandwidth * self.factors(0, number)
        projected = ops.fastfood(np.eye(self.inputs), *expansion, calibration)  # of unit vectors: the transpose
        return projected.T[: self._kept(0, number)]

    def _kept(self, start: int, stop: int) -> int:
        """How many frequencies of expansions start..stop-1 have columns."""
        return -(-(self.first_column(stop) - self.first_column(start)) // 2)

    def phase_words(self, start: int, stop: int) -> np.ndarray:
        last = start * self.size + self._kept(start, stop)
        odd = self.first_column(stop) % 2  # the last column stands alone, a phased cosine
        return self.drawn_phases(last - odd, last)

    def factors(self, start: int, stop: int) -> np.ndarray | float:
        """The given factors of the lengths in expansions start..stop-1, one expansion a row."""
        if self.calibration is None:
            return 1.0
        whole = np.ones(self.units.number * self.size)
        given = self.calibration[: len(whole)]
        whole[: len(given)] = given
        return whole.reshape(-1, self.size)[start:stop]

    def require_calibration(self) -> None:
        """Refuse factors that are not one finite number for each frequency."""
        factors, frequencies = self.calibration, -(-self.columns // 2)
        if factors is not None and not (
            factors.ndim == 1 and len(factors) >= frequencies and np.isfinite(factors).all()
        ):
            raise ValueError(
                f"calibration must hold a finite number for each of {frequencies} frequencies; its shape is "
                f"{factors.shape}."
            )

    def apply(self, X: Rows, weights: Weights) -> Array:
        *expansion, calibration, words, kept = weights
        angles, height = self.as_angles(words, dtype_name(X)), self.height(dtype_name(X))
        return ops.fastfood_cos_sin(X, *expansion, calibration, int(kept), angles, height)

    def apply_integer(self, X: Rows, weights: Weights) -> Array:
        *expansion, multipliers, words, kept = weights
        table = self.cosine_table()
        return ops.fastfood_cos_sin_integer(X, *expansion, self.shift, multipliers.ravel(), int(kept), words, table)

    def require_sound(self) -> None:
        super().require_sound()
        if not isinstance(self.kernel, Radial):
            raise ValueError("Fastfood draws the frequencies of radial kernels only")

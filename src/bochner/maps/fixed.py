"""Fourier features of given frequencies: those that a model learned, or that a user knows to be in the data.

Drawn: nothing. Kernel: the mean of cos<w_j, x - z> over the frequencies themselves, so with pairs it is met exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from .. import ops
from ..arrays import Array, Rows, dtype_name, like, namespace
from ..fields import numbers
from ..kernels import Kernel
from .base import read_only
from .frequencies import TURN, WaveMap, turns_to_words
from .units import Drawn, Units, Weights


@dataclass(frozen=True, eq=False)
class MeanCosine(Kernel):
    """The mean of cos<w_j, x - z>, each w_j counted as often as it has columns."""

    frequencies: np.ndarray
    shares: np.ndarray
    takes_tensors: ClassVar[bool] = True

    def _evaluate(self, X: Array, Z: Array) -> Array:
        xp, directions, shares = namespace(X), like(self.frequencies, X).T, like(self.shares, X)
        left, right = X @ directions, Z @ directions
        return (xp.cos(left) * shares) @ xp.cos(right).T + (xp.sin(left) * shares) @ xp.sin(right).T


@dataclass(frozen=True, eq=False, kw_only=True)
class FixedFourierMap(WaveMap):
    """The map of FixedFourier: frequencies (p, d), of which the last have a phase and one column each."""

    frequencies: np.ndarray
    phases: np.ndarray

    name = "FixedFourier"
    checks: ClassVar = {"frequencies": numbers(None, None), "phases": numbers(None)}

    def __post_init__(self) -> None:
        for name in ("frequencies", "phases"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    @property
    def _pairs(self) -> int:
        return len(self.frequencies) - len(self.phases)

    @property
    def units(self) -> Units:
        return Units(len(self.frequencies), self.inputs, 2)

    def first_column(self, unit: int) -> int:
        return 2 * unit - max(0, unit - self._pairs)

    def exact_kernel(self) -> Kernel:
        counts = np.full(len(self.frequencies), 2.0)
        counts[self._pairs :] = 1.0
        return MeanCosine(self.frequencies, counts / self.columns)

    def truncated(self, columns: int) -> Self:
        if columns == self.columns:
            return self
        raise ValueError("given frequencies are taken as they are: make a FixedFourier of those you want.")

    enlarged = truncated

    def wave_vectors(self) -> np.ndarray:
        return self.frequencies

    def draw(self, start: int, stop: int) -> Drawn:
        words, table = self.phase_words(start, stop), self.frequencies[start:stop]
        if not self.is_integer:
            return table.copy(), words
        assert self.quantizer is not None
        return turns_to_words(table * (self.quantizer.step / TURN)), words

    def phase_words(self, start: int, stop: int) -> np.ndarray:
        return turns_to_words(self.phases[max(0, start - self._pairs) : max(0, stop - self._pairs)] / TURN)

    def apply(self, X: Rows, weights: Weights) -> Array:
        table, words = weights
        return ops.dense_cos_sin(X, table, self.as_angles(words, dtype_name(X)), self.height(dtype_name(X)))

    def apply_integer(self, X: Rows, weights: Weights) -> Array:
        table, words = weights
        return ops.cos_sin_integer(ops.project_phase(X, table), words, self.cosine_table())

    def require_sound(self) -> None:
        super().require_sound()
        if self.frequencies.shape[1] != self.inputs or self.columns != 2 * len(self.frequencies) - len(self.phases):
            raise ValueError("the frequencies are those of other columns")

"""Random Fourier features: cos<w, x>, sin<w, x> with frequencies w from the kernel's spectral law.

Drawn: one frequency per pair of columns. Kernel: any shift-invariant one (Bochner). Error: 1/sqrt(frequencies).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.stats import qmc

from .. import ops, portable
from ..arrays import Array, Rows, dtype_name
from ..fields import flag, text
from ..kernels import Coordinatewise, NormalMixture, Radial, ShiftInvariant
from ..streams import Stream, int8_normal_deviation, uniform_from_bits
from .frequencies import TURN, FrequencyMap, turns_to_words
from .hadamard import give_length
from .units import Drawn, Units, Weights

SOBOL_LIMIT = qmc.Sobol.MAXDIM
SAMPLINGS = ("iid", "orthogonal", "qmc")


@dataclass(frozen=True, eq=False, kw_only=True)
class FourierMap(FrequencyMap):
    """The map of RandomFourier."""

    pairs: bool = True
    sampling: str = "iid"

    name = "RandomFourier"
    checks: ClassVar = {"pairs": flag, "sampling": text(*SAMPLINGS)}

    @property
    def frequencies(self) -> int:
        """How many frequencies there are."""
        return -(-self.columns // 2) if self.pairs else self.columns

    @property
    def units(self) -> Units:
        return Units(self.frequencies, self.inputs, 2)

    def first_column(self, unit: int) -> int:
        return min(2 * unit, self.columns) if self.pairs else unit

    def is_prefix(self, columns: int) -> bool:
        return not self.pairs or super().is_prefix(columns)

    def draw(self, start: int, stop: int) -> Drawn:
        words = self.phase_words(start, stop)
        if self.is_integer:
            return (*self._integer_frequencies(start, stop), words)
        return self.directions(start, stop) / self.bandwidth, words

    def phase_words(self, start: int, stop: int) -> np.ndarray:
        alone = start
        if self.pairs:  # only the last frequency of an odd number of columns stands alone
            odd_and_last = stop == self.frequencies and self.columns % 2 == 1
            alone = stop - 1 if odd_and_last else stop
        return self.drawn_phases(alone, stop)

    def apply(self, X: Rows, weights: Weights) -> Array:
        directions, words = weights
        return ops.dense_cos_sin(X, directions, self.as_angles(words, dtype_name(X)), self.height(dtype_name(X)))

    def apply_into(self, out: Array, X: Rows, weights: Weights) -> None:
        if self.is_integer:
            super().apply_into(out, X, weights)
            return
        directions, words = weights
        ops.dense_cos_sin(X, directions, self.as_angles(words, dtype_name(X)), self.height(dtype_name(X)), out)

    def is_fused(self, X: Array) -> bool:
        if self.is_integer:
            return ops.has_fast("project_cos_sin", X) and not isinstance(self.kernel, Coordinatewise)
        return ops.projects_dense(X)

    def apply_integer(self, X: Rows, weights: Weights) -> Array:
        *directions, words = weights
        if len(directions) == 1:
            return ops.cos_sin_integer(ops.project_phase(X, directions[0]), words, self.cosine_table())
        return ops.project_cos_sin(X, *directions, words, self.cosine_table())

    def wave_vectors(self) -> np.ndarray:
        if not self.is_integer:
            return self.weights()[0]
        if isinstance(self.kernel, Coordinatewise):
            return self._coordinates(self.kernel, 0, self.frequencies) / self.bandwidth
        directions, lengths = self._integer_directions(0, self.frequencies)
        return directions * (lengths / self.bandwidth)[:, None]

    # ---- frequencies for bandwidth 1 ----

    def directions(self, start: int, stop: int) -> np.ndarray:
        """Frequencies start..stop-1 of the kernel with bandwidth 1, one a row."""
        kernel, d = self.kernel, self.inputs
        if self.sampling == "orthogonal":
            assert isinstance(kernel, Radial)
            return self._orthogonal(start, stop) * kernel.radii(self.seed, start, stop, d)[:, None]
        if isinstance(kernel, Coordinatewise):
            return self._coordinates(kernel, start, stop)
        normals = portable.normal_quantile(self._uniforms(start, stop, d))
        if isinstance(kernel, NormalMixture):
            return normals * kernel.mixing(self.seed, start, stop)[:, None]
        assert isinstance(kernel, Radial)
        lengths = np.linalg.norm(normals, axis=1, keepdims=True)
        return normals / lengths * kernel.radii(self.seed, start, stop, d)[:, None]

    def _coordinates(self, kernel: Coordinatewise, start: int, stop: int) -> np.ndarray:
        uniforms = self._uniforms(start, stop, kernel.draws * self.inputs)
        return kernel.coordinates(uniforms) * kernel.mixing(self.seed, start, stop)[:, None]

    def _uniforms(self, start: int, stop: int, d: int) -> np.ndarray:
        """Points of the unit cube: independent, or Sobol's with every coordinate shifted by exclusive or."""
        if self.sampling != "qmc":
            return Stream(self.seed, "frequencies").uniform(start, stop, d)
        engine = qmc.Sobol(d, scramble=False, bits=32)
        first = engine.random(1)  # the origin, drawn alone: an odd first lot gets a warning about balance
        if start > 1:
            engine.fast_forward(start - 1)
        points = engine.random(stop - max(start, 1)) if stop > max(start, 1) else np.empty((0, d))
        points = np.vstack([first, points]) if start == 0 else points
        shift = Stream(self.seed, "shift").bits(0, 1, d)
        return uniform_from_bits((points * 2.0**32).astype(np.uint32) ^ shift)

    def _orthogonal(self, start: int, stop: int) -> np.ndarray:
        """Rows of random rotations, d at a time: each row is a uniform direction, rows of a group are orthogonal."""
        d = self.inputs
        stream = Stream(self.seed, "frequencies")
        groups = []
        for group in range(start // d, -(-stop // d)):
            q, r = np.linalg.qr(stream.normal(group * d, (group + 1) * d, d).T)
            groups.append((q * np.sign(np.diagonal(r))).T)
        return np.vstack(groups)[start % d :][: stop - start]

    def _integer_frequencies(self, start: int, stop: int) -> Drawn:
        """int8 normal directions with a phase multiplier each; 32-bit phases where coordinates have another law."""
        assert self.quantizer is not None
        kernel, per_code = self.kernel, self.quantizer.step / (TURN * self.bandwidth)
        if isinstance(kernel, Coordinatewise):
            return (turns_to_words(self._coordinates(kernel, start, stop) * per_code),)
        directions, lengths = self._integer_directions(start, stop)
        return np.asarray(directions), np.asarray(turns_to_words(lengths * per_code))

    def _integer_directions(self, start: int, stop: int) -> Weights:
        """int8 normal directions, and what each is to be multiplied by for bandwidth 1."""
        kernel = self.kernel
        if self.sampling == "qmc":
            normals = portable.normal_quantile(self._uniforms(start, stop, self.inputs))
            directions = np.clip(np.rint(32.0 * normals), -127, 127).astype(np.int8)
        else:
            directions = Stream(self.seed, "frequencies").normal_int8(start, stop, self.inputs)
        if isinstance(kernel, NormalMixture):
            return directions, kernel.mixing(self.seed, start, stop) / int8_normal_deviation()
        assert isinstance(kernel, Radial)
        give_length(directions)
        squares = np.sum(directions.astype(np.int64) ** 2, axis=1)
        return directions, kernel.radii(self.seed, start, stop, self.inputs) / np.sqrt(squares.astype(np.float64))

    def require_sound(self) -> None:
        super().require_sound()
        require_few_columns(self.sampling, self.inputs, self.kernel)
        radial = isinstance(self.kernel, Radial)
        if not (radial or isinstance(self.kernel, Coordinatewise)):
            raise ValueError("the kernel has no frequencies to draw")
        if self.sampling == "orthogonal" and (self.is_integer or not radial):
            raise ValueError("orthogonal directions are those of radial kernels, in floats")


def require_few_columns(sampling: str, columns: int, kernel: ShiftInvariant) -> None:
    limit = SOBOL_LIMIT // (kernel.draws if isinstance(kernel, Coordinatewise) else 1)
    if sampling == "qmc" and columns > limit:
        raise ValueError(f"sampling='qmc' has at most {limit} columns with {kernel!r}; X has {columns}.")

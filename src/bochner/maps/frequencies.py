"""What Fourier and Fastfood share: waves from projections, and phases in integers.

Columns are interleaved pairs cos<w, x>, sin<w, x>, all times sqrt(2/m). Where a frequency has one column instead of
two (the last of an odd number of columns, or pairs not wanted), it is a phased cosine cos(<w, x> + b), b uniform on a
turn. Either way E<phi(x), phi(z)> = k(x, z).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import ops
from ..arrays import Same, cast
from ..fields import Check, number, require_sound, whole
from ..kernels import Kernel
from ..kernels.base import ShiftInvariant
from ..streams import Stream
from .units import UnitMap

TURN = 6.283185307179586
TABLE_BITS = {"int8": 10, "int14": 14}  # bits of the phase that an integer cosine looks at

# Of kernels from a file: where their frequencies are floats, and drawing them takes no more than memory for some.
KERNEL: dict[str, Check] = {
    "nu": number(1e-9, 1e9), "degree": whole(1, 4096), "p": number(1e-3, 2.0), "q": number(1e-3, 2.0),
}  # fmt: skip


@dataclass(frozen=True, eq=False, kw_only=True)
class WaveMap(UnitMap):
    """Waves cos<w, x>, sin<w, x>, and phased cosines; subclasses make the projections <w, x>."""

    def wave_phases(self, dtype: str = "float64") -> np.ndarray:
        """The phases b of the last frequencies, whose cosines stand alone, as floats."""
        return self.as_angles(self.phase_words(0, self.units.number), dtype)

    def wave_vectors(self) -> np.ndarray:
        """The frequencies w as real numbers, one a row, of integers too: features are waves in <w, x>."""
        raise NotImplementedError

    def phase_words(self, start: int, stop: int) -> np.ndarray:
        """The phases of those units that have one column each, in units of 2^-32 turns."""
        raise NotImplementedError

    def as_angles(self, words: Same, dtype: str) -> Same:
        """Phases in radians, from units of 2^-32 turns."""
        return cast(cast(words, "float64") * (TURN * 2.0**-32), dtype)

    def height(self, dtype: str) -> np.floating:
        """The height of all waves, as a float."""
        return np.dtype(dtype).type(np.sqrt(2.0 / self.columns))

    def cosine_table(self) -> np.ndarray:
        """The integer cosine at equal steps of a turn."""
        return ops.cosine_table(TABLE_BITS[str(self.precision)], self.limit)


@dataclass(frozen=True, eq=False, kw_only=True)
class FrequencyMap(WaveMap):
    """Waves whose frequencies follow the spectral law of a kernel."""

    kernel: ShiftInvariant

    @property
    def bandwidth(self) -> float:
        """The length scale of the kernel."""
        return self.kernel.scale

    def exact_kernel(self) -> Kernel:
        return self.kernel

    def is_prefix(self, columns: int) -> bool:
        return columns % 2 == 0  # an odd last column is a phased cosine, which more columns do not have

    def drawn_phases(self, start: int, stop: int) -> np.ndarray:
        """The phases b of frequencies start..stop-1, in units of 2^-32 turns."""
        return Stream(self.seed, "phase").bits(start, stop)[:, 0]

    def require_sound(self) -> None:
        if not isinstance(self.kernel, ShiftInvariant):
            raise ValueError("only shift-invariant kernels have frequencies")
        require_sound(vars(self.kernel), KERNEL)
        super().require_sound()


def turns_to_words(turns: np.ndarray) -> np.ndarray:
    """Turns modulo 1 in units of 2^-32, rounded, as uint32."""
    words = np.rint((turns - np.floor(turns)) * 2.0**32).astype(np.uint64)
    return (words & np.uint64(0xFFFFFFFF)).astype(np.uint32)

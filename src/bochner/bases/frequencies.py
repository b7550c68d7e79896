"""What Fourier and Fastfood share: which kernel, waves from projections, and phases in integers.

Columns are interleaved pairs cos<w, x>, sin<w, x>, all times sqrt(2/m). Where a frequency has one column instead of
two (the last of an odd number of columns, or pairs not wanted), it is a phased cosine cos(<w, x> + b), b uniform on a
turn. Either way E<phi(x), phi(z)> = k(x, z).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .. import ops
from ..fields import Check, number, require_sound, whole
from ..kernels import BallMatern, Kernel, ShiftInvariant
from ..streams import Stream
from ..validation import require_choice
from .base import Basis
from .settle import settle_bandwidth

TURN = 6.283185307179586
TABLE_BITS = {"int8": 10, "int14": 14}  # bits of the phase that an integer cosine looks at

# Of kernels from a file: where their frequencies are floats, and drawing them takes no more than memory for some.
KERNEL: dict[str, Check] = {"nu": number(1e-9, 1e9), "degree": whole(1, 4096)}


class KernelParameter:
    """`kernel` of these bases is both a constructor's argument and the method `basis.kernel(X, Z)`.

    The argument is kept in the instance's dictionary, where scikit-learn's get_params, clone and pickle find it;
    reading the attribute gives an object that can be called like the method and equals the argument.
    """

    def __get__(self, basis: FrequencyBasis | None, owner: type) -> Any:
        return self if basis is None else KernelOf(basis)

    def __set__(self, basis: FrequencyBasis, value: Any) -> None:
        basis.__dict__["kernel"] = value


class KernelOf:
    def __init__(self, basis: FrequencyBasis) -> None:
        self._basis = basis
        self.parameter = vars(basis)["kernel"]

    def __call__(self, X: Any, Z: Any = None) -> np.ndarray:
        """The exact kernel that the features approximate."""
        return Basis.kernel(self._basis, X, Z)

    def __eq__(self, other: object) -> bool:
        return bool(self.parameter == (other.parameter if isinstance(other, KernelOf) else other))

    def __hash__(self) -> int:
        return hash(self.parameter)

    def __repr__(self) -> str:
        return repr(self.parameter)

    def __str__(self) -> str:
        return str(self.parameter)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.parameter, name)


class FrequencyBasis(Basis):
    """A basis of waves; subclasses make the projections <w, x>."""

    shift_invariant = True
    kernel = KernelParameter()
    kernel_: ShiftInvariant

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {**super().get_params(deep), "kernel": vars(self)["kernel"]}

    def _settle_kernel(self, named: Mapping[str, ShiftInvariant], bandwidth: Any, rows: np.ndarray) -> None:
        """Set kernel_, bandwidth_ and scale_ from a kernel's name or from a kernel object."""
        chosen = vars(self)["kernel"]
        if isinstance(chosen, Kernel) and not isinstance(chosen, ShiftInvariant):
            raise ValueError(f"kernel={chosen!r} has no spectral law: only shift-invariant kernels have frequencies.")
        kernel = chosen if isinstance(chosen, ShiftInvariant) else named[require_choice("kernel", chosen, named)]
        if kernel.bandwidth is None:
            kernel = kernel.with_bandwidth(settle_bandwidth(bandwidth, rows, kernel.metric))
        elif bandwidth != "median":
            raise ValueError(
                f"the bandwidth is given twice: {kernel.bandwidth} in the kernel and {bandwidth!r} beside it."
            )
        self.kernel_ = kernel
        self.bandwidth_ = kernel.scale
        self.scale_ = float(np.sqrt(2.0 / self._m)) / self._limit if self._is_integer else 1.0

    @property
    def has_units(self) -> bool:
        return super().has_units or getattr(vars(self)["kernel"], "bandwidth", None) is not None

    def _require_settled(self, example: Any) -> None:
        """The kernel must be the one that was asked for, in the dimension of the frequencies."""
        asked = replace(example.kernel_, bandwidth=self.bandwidth_)
        if isinstance(asked, BallMatern):
            asked = replace(asked, dimension=self._dimension)
        if self.kernel_ != asked:
            raise ValueError("the kernel is not the one that was asked for")
        require_sound(vars(self.kernel_), KERNEL)

    @property
    def _dimension(self) -> int:
        """Coordinates of a frequency."""
        return self.n_features_in_

    def _exact_kernel(self) -> Kernel:
        return self.kernel_

    def _prefixes(self, columns: int) -> set[int]:
        # An odd last column is a phased cosine, which more columns do not have.
        return {columns} if columns % 2 == 0 or not getattr(self, "pairs", True) else set()

    def _phase_words(self, start: int, stop: int) -> np.ndarray:
        """The phases b of frequencies start..stop-1, in units of 2^-32 turns."""
        return Stream(self.seed_, "phase").bits(start, stop)[:, 0]

    def _phases(self, words: np.ndarray, dtype: Any) -> tuple[np.ndarray, Any]:
        """The phases of cosines that stand alone, and the height of all waves, as floats."""
        return (words * (TURN * 2.0**-32)).astype(dtype), np.dtype(dtype).type(np.sqrt(2.0 / self._m))

    def _cosine_table(self) -> np.ndarray:
        return ops.cosine_table(TABLE_BITS[str(self.precision)], self._limit)


def turns_to_words(turns: np.ndarray) -> np.ndarray:
    """Turns modulo 1 in units of 2^-32, rounded, as uint32."""
    words = np.rint((turns - np.floor(turns)) * 2.0**32).astype(np.uint64)
    return (words & np.uint64(0xFFFFFFFF)).astype(np.uint32)

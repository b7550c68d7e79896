"""What RandomFourier and Fastfood share: which kernel, and its bandwidth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import Array, Rows
from ..fields import require_sound
from ..kernels import BallMatern, Kernel, ShiftInvariant
from ..maps.frequencies import KERNEL
from ..typing import MatrixLike
from ..validation import require_choice
from .base import Basis
from .heuristics import settle_bandwidth


class KernelParameter:
    """`kernel` of these bases is both a constructor's argument and the method `basis.kernel(X, Z)`.

    The argument is kept in the instance's dictionary, where scikit-learn's get_params, clone and pickle find it;
    reading the attribute gives an object that can be called like the method and equals the argument.
    """

    def __init__(self) -> None:
        self.__doc__ = Basis.kernel.__doc__  # which help shows

    def __get__(self, basis: FrequencyBasis | None, owner: type) -> Any:
        return self if basis is None else KernelOf(basis)

    def __set__(self, basis: FrequencyBasis, value: object) -> None:
        basis.__dict__["kernel"] = value


class KernelOf:
    def __init__(self, basis: FrequencyBasis) -> None:
        self._basis = basis
        self.parameter = vars(basis)["kernel"]

    def __call__(self, X: Rows, Z: MatrixLike | None = None) -> Array:
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
        """Return the parameters of the constructor.

        Parameters
        ----------
        deep : bool, default=True
            Whether parameters of nested estimators are returned too; there are none.

        Returns
        -------
        dict
            Values by name.
        """
        return {**super().get_params(deep), "kernel": vars(self)["kernel"]}

    def _settle_kernel(self, named: Mapping[str, ShiftInvariant], bandwidth: float | str, rows: Rows) -> None:
        """Set kernel_, bandwidth_ and scale_ from a kernel's name or from a kernel object."""
        chosen = vars(self)["kernel"]
        if isinstance(chosen, Kernel) and not isinstance(chosen, ShiftInvariant):
            raise ValueError(f"kernel={chosen!r} has no frequencies to draw: only shift-invariant kernels have.")
        kernel = chosen if isinstance(chosen, ShiftInvariant) else named[require_choice("kernel", chosen, named)]
        if kernel.bandwidth is None:
            kernel = kernel.with_bandwidth(settle_bandwidth(bandwidth, rows, kernel.order))
        elif bandwidth != "median":
            raise ValueError(
                f"the bandwidth is given twice: {kernel.bandwidth} in the kernel and {bandwidth!r} beside it."
            )
        self.kernel_ = kernel
        self.bandwidth_ = kernel.scale
        self.scale_ = float(np.sqrt(2.0 / self._m)) / self._limit if self.is_integer else 1.0

    def _own_fields(self) -> dict[str, Any]:
        return {"kernel": self.kernel_}

    @property
    def has_units(self) -> bool:
        return super().has_units or getattr(vars(self)["kernel"], "bandwidth", None) is not None

    def _require_settled(self, example: Basis) -> None:
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

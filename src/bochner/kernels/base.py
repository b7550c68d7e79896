"""What a kernel is: a function of two sets of rows, and for the shift-invariant ones the law of its frequencies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from ..streams import Stream
from ..validation import require_positive


class Kernel(ABC):
    """`kernel(X, Z)` is the exact matrix k(x_i, z_j); `kernel(X)` is `kernel(X, X)`."""

    def __call__(self, X: Any, Z: Any = None) -> np.ndarray:
        X = as_rows(X)
        Z = X if Z is None else as_rows(Z)
        if X.shape[1] != Z.shape[1]:
            raise ValueError(f"X has {X.shape[1]} columns but Z has {Z.shape[1]}.")
        return self._evaluate(X, Z)

    @abstractmethod
    def _evaluate(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray: ...


@dataclass(frozen=True)
class ShiftInvariant(Kernel):
    """k(x, z) = k(x - z). A bandwidth of None means 1 when the kernel is called, and a basis's choice in a basis."""

    bandwidth: float | None = None

    def __post_init__(self) -> None:
        if self.bandwidth is not None:
            require_positive("bandwidth", self.bandwidth)

    @property
    def scale(self) -> float:
        return 1.0 if self.bandwidth is None else float(self.bandwidth)

    @property
    def order(self) -> float:
        """The p of the distance |x - z|_p whose median is a good first bandwidth."""
        return 2.0

    def with_bandwidth(self, bandwidth: float) -> ShiftInvariant:
        return replace(self, bandwidth=float(bandwidth))

    def in_dimension(self, dimension: int) -> ShiftInvariant:
        """This kernel where frequencies have so many coordinates; most kernels do not depend on it."""
        return self


@dataclass(frozen=True)
class Radial(ShiftInvariant):
    """A function of |x - z|: its frequencies have uniform directions, and `radii` draws their lengths at scale 1."""

    def _evaluate(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        return self.profile(cdist(X, Z) / self.scale)

    @abstractmethod
    def profile(self, distance: np.ndarray) -> np.ndarray:
        """The kernel at scaled distances."""

    @abstractmethod
    def radii(self, stream_seed: int, start: int, stop: int, dimension: int) -> np.ndarray:
        """The lengths of frequencies start..stop-1 in `dimension` dimensions, for bandwidth 1."""


@dataclass(frozen=True)
class NormalMixture(Radial):
    """A radial kernel whose frequency is a standard normal vector times an independent number, 1 for the Gaussian.

    Such a kernel is positive definite in every dimension (Schoenberg), and its frequencies need no normalisation.
    """

    def mixing(self, stream_seed: int, start: int, stop: int) -> np.ndarray:
        return np.ones(stop - start)

    def radii(self, stream_seed: int, start: int, stop: int, dimension: int) -> np.ndarray:
        chi = Stream(stream_seed, "radii").chi(dimension, start, stop)[:, 0]
        return chi * self.mixing(stream_seed, start, stop)


@dataclass(frozen=True)
class Coordinatewise(ShiftInvariant):
    """A kernel whose frequency is a vector of independent coordinates of one law, times a number for all of them."""

    @property
    def draws(self) -> int:
        """How many uniform numbers make one coordinate."""
        return 1

    @abstractmethod
    def coordinates(self, uniforms: np.ndarray) -> np.ndarray:
        """The coordinates (n, d) of frequencies for bandwidth 1, from uniform numbers (n, draws * d)."""

    def mixing(self, stream_seed: int, start: int, stop: int) -> np.ndarray:
        """The number for all coordinates of frequencies start..stop-1."""
        return np.ones(stop - start)


@dataclass(frozen=True)
class Product(Coordinatewise):
    """A product over coordinates: frequencies have independent coordinates, with a quantile function."""

    @abstractmethod
    def quantile(self, p: np.ndarray) -> np.ndarray:
        """The quantile of one coordinate of a frequency, for bandwidth 1."""

    def coordinates(self, uniforms: np.ndarray) -> np.ndarray:
        return self.quantile(uniforms)


def as_rows(X: Any) -> np.ndarray:
    """A dense float64 matrix."""
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"a kernel takes matrices of rows; got an array of shape {X.shape}.")
    return X.astype(np.float64)


def cosines(X: np.ndarray, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """rho = <x, z>/(|x||z|) (0 where a row is zero) and |x||z|."""
    norms = np.linalg.norm(X, axis=1)[:, None] * np.linalg.norm(Z, axis=1)[None, :]
    rho = np.divide(X @ Z.T, norms, out=np.zeros_like(norms), where=norms > 0)
    return np.clip(rho, -1.0, 1.0), norms

"""What a kernel is: a function of two sets of rows, and for the shift-invariant ones the law of its frequencies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from .. import ops
from ..arrays import Array, Rows, Same, cast, is_torch, like, namespace
from ..arrays import as_rows as tensor_rows
from ..streams import Stream
from ..typing import MatrixLike
from ..validation import require_positive


class Kernel(ABC):
    """What all kernels share: `kernel(X, Z)` is the matrix k(x_i, z_j), and `kernel(X)` is `kernel(X, X)`.

    This class is abstract. A kernel of your own derives from it, or from `Radial`, `Product` or `Coordinatewise` if it
    has frequencies to draw for RandomFourier. Of tensors it makes a tensor on their device, if it has `takes_tensors`.

    Examples
    --------
    >>> from bochner.kernels import Gaussian
    >>> Gaussian(bandwidth=1.0)([[0.0], [1.0]]).round(3)
    array([[1.   , 0.607],
           [0.607, 1.   ]])
    """

    takes_tensors: ClassVar[bool] = False  # whether `_evaluate` is written for torch too

    def __call__(self, X: MatrixLike | Rows, Z: MatrixLike | Rows | None = None) -> Array:
        """Compute the kernel matrix.

        Parameters
        ----------
        X : array-like, sparse matrix or tensor of shape (n_samples, n_features)
            Rows.
        Z : array-like, sparse matrix or tensor of shape (n_others, n_features), default=None
            Other rows; None compares the rows of X with each other.

        Returns
        -------
        ndarray or tensor of shape (n_samples, n_others)
            The matrix k(x_i, z_j) in float64, in the library of X.
        """
        rows = as_rows(X)
        if is_torch(rows) and not self.takes_tensors:
            raise ValueError(
                f"there is no torch version of the kernel {type(self).__name__}: give X as a numpy array, "
                "X.numpy(force=True)."
            )
        others = rows if Z is None else like(as_rows(Z), rows)
        if rows.shape[1] != others.shape[1]:
            raise ValueError(f"X has {rows.shape[1]} columns but Z has {others.shape[1]}.")
        return self._evaluate(rows, others)

    @abstractmethod
    def _evaluate(self, X: Array, Z: Array) -> Array: ...


@dataclass(frozen=True)
class ShiftInvariant(Kernel):
    """What kernels of x - z share: a bandwidth.

    By Bochner's theorem k(x - z) = E cos <w, x - z> for random frequencies w.

    Parameters
    ----------
    bandwidth : float, default=None
        Length scale s. None is 1 when the kernel is called, and is chosen by the data where a basis or model is given
        the kernel.

    Examples
    --------
    >>> from bochner.kernels import Cauchy, ShiftInvariant
    >>> isinstance(Cauchy(), ShiftInvariant), Cauchy().with_bandwidth(2.0)
    (True, Cauchy(bandwidth=2.0))
    """

    bandwidth: float | None = None

    def __post_init__(self) -> None:
        if self.bandwidth is not None:
            require_positive("bandwidth", self.bandwidth)

    @property
    def scale(self) -> float:
        """The bandwidth as a number: 1.0 if there is none."""
        return 1.0 if self.bandwidth is None else float(self.bandwidth)

    @property
    def order(self) -> float:
        """The p of the distance |x - z|_p whose median is a good first bandwidth."""
        return 2.0

    def with_bandwidth(self, bandwidth: float) -> ShiftInvariant:
        """Return this kernel with another bandwidth.

        Parameters
        ----------
        bandwidth : float
            Length scale s.

        Returns
        -------
        ShiftInvariant
            A new kernel.
        """
        return replace(self, bandwidth=float(bandwidth))

    def in_dimension(self, dimension: int) -> ShiftInvariant:
        """Return this kernel for frequencies of so many coordinates; most kernels do not depend on it.

        Parameters
        ----------
        dimension : int
            Number of coordinates.

        Returns
        -------
        ShiftInvariant
            The kernel.
        """
        return self


@dataclass(frozen=True)
class Radial(ShiftInvariant):
    """What kernels of the distance |x - z| share: frequencies have uniform directions, and lengths that `radii` draws.

    Parameters
    ----------
    bandwidth : float, default=None
        Length scale s. None is 1 when the kernel is called, and is chosen by the data where a basis or model is given
        the kernel.

    Examples
    --------
    >>> from bochner.kernels import Gaussian, Radial
    >>> isinstance(Gaussian(), Radial), Gaussian().radii(0, 0, 3, dimension=2).shape
    (True, (3,))
    """

    def _evaluate(self, X: Array, Z: Array) -> Array:
        return self.profile(ops.distances(X, Z, 2.0) / self.scale)

    @abstractmethod
    def profile(self, distance: Same) -> Same:
        """Compute the kernel at distances |x - z| / s.

        Parameters
        ----------
        distance : ndarray or tensor
            Scaled distances.

        Returns
        -------
        ndarray or tensor
            The kernel, of the same shape.
        """

    @abstractmethod
    def radii(self, stream_seed: int, start: int, stop: int, dimension: int) -> np.ndarray:
        """Draw the lengths of frequencies, for a bandwidth of 1.

        Parameters
        ----------
        stream_seed : int
            Seed of the draws.
        start : int
            Number of the first frequency.
        stop : int
            Number after the last one.
        dimension : int
            Number of coordinates of a frequency.

        Returns
        -------
        ndarray of shape (stop - start,)
            The lengths.
        """


@dataclass(frozen=True)
class NormalMixture(Radial):
    """What radial kernels share whose frequency is a normal vector times an independent random number.

    Such a kernel is positive definite in every dimension (Schoenberg), and its frequencies need no normalisation.

    Parameters
    ----------
    bandwidth : float, default=None
        Length scale s. None is 1 when the kernel is called, and is chosen by the data where a basis or model is given
        the kernel.

    Examples
    --------
    >>> from bochner.kernels import Gaussian
    >>> Gaussian().mixing(0, 0, 3)
    array([1., 1., 1.])
    """

    def mixing(self, stream_seed: int, start: int, stop: int) -> np.ndarray:
        """Draw the numbers that normal vectors are multiplied by; 1 for the Gaussian kernel.

        Parameters
        ----------
        stream_seed : int
            Seed of the draws.
        start : int
            Number of the first frequency.
        stop : int
            Number after the last one.

        Returns
        -------
        ndarray of shape (stop - start,)
            The factors.
        """
        return np.ones(stop - start)

    def radii(self, stream_seed: int, start: int, stop: int, dimension: int) -> np.ndarray:
        chi = Stream(stream_seed, "radii").chi(dimension, start, stop)[:, 0]
        return chi * self.mixing(stream_seed, start, stop)


@dataclass(frozen=True)
class Coordinatewise(ShiftInvariant):
    """What kernels share whose frequency is a vector of independent coordinates, times a number for all of them.

    Parameters
    ----------
    bandwidth : float, default=None
        Length scale s. None is 1 when the kernel is called, and is chosen by the data where a basis or model is given
        the kernel.

    Examples
    --------
    >>> from bochner.kernels import Coordinatewise, Laplacian, Stable
    >>> isinstance(Laplacian(), Coordinatewise), Stable(1.5, 1).draws
    (True, 2)
    """

    @property
    def draws(self) -> int:
        """How many uniform numbers make one coordinate."""
        return 1

    @abstractmethod
    def coordinates(self, uniforms: np.ndarray) -> np.ndarray:
        """Compute the coordinates of frequencies, for a bandwidth of 1, from uniform numbers.

        Parameters
        ----------
        uniforms : ndarray of shape (n_frequencies, draws * dimension)
            Numbers between 0 and 1.

        Returns
        -------
        ndarray of shape (n_frequencies, dimension)
            The coordinates.
        """

    def mixing(self, stream_seed: int, start: int, stop: int) -> np.ndarray:
        """Draw the numbers that all coordinates of a frequency are multiplied by.

        Parameters
        ----------
        stream_seed : int
            Seed of the draws.
        start : int
            Number of the first frequency.
        stop : int
            Number after the last one.

        Returns
        -------
        ndarray of shape (stop - start,)
            The factors.
        """
        return np.ones(stop - start)


@dataclass(frozen=True)
class Product(Coordinatewise):
    """What kernels share that are products over coordinates: the coordinates of a frequency are independent.

    Parameters
    ----------
    bandwidth : float, default=None
        Length scale s. None is 1 when the kernel is called, and is chosen by the data where a basis or model is given
        the kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.kernels import Laplacian
    >>> Laplacian().quantile(np.array([0.25, 0.75])).round(6)
    array([-1.,  1.])
    """

    @abstractmethod
    def quantile(self, p: np.ndarray) -> np.ndarray:
        """Compute quantiles of one coordinate of a frequency, for a bandwidth of 1.

        Parameters
        ----------
        p : ndarray
            Probabilities.

        Returns
        -------
        ndarray
            The quantiles, of the same shape.
        """

    def coordinates(self, uniforms: np.ndarray) -> np.ndarray:
        return self.quantile(uniforms)


def as_rows(X: MatrixLike | Rows) -> Array:
    """A dense float64 matrix; of a tensor one, without its gradient."""
    rows = tensor_rows(X) if is_torch(X) else X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    if rows.ndim != 2:
        raise ValueError(f"a kernel takes matrices of rows; got an array of shape {tuple(rows.shape)}.")
    return cast(rows, "float64")


def cosines(X: Array, Z: Array) -> tuple[Array, Array]:
    """rho = <x, z>/(|x||z|) (0 where a row is zero) and |x||z|."""
    xp = namespace(X)
    norms = xp.linalg.norm(X, axis=1)[:, None] * xp.linalg.norm(Z, axis=1)[None, :]
    rho = xp.where(norms > 0, X @ Z.T / xp.where(norms > 0, norms, 1.0), 0.0)
    return rho.clip(-1.0, 1.0), norms

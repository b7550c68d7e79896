"""Maxout hashing: C_l(x) = argmax_j <w_j^l, x>, j = 1..q, for l = 1..m (Mroueh, Rennie and Goel, Remark 1).

The share of codes that differ has mean 1 - kappa_q(x, z), a function of the angle between x and z alone; codes are
independent, so its variance is kappa_q (1 - kappa_q) / m. Drawn: q projections a code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from .. import ops
from ..arrays import Array, Rows, cast, dtype_name, like, to_numpy
from ..bases.base import Basis, Bounds
from ..fields import either, nothing, numbers, whole
from ..kernels import Collision, Kernel
from ..kernels.base import as_rows
from ..maps import Drawn, UnitMap, Units, Weights
from ..maps.base import read_only
from ..maps.quantize import round_digits
from ..streams import Stream
from ..typing import ArrayLike, MatrixLike, RandomStateLike
from ..validation import require_choice, require_integer
from .packing import bits_per_code, count_differences, pack

PRECISIONS = ("float32", "float64", "int8")
LARGEST_POOL = 1 << 16


@dataclass(frozen=True, eq=False, kw_only=True)
class HashMap(UnitMap):
    """The map of MaxoutHash: the winner of each pool of projections of x, or of x less a centre."""

    pool_size: int
    center: np.ndarray | None = None

    name = "MaxoutHash"
    checks: ClassVar = {"pool_size": whole(2, LARGEST_POOL), "center": either(nothing, numbers(None))}

    def __post_init__(self) -> None:
        if self.center is not None:
            object.__setattr__(self, "center", read_only(self.center))

    def exact_kernel(self) -> Kernel:
        return Collision(self.pool_size)

    def exact_gram(self, X: Rows, Z: Rows | None = None) -> Array:
        left = as_rows(self.rows(X))
        origin = 0.0 if self.center is None else like(self.center, left)
        left = left - origin
        return self.exact_kernel()(left, None if Z is None else as_rows(self.rows(Z)) - origin)

    def output_dtype(self, X: Rows) -> np.dtype:
        return np.dtype(np.uint8 if self.pool_size <= 256 else np.uint16)

    @property
    def units(self) -> Units:
        return Units(self.columns, self.pool_size * self.inputs, self.pool_size)

    def first_column(self, unit: int) -> int:
        return unit

    def draw(self, start: int, stop: int) -> Drawn:
        stream = Stream(self.seed, "hash")
        normal = stream.normal_int8 if self.is_integer else stream.normal
        return (normal(start * self.pool_size, stop * self.pool_size, self.inputs),)

    def project(self, X: Rows, weights: Weights) -> Array:
        """<w, x - center> of prepared rows: floats, or exact integers."""
        (directions,) = weights
        if self.is_integer:
            return ops.project(X, directions) - self._integer_offset(directions)
        if self.center is None:
            return X @ directions.T
        center = like(self.center.astype(dtype_name(X)), X)
        if scipy.sparse.issparse(X):  # the difference would not be sparse
            return X @ directions.T - directions @ center
        return (X - center) @ directions.T

    def _integer_offset(self, directions: Array) -> Any:
        """The projections of the centre's own codes: near zero if the quantizer has shifted X already."""
        if self.center is None:
            return 0
        return ops.project(self.prepared(like(self.center[None, :], directions)), directions)

    def apply(self, X: Rows, weights: Weights) -> Array:
        return cast(ops.winners(self.project(X, weights), self.pool_size), self.output_dtype(X).name)

    def apply_integer(self, X: Rows, weights: Weights) -> Array:
        if self.center is not None and bool((self._integer_offset(weights[0]) != 0).any()):
            return self.apply(X, weights)
        return cast(ops.project_winners(X, weights[0], self.pool_size), self.output_dtype(X).name)

    def require_sound(self) -> None:
        super().require_sound()
        if self.center is not None and self.center.shape != (self.inputs,):
            raise ValueError("the center has another number of columns")


class MaxoutHash(Basis):
    """Locality-sensitive codes: the share of codes that differ estimates the angle between two rows.

        C_l(x) = argmax_j <w_lj, x>,   j = 1..pool_size,   l = 1..n_codes.

    Codes of two rows differ with probability 1 - kappa(angle), which `bochner.kernels.Collision` has.

    Parameters
    ----------
    n_codes : int, default=64
        Number of codes of a row.
    pool_size : int, default=8
        Number of projections q of a code, which is one of 0..q-1; 2 gives the signs of random hyperplanes. A larger
        pool tells small angles better, a smaller one large angles.
    center : bool, default=False
        Whether to subtract the mean first, so that angles are seen from the middle of the data. Where all numbers are
        positive, as in images, all angles seen from the origin are small.
    precision : {'float32', 'float64', 'int8'}, default=None
        Number type of the projections. None keeps that of X; 'int8' gives the same codes on every machine.
    random_state : int, RandomState instance, Generator or None, default=None
        Seed of the projections.

    Attributes
    ----------
    center_ : ndarray of shape (n_features_in_,) or None
        The point from which angles are seen; None is the origin.
    seed_ : int
        Seed of the projections.
    map_ : FeatureMap
        The map from rows to codes: small, immutable, and callable as `map_(X)`.
    scale_ : float
        1.0: codes have no scale.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns of X; only if X is a frame whose column names are all strings.
    quantizer_ : Quantizer
        How X is rounded to 8 bits; only for 'int8'.
    clipped_fraction_ : float
        Share of the sampled numbers that rounding clips; only for 'int8'.

    See Also
    --------
    MaxoutIndex : Nearest neighbours by these codes.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import MaxoutHash
    >>> hasher = MaxoutHash(16384, pool_size=2, random_state=0).fit(np.eye(2))
    >>> codes = hasher.encode([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> hasher.hamming(codes[:1], codes).round(2)  # angles of 0, 45 and 90 degrees, over 180
    array([[0.  , 0.25, 0.5 ]])
    """

    kind = HashMap
    map_: HashMap

    def __init__(
        self,
        n_codes: int = 64,
        *,
        pool_size: int = 8,
        center: bool = False,
        precision: str | None = None,
        random_state: RandomStateLike = None,
    ) -> None:
        self.n_codes = n_codes
        self.pool_size = pool_size
        self.center = center
        self.precision = precision
        self.random_state = random_state

    @property
    def n_components(self) -> int:
        """The number of codes, by the name that all bases have."""
        return self.n_codes

    @n_components.setter
    def n_components(self, value: int) -> None:
        """Number of codes, by the name that all bases have."""
        self.n_codes = value

    # ---- codes and distances ----

    def encode(self, X: MatrixLike) -> np.ndarray:
        """Compute the codes of rows, packed to bits.

        Parameters
        ----------
        X : array-like, sparse matrix, frame or tensor of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, bits of a code, n_codes / 8)
            Packed codes, of type uint8.
        """
        return pack(to_numpy(self.features(X)), self._q)

    def hamming(self, A: np.ndarray, B: np.ndarray | None = None) -> np.ndarray:
        """Compute the share of codes that differ.

        Parameters
        ----------
        A : ndarray
            Packed codes of rows, as `encode` makes them.
        B : ndarray, default=None
            Packed codes of other rows; None compares those of A with each other.

        Returns
        -------
        ndarray of shape (rows of A, rows of B)
            Distances from 0 to 1: unbiased estimates of 1 - kappa.
        """
        A = self._require_packed(A)
        return count_differences(A, A if B is None else self._require_packed(B)) / self._m

    def standard_error(self, distance: ArrayLike) -> np.ndarray:
        """Return the standard error of a distance D, sqrt(D (1 - D) / (n_codes - 1)).

        Parameters
        ----------
        distance : array-like
            Distances that `hamming` gave.

        Returns
        -------
        ndarray
            Their standard errors.
        """
        distance = np.asarray(distance, dtype=np.float64)
        if self._m < 2:
            raise ValueError("a standard error needs at least 2 codes; n_codes is 1.")
        if not ((distance >= 0) & (distance <= 1)).all():
            raise ValueError("distances are shares of codes, from 0 to 1.")
        return np.sqrt(distance * (1.0 - distance) / (self._m - 1))

    def margins(self, X: MatrixLike) -> np.ndarray:
        """Compute by how much each projection is below the largest of its pool.

        Parameters
        ----------
        X : array-like, sparse matrix, frame or tensor of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_codes, pool_size)
            The differences; 0 for the largest itself.
        """
        check_is_fitted(self)
        rows = self.map_.rows(self._checked(X))
        projections = self.map_.project(self.map_.prepared(rows), self.map_.weights(dtype=rows.dtype))
        pools = projections.reshape(rows.shape[0], self._m, self._q)
        return pools.max(axis=2, keepdims=True) - pools

    def _require_packed(self, codes: np.ndarray) -> np.ndarray:
        codes = np.asarray(codes)
        shape = (bits_per_code(self._q), -(-self._m // 8))
        if codes.dtype != np.uint8 or codes.ndim != 3 or codes.shape[1:] != shape:
            raise ValueError(
                f"packed codes are uint8 of shape (n, {shape[0]}, {shape[1]}), as encode makes them; "
                f"got {codes.dtype} of shape {codes.shape}."
            )
        return codes

    # ---- what a basis declares ----

    @property
    def _q(self) -> int:
        return int(self.pool_size)

    @property
    def shift_invariant(self) -> bool:  # type: ignore[override]
        """Whether rounding may shift X: only if angles are not seen from the origin."""
        return bool(self.center)

    def _fit_rows(self, rows: Rows, largest: float) -> Self:
        require_integer("n_codes", self.n_codes)
        require_integer("pool_size", self.pool_size, 2)
        if self._q > LARGEST_POOL:
            raise ValueError(f"pool_size must be at most {LARGEST_POOL:,}; got {self.pool_size}.")
        if self.precision is not None:
            require_choice("precision", self.precision, PRECISIONS)
        return super()._fit_rows(rows, largest)

    def _settle(self, rows: Rows, largest: float) -> None:
        self.scale_ = 1.0
        mean = np.asarray(rows.mean(axis=0), dtype=np.float64).ravel()
        # A few digits, so that it does not hang on the last bits of a sum.
        self.center_ = np.array([round_digits(value, 6) for value in mean]) if self.center else None

    def _own_fields(self) -> dict[str, Any]:
        return {"pool_size": self._q, "center": self.center_}

    @property
    def bounds(self) -> Bounds:
        return Bounds(columns=1, product=1.0, second_moment=1.0)  # a code contributes 1 if it agrees, else 0

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        basis = super().from_state(state)
        center = basis.center_
        if center is not None and (center.shape != (basis.n_features_in_,) or not np.isfinite(center).all()):
            raise ValueError("the center has another number of columns")
        return basis

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags

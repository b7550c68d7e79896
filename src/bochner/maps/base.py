"""What a fitted basis is: a FeatureMap, immutable and small, from rows of `inputs` numbers to rows of `columns`.

A map holds what determines its features (a seed, a few fitted numbers) and never the weights that it draws from them,
so it pickles to a few kilobytes, and equal maps make equal features on every machine. Maps compose: see `union.py`,
`metric.py` and `design.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import DTypeLike

from ..arrays import Array, Rows, dtype_name
from ..ops import NotFiniteError
from ..validation import require_finite, require_integer, require_numbers
from .rows import as_matrix, in_precision

LIMITS = {"int8": 127, "int14": 8191}  # the largest feature of each integer precision
PRECISIONS = ("float32", "float64", *LIMITS)


class FeatureMap(ABC):
    """What all feature maps share: from rows of `inputs` numbers to rows of `columns` features.

    A fitted basis has one, `basis.map_`. It is immutable and small: it holds what determines the features (a seed and a
    few numbers), never the weights drawn from them, so that it pickles to a few kilobytes, and equal maps make equal
    features on every machine. Maps compose: see `Union` and `Metric`. This class is abstract.

    Attributes
    ----------
    columns : int
        Number of features of a row.
    inputs : int
        Number of columns of a row.
    precision : str or None
        Number type of the features: None follows the rows; 'float32', 'float64'; 'int8' and 'int14' are exact integers.
    scale : float or ndarray of shape (columns,)
        Factor after which features have `<phi(x), phi(z)> ~ k(x, z)`; 1 for floats.

    Examples
    --------
    >>> from bochner import RandomStumps
    >>> stumps = RandomStumps(4, precision="int8", random_state=0).fit([[1.0], [-1.0]]).map_
    >>> stumps([[2.0], [-2.0]])
    array([[ 1,  1,  1,  1],
           [-1, -1, -1, -1]], dtype=int8)
    >>> stumps.columns, stumps.scale, [len(drawn) for drawn in stumps.weights(1, 3)]
    (4, 0.5, [2, 2])
    """

    columns: int
    inputs: int
    precision: str | None
    scale: float | np.ndarray

    name: ClassVar[str] = "this map"  # as messages call it
    refuses_infinity: ClassVar[bool] = False  # an op of its own raises NotFiniteError for NaN and infinity
    takes_bytes: ClassVar[bool] = True  # integer maps take 8-bit numbers as they are
    has_slopes: ClassVar[bool] = False  # float features have gradients, or are linear around almost every row

    # ---- what a map declares ----

    @abstractmethod
    def evaluate(self, X: Rows) -> Rows:
        """Compute the features of rows that `rows` has made.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n_samples, inputs)
            Sound rows.

        Returns
        -------
        ndarray or CSR matrix of shape (n_samples, columns)
            The features.
        """

    @abstractmethod
    def tile_count(self, columns: int) -> int:
        """Return how many tiles of about so many columns there are.

        Parameters
        ----------
        columns : int
            Columns of a tile, about.

        Returns
        -------
        int
            Number of tiles.
        """

    @abstractmethod
    def tiles(self, X: Rows, columns: int, first: int = 0) -> Iterator[tuple[slice, Any]]:
        """Compute the features a few columns at a time, where all of them would be too many to hold.

        Parameters
        ----------
        X : array-like, sparse matrix or tensor of shape (n_samples, inputs)
            The rows.
        columns : int
            Columns of a tile, about.
        first : int, default=0
            Number of the tile to start with.

        Yields
        ------
        tuple of slice and ndarray
            Which columns, and their values.
        """

    @abstractmethod
    def truncated(self, columns: int) -> FeatureMap:
        """Return the map of the first columns alone: what a fit would have given for fewer.

        Parameters
        ----------
        columns : int
            Number of columns to keep.

        Returns
        -------
        FeatureMap
            The map.
        """

    @abstractmethod
    def enlarged(self, columns: int) -> FeatureMap:
        """Return the map with more columns, of which those at hand are the first.

        Parameters
        ----------
        columns : int
            Number of columns, at least as many as there are.

        Returns
        -------
        FeatureMap
            The map.
        """

    @abstractmethod
    def prefix_scale(self, widest: Self) -> float | np.ndarray:
        """Return the factor of the first columns of a wider map, of which this one was cut by `truncated`.

        Parameters
        ----------
        widest : FeatureMap
            The wider map.

        Returns
        -------
        float or ndarray of shape (columns,)
            The factor.
        """

    @abstractmethod
    def exact_gram(self, X: Rows, Z: Rows = None) -> Array:
        """Compute the exact kernel that the features approximate.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, inputs)
            Rows.
        Z : array-like or sparse matrix of shape (n_others, inputs), default=None
            Other rows; None compares the rows of X with each other.

        Returns
        -------
        ndarray of shape (n_samples, n_others)
            The kernel matrix k(x_i, z_j).
        """

    def local_linear(self, X: Rows, coefficients: Array) -> Array:
        """Compute the slopes around each row of a linear function of the features, for locally linear maps.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, inputs)
            The rows.
        coefficients : ndarray of shape (columns, n_outputs)
            Coefficients of the features.

        Returns
        -------
        ndarray of shape (n_samples, inputs, n_outputs)
            Around row x the function is <slope, x>.
        """
        raise ValueError(f"{self.name} is not locally linear; RandomMaxout and GatedLinear are.")

    def slopes(self, X: Rows, coefficients: Array) -> Array:
        """Compute the gradients at rows of a linear function of float features, for maps that have slopes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, inputs)
            The rows.
        coefficients : ndarray of shape (columns, n_outputs)
            Coefficients of the features.

        Returns
        -------
        ndarray of shape (n_samples, inputs, n_outputs)
            The gradients; of locally linear maps they are `local_linear`.
        """
        return self.local_linear(X, coefficients)

    # ---- what all maps can do ----

    def __call__(self, X: Rows) -> Rows:
        """Compute the features of the rows of X.

        Parameters
        ----------
        X : array-like, sparse matrix or tensor of shape (n_samples, inputs)
            The rows.

        Returns
        -------
        ndarray, CSR matrix or tensor of shape (n_samples, columns)
            The features; a torch tensor if X is one.
        """
        rows = self.rows(X, finite=not self.refuses_infinity)
        try:
            return self.evaluate(rows)
        except NotFiniteError as error:
            refused = error
        require_finite(rows)  # which says where
        raise refused

    def rows(self, X: Rows, finite: bool = True) -> Rows:
        """Return X as the map takes it: dense or CSR, of the right width, in its precision, and finite.

        Parameters
        ----------
        X : array-like, sparse matrix or tensor of shape (n_samples, inputs)
            The rows.
        finite : bool, default=True
            Whether to refuse NaN and infinity.

        Returns
        -------
        ndarray or CSR matrix of shape (n_samples, inputs)
            The rows.
        """
        return in_precision(self.checked(X, self.is_integer and self.takes_bytes), self.precision, finite)

    def checked(self, X: Rows, bytes_stay: bool) -> Rows:
        """Return X as a dense or CSR matrix of the right width.

        Parameters
        ----------
        X : array-like, sparse matrix or tensor of shape (n_samples, inputs)
            The rows.
        bytes_stay : bool
            Whether 8-bit numbers stay as they are; else they become floats.

        Returns
        -------
        ndarray or CSR matrix of shape (n_samples, inputs)
            The rows.
        """
        require_numbers(X)
        X = as_matrix(X, bytes_stay)
        if X.shape[1] != self.inputs:
            raise ValueError(f"X has {X.shape[1]} columns; the map was made for {self.inputs}.")
        return X

    @property
    def is_integer(self) -> bool:
        """Whether features are integers."""
        return self.precision in LIMITS

    @property
    def limit(self) -> int:
        """Largest feature of an integer map."""
        return LIMITS[str(self.precision)]

    @property
    def rounds_input(self) -> bool:
        """Whether the map works on 8-bit codes of x, so that its features are known to a step only."""
        return False

    @property
    def has_prefixes(self) -> bool:
        """Whether columns can be added to the map, and taken away, one tile after another."""
        return True

    @property
    def entries(self) -> int:
        """Numbers that the features of a row take in memory: one for each column, unless they are sparse."""
        return self.columns

    def output_dtype(self, X: Rows) -> np.dtype:
        """Return the type of the features of rows X.

        Parameters
        ----------
        X : ndarray or sparse matrix
            Rows; their type is that of float features, unless `precision` says otherwise.

        Returns
        -------
        dtype
            The type of the features.
        """
        if self.is_integer:
            return np.dtype(np.int8 if self.limit <= 127 else np.int16)
        return np.dtype(self.precision or dtype_name(X))

    # ---- equality and files ----

    def identity(self) -> tuple[Any, ...]:
        """Return all that determines the features; maps with equal identities make the same ones.

        Returns
        -------
        tuple
            A hashable value.
        """
        return type(self), frozen({f.name: getattr(self, f.name) for f in fields(self)})  # type: ignore[arg-type]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FeatureMap) and self.identity() == other.identity()

    def __hash__(self) -> int:
        return hash(self.identity())

    def to_state(self) -> dict[str, Any]:
        """Return what a file keeps: all that the constructor takes. Weights are drawn again from the seed.

        Returns
        -------
        dict
            Values by name.
        """
        return {f.name: getattr(self, f.name) for f in fields(self) if f.init}  # type: ignore[arg-type]

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Make a map of what a file kept, and refuse values that no fit gives.

        Parameters
        ----------
        state : dict
            What `to_state` returned.

        Returns
        -------
        FeatureMap
            The map.
        """
        made = cls(**state)
        made.require_sound()
        return made

    def require_sound(self) -> None:
        """Refuse numbers that no fit gives."""
        require_integer("columns", self.columns)
        require_integer("inputs", self.inputs)
        if self.precision not in (None, *PRECISIONS):
            raise ValueError(f"{self.precision!r} is no precision")


def frozen(value: object) -> Rows:
    """A hashable stand-in that is equal for equal values; classes count as themselves, not by their names."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, dict):
        return tuple(sorted((k, frozen(v)) for k, v in value.items()))
    if isinstance(value, tuple | list):
        return tuple(frozen(item) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        return type(value), frozen(vars(value))
    return value


def read_only(array: object, dtype: DTypeLike = np.float64) -> np.ndarray:
    """A copy that cannot be written to."""
    copy = np.array(array, dtype=dtype)
    copy.flags.writeable = False
    return copy

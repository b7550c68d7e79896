"""What every basis shares: the scikit-learn face of a feature map.

The constructor remembers, `fit` looks at sampled rows, settles a few numbers and makes `map_`, and `transform` is
`map_`. Subclasses say what is settled, and which map comes of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array, Rows, like, to_host
from ..fields import names, require_sound, whole
from ..lazy import by_partitions
from ..maps import LIMITS, PRECISIONS, UnitMap
from ..maps.base import frozen
from ..maps.quantize import Quantizer, choose_quantizer
from ..maps.rows import in_precision
from ..streams import sample_rows
from ..typing import MatrixLike, RandomStateLike
from ..validation import require_choice, require_integer
from .checking import checked_rows
from .heuristics import SAMPLE, different_rows, draw_seed, largest_size
from .stored import PARAMETERS, require_like

INCIDENTAL = ("feature_names_in_", "clipped_fraction_")  # fitted names that do not determine the features
MOST_COLUMNS = 1 << 31


@dataclass(frozen=True)
class Bounds:
    """Constants of a basis that the bounds of `bochner.theory` need, for |x| <= 1 where they depend on x.

    A unit is a group of columns that is drawn independently of the others, u(x) its features.

    Parameters
    ----------
    columns : int
        Columns of one unit.
    product : float
        Largest |u(x)'u(z)|; inf if there is none.
    second_moment : float
        Upper bound of E (u(x)'u(z))^2.
    lipschitz : float, default=inf
        Lipschitz constant of the features in <w, x>.
    weight_moment : float, default=inf
        E |w|^2, for each column of X.
    floor : float, default=0.0
        Variance of the estimated kernel that more units do not remove.

    Examples
    --------
    >>> from bochner import RandomStumps
    >>> RandomStumps(10, random_state=0).fit([[1.0], [2.0]]).bounds.product
    1.0
    """

    columns: int
    product: float
    second_moment: float
    lipschitz: float = np.inf
    weight_moment: float = np.inf
    floor: float = 0.0


class Basis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """What all bases share: parameters, `fit`, `transform`, and the exact kernel behind the features.

    A basis is a scikit-learn transformer. Its constructor only remembers; `fit` looks at a sample of the rows, settles
    a seed and a few numbers and makes `map_`; `transform` computes features. This class is abstract: a subclass says
    which numbers are settled and which map they make (CONTRIBUTING.md, "How to add a basis").

    Examples
    --------
    >>> from bochner import RandomStumps
    >>> from bochner.bases import Basis
    >>> isinstance(RandomStumps(), Basis)
    True
    """

    n_components: int
    precision: str | None
    random_state: RandomStateLike
    map_: UnitMap
    quantizer_: Quantizer

    kind: ClassVar[type[UnitMap]]  # of map that `fit` makes
    shift_invariant = False  # the kernel is a function of x - z

    # ---- what a basis declares ----

    @abstractmethod
    def _settle(self, rows: Rows, largest: float) -> None:
        """Check the parameters and set the fitted numbers, from sampled rows and the largest |x| of all rows."""

    @abstractmethod
    def _own_fields(self) -> dict[str, Any]:
        """What the map is made of, besides the fields that all maps have; from parameters and fitted numbers."""

    @property
    @abstractmethod
    def bounds(self) -> Bounds:
        """Constants that the bounds of `bochner.theory` need."""

    # ---- the scikit-learn face ----

    def fit(self, X: MatrixLike, y: object = None) -> Self:
        """Settle the seed and the numbers that depend on the data, such as the bandwidth.

        Parameters
        ----------
        X : array-like, sparse matrix, frame or tensor of shape (n_samples, n_features)
            The rows. A sample of 500 of them is looked at.
        y : object, default=None
            Ignored.

        Returns
        -------
        Basis
            The fitted basis itself.
        """
        self._forget()
        rows = self._validate(X, reset=True)
        sample = like(sample_rows(rows.shape[0], SAMPLE, seed=0), rows)
        return self._fit_rows(to_host(rows[sample]), largest_size(rows))

    def fit_sample(self, rows: Rows, largest: float) -> Self:
        """Do what `fit` does from sampled rows alone: for rows that are not in memory.

        Parameters
        ----------
        rows : array-like or sparse matrix of shape (n_sampled, n_features)
            Sampled rows.
        largest : float
            Largest |x| of all rows.

        Returns
        -------
        Basis
            The fitted basis itself.
        """
        self._forget()
        return self._fit_rows(to_host(self._validate(rows, reset=True)), largest)

    def _forget(self) -> None:
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    def _fit_rows(self, rows: Rows, largest: float) -> Self:
        require_integer("n_components", self.n_components)
        if self.precision is not None:
            require_choice("precision", self.precision, PRECISIONS)
        self.seed_ = draw_seed(self.random_state)
        rows = different_rows(rows)
        if self._rounds_input:
            may_shift = self.shift_invariant and not scipy.sparse.issparse(rows)
            self.quantizer_ = choose_quantizer(rows, may_shift)
            self.clipped_fraction_ = self.quantizer_.clipped_fraction(rows)
        self._settle(rows, largest)
        self._keep_map()
        return self

    def _keep_map(self) -> None:
        """Make the map of the parameters and fitted numbers."""
        self.map_ = self.kind(
            columns=self._m, inputs=int(self.n_features_in_), seed=self.seed_, precision=self.precision,
            scale=self.scale_, quantizer=self.quantizer_ if self._rounds_input else None, **self._own_fields(),
        )  # fmt: skip
        self._n_features_out = self._m

    @by_partitions
    def transform(self, X: MatrixLike) -> Rows:
        """Compute the features of the rows of X.

        Parameters
        ----------
        X : array-like, sparse matrix, frame or tensor of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray, sparse matrix or tensor of shape (n_samples, n_components)
            The features; a torch tensor if X is one, and what `set_output` says if it was called.
        """
        return self.features(X)

    def features(self, X: MatrixLike) -> Rows:
        """Compute the features as a numpy array or CSR matrix, whatever `set_output` says.

        Parameters
        ----------
        X : array-like, sparse matrix, frame or tensor of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray or CSR matrix of shape (n_samples, n_components)
            The features.
        """
        check_is_fitted(self)
        return self.map_(self._checked(X))

    def column_tiles(self, X: MatrixLike, columns: int, first: int = 0) -> Iterator[tuple[slice, Any]]:
        """Compute the features a few columns at a time, where all of them would be too many to hold.

        Parameters
        ----------
        X : array-like, sparse matrix, frame or tensor of shape (n_samples, n_features)
            The rows.
        columns : int
            Most columns of a tile, about.
        first : int, default=0
            Number of the tile to start with.

        Yields
        ------
        tuple of slice and ndarray
            Which columns, and their values of shape (n_samples, columns of the tile).
        """
        check_is_fitted(self)
        yield from self.map_.tiles(self._checked(X), columns, first)

    def kernel(self, X: MatrixLike, Z: MatrixLike | None = None) -> Array:
        """Compute the exact kernel that the features approximate.

        Parameters
        ----------
        X : array-like, sparse matrix or tensor of shape (n_samples, n_features)
            Rows.
        Z : array-like, sparse matrix or tensor of shape (n_others, n_features), default=None
            Other rows; None compares the rows of X with each other.

        Returns
        -------
        ndarray or tensor of shape (n_samples, n_others)
            The kernel matrix k(x_i, z_j).
        """
        check_is_fitted(self)
        return self.map_.exact_gram(self._checked(X), None if Z is None else self._checked(Z))

    def local_linear(self, X: MatrixLike, coefficients: Array) -> Array:
        """Compute the slopes around each row of a linear function of the features, for locally linear bases.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        coefficients : ndarray of shape (n_components, n_outputs)
            Coefficients of the features.

        Returns
        -------
        ndarray of shape (n_samples, n_features, n_outputs)
            Around row x the function is <slope, x>. RandomMaxout and GatedLinear have slopes; others refuse.
        """
        check_is_fitted(self)
        return self.map_.local_linear(self._checked(X), coefficients)

    # ---- bases of other sizes ----

    def sized(self, n_components: int) -> Basis:
        """Return an unfitted copy with another number of features.

        Parameters
        ----------
        n_components : int
            Number of features; it is rounded down to one that the basis may have.

        Returns
        -------
        Basis
            The copy, not fitted.
        """
        if "n_components" not in self.get_params():  # they are given one by one
            return clone(self)
        return clone(self).set_params(n_components=max(n_components - n_components % self._together, self._together))

    @property
    def _together(self) -> int:
        """Columns that cannot be had one by one."""
        return 1

    def truncated(self, n_components: int) -> Self:
        """Return the fitted basis of the first features alone: what `fit` would have given for fewer.

        Parameters
        ----------
        n_components : int
            Number of features to keep.

        Returns
        -------
        Basis
            A fitted basis.
        """
        check_is_fitted(self)
        return self._with_map(self.map_.truncated(n_components))

    def enlarged(self, n_components: int) -> Self:
        """Return the fitted basis with more features, of which those at hand are the first.

        Parameters
        ----------
        n_components : int
            Number of features, at least as many as there are.

        Returns
        -------
        Basis
            A fitted basis.
        """
        check_is_fitted(self)
        return self._with_map(self.map_.enlarged(n_components))

    def _with_map(self, resized: UnitMap) -> Self:
        """This fitted basis with a map of fewer or more columns."""
        other = copy(self)
        if resized.columns != self._m:
            other.n_components = resized.columns
        other.map_, other.scale_, other._n_features_out = resized, resized.scale, resized.columns
        return other

    # ---- equality and files ----

    def identity(self) -> tuple[Any, ...]:
        """Return all that determines the features; two fitted bases with equal identities make the same ones.

        Returns
        -------
        tuple
            A hashable value.
        """
        check_is_fitted(self)
        parameters = {k: v for k, v in self.get_params(deep=False).items() if k != "random_state"}
        fitted = {k: v for k, v in self._fitted().items() if k not in INCIDENTAL}
        return type(self), frozen(parameters), frozen(fitted)

    def _fitted(self) -> dict[str, Any]:
        """The fitted numbers, of which the map is made."""
        return {name: value for name, value in vars(self).items() if name.endswith("_") and name != "map_"}

    def to_state(self) -> dict[str, Any]:
        """Return what a file keeps of a fitted basis; weights are drawn again from the seed.

        Returns
        -------
        dict
            Parameters and fitted numbers.
        """
        check_is_fitted(self)
        return {"parameters": {**self.get_params(deep=False), "random_state": self.seed_}, "fitted": self._fitted()}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Make a fitted basis of what a file kept, and refuse values that no fit gives.

        Parameters
        ----------
        state : dict
            What `to_state` returned.

        Returns
        -------
        Basis
            A fitted basis.
        """
        require_sound(state["parameters"], PARAMETERS)
        basis, fitted = cls(**state["parameters"]), state["fitted"]
        columns = require_integer("n_features_in_", fitted["n_features_in_"])
        model = clone(basis).fit_sample(np.eye(2, basis._example_columns(columns)), 1.0)
        expected = model._fitted()
        for name in {*expected, *fitted} - {"feature_names_in_"}:
            require_like(name, fitted.get(name), expected.get(name), basis.precision)
        require_sound(fitted, {"feature_names_in_": names(columns), "n_features_in_": whole(1, MOST_COLUMNS)})
        basis.__dict__.update(fitted)
        basis._keep_map()
        basis._require_settled(model)
        basis.map_.require_room()
        return basis

    def _require_settled(self, example: Basis) -> None:
        """Refuse fitted values from a file that do not go with each other; `example` was fitted to made-up rows."""

    def _example_columns(self, columns: int) -> int:
        """Columns of the made-up rows that a basis from a file is tried on: few, whatever the file says."""
        return min(columns, 64)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        kept = {None: ["float64", "float32"], "float32": ["float32"], "float64": ["float64"]}
        tags.transformer_tags.preserves_dtype = kept.get(self.precision, [])
        return tags

    # ---- shared work ----

    # Integers as Python's own: numpy's small ones wrap around.

    @property
    def _m(self) -> int:
        return int(self.n_components)

    @property
    def entries(self) -> int:
        """Numbers that the features of a row take in memory: one for each column, unless they are sparse."""
        return self._m

    @property
    def is_integer(self) -> bool:
        """Whether features are integers."""
        return self.precision in LIMITS

    @property
    def _rounds_input(self) -> bool:
        return self.is_integer and self.quantizes_input

    @property
    def has_units(self) -> bool:
        """Whether a bandwidth or radius was given as a number, which is in the units of X."""
        given = [getattr(self, name, None) for name in ("bandwidth", "radius")]
        return any(value is not None and not isinstance(value, str) for value in given)

    @property
    def _limit(self) -> int:
        if not self.is_integer:  # notebooks ask for every attribute
            raise AttributeError("only features of integers have a largest one.")
        return LIMITS[str(self.precision)]

    def output_dtype(self, X: MatrixLike) -> np.dtype:
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
        check_is_fitted(self)
        return self.map_.output_dtype(X)

    @property
    def is_of_pictures(self) -> bool:
        """Whether a row is a picture, which may also come as an array of its height, width and channels."""
        return False

    @property
    def copied_places(self) -> np.ndarray | None:
        """Which column stands where in the copies of a row that models are fitted to; None where rows are alone."""
        return None

    @property
    def quantizes_input(self) -> bool:
        """Whether integer precisions work on 8-bit codes of x."""
        return self.kind.quantizes_input

    def __add__(self, other: object) -> Basis:
        """The features of both side by side, as a BasisUnion."""
        if not isinstance(other, Basis):
            return NotImplemented
        from .union import BasisUnion  # which is a basis itself

        parts: list[Basis] = []
        for basis in (self, other):
            flat = isinstance(basis, BasisUnion) and isinstance(basis.weights, str)
            parts += basis.parts if flat else [basis]
        shared = {part.precision for part in parts}
        return BasisUnion([clone(part) for part in parts], precision=shared.pop() if len(shared) == 1 else None)

    def _checked(self, X: MatrixLike, reset: bool = False) -> Rows:
        """X as a float (or, for integer precisions, also 8-bit) matrix, dense or CSR, of the columns of the fit."""
        floats = ["float64", "float32"]
        dtypes = [*floats, "uint8", "int8"] if self.is_integer and self.kind.takes_bytes else floats
        return checked_rows(self, X, dtypes, reset)

    def _validate(self, X: MatrixLike, reset: bool) -> Rows:
        """Checked rows in the precision of the basis; NaN and infinity are refused."""
        return in_precision(self._checked(X, reset), self.precision)

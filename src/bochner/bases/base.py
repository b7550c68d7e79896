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
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array, like, to_host
from ..fields import names, require_sound, whole
from ..maps import LIMITS, PRECISIONS, UnitMap
from ..maps.base import frozen
from ..maps.quantize import Quantizer, choose_quantizer
from ..maps.rows import in_precision
from ..streams import sample_rows
from ..validation import require_choice, require_integer
from .checking import checked_rows
from .heuristics import SAMPLE, different_rows, draw_seed, largest_size
from .stored import PARAMETERS, require_like

INCIDENTAL = ("feature_names_in_", "clipped_fraction_")  # fitted names that do not determine the features
MOST_COLUMNS = 1 << 31


@dataclass(frozen=True)
class Bounds:
    """Constants of a basis that the theorems need, for |x| <= 1 where they depend on x.

    columns: columns of one independent unit. product: sup |u(x)'u(z)| of one unit, inf if there is none.
    second_moment: E (u(x)'u(z))^2 at most. lipschitz, weight_moment: of phi in <w, x>, and E|w|^2 (per dimension).
    floor: variance of the kernel's estimate that more units do not remove.
    """

    columns: int
    product: float
    second_moment: float
    lipschitz: float = np.inf
    weight_moment: float = np.inf
    floor: float = 0.0


class Basis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """A family of random features: `fit` settles a seed and a few numbers, `transform` makes the features."""

    n_components: int
    precision: str | None
    random_state: Any
    map_: UnitMap
    quantizer_: Quantizer

    kind: ClassVar[type[UnitMap]]  # of map that `fit` makes
    shift_invariant = False  # the kernel is a function of x - z

    # ---- what a basis declares ----

    @abstractmethod
    def _settle(self, rows: Any, largest: float) -> None:
        """Check the parameters and set the fitted numbers, from sampled rows and the largest |x| of all rows."""

    @abstractmethod
    def _own_fields(self) -> dict[str, Any]:
        """What the map is made of, besides the fields that all maps have; from parameters and fitted numbers."""

    @property
    @abstractmethod
    def bounds(self) -> Bounds:
        """The constants that theory.py uses."""

    # ---- the scikit-learn face ----

    def fit(self, X: Any, y: Any = None) -> Self:
        """Settle the seed and the numbers that depend on the data (bandwidth, scales); y is ignored."""
        self._forget()
        X = self._validate(X, reset=True)
        return self._fit_rows(to_host(X[like(sample_rows(X.shape[0], SAMPLE, seed=0), X)]), largest_size(X))

    def fit_sample(self, rows: Any, largest: float) -> Self:
        """What `fit` does, from sampled rows and the largest |x| of all: for rows that are not in memory."""
        self._forget()
        return self._fit_rows(to_host(self._validate(rows, reset=True)), largest)

    def _forget(self) -> None:
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    def _fit_rows(self, rows: Any, largest: float) -> Self:
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

    def transform(self, X: Any) -> Any:
        """The features of the rows of X, one row each; a torch tensor gives a torch tensor."""
        return self.features(X)

    def features(self, X: Any) -> Any:
        """The features as a numpy array, CSR matrix or torch tensor, whatever `set_output` says."""
        check_is_fitted(self)
        return self.map_(self._checked(X))

    def column_tiles(self, X: Any, columns: int, first: int = 0) -> Iterator[tuple[slice, Any]]:
        """All features of X from tile `first` on, at most about `columns` at a time: (which columns, their values)."""
        check_is_fitted(self)
        yield from self.map_.tiles(self._checked(X), columns, first)

    def kernel(self, X: Any, Z: Any = None) -> np.ndarray:
        """The exact kernel that the features approximate."""
        check_is_fitted(self)
        return self.map_.exact_gram(self._checked(X), None if Z is None else self._checked(Z))

    def local_linear(self, X: Any, coefficients: Array) -> Array:
        """The vectors (n, d, k) of the linear functions that features times coefficients (m, k) are around each row."""
        check_is_fitted(self)
        return self.map_.local_linear(self._checked(X), coefficients)

    # ---- bases of other sizes ----

    def sized(self, n_components: int) -> Basis:
        """A basis of its kind, not yet fitted, with so many components, or as near to that as it may have."""
        if "n_components" not in self.get_params():  # they are given one by one
            return clone(self)
        return clone(self).set_params(n_components=max(n_components - n_components % self._together, self._together))

    @property
    def _together(self) -> int:
        """Columns that cannot be had one by one."""
        return 1

    def truncated(self, n_components: int) -> Self:
        """The fitted basis of the first columns alone: what fit would have given for fewer components."""
        check_is_fitted(self)
        return self._with_map(self.map_.truncated(n_components))

    def enlarged(self, n_components: int) -> Self:
        """The fitted basis of more columns of the same streams; those it has are the first of them."""
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
        """All that determines the features; two fitted bases with equal identities make the same ones."""
        check_is_fitted(self)
        parameters = {k: v for k, v in self.get_params(deep=False).items() if k != "random_state"}
        fitted = {k: v for k, v in self._fitted().items() if k not in INCIDENTAL}
        return type(self), frozen(parameters), frozen(fitted)

    def _fitted(self) -> dict[str, Any]:
        """The fitted numbers, of which the map is made."""
        return {name: value for name, value in vars(self).items() if name.endswith("_") and name != "map_"}

    def to_state(self) -> dict[str, Any]:
        """What a file keeps: parameters and fitted numbers; weights are drawn again from the seed."""
        check_is_fitted(self)
        return {"parameters": {**self.get_params(deep=False), "random_state": self.seed_}, "fitted": self._fitted()}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """A fitted basis from what a file kept, which must look like one that was fitted."""
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

    def _require_settled(self, example: Any) -> None:
        """Refuse fitted values from a file that do not go with each other; `example` was fitted to made-up rows."""

    def _example_columns(self, columns: int) -> int:
        """Columns of the made-up rows that a basis from a file is tried on: few, whatever the file says."""
        return min(columns, 64)

    def __sklearn_tags__(self) -> Any:
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
        """Numbers that the features of a row take in memory: one a column, unless they are sparse."""
        return self._m

    @property
    def is_integer(self) -> bool:
        """Whether features are integers."""
        return self.precision in LIMITS

    @property
    def _rounds_input(self) -> bool:
        return self.is_integer and self.kind.quantizes_input

    @property
    def has_units(self) -> bool:
        """Whether a number was given in the units of x, so that rows must be taken as they are."""
        given = [getattr(self, name, None) for name in ("bandwidth", "radius")]
        return any(value is not None and not isinstance(value, str) for value in given)

    @property
    def _limit(self) -> int:
        return LIMITS[str(self.precision)]

    def output_dtype(self, X: Any) -> np.dtype:
        """The type of the features of rows X; integers do not hang on it."""
        check_is_fitted(self)
        return self.map_.output_dtype(X)

    def _checked(self, X: Any, reset: bool = False) -> Any:
        """X as a float (or, for integer precisions, also 8-bit) matrix, dense or CSR, of the columns of the fit."""
        floats = ["float64", "float32"]
        dtypes = [*floats, "uint8", "int8"] if self.is_integer and self.kind.takes_bytes else floats
        return checked_rows(self, X, dtypes, reset)

    def _validate(self, X: Any, reset: bool) -> Any:
        """Checked rows in the precision of the basis; NaN and infinity are refused."""
        return in_precision(self._checked(X, reset), self.precision)

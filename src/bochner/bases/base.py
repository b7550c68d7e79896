"""What every basis shares: the scikit-learn face, tiles of rows and units, and a cache of drawn weights.

A basis is made of units (a frequency, a pool, a stump, a grid). Subclasses say how units are drawn from streams and
how a tile of rows meets a tile of units; nothing larger than a tile is ever made besides the result.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, is_dataclass
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import ops
from ..arrays import like, to_numpy
from ..config import memory_budget
from ..fields import names, require_sound, whole
from ..kernels import Kernel
from ..ops import threads
from ..streams import sample_rows
from ..validation import require_choice, require_finite, require_integer, require_numbers
from .cache import WEIGHTS
from .quantize import Quantizer, choose_quantizer
from .settle import PARAMETERS, SAMPLE, different_rows, draw_seed, largest_size, require_like

PRECISIONS = ("float32", "float64", "int8", "int14")
LIMITS = {"int8": 127, "int14": 8191}  # the largest feature of each integer precision
INCIDENTAL = ("feature_names_in_", "clipped_fraction_")  # fitted names that do not determine the features
MANY_ROWS = 1 << 14
MOST_COLUMNS = 1 << 31
MOST_UNITS = 1 << 20  # of a basis from a file, if it has fewer columns
TILE = 1 << 22  # numbers in a tile of weights, or of projections


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

    quantizes_input = True  # integer precisions work on 8-bit codes of x
    takes_bytes = True  # and 8-bit numbers are left as they are
    shift_invariant = False  # the kernel is a function of x - z
    refuses_infinity = False  # the op itself raises NotFiniteError for NaN and infinity
    multiplies_sparse = True  # a tile of CSR rows is used as it is, not made dense

    # ---- what a basis declares ----

    @abstractmethod
    def _settle(self, rows: Any, largest: float) -> None:
        """Check the parameters and set the fitted numbers, from sampled rows and the largest |x| of all rows."""

    @abstractmethod
    def _units(self) -> tuple[int, int, int]:
        """How many units there are, the numbers drawn for each, and the projections made for each."""

    @abstractmethod
    def _columns(self, unit: int) -> int:
        """The column at which a unit starts (for the number of units: the number of columns)."""

    @abstractmethod
    def _draw(self, start: int, stop: int) -> tuple[np.ndarray, ...]:
        """The weights of units start..stop-1, from streams alone; floats in float64."""

    @abstractmethod
    def _map(self, X: Any, weights: tuple[np.ndarray, ...]) -> np.ndarray:
        """Float features of a tile of rows for a tile of units, in the dtype of X."""

    @abstractmethod
    def _map_integer(self, X: Any, weights: tuple[np.ndarray, ...]) -> np.ndarray:
        """Integer features, defined bit for bit; X holds codes, or floats if the input is not quantized."""

    @abstractmethod
    def _exact_kernel(self) -> Kernel:
        """The kernel that the features approximate."""

    @property
    @abstractmethod
    def bounds(self) -> Bounds:
        """The constants that theory.py uses."""

    # ---- the scikit-learn face ----

    def fit(self, X: Any, y: Any = None) -> Basis:
        """Settle the seed and the numbers that depend on the data (bandwidth, scales); y is ignored."""
        self._forget()
        X = self._validate(X, reset=True)
        return self._fit_rows(X[sample_rows(X.shape[0], SAMPLE, seed=0)], largest_size(X))

    def fit_sample(self, rows: Any, largest: float) -> Basis:
        """What `fit` does, from sampled rows and the largest |x| of all: for rows that are not in memory."""
        self._forget()
        return self._fit_rows(self._validate(rows, reset=True), largest)

    def _forget(self) -> None:
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    def _fit_rows(self, rows: Any, largest: float) -> Basis:
        require_integer("n_components", self.n_components)
        if self.precision is not None:
            require_choice("precision", self.precision, PRECISIONS)
        self.seed_ = draw_seed(self.random_state)
        rows = different_rows(rows)
        if self._is_integer and self.quantizes_input:
            may_shift = self.shift_invariant and not scipy.sparse.issparse(rows)
            self.quantizer_: Quantizer = choose_quantizer(rows, may_shift)
            self.clipped_fraction_ = self.quantizer_.clipped_fraction(rows)
        self._settle(rows, largest)
        self._n_features_out = self._m
        return self

    def transform(self, X: Any) -> Any:
        """The features of the rows of X, one row each; a torch tensor gives a torch tensor."""
        return like(self.features(X), X)

    def features(self, X: Any) -> Any:
        """The features as a numpy array or CSR matrix, whatever `set_output` says."""
        check_is_fitted(self)
        X = self._validate(X, reset=False, finite=not self.refuses_infinity)
        try:
            return self._transform(X)
        except ops.NotFiniteError as error:
            refused = error
        require_finite(X)  # which says where
        raise refused

    def column_tiles(self, X: Any, columns: int, first: int = 0) -> Iterator[tuple[slice, Any]]:
        """All features of X from tile `first` on, at most about `columns` at a time: (which columns, their values)."""
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        count = self._units()[0]
        step = max(1, columns * count // self._m)
        for start in range(first * step, count, step):
            stop = min(start + step, count)
            yield slice(self._columns(start), self._columns(stop)), self._transform(X, start, stop)

    def _transform(self, X: Any, first: int = 0, last: int | None = None) -> Any:
        """The features of units first..last-1 of valid rows."""
        last = self._units()[0] if last is None else last
        origin = self._columns(first)
        feature_map = self._map_integer if self._is_integer else self._map
        tiles = list(self._tiles(X.shape[0], first, last, not scipy.sparse.issparse(X) and self._is_fused(X.dtype)))
        if len(tiles) == 1:  # what the map makes is the result; a copy of it would cost as much again
            return feature_map(self._prepare(X), self._weights(first, last, X.dtype))
        out = np.empty((X.shape[0], self._columns(last) - origin), dtype=self.output_dtype(X))
        for (start, stop), rows in tiles:
            columns = slice(self._columns(start) - origin, self._columns(stop) - origin)
            self._map_into(out[rows, columns], feature_map, self._prepare(X[rows]), self._weights(start, stop, X.dtype))
        return out

    def _map_into(self, out: np.ndarray, feature_map: Any, X: Any, weights: tuple[np.ndarray, ...]) -> None:
        """Write the features of a tile; a basis whose op can write in place does so."""
        out[:] = feature_map(X, weights)

    def kernel(self, X: Any, Z: Any = None) -> np.ndarray:
        """The exact kernel that the features approximate."""
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        return self._exact_kernel()(X, None if Z is None else self._validate(Z, reset=False))

    def sized(self, n_components: int) -> Basis:
        """A basis of its kind, not yet fitted, with so many components, or as near to that as it may have."""
        if "n_components" not in self.get_params():  # they are given one by one
            return clone(self)
        return clone(self).set_params(n_components=max(n_components - n_components % self._together, self._together))

    @property
    def _together(self) -> int:
        """Columns that cannot be had one by one."""
        return 1

    def truncated(self, n_components: int) -> Basis:
        """The fitted basis of the first columns alone: what fit would have given for fewer components."""
        check_is_fitted(self)
        columns = require_integer("n_components", n_components)
        if columns > self._m or columns not in {self._m, *self._prefixes(columns)}:
            raise ValueError(f"the first {columns} columns of this {type(self).__name__} are not a basis of its kind.")
        shorter = copy(self)
        shorter.n_components = columns
        if self._is_integer:  # float features carry their scale in themselves
            shorter.scale_ = self.scale_ * float(np.sqrt(self._m / columns))
        shorter._n_features_out = columns
        return shorter

    def enlarged(self, n_components: int) -> Basis:
        """The fitted basis of more columns of the same streams; those it has are the first of them."""
        check_is_fitted(self)
        larger = copy(self)
        larger.n_components = require_integer("n_components", n_components)
        larger.truncated(self._m)  # refuses where the columns at hand would not be a prefix
        if self._is_integer:
            larger.scale_ = self.scale_ * float(np.sqrt(self._m / larger._m))
        larger._n_features_out = larger._m
        return larger

    def _prefixes(self, columns: int) -> set[int]:
        """`columns`, if the first so many columns are a basis by themselves."""
        return {columns}

    def local_linear(self, X: Any, coefficients: np.ndarray) -> np.ndarray:
        """The vectors (n, d, k) of the linear functions that features times coefficients (m, k) are around each row."""
        raise ValueError(f"{type(self).__name__} is not locally linear; RandomMaxout and GatedLinear are.")

    def identity(self) -> tuple[Any, ...]:
        """All that determines the features; two fitted bases with equal identities make the same ones."""
        check_is_fitted(self)
        parameters = {k: v for k, v in self.get_params(deep=False).items() if k != "random_state"}
        fitted = {k: v for k, v in vars(self).items() if k.endswith("_") and k not in INCIDENTAL}
        return type(self), frozen(parameters), frozen(fitted)

    def to_state(self) -> dict[str, Any]:
        """What a file keeps: parameters and fitted numbers; weights are drawn again from the seed."""
        check_is_fitted(self)
        fitted = {name: value for name, value in vars(self).items() if name.endswith("_")}
        return {"parameters": {**self.get_params(deep=False), "random_state": self.seed_}, "fitted": fitted}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Basis:
        """A fitted basis from what a file kept, which must look like one that was fitted."""
        require_sound(state["parameters"], PARAMETERS)
        basis, fitted = cls(**state["parameters"]), state["fitted"]
        columns = require_integer("n_features_in_", fitted["n_features_in_"])
        model = clone(basis).fit_sample(np.eye(2, basis._example_columns(columns)), 1.0)
        expected = {name: value for name, value in vars(model).items() if name.endswith("_")}
        for name in {*expected, *fitted} - {"feature_names_in_"}:
            require_like(name, fitted.get(name), expected.get(name), basis.precision)
        require_sound(fitted, {"feature_names_in_": names(columns), "n_features_in_": whole(1, MOST_COLUMNS)})
        basis.__dict__.update(fitted)
        basis._n_features_out = basis._m
        basis._require_settled(model)
        if "quantizer_" in fitted and basis.quantizer_.center.shape not in ((1,), (columns,)):
            raise ValueError("the quantizer is one of other columns")
        units, drawn, _ = basis._units()
        if 8 * drawn > memory_budget() or units > max(basis._m, MOST_UNITS):
            raise ValueError(f"{drawn:,} numbers for each of {units:,} units are more than the memory budget allows")
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
    def _is_integer(self) -> bool:
        return self.is_integer

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
        if self._is_integer:
            return np.dtype(np.int8 if self._limit <= 127 else np.int16)
        return np.dtype(X.dtype)

    def _validate(self, X: Any, reset: bool, finite: bool = True) -> Any:
        """X as a float (or, for integer precisions, also 8-bit) matrix, dense or CSR; bad data gets one sentence."""
        X = to_numpy(X)
        require_numbers(X)
        floats = ["float64", "float32"]
        dtypes = [*floats, "uint8", "int8"] if self._is_integer and self.takes_bytes else floats
        X = validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype=[np.dtype(d) for d in dtypes], ensure_all_finite=False
        )
        rounds = self.precision in ("float32", "float64") and X.dtype != self.precision
        if finite or rounds:
            require_finite(X, total=threads.total)
        if rounds:
            with np.errstate(over="ignore"):
                X = X.astype(self.precision)
            require_finite(X, "X in float32", threads.total)
        return X

    def _tiles(self, n: int, first: int, last: int, fused: bool = False) -> Iterator[tuple[tuple[int, int], slice]]:
        """Every (units, rows) tile, all rows of a tile of units before the next units."""
        _, drawn, projections = self._units()
        most = last - first if fused else 8192 // max(projections, 1)  # a fused op keeps no projections
        per_tile = max(1, min(TILE // max(drawn, 1), most))
        rows = max(16, TILE // (min(per_tile, last - first) * projections))
        if fused and per_tile >= last - first:  # what the op makes is the result
            rows = max(rows, n)
        elif fused or (self._is_integer and ops.has_fast("project_cos_sin")):  # weights are packed once for all rows
            rows = max(rows, MANY_ROWS)
        for start in range(first, last, per_tile):
            for row in range(0, n, rows):
                yield (start, min(start + per_tile, last)), slice(row, min(row + rows, n))

    def _is_fused(self, dtype: np.dtype) -> bool:
        """Whether one op makes all features of dense rows of that dtype, and holds no more than they are."""
        return False

    def _prepare(self, X: Any) -> Any:
        """A tile of rows as the maps take it: codes for integers, dense where CSR is of no use."""
        if scipy.sparse.issparse(X) and (self._is_integer or not self.multiplies_sparse):
            X = X.toarray()
        return self.quantizer_(X) if self._is_integer and self.quantizes_input else X

    def _weights(self, start: int, stop: int, dtype: Any) -> tuple[np.ndarray, ...]:
        """The drawn weights, floats in `dtype` (float64 for 8-bit inputs), from the cache if they are there."""
        dtype = np.dtype(dtype if np.dtype(dtype).kind == "f" else np.float64)
        key = (self.identity(), dtype.str, start, stop)

        def draw() -> tuple[np.ndarray, ...]:
            drawn = self._draw(start, stop)
            return tuple(w.astype(dtype, copy=False) if w.dtype == np.float64 else w for w in drawn)

        return WEIGHTS.get(key, draw)


def frozen(value: Any) -> Any:
    """A hashable stand-in that is equal for equal values; classes count as themselves, not by their names."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, dict):
        return tuple(sorted((k, frozen(v)) for k, v in value.items()))
    if is_dataclass(value) and not isinstance(value, type):
        return type(value), frozen(vars(value))
    return value

"""What every basis shares: the scikit-learn face, tiles of rows and units, and a cache of drawn weights.

A basis is made of units (a frequency, a pool, a stump, a grid). Subclasses say how units are drawn from streams and
how a tile of rows meets a tile of units; nothing larger than a tile is ever made besides the result.
"""

from __future__ import annotations

import numbers
import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np
import scipy.sparse
from scipy.spatial.distance import pdist
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ..arrays import like, to_numpy
from ..config import memory_budget
from ..kernels import Kernel
from ..streams import sample_rows
from ..validation import require_choice, require_finite, require_integer, require_positive
from .quantize import Quantizer, choose_quantizer, round_digits

PRECISIONS = ("float32", "float64", "int8", "int14")
LIMITS = {"int8": 127, "int14": 8191}  # the largest feature of each integer precision
SAMPLE = 500  # rows from which bandwidths and scales are learned
TILE = 1 << 22  # numbers in a tile of weights, or of projections


@dataclass(frozen=True)
class Bounds:
    """Constants of a basis that the theorems need, for |x| <= 1 where they depend on x.

    columns: columns of one independent unit. product: sup |u(x)'u(z)| of one unit, inf if there is none.
    second_moment: E (u(x)'u(z))^2 at most. lipschitz, weight_moment: of phi in <w, x>, and E|w|^2 (per dimension).
    """

    columns: int
    product: float
    second_moment: float
    lipschitz: float = np.inf
    weight_moment: float = np.inf


class Basis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """A family of random features: `fit` settles a seed and a few numbers, `transform` makes the features."""

    n_components: int
    precision: str | None
    random_state: Any

    quantizes_input = True  # integer precisions work on 8-bit codes of x
    shift_invariant = False  # the kernel is a function of x - z
    multiplies_sparse = True  # a tile of CSR rows is used as it is, not made dense

    # ---- what a basis declares ----

    @abstractmethod
    def _settle(self, rows: np.ndarray, X: Any) -> None:
        """Check the parameters and set the fitted numbers; `rows` is a fixed dense sample of X."""

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
        X = self._validate(X, reset=True)
        require_integer("n_components", self.n_components)
        if self.precision is not None:
            require_choice("precision", self.precision, PRECISIONS)
        self.seed_ = draw_seed(self.random_state)
        rows = X[sample_rows(X.shape[0], SAMPLE, seed=0)]
        rows = rows.toarray() if scipy.sparse.issparse(rows) else np.asarray(rows)
        if self._is_integer and self.quantizes_input:
            may_shift = self.shift_invariant and not scipy.sparse.issparse(X)
            self.quantizer_: Quantizer = choose_quantizer(rows, may_shift)
            self.clipped_fraction_ = self.quantizer_.clipped_fraction(rows)
        self._settle(rows, X)
        self._n_features_out = self.n_components
        return self

    def transform(self, X: Any) -> Any:
        """The features of the rows of X, one row each; a torch tensor gives a torch tensor."""
        check_is_fitted(self)
        rows = self._validate(X, reset=False)
        return like(self._transform(rows), X)

    def _transform(self, X: Any) -> Any:
        out = np.empty((X.shape[0], self.n_components), dtype=self._output_dtype(X))
        feature_map = self._map_integer if self._is_integer else self._map
        for (start, stop), rows in self._tiles(X.shape[0]):
            weights = self._weights(start, stop, X.dtype)
            out[rows, self._columns(start) : self._columns(stop)] = feature_map(self._prepare(X[rows]), weights)
        return out

    def kernel(self, X: Any, Z: Any = None) -> np.ndarray:
        """The exact kernel that the features approximate."""
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        return self._exact_kernel()(X, None if Z is None else self._validate(Z, reset=False))

    def identity(self) -> tuple[Any, ...]:
        """All that determines the features; two fitted bases with equal identities make the same ones."""
        check_is_fitted(self)
        parameters = {k: v for k, v in self.get_params(deep=False).items() if k != "random_state"}
        fitted = {k: v for k, v in vars(self).items() if k.endswith("_") and k != "feature_names_in_"}
        return type(self).__qualname__, _frozen(parameters), _frozen(fitted)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        kept = {None: ["float64", "float32"], "float32": ["float32"], "float64": ["float64"]}
        tags.transformer_tags.preserves_dtype = kept.get(self.precision, [])
        return tags

    # ---- shared work ----

    @property
    def _is_integer(self) -> bool:
        return self.precision in LIMITS

    @property
    def _limit(self) -> int:
        return LIMITS[str(self.precision)]

    def _output_dtype(self, X: Any) -> np.dtype:
        if self._is_integer:
            return np.dtype(np.int8 if self._limit <= 127 else np.int16)
        return np.dtype(X.dtype)

    def _validate(self, X: Any, reset: bool) -> Any:
        """X as a float (or, for integer precisions, also 8-bit) matrix, dense or CSR; bad data gets one sentence."""
        X = to_numpy(X)
        refuse_text_columns(X)
        floats = [self.precision] if self.precision in ("float32", "float64") else ["float64", "float32"]
        dtypes = [*floats, "uint8", "int8"] if self._is_integer and self.quantizes_input else floats
        X = validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype=[np.dtype(d) for d in dtypes], ensure_all_finite=False
        )
        require_finite(X)
        return X

    def _tiles(self, n: int) -> Iterator[tuple[tuple[int, int], slice]]:
        """Every (units, rows) tile, all rows of a tile of units before the next units."""
        count, drawn, projections = self._units()
        per_tile = max(1, min(TILE // max(drawn, 1), 8192 // max(projections, 1)))
        rows = max(16, TILE // (min(per_tile, count) * projections))
        for start in range(0, count, per_tile):
            for row in range(0, n, rows):
                yield (start, min(start + per_tile, count)), slice(row, min(row + rows, n))

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


class WeightCache:
    """Recently drawn weights, bounded in bytes; outside the estimators, so that they stay small and unchanged."""

    def __init__(self) -> None:
        self._entries: OrderedDict[Any, tuple[np.ndarray, ...]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, key: Any, draw: Callable[[], tuple[np.ndarray, ...]]) -> tuple[np.ndarray, ...]:
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
                return self._entries[key]
        weights = draw()
        for array in weights:
            array.flags.writeable = False
        with self._lock:
            if key not in self._entries:
                self._entries[key] = weights
                self._bytes += sum(w.nbytes for w in weights)
            while self._bytes > memory_budget() // 8 or len(self._entries) > 256:
                self._bytes -= sum(w.nbytes for w in self._entries.popitem(last=False)[1])
        return weights

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()
            self._bytes = 0


WEIGHTS = WeightCache()


def draw_seed(random_state: Any) -> int:
    """An integer random_state is the seed itself; None and RandomState give a drawn one."""
    if isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def median_bandwidth(rows: np.ndarray, metric: str) -> float:
    """The median distance between sampled rows (of the distances that are not 0; 1 if there is none), six digits."""
    distances = pdist(rows.astype(np.float64), metric)
    distances = distances[distances > 0]
    return round_digits(np.median(distances), 6) if len(distances) else 1.0


def settle_bandwidth(bandwidth: Any, rows: np.ndarray, metric: str) -> float:
    """`bandwidth` as a number: "median" looks at the rows."""
    if isinstance(bandwidth, str):
        require_choice("bandwidth", bandwidth, ["median"])
        return median_bandwidth(rows, metric)
    return require_positive("bandwidth", bandwidth)


def refuse_text_columns(X: Any) -> None:
    """Name the first column of a frame that holds no numbers."""
    if not hasattr(X, "columns") or not hasattr(X, "dtypes"):
        return
    kinds = X.dtypes if isinstance(X.dtypes, list) else list(X.dtypes)
    for name, kind in zip(X.columns, kinds, strict=True):
        numeric = kind.is_numeric() or str(kind) == "Boolean" if hasattr(kind, "is_numeric") else kind.kind in "biufc"
        if not numeric and (str(kind) != "object" or isinstance(X[name].iloc[0] if len(X) else "", str)):
            raise ValueError(
                f"column {name!r} is not numeric (its type is {kind}); encode it first, one-hot for example."
            )


def _frozen(value: Any) -> Any:
    """A hashable stand-in that is equal for equal values."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, dict):
        return tuple(sorted((k, _frozen(v)) for k, v in value.items()))
    if is_dataclass(value) and not isinstance(value, type):
        return type(value).__qualname__, tuple(_frozen(getattr(value, f.name)) for f in fields(value))
    return value

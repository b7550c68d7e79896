"""Maps made of units (a frequency, a pool, a stump, a grid) whose weights are drawn from streams.

Subclasses say how units are drawn and how a tile of rows meets a tile of units; nothing larger than a tile is ever made
besides the result.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import DTypeLike

from .. import ops
from ..arrays import Array, Rows, dtype_name, empty, is_csr, is_torch, like
from ..config import memory_budget
from ..fields import LARGEST, Check, number, numbers, require_sound, whole
from ..kernels import Kernel
from ..streams import int8_normal_deviation
from ..validation import require_integer
from .base import FeatureMap, read_only
from .cache import WEIGHTS
from .quantize import Quantizer

MOST_UNITS = 1 << 20  # of a map from a file, if it has fewer columns
SEEDS = 1 << 64

Weights = tuple[Array, ...]  # beside rows of any library
Drawn = tuple[np.ndarray, ...]


class Units(NamedTuple):
    """How many units a map has, the numbers drawn for each, and the projections made for each."""

    number: int
    drawn: int
    projections: int


@dataclass(frozen=True, eq=False, kw_only=True)
class UnitMap(FeatureMap):
    """What maps share that are made of units (a frequency, a pool, a stump, a grid) with weights drawn from streams.

    This class is abstract: CONTRIBUTING.md, "How to add a basis".

    Parameters
    ----------
    columns : int
        Number of features of a row.
    inputs : int
        Number of columns of a row.
    seed : int
        Seed of the draws.
    precision : str, default=None
        Number type of the features: None follows the rows; 'float32', 'float64'; 'int8' and 'int14' are exact integers.
    scale : float, default=1.0
        Factor after which features have `<phi(x), phi(z)> ~ k(x, z)`.
    quantizer : Quantizer, default=None
        The 8-bit codes of x that integer maps work on.
    filters : ndarray of shape (n_directions, inputs), default=None
        Directions that stand in for the normal ones that would be drawn, of about their length, where a map takes some.

    Examples
    --------
    >>> from bochner import RandomMaxout
    >>> RandomMaxout(3, pool_size=2, random_state=0).fit([[1.0], [2.0]]).map_.units
    Units(number=3, drawn=2, projections=2)
    """

    columns: int
    inputs: int
    seed: int
    precision: str | None = None
    scale: float = 1.0
    quantizer: Quantizer | None = None
    filters: np.ndarray | None = None

    quantizes_input: ClassVar[bool] = True  # integer precisions work on 8-bit codes of x
    multiplies_sparse: ClassVar[bool] = True  # a tile of CSR rows is used as it is, not made dense
    takes_directions: ClassVar[bool] = (
        False  # the first of its weights are normal directions; others may stand in for them
    )
    checks: ClassVar[dict[str, Check]] = {}  # what fields from a file may be, besides those of all maps

    def __post_init__(self) -> None:
        if self.filters is not None:
            object.__setattr__(self, "filters", read_only(self.filters))

    # ---- what a kind of map declares ----

    @property
    @abstractmethod
    def units(self) -> Units:
        """How many units there are, and what each costs."""

    @abstractmethod
    def first_column(self, unit: int) -> int:
        """Return the column at which a unit starts.

        Parameters
        ----------
        unit : int
            Number of the unit; for the number of units the answer is the number of columns.

        Returns
        -------
        int
            The column.
        """

    @abstractmethod
    def draw(self, start: int, stop: int) -> Drawn:
        """Draw the weights of units start..stop-1, from streams alone; floats in float64.

        Parameters
        ----------
        start : int
            Number of the first unit.
        stop : int
            Number after the last one.

        Returns
        -------
        tuple of ndarray
            The weights.
        """

    def draw_beside(self, X: Array, start: int, stop: int) -> Weights | None:
        """Draw the weights of some units on the device of some rows, where a map can, with the same bits.

        Parameters
        ----------
        X : torch.Tensor
            Rows.
        start : int
            Number of the first unit.
        stop : int
            Number after the last one.

        Returns
        -------
        tuple of torch.Tensor or None
            The weights; None where they are drawn on the host and sent.
        """
        return None

    @abstractmethod
    def apply(self, X: Rows, weights: Weights) -> Array:
        """Compute float features of a tile of rows for a tile of units, in the dtype of X.

        Parameters
        ----------
        X : ndarray or CSR matrix
            A tile of rows, as `prepared` makes it.
        weights : tuple of ndarray
            Weights of a tile of units.

        Returns
        -------
        ndarray
            The features.
        """

    @abstractmethod
    def apply_integer(self, X: Rows, weights: Weights) -> Array:
        """Compute integer features, defined bit for bit.

        Parameters
        ----------
        X : ndarray or CSR matrix
            A tile of 8-bit codes, or of floats if the input is not rounded.
        weights : tuple of ndarray
            Weights of a tile of units.

        Returns
        -------
        ndarray
            The features.
        """

    @abstractmethod
    def exact_kernel(self) -> Kernel:
        """Return the kernel that the features approximate.

        Returns
        -------
        Kernel
            The kernel.
        """

    def apply_into(self, out: Array, X: Rows, weights: Weights) -> None:
        """Write the features of a tile to their place.

        Parameters
        ----------
        out : ndarray
            Where to write.
        X : ndarray or CSR matrix
            A tile of rows, as `prepared` makes it.
        weights : tuple of ndarray
            Weights of a tile of units.
        """
        out[:] = (self.apply_integer if self.is_integer else self.apply)(X, weights)

    def apply_pooled(self, X: Rows, weights: Weights, cells: Array, grid: int, largest: bool) -> Array:
        """Compute the features of patches of pictures, and add them up over the cells of a grid, as `ops.pooled` does.

        Parameters
        ----------
        X : ndarray
            Patches of a few pictures, as `apply` takes rows.
        weights : tuple of ndarray
            Weights of a tile of units.
        cells : ndarray of shape (n_patches,)
            Cell of each patch of a picture.
        grid : int
            Number of cells.
        largest : bool
            Whether the largest is wanted instead of the sum.

        Returns
        -------
        ndarray of shape (n_pictures, n_columns * grid)
            The sums.
        """
        return ops.pooled((self.apply_integer if self.is_integer else self.apply)(X, weights), cells, grid, largest)

    @property
    def pools_at_once(self) -> bool:
        """Whether features of patches are pooled as they are made, and never held."""
        return False

    def is_fused(self, X: Array) -> bool:
        """Say whether one op makes all features of dense rows, and holds no more than they are.

        Parameters
        ----------
        X : ndarray or torch.Tensor
            The rows.

        Returns
        -------
        bool
            Whether it does.
        """
        return False

    def is_prefix(self, columns: int) -> bool:
        """Say whether the first columns are a map by themselves.

        Parameters
        ----------
        columns : int
            Number of columns.

        Returns
        -------
        bool
            Whether they are.
        """
        return True

    # ---- features ----

    @property
    def rounds_input(self) -> bool:
        return self.is_integer and self.quantizes_input

    @property
    def has_prefixes(self) -> bool:
        return self.is_prefix(self.columns)

    def weights(self, start: int = 0, stop: int | None = None, dtype: DTypeLike = np.float64) -> Drawn:
        """Return the weights of some units, or of all; they are kept in a cache.

        Parameters
        ----------
        start : int, default=0
            Number of the first unit.
        stop : int, default=None
            Number after the last one; None is all.
        dtype : dtype, default=numpy.float64
            Type of the floats among them.

        Returns
        -------
        tuple of ndarray
            The weights.
        """
        last = self.units.number if stop is None else stop
        dtype = np.dtype(dtype if np.dtype(dtype).kind == "f" else np.float64)
        key = (self.identity(), dtype.str, start, last)

        def draw() -> Drawn:
            drawn = self._with_filters(self.draw(start, last), start, last)
            return tuple(w.astype(dtype, copy=False) if w.dtype == np.float64 else w for w in drawn)

        return WEIGHTS.get(key, draw)

    def _with_filters(self, drawn: Drawn, start: int, stop: int) -> Drawn:
        """The weights with the given directions in place of those drawn, if there are such."""
        if self.filters is None:
            return drawn
        each = len(drawn[0]) // (stop - start)
        given = self.filters[start * each : stop * each] * (int8_normal_deviation() if self.is_integer else self.length)
        return (np.clip(np.rint(given), -127, 127).astype(np.int8) if self.is_integer else given, *drawn[1:])

    @property
    def length(self) -> float:
        """What float directions are multiplied by, where those of integers have a factor of their own."""
        return 1.0

    def weights_beside(self, X: Rows, start: int, stop: int) -> Weights:
        """Return the weights of some units in the library of some rows, on their device; kept in a cache.

        Parameters
        ----------
        X : ndarray, sparse matrix or torch.Tensor of shape (n_samples, n_features)
            Rows, in whose dtype the floats among the weights are.
        start : int
            Number of the first unit.
        stop : int
            Number after the last one.

        Returns
        -------
        tuple of ndarray or torch.Tensor
            The weights.
        """
        name = dtype_name(X)
        if not is_torch(X):
            return self.weights(start, stop, name)

        def move() -> Weights:
            drawn = self.draw_beside(X, start, stop)
            if drawn is not None:
                return drawn
            # A single number is a count, which the device would only be asked for.
            return tuple(like(w, X) if w.ndim else w for w in self.weights(start, stop, name))

        return WEIGHTS.get((self.identity(), name, start, stop, str(X.device)), move)

    def evaluate(self, X: Rows) -> Rows:
        return self.of_units(X, 0, self.units.number)

    def of_units(self, X: Rows, first: int, last: int) -> Rows:
        """Compute the features of units first..last-1 of rows that `rows` has made.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n_samples, inputs)
            Sound rows.
        first : int
            Number of the first unit.
        last : int
            Number after the last one.

        Returns
        -------
        ndarray or CSR matrix
            The features.
        """
        origin = self.first_column(first)
        apply = self.apply_integer if self.is_integer else self.apply
        tiles = list(self.work(X, first, last, not is_csr(X) and self.is_fused(X)))
        if len(tiles) == 1:  # what the map makes is the result; a copy of it would cost as much again
            return apply(self.prepared(X), self.weights_beside(X, first, last))
        out = empty((X.shape[0], self.first_column(last) - origin), X, self.output_dtype(X).name)
        for (start, stop), rows in tiles:
            columns = slice(self.first_column(start) - origin, self.first_column(stop) - origin)
            self.apply_into(out[rows, columns], self.prepared(X[rows]), self.weights_beside(X, start, stop))
        return out

    def work(self, X: Rows, first: int, last: int, fused: bool = False) -> Iterator[tuple[tuple[int, int], slice]]:
        """List the tiles of units and rows, all rows of a tile of units before the next units.

        Parameters
        ----------
        X : ndarray, sparse matrix or torch.Tensor of shape (n_samples, n_features)
            Rows, whose backend says how large tiles are.
        first : int
            Number of the first unit.
        last : int
            Number after the last one.
        fused : bool, default=False
            Whether one op makes all features of rows, and holds no more than they are.

        Yields
        ------
        tuple of tuple and slice
            The first unit and the one after the last, and which rows.
        """
        (_, drawn, projections), sizes, n = self.units, ops.tiles_for(X), X.shape[0]
        most = last - first if fused else sizes.columns // max(projections, 1)  # a fused op keeps no projections
        per_tile = max(1, min(sizes.numbers // max(drawn, 1), most))
        rows = max(16, sizes.numbers // (min(per_tile, last - first) * projections))
        packs = self.is_integer and ops.has_fast("project_cos_sin", X)
        if fused and per_tile >= last - first:  # what the op makes is the result
            rows = max(rows, n)
        elif fused or packs:  # weights are packed once for all rows
            rows = max(rows, sizes.packed_rows)
        for start in range(first, last, per_tile):
            for row in range(0, n, rows):
                yield (start, min(start + per_tile, last)), slice(row, min(row + rows, n))

    def prepared(self, X: Rows) -> Rows:
        """Return a tile of rows as `apply` takes it: codes for integers, dense where CSR is of no use.

        Parameters
        ----------
        X : ndarray or CSR matrix
            A tile of rows.

        Returns
        -------
        ndarray or CSR matrix
            The tile.
        """
        if is_csr(X) and (self.is_integer or not self.multiplies_sparse):
            X = X.toarray()
        return X if self.quantizer is None else self.quantizer(X)

    # ---- columns a tile at a time, prefixes ----

    def tile_count(self, columns: int) -> int:
        return -(-self.units.number // self._units_per_tile(columns))

    def tiles(self, X: Rows, columns: int, first: int = 0) -> Iterator[tuple[slice, Any]]:
        rows, count, step = self.rows(X), self.units.number, self._units_per_tile(columns)
        for start in range(first * step, count, step):
            stop = min(start + step, count)
            yield slice(self.first_column(start), self.first_column(stop)), self.of_units(rows, start, stop)

    def _units_per_tile(self, columns: int) -> int:
        return max(1, columns * self.units.number // self.columns)

    def truncated(self, columns: int) -> Self:
        columns = require_integer("n_components", columns)
        if columns > self.columns or not (columns == self.columns or self.is_prefix(columns)):
            raise ValueError(f"{self.name} of {self.columns} columns cannot be cut to its first {columns}.")
        return self._resized(columns)

    def enlarged(self, columns: int) -> Self:
        larger = self._resized(require_integer("n_components", columns))
        larger.truncated(self.columns)  # refuses where the columns at hand would not be a prefix
        return larger

    def _resized(self, columns: int) -> Self:
        # Float features carry their scale in themselves.
        scale = self.scale * float(np.sqrt(self.columns / columns)) if self.is_integer else self.scale
        resized = replace(self, columns=columns, scale=scale)
        if self.filters is None:
            return resized
        each = len(self.filters) // self.units.number
        if resized.units.number > self.units.number:
            raise ValueError(f"{self.name} with given filters cannot grow.")
        return replace(resized, filters=self.filters[: each * resized.units.number])

    def prefix_scale(self, widest: Self) -> float:
        return self.scale * (1.0 if self.is_integer else float(np.sqrt(widest.columns / self.columns)))

    def exact_gram(self, X: Rows, Z: Rows = None) -> Array:
        return self.exact_kernel()(self.rows(X), None if Z is None else self.rows(Z))

    def require_sound(self) -> None:
        super().require_sound()
        sizes: dict[str, Check] = {"seed": whole(-SEEDS, SEEDS), "scale": number(1.0 / LARGEST, LARGEST)}
        require_sound(vars(self), {**sizes, **self.checks})
        if (self.quantizer is not None) != self.rounds_input:
            raise ValueError("codes of x and the precision do not go together")
        self.require_room()
        if self.filters is not None:
            require_sound({"filters": self.filters}, {"filters": numbers(None, self.inputs)})
            if not self.takes_directions or len(self.filters) != self.units.number * len(self.draw(0, 1)[0]):
                raise ValueError("the filters are not those of this map")

    def require_room(self) -> None:
        """Refuse codes of other columns, and units that are too many or too large to be drawn."""
        if self.quantizer is not None and self.quantizer.center.shape not in ((1,), (self.inputs,)):
            raise ValueError("the quantizer has another number of columns")
        units = self.units
        if 8 * units.drawn > memory_budget() or units.number > max(self.columns, MOST_UNITS):
            raise ValueError(
                f"{units.drawn:,} numbers for each of {units.number:,} units are more than the memory budget allows"
            )

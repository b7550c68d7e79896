"""Random cells: a tree (a fern) makes D comparisons, the same for all rows; which hold says in which of 2^D cells x is.

Each tree has 2^D columns, of which that of the cell of x is sqrt(2^D / m) and the others are 0: over all m columns
<phi(x), phi(z)> is the share of trees where x and z share a cell. Kernel: P[one comparison does not tell x and z
apart]^D, since comparisons are drawn independently, with replacement.

Drawn per comparison: a column k, in proportion to weights, and a threshold t out of the table of that column, for
x_k > t; oblique ones draw a direction v and one of a few rows r, for <v, x> > <v, r>. And per tree D bits that turn its
comparisons around: by these every cell is in each of the columns with the same chance, so that the first columns alone
of a last tree are unbiased too. A comparison is exact: integer precisions need no rounding of x, but of projections.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse

from .. import ops
from ..arrays import Array, Rows, cast, constant, empty
from ..fields import Check, either, nothing, numbers, whole
from ..kernels import AxisCells, Kernel, ObliqueCells
from ..streams import Stream
from .base import read_only
from .rows import require_arrays
from .units import Drawn, UnitMap, Units, Weights

DEEPEST = 16  # comparisons of a tree
SPARSE_DEPTH = 3  # from which on cells are CSR: an eighth of the columns is filled, or less


@dataclass(frozen=True, eq=False, kw_only=True)
class CellsMap(UnitMap):
    """What maps of cells share: a unit is a tree. Subclasses say what is compared."""

    depth: int

    name = "RandomCells"
    checks: ClassVar[dict[str, Check]] = {"depth": whole(1, DEEPEST), "columns": whole(1, 2**31)}

    @abstractmethod
    def cells(self, X: Rows, weights: Weights) -> Array:
        """Return the cell of each row in some trees, 0 to 2^depth - 1, as int32.

        Parameters
        ----------
        X : ndarray or CSR matrix
            A tile of rows, as `prepared` makes it.
        weights : tuple of ndarray
            Weights of a tile of trees.

        Returns
        -------
        ndarray of shape (n_samples, n_trees)
            The cells.
        """

    @property
    def trees(self) -> int:
        """Number of trees; the last one may have fewer columns than cells."""
        return -(-self.columns // self.cells_of_tree)

    @property
    def cells_of_tree(self) -> int:
        """Number of cells of a tree."""
        return 1 << self.depth

    @property
    def is_sparse(self) -> bool:
        """Whether features are a CSR matrix."""
        return self.depth >= SPARSE_DEPTH

    @property
    def entries(self) -> int:
        return 2 * self.trees if self.is_sparse else self.columns  # values, and where they are

    def first_column(self, unit: int) -> int:
        return min(unit * self.cells_of_tree, self.columns)

    def output_dtype(self, X: Rows) -> np.dtype:
        return np.dtype(np.int8) if self.is_integer else super().output_dtype(X)

    def _units_per_tile(self, columns: int) -> int:
        # A tile is as large as what it holds: of CSR, two numbers for a tree.
        return max(1, columns // 2) if self.is_sparse else super()._units_per_tile(columns)

    # ---- features ----

    def apply(self, X: Rows, weights: Weights) -> Array:
        return self._filled(self.cells(X, weights), X)

    apply_integer = apply

    def of_units(self, X: Rows, first: int, last: int) -> Rows:
        if self.is_sparse:
            require_arrays(X, f"sparse features, which RandomCells of depth {SPARSE_DEPTH} and more makes")
        width = self.first_column(last) - self.first_column(first)
        cells = self._cells_of(X, first, last)
        features = self._rows_of(cells, X) if self.is_sparse else self._filled(cells, X)
        return features if features.shape[1] == width else features[:, :width]

    def _cells_of(self, X: Rows, first: int, last: int) -> Array:
        tiles = list(self.work(X, first, last))
        if len(tiles) == 1:
            return self.cells(self.prepared(X), self.weights_beside(X, first, last))
        cells = empty((X.shape[0], last - first), X, "int32")
        for (start, stop), rows in tiles:
            weights = self.weights_beside(X, start, stop)
            cells[rows, start - first : stop - first] = self.cells(self.prepared(X[rows]), weights)
        return cells

    @property
    def height(self) -> float:
        """What the column of a cell holds."""
        return 1.0 if self.is_integer else float(np.sqrt(self.cells_of_tree / self.columns))

    def _filled(self, cells: Array, X: Rows) -> Array:
        """Dense features of whole trees."""
        height = constant(self.height, tuple(cells.shape), cells, self.output_dtype(X).name)
        return ops.gates(cells, height, self.cells_of_tree)

    def _rows_of(self, cells: Array, X: Rows) -> scipy.sparse.csr_matrix:
        """The same as a CSR matrix, whose columns ascend in each row."""
        n, trees = cells.shape
        shape = (n, trees * self.cells_of_tree)
        index = np.int32 if max(shape[1], n * trees) < 2**31 else np.int64
        places = cells + self.cells_of_tree * np.arange(trees, dtype=index)
        data = np.full(n * trees, self.height, dtype=self.output_dtype(X))
        starts = np.arange(0, n * trees + 1, trees, dtype=index) if trees else np.zeros(n + 1, dtype=index)
        matrix = scipy.sparse.csr_matrix((data, places.ravel(), starts), shape=shape)
        matrix.has_canonical_format = True
        return matrix

    def _flips(self, start: int, stop: int) -> np.ndarray:
        return (Stream(self.seed, "flips").bits(start, stop)[:, 0] >> (32 - self.depth)).astype(np.int32)


@dataclass(frozen=True, eq=False, kw_only=True)
class AxisCellsMap(CellsMap):
    """The map of RandomCells: thresholds (inputs, K) are a table of values of each column; weights of columns may be
    None, which are the same for all."""

    thresholds: np.ndarray
    column_weights: np.ndarray | None = None

    quantizes_input = False
    takes_bytes = False
    multiplies_sparse = False
    checks: ClassVar[dict[str, Check]] = {
        **CellsMap.checks, "thresholds": numbers(None, None), "column_weights": either(nothing, numbers(None, low=0.0)),
    }  # fmt: skip

    def __post_init__(self) -> None:
        for name in ("thresholds", "column_weights"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else read_only(value))

    @property
    def units(self) -> Units:
        return Units(self.trees, 2 * self.depth + 1, self.depth)

    def draw(self, start: int, stop: int) -> Drawn:
        columns = self._drawn_columns(start, stop)
        which = Stream(self.seed, "thresholds").integers(start, stop, self.thresholds.shape[1], self.depth)
        return columns.astype(np.int32), self.thresholds[columns, which], self._flips(start, stop)

    def _drawn_columns(self, start: int, stop: int) -> np.ndarray:
        stream = Stream(self.seed, "coordinates")
        if self.column_weights is None:
            return stream.integers(start, stop, self.inputs, self.depth)
        below = np.cumsum(self.column_weights)  # one after the other: the same bits everywhere
        drawn = np.searchsorted(below, stream.uniform(start, stop, self.depth) * below[-1], side="right")
        return np.minimum(drawn, np.flatnonzero(self.column_weights)[-1])

    def cells(self, X: Rows, weights: Weights) -> Array:
        return ops.cells(X, *weights)

    def exact_kernel(self) -> Kernel:
        weights = self.column_weights
        return AxisCells(self.thresholds, None if weights is None else weights / weights.sum(), self.depth)

    def require_sound(self) -> None:
        super().require_sound()
        weights = self.column_weights
        if self.thresholds.shape[0] != self.inputs or not self.thresholds.size:
            raise ValueError("the thresholds belong to other columns")
        if weights is not None and (weights.shape != (self.inputs,) or not weights.sum() > 0):
            raise ValueError("the weights belong to other columns")


@dataclass(frozen=True, eq=False, kw_only=True)
class ObliqueCellsMap(CellsMap):
    """The map of RandomCells(oblique=True): anchors (K, inputs) are the rows through which borders of cells go."""

    anchors: np.ndarray

    checks: ClassVar[dict[str, Check]] = {**CellsMap.checks, "anchors": numbers(None, None)}

    def __post_init__(self) -> None:
        object.__setattr__(self, "anchors", read_only(self.anchors))

    @property
    def units(self) -> Units:
        return Units(self.trees, self.depth * (self.inputs + 1) + 1, self.depth)

    def draw(self, start: int, stop: int) -> Drawn:
        depth, stream = self.depth, Stream(self.seed, "directions")
        which = Stream(self.seed, "anchors").integers(start, stop, len(self.anchors), depth).ravel()
        if self.quantizer is None:
            directions = stream.normal(start * depth, stop * depth, self.inputs)
            thresholds = np.einsum("td,td->t", directions, self.anchors[which])
        else:
            directions = stream.normal_int8(start * depth, stop * depth, self.inputs)
            codes = cast(self.quantizer(self.anchors), "int32")
            thresholds = np.einsum("td,td->t", directions.astype(np.int32), codes[which])
        return directions, thresholds.reshape(-1, depth), self._flips(start, stop)

    def cells(self, X: Rows, weights: Weights) -> Array:
        directions, thresholds, flips = weights
        projections = X @ directions.T if self.quantizer is None else ops.project(X, directions)
        places = np.arange(len(directions), dtype=np.int32).reshape(-1, self.depth)
        return ops.cells(projections, places, thresholds, flips)

    def exact_kernel(self) -> Kernel:
        return ObliqueCells(self.anchors, self.depth)

    def require_sound(self) -> None:
        super().require_sound()
        if self.anchors.shape[1] != self.inputs or not self.anchors.size:
            raise ValueError("the rows that borders go through have other columns")

"""Bags of points: blocks whose rows are points, each with the number of the bag that it belongs to.

A bag is a sample of a distribution, a matrix with one row per point. Blocks are cut where memory wants it, so a bag
may be larger than memory, and what is summed over points is an aggregate, as it is over other rows.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...arrays import to_numpy
from ...blocks import Aggregate, Block, Blocks
from ...blocks.aggregate import AfterMap, P
from ...maps.scaling import ColumnScaler
from ...typing import ArrayLike

ADVICE = (
    "give a list of matrices, an array of shape (bags, points, columns), or a table with bag= to say which rows belong "
    "together"
)


class Piece(NamedTuple):
    """Some points, and the number of the bag of each."""

    points: Any
    owner: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        return self.points.shape


class Bags(Blocks):
    """Bags that can be walked through again and again, numbered in the order in which they are met.

    The X of a block is a Piece. `y` has a target for each bag, where they come with the points; for blocks, once the
    first pass is made. `scaler` scales the points, if there is one.
    """

    sizes: np.ndarray
    y: np.ndarray | None = None
    scaler: ColumnScaler | None = None

    @property
    def n_bags(self) -> int:
        return len(self.sizes)

    @abstractmethod
    def called(self, bag: int) -> str:
        """What a bag is called in complaints."""

    def reduce(self, aggregate: Aggregate[P], *, title: str = "") -> P:
        """What an aggregate makes of all points, which it sees as finite floats, scaled."""
        try:
            return super().reduce(AfterMap(aggregate, Floats(self.scaler)), title=title)
        except BadPointError as bad:
            raise ValueError(f"{self.called(bad.bag)} contains {bad.what}; drop such points first.") from None


class BadPointError(ValueError):
    """A point of a bag that is not finite; who knows what the bag is called says so."""

    def __init__(self, bag: int, what: str) -> None:
        super().__init__(bag, what)
        self.bag, self.what = bag, what


@dataclass(frozen=True)
class Floats:
    """A block whose points are finite floats, and scaled if there is a scaler."""

    scaler: ColumnScaler | None

    def __call__(self, block: Block) -> Block:
        points, owner = block.X
        points = as_floats(points.toarray() if hasattr(points, "toarray") else points)
        require_finite(points, owner)
        return block._replace(X=Piece(points if self.scaler is None else self.scaler(points), owner))


def require_finite(points: np.ndarray, owner: np.ndarray) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(points.sum(dtype=np.float64)) or np.isfinite(points).all():
            return
    row, column = np.argwhere(~np.isfinite(points))[0]
    kind = "NaN" if np.isnan(points[row, column]) else "infinity"
    raise BadPointError(int(owner[row]), f"{kind} (in column {column})")


class SequenceBags(Bags):
    """A sequence of matrices: arrays, memory maps, frames, tensors; read as they are needed."""

    def __init__(self, matrices: Sequence[Any]) -> None:
        self.matrices = matrices
        if len(matrices) == 0:
            raise ValueError(f"there are no bags: {ADVICE}.")
        shapes = [shape_of(matrix, f"bag {k}") for k, matrix in enumerate(matrices)]
        self.n_columns = shapes[0][1]
        for k, (_, columns) in enumerate(shapes):
            if columns != self.n_columns:
                raise ValueError(f"bag {k} has {columns} columns, and bag 0 has {self.n_columns}.")
        self.sizes = np.array([rows for rows, _ in shapes], dtype=np.int64)
        self.n_rows = int(self.sizes.sum())

    def some(self, numbers: np.ndarray) -> SequenceBags:
        """Some of the bags."""
        some = SequenceBags([self.matrices[int(k)] for k in numbers])
        some.scaler = self.scaler
        return some

    def read(self, start: int, stop: int) -> Block:
        ends = np.cumsum(self.sizes)
        numbers = np.arange(np.searchsorted(ends, start, "right"), np.searchsorted(ends, stop, "left") + 1)
        begins = ends[numbers] - self.sizes[numbers]
        spans = zip(numbers, np.maximum(start - begins, 0), stop - begins, strict=True)
        parts = [rows_of(self.matrices[int(k)], first, last) for k, first, last in spans]
        owner = np.repeat(numbers, [len(part) for part in parts])
        return Block(Piece(np.concatenate(parts), owner), None, None, start)

    def called(self, bag: int) -> str:
        return f"bag {bag}"


def shape_of(matrix: ArrayLike, name: str) -> tuple[int, int]:
    """(points, columns) of a bag, which must be a matrix with at least one of each."""
    try:
        shape = np.shape(matrix)
    except ValueError:
        raise ValueError(f"{name} has rows of different lengths.") from None
    if len(shape) != 2:
        what = "a number" if shape == () else f"an array of shape {shape}"
        raise ValueError(f"{name} is {what}, and must be a matrix with one row per point: {ADVICE}.")
    if shape[0] == 0:
        raise ValueError(f"{name} is empty: every bag needs at least one point.")
    if shape[1] == 0:
        raise ValueError(f"{name} has no columns.")
    return int(shape[0]), int(shape[1])


def rows_of(matrix: object, first: int, last: int) -> np.ndarray:
    """Some rows of a bag, dense."""
    if hasattr(matrix, "tocsr"):
        return matrix.tocsr()[first:last].toarray()
    return np.asarray(to_numpy(matrix))[first:last]


def as_floats(points: np.ndarray) -> np.ndarray:
    if points.dtype in (np.float32, np.float64):
        return points
    if points.dtype.kind not in "biufO":
        raise ValueError(f"bags must hold numbers; there are points of type {points.dtype}.")
    try:
        return points.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError("bags must hold numbers; there are points of text or of other objects.") from None

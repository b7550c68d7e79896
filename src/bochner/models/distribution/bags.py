"""Bags of points: pieces of points, each with the number of the bag that it belongs to.

A bag is a sample of a distribution, a matrix with one row per point. Pieces are cut where memory wants it, so a bag
may be larger than memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...arrays import to_numpy
from ...blocks.progress import Progress
from ...maps.scaling import ColumnScaler

ADVICE = (
    "give a list of matrices, an array of shape (bags, points, columns), or a table with bag= to say which rows belong "
    "together"
)


class Piece(NamedTuple):
    """Some points, and the number of the bag of each."""

    points: np.ndarray
    owner: np.ndarray


class Bags(ABC):
    """Bags that can be walked through again and again, numbered in the order in which they are met.

    `y` is set where targets come with the points; for blocks, by the first walk. `scaler` scales the points, if there
    is one.
    """

    n_points: int
    n_columns: int
    sizes: np.ndarray
    y: np.ndarray | None = None
    scaler: ColumnScaler | None = None

    @property
    def n_bags(self) -> int:
        return len(self.sizes)

    @abstractmethod
    def pieces(self, rows: int) -> Iterator[Piece]:
        """All points in order, `rows` at a time."""

    @abstractmethod
    def called(self, bag: int) -> str:
        """What a bag is called in complaints."""

    def walk(self, rows: int, title: str = "") -> Iterator[Piece]:
        """Pieces of finite floats."""
        with Progress(title, self.n_points) as progress:
            for points, owner in self.pieces(rows):
                points = as_floats(points)
                self._require_finite(points, owner)
                yield Piece(points if self.scaler is None else self.scaler(points), owner)
                progress.advance(len(points))

    def _require_finite(self, points: np.ndarray, owner: np.ndarray) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(points.sum(dtype=np.float64)) or np.isfinite(points).all():
                return
        row, column = np.argwhere(~np.isfinite(points))[0]
        kind = "NaN" if np.isnan(points[row, column]) else "infinity"
        raise ValueError(f"{self.called(owner[row])} contains {kind} (in column {column}); drop such points first.")


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
        self.n_points = int(self.sizes.sum())

    def take(self, numbers: np.ndarray) -> SequenceBags:
        """Some of the bags."""
        some = SequenceBags([self.matrices[int(k)] for k in numbers])
        some.scaler = self.scaler
        return some

    def pieces(self, rows: int) -> Iterator[Piece]:
        ends = np.cumsum(self.sizes)
        for start in range(0, self.n_points, rows):
            stop = min(start + rows, self.n_points)
            numbers = np.arange(np.searchsorted(ends, start, "right"), np.searchsorted(ends, stop, "left") + 1)
            begins = ends[numbers] - self.sizes[numbers]
            spans = zip(numbers, np.maximum(start - begins, 0), stop - begins, strict=True)
            parts = [rows_of(self.matrices[int(k)], first, last) for k, first, last in spans]
            yield Piece(np.concatenate(parts), np.repeat(numbers, [len(part) for part in parts]))

    def called(self, bag: int) -> str:
        return f"bag {bag}"


def shape_of(matrix: Any, name: str) -> tuple[int, int]:
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


def rows_of(matrix: Any, first: int, last: int) -> np.ndarray:
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

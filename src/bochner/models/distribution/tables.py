"""Bags as the rows of one table, told apart by a column: in memory, or in blocks that come from files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import is_torch, to_numpy
from ...blocks import Aggregate, Block, Blocks, RowsLike, TableBlocks
from ...blocks.aggregate import P
from ...lazy import is_lazy
from ...typing import Frame, MatrixLike, VectorLike
from ...validation import require_numbers
from ..checks import split_column, split_target
from .bag_targets import DIFFERENT, BagTargets, WithTargets
from .bags import ADVICE, Bags, Piece, SequenceBags

if TYPE_CHECKING:
    import pandas


NAMED = 1 << 16  # names of bags that are looked at together
Encode = Callable[[Frame], MatrixLike]

BagsLike: TypeAlias = Sequence[MatrixLike] | RowsLike  # one matrix for each bag, or the points of all


def open_bags(
    X: BagsLike, bag: str | ArrayLike | None, target: str | None = None, encode: Encode | None = None
) -> Bags:
    """Bags of whatever they are given as; `encode` makes a frame the columns that a model was fitted to."""
    if isinstance(X, Blocks):
        if target is not None:
            raise ValueError("the blocks have their own targets: give target to bochner.read.")
        return X.opened_as(BlockBags, bag)
    if is_lazy(X):
        raise ValueError("bags do not come from Dask collections: write files for bochner.read(...).on(client).")
    if bag is not None:
        return TableBags(X, bag, target, encode)  # type: ignore[arg-type]
    if target is not None:
        raise ValueError("target names a column of a table: name that of the bags too, bag='column'.")
    shape = getattr(X, "shape", None)
    if shape is not None and len(shape) != 3:
        raise ValueError(f"X has shape {tuple(shape)}, which is not one of bags: {ADVICE}.")
    if not (hasattr(X, "__len__") and hasattr(X, "__getitem__")) or isinstance(X, str | dict):
        raise ValueError(f"X is of type {type(X).__name__}, which does not hold bags: {ADVICE}.")
    matrices: Any = to_numpy(X) if is_torch(X) else X
    return SequenceBags(matrices)


class Numbers:
    """The number of each bag, in the order in which their names are met."""

    def __init__(self) -> None:
        self.of: dict[Any, int] = {}

    def __call__(self, names: np.ndarray) -> np.ndarray:
        if names.dtype.kind == "f" and np.isnan(names).any():
            raise ValueError("the column of bags has missing values: leave those rows out.")
        try:
            different, first, place = np.unique(names, return_index=True, return_inverse=True)
        except TypeError:
            raise ValueError("names of bags must be all text or all numbers, none of them missing.") from None
        numbers, listed = np.empty(len(different), dtype=np.int64), different.tolist()
        for k in np.argsort(first):
            numbers[k] = self.of.setdefault(listed[k], len(self.of))
        return numbers[place.reshape(-1)]

    def name(self, number: int) -> str | float:
        return list(self.of)[number]


class TableBags(SequenceBags):
    """Rows of an array or frame in memory. Rows of one bag need not be neighbours."""

    names: list[str] | None = None

    def __init__(self, X: MatrixLike, bag: str | ArrayLike, target: str | None, encode: Encode | None) -> None:
        self.numbers = Numbers()
        if isinstance(bag, str):
            X, bag = split_bag(X, bag)
        X, y = split_target(X, None, target)
        if hasattr(X, "columns"):
            X = X if encode is None else encode(X)  # type: ignore[arg-type]
            require_numbers(X)
            self.names = [str(name) for name in getattr(X, "columns", [])] or None
        X, bag = np.asarray(to_numpy(X)), np.asarray(to_numpy(bag))
        if X.ndim != 2 or bag.shape != (len(X),) or not len(X):
            raise ValueError(
                f"bag must name the bag of each row of a table; X has shape {X.shape}, and bag {bag.shape}."
            )
        self.owner = self.numbers(bag)
        together = X if (np.diff(self.owner) >= 0).all() else X[np.argsort(self.owner, kind="stable")]
        super().__init__(np.split(together, np.cumsum(np.bincount(self.owner))[:-1]))
        if y is not None:
            self.y = self.per_bag(y)

    def per_bag(self, given: VectorLike) -> np.ndarray:
        """Targets given per row, which must agree within a bag."""
        targets = BagTargets.of(np.asarray(given), self.owner)
        if targets.odd is not None:
            raise ValueError(f"{self.called(targets.odd)} {DIFFERENT}")
        return targets.values

    def called(self, bag: int) -> str:
        return f"the bag {self.numbers.name(bag)!r}"


class BlockBags(Bags):
    """Rows in blocks. `bag` is a column of the files that the blocks are read from, or an array of one name per row."""

    def __init__(self, blocks: Blocks, bag: str | ArrayLike | None) -> None:
        if bag is None:
            raise ValueError("say which bag a row of the blocks belongs to: bag='column', or an array.")
        if blocks.n_rows == 0:
            raise ValueError("there are no rows: at least one is needed.")
        self.blocks, self.numbers = blocks, Numbers()
        self.bag: Any = bag
        self.n_rows, self.n_columns = blocks.n_rows, blocks.n_columns
        self.sizes = np.zeros(0, dtype=np.int64)
        for names in self._names(0, NAMED):  # a pass over one column
            owner = self.numbers(np.asarray(names))
            self.sizes = np.pad(self.sizes, (0, len(self.numbers.of) - len(self.sizes)))
            self.sizes += np.bincount(owner, minlength=len(self.sizes))

    def read(self, start: int, stop: int) -> Block:
        return next(self.stream(start, stop - start))

    def stream(self, start: int, rows: int) -> Iterator[Block]:
        for block, names in zip(self.blocks.stream(start, rows), self._names(start, rows), strict=True):
            yield block._replace(X=Piece(block.X, self.numbers(np.asarray(names))))

    def part(self, start: int, stop: int, rows: int) -> list[Block] | None:
        """Files are read where their rows are worked on."""
        sent = isinstance(self.bag, str) and self.blocks.part(0, 0, rows) is None
        return None if sent else super().part(start, stop, rows)

    def reduce(self, aggregate: Aggregate[P], *, title: str = "") -> P:
        """The first pass finds the targets too, and whether all rows of a bag have the same."""
        if self.y is not None:
            return super().reduce(aggregate, title=title)
        found, targets = super().reduce(WithTargets(aggregate), title=title)
        if targets is not None:
            if targets.odd is not None:
                raise ValueError(f"{self.called(targets.odd)} {DIFFERENT}")
            self.y = np.array(targets.values.tolist())
        return found

    def _names(self, start: int, rows: int) -> Iterator[Any]:
        """The names of bags from a row on, `rows` at a time."""
        if isinstance(self.bag, str):
            if not isinstance(self.blocks, TableBlocks):
                raise ValueError(f"only blocks of bochner.read have a column {self.bag!r}: give an array of names.")
            if self.bag in self.blocks.recipe.names:
                raise ValueError(f"the column of bags is among the inputs: read(..., drop=[{self.bag!r}]).")
            return self.blocks.column(self.bag, rows, start)
        if np.shape(self.bag) != (self.n_rows,):
            raise ValueError(f"bag must name the bag of each of {self.n_rows} rows; its shape is {np.shape(self.bag)}.")
        return (self.bag[first : first + rows] for first in range(start, self.n_rows, rows))

    def called(self, bag: int) -> str:
        return f"the bag {self.numbers.name(bag)!r}"


def split_bag(X: MatrixLike, bag: str) -> tuple[Frame, np.ndarray]:
    """Take the column of bags out of a frame."""
    if not hasattr(X, "columns") or bag not in list(X.columns):
        raise ValueError(f"X has no column {bag!r} to tell bags apart.")
    return split_column(X, bag)  # type: ignore[arg-type]


def columns_of(X: pandas.DataFrame, names: Iterable[str]) -> pandas.DataFrame:
    """The columns of a frame that have these names."""
    present = {str(name): name for name in X.columns}
    for name in names:
        if name not in present:
            raise ValueError(f"the frame has no column {name!r}, which the model was fitted to.")
    return X[[present[name] for name in names]]


def targets_of(bags: Bags, y: VectorLike | None) -> np.ndarray:
    """The target of each bag: given as y, per bag or per row of a table, or found in the table."""
    if y is None and bags.y is None:
        raise ValueError("there are no targets: give y, one for each bag, or the column that holds it.")
    if y is None:
        return np.asarray(bags.y)
    if bags.y is not None:
        raise ValueError("y is given twice: as an array and as a column of the table.")
    y = np.asarray(to_numpy(y))
    if isinstance(bags, TableBags) and y.shape[:1] == (bags.n_rows,):
        return bags.per_bag(y)
    if y.shape[:1] != (bags.n_bags,):
        raise ValueError(f"there are {bags.n_bags} bags, and y has shape {y.shape}: it must have one target for each.")
    return y

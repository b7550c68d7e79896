"""Rows in pieces, with one verb: `reduce`. Blocks know rows, their order and memory; not features, not what y means."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import scipy.sparse

from ..arrays import Array, Rows, arange, like, namespace, to_host
from ..blocks.aggregate import P
from ..streams import Stream
from ..typing import MatrixLike
from .aggregate import AfterMap, Aggregate
from .engine import reduce
from .partitions import rows_per_block
from .progress import Progress

if TYPE_CHECKING:
    from .dask import Client

Made = TypeVar("Made")


class Block(NamedTuple):
    """Some neighbouring rows.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n_rows, n_columns)
        The rows.
    y : ndarray or None
        Their targets.
    weight : ndarray or None
        Their weights.
    start : int
        Number of the first row in the whole.
    kept : ndarray or None
        Where rows were left out, the places of those that are here, counted from `start`.
    state : dict or None
        What passes over kept blocks leave for the next one. What has a name with an underscore in front only saves
        work, and may be gone.
    originals : ndarray or None
        Where rows are copies of others, these: folds go by them, so that copies are never parted.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.blocks import MemoryBlocks
    >>> MemoryBlocks(np.eye(3)).read(1, 3).numbers
    array([1, 2])
    """

    X: Any
    y: Any
    weight: Any
    start: int
    kept: Array | None = None
    state: dict[str, Any] | None = None
    originals: Any = None

    @property
    def numbers(self) -> Array:
        """Numbers of the rows in the whole."""
        return self.start + (arange(self.X.shape[0], self.X) if self.kept is None else self.kept)

    def only(self, chosen: Array) -> Block:
        """Return the block of some of its rows.

        Parameters
        ----------
        chosen : ndarray
            Which rows, as a mask or by index.

        Returns
        -------
        Block
            The block.
        """
        chosen = like(chosen, self.X)
        X, y, weight = (None if part is None else part[chosen] for part in self[:3])
        kept = arange(self.X.shape[0], self.X) if self.kept is None else self.kept
        originals = None if self.originals is None else self.originals[chosen]
        return Block(X, y, weight, self.start, kept[chosen], originals=originals)

    def on_host(self) -> Block:
        """Return the same rows as numpy has them: those of a sample, by which something is settled for all rows.

        Returns
        -------
        Block
            The block, of numpy arrays.
        """
        parts = (self.X, self.y, self.weight, self.kept, self.originals)
        X, y, weight, kept, originals = (to_host(part) for part in parts)
        return Block(X, y, weight, self.start, kept, self.state, originals)


class Blocks(ABC):
    """Rows that come in blocks and can be read again and again; what `bochner.read` returns.

    Models take them in place of X, y and sample_weight. This class is abstract: a kind of blocks says how rows are
    read.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    n_columns : int
        Number of columns.
    recipe : Recipe or None
        How columns of a table became numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.blocks import MemoryBlocks
    >>> blocks = MemoryBlocks(np.arange(6.0)[:, None])
    >>> [block.X.ravel().tolist() for block in blocks.stream(0, 4)]
    [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0]]
    """

    n_rows: int
    n_columns: int
    recipe: Any = None  # how columns of a table became numbers, if they did
    names: list[Any] | None = None  # of columns that are numbers as they come, if they have names
    engine: Any = None  # who folds these rows; None is whoever the settings say

    @abstractmethod
    def read(self, start: int, stop: int) -> Block:
        """Read some rows.

        Parameters
        ----------
        start : int
            Number of the first row.
        stop : int
            Number after the last one.

        Returns
        -------
        Block
            The rows start..stop-1.
        """

    def stream(self, start: int, rows: int) -> Iterator[Block]:
        """Read all rows from one on, a block at a time.

        Parameters
        ----------
        start : int
            Number of the first row.
        rows : int
            Rows of a block.

        Yields
        ------
        Block
            The blocks in order.
        """
        for first in range(start, self.n_rows, rows):
            yield self.read(first, min(first + rows, self.n_rows))

    def take(self, numbers: np.ndarray) -> Block:
        """Read rows by their numbers; nothing is read after the last of them.

        Parameters
        ----------
        numbers : ndarray of int
            Numbers of the rows, ascending.

        Returns
        -------
        Block
            These rows.
        """
        parts = []
        for block in self.stream(int(numbers[0]), rows_per_block(4 * self.n_columns)):
            stop = block.start + block.X.shape[0]
            inside = (numbers >= block.start) & (numbers < stop)
            if inside.any():
                parts.append(block.only(numbers[inside] - block.start)[:3])
            if stop > numbers[-1]:
                break
        X, y, weight = (None if part[0] is None else stack(part) for part in zip(*parts, strict=True))
        return Block(X, y, weight, 0)

    def shuffled(self, rows: int, stream: Stream, without: np.ndarray) -> Iterator[Block]:
        """Read all rows but some, in an order that is random within blocks.

        Parameters
        ----------
        rows : int
            Rows of a block.
        stream : Stream
            The randomness.
        without : ndarray of int
            Numbers of the rows to leave out.

        Yields
        ------
        Block
            The blocks.
        """
        for block in self.stream(0, rows):
            yield block.only(shuffle(np.flatnonzero(~np.isin(block.numbers, without)), stream, block.start))

    @property
    def present(self) -> int:
        """Number of rows that come, where some of n_rows are left out on the way."""
        return self.n_rows

    def map(self, function: Callable[[Block], Block], present: int | None = None) -> Blocks:
        """Return the same rows, each block changed by a function.

        Parameters
        ----------
        function : callable
            From a Block to a Block.
        present : int, default=None
            How many rows it leaves; None is all.

        Returns
        -------
        Blocks
            The changed rows.
        """
        return MappedBlocks(self, function, present)

    def in_blocks(self) -> Blocks:
        """Return the same rows, to be taken a block at a time and never as a whole.

        Returns
        -------
        Blocks
            The rows.
        """
        return self.map(unchanged)

    def fingerprint(self) -> dict[str, Any]:
        """Return what tells these rows from others, in a few words.

        Returns
        -------
        dict
            Words and numbers by name.
        """
        return {"rows": self.n_rows, "columns": self.n_columns}

    def reduce(self, aggregate: Aggregate[P], *, title: str = "") -> P:
        """Compute what an aggregate makes of all rows.

        Rows are folded partition by partition by the engine of the settings, and the partial results are combined along
        a fixed tree: the bits are the same for any engine and any number of workers.

        Parameters
        ----------
        aggregate : Aggregate
            What is computed.
        title : str, default=''
            What the progress bar says.

        Returns
        -------
        object
            The result of the aggregate.
        """
        return reduce(self, aggregate, title)

    @property
    def is_recorded(self) -> bool:
        """Whether a checkpoint keeps a record of what is reduced."""
        return False

    def unrecorded(self) -> Blocks:
        """Return the same rows without a record.

        Returns
        -------
        Blocks
            The rows.
        """
        return self

    def surveyed(self) -> Blocks:
        """Return these rows once all is known of them that models ask: how many they are, and their recipe.

        Returns
        -------
        Blocks
            The rows.
        """
        return self

    def on(self, client: Client) -> Blocks:
        """Return the same rows, to be worked through on a Dask cluster.

        What is reduced has the same bits there as here. Files are read by the workers, which must be able to open them
        by the same names; rows in memory are sent.

        Parameters
        ----------
        client : distributed.Client
            The client of the cluster.

        Returns
        -------
        Blocks
            The rows.
        """
        from .dask import RemoteBlocks

        return RemoteBlocks(self, client)

    def opened_as(self, kind: Callable[..., Made], *arguments: object) -> Made:
        """Return other Blocks that are made by looking at these, wherever these are read.

        Parameters
        ----------
        kind : callable
            From Blocks and the arguments to Blocks.
        *arguments : object
            The arguments.

        Returns
        -------
        Blocks
            What it makes of these.
        """
        return kind(self, *arguments)

    def part(self, start: int, stop: int, rows: int) -> list[Block] | None:
        """Return the blocks of a partition, to be sent to who folds it.

        Parameters
        ----------
        start : int
            Number of the first row.
        stop : int
            Number after the last one.
        rows : int
            Rows of a block.

        Returns
        -------
        list of Block or None
            The blocks; None if these Blocks can be sent to read there.
        """
        return list(self.ahead(start, stop, rows))

    def ahead(self, start: int, stop: int, rows: int) -> Iterator[Block]:
        """Read rows a block at a time, the next one by a thread while this one is worked on.

        Parameters
        ----------
        start : int
            Number of the first row.
        stop : int
            Number after the last one.
        rows : int
            Rows of a block.

        Yields
        ------
        Block
            The blocks in order.
        """
        count = -(-(stop - start) // rows)
        pieces = islice(self.stream(start, rows), count)
        if count == 1:
            yield from pieces
            return
        with ThreadPoolExecutor(1) as reader:
            coming = reader.submit(next, pieces, None)
            while (block := coming.result()) is not None:
                coming = reader.submit(next, pieces, None)
                yield block

    def walk(self, rows: int, start: int = 0, title: str = "") -> Iterator[Block]:
        """Read the blocks in order, ahead, with a progress bar.

        Parameters
        ----------
        rows : int
            Rows of a block.
        start : int, default=0
            Number of the first row.
        title : str, default=''
            What the progress bar says.

        Yields
        ------
        Block
            The blocks in order.
        """
        with Progress(title, self.n_rows, start) as progress:
            for block in self.ahead(start, self.n_rows, rows):
                yield block
                progress.advance(min(rows, self.n_rows - block.start))


class WrappedBlocks(Blocks):
    """The rows of other blocks; what is not said otherwise is as they do it."""

    def __init__(self, blocks: Blocks) -> None:
        self.blocks = blocks
        self.n_rows, self.n_columns, self.recipe = blocks.n_rows, blocks.n_columns, blocks.recipe
        self.names, self.engine = blocks.names, blocks.engine

    @property
    def present(self) -> int:
        return self.blocks.present

    def read(self, start: int, stop: int) -> Block:
        return self.blocks.read(start, stop)

    def stream(self, start: int, rows: int) -> Iterator[Block]:
        return self.blocks.stream(start, rows)

    def take(self, numbers: np.ndarray) -> Block:
        return self.blocks.take(numbers)

    def shuffled(self, rows: int, stream: Stream, without: np.ndarray) -> Iterator[Block]:
        return self.blocks.shuffled(rows, stream, without)

    def fingerprint(self) -> dict[str, Any]:
        return self.blocks.fingerprint()

    def reduce(self, aggregate: Aggregate[P], *, title: str = "") -> P:
        # By way of the blocks themselves: they may keep a record of their sums.
        return self.blocks.reduce(aggregate, title=title)

    @property
    def is_recorded(self) -> bool:
        return self.blocks.is_recorded

    def unrecorded(self) -> Blocks:
        return self.blocks.unrecorded()


class MappedBlocks(WrappedBlocks):
    """Blocks changed one by one as they come."""

    def __init__(self, blocks: Blocks, function: Callable[[Block], Block], present: int | None = None) -> None:
        super().__init__(blocks)
        self.function, self._present = function, present

    @property
    def present(self) -> int:
        return self.blocks.present if self._present is None else self._present

    def read(self, start: int, stop: int) -> Block:
        return self.function(self.blocks.read(start, stop))

    def stream(self, start: int, rows: int) -> Iterator[Block]:
        return map(self.function, self.blocks.stream(start, rows))

    def take(self, numbers: np.ndarray) -> Block:
        return self.function(self.blocks.take(numbers))

    def shuffled(self, rows: int, stream: Stream, without: np.ndarray) -> Iterator[Block]:
        return map(self.function, self.blocks.shuffled(rows, stream, without))

    def reduce(self, aggregate: Aggregate[P], *, title: str = "") -> P:
        return self.blocks.reduce(AfterMap(aggregate, self.function), title=title)

    def unrecorded(self) -> Blocks:
        return MappedBlocks(self.blocks.unrecorded(), self.function, self._present)


class SampledBlocks(WrappedBlocks):
    """Blocks of which some rows are at hand: to take these, nothing is read."""

    def __init__(self, blocks: Blocks, numbers: np.ndarray, rows: Block) -> None:
        """`numbers` ascend; `rows` are the rows of these numbers."""
        super().__init__(blocks)
        self.numbers, self.rows = numbers, rows

    def take(self, numbers: np.ndarray) -> Block:
        places = np.searchsorted(self.numbers, numbers)
        if not len(self.numbers) or places[-1] >= len(self.numbers) or (self.numbers[places] != numbers).any():
            return self.blocks.take(numbers)
        X, y, weight = (None if part is None else part[like(places, part)] for part in self.rows[:3])
        return Block(X, y, weight, 0)


def unchanged(block: Block) -> Block:
    return block


def shuffle(numbers: np.ndarray, stream: Stream, start: int = 0) -> np.ndarray:
    """The numbers in an order that the stream gives; `start` tells one use of it from the next."""
    words = stream.bits(start, start + len(numbers), 2).astype(np.uint64)
    return numbers[np.argsort((words[:, 0] << np.uint64(32)) | words[:, 1], kind="stable")]


def stack(parts: Sequence[Rows]) -> Rows:
    """Rows below one another, dense or CSR."""
    if scipy.sparse.issparse(parts[0]):
        return scipy.sparse.vstack(parts, format="csr")
    return namespace(parts[0]).concatenate(parts)


RowsLike: TypeAlias = MatrixLike | Blocks  # rows that models take

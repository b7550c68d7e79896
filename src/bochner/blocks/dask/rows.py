"""Rows that the workers of a cluster hold: in files that they read, or in the pieces of Dask arrays."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import dask
import dask.array as da
import distributed
import numpy as np
from dask.delayed import delayed
from distributed import Client

from ...streams import Stream
from ..aggregate import Aggregate, P
from ..base import Block, Blocks, WrappedBlocks, stack
from ..engine import reduce as reduce_rows
from ..memory import MemoryBlocks
from ..regroup import Piece, regroup
from ..tasks import Source, plain_array
from .cluster import DaskEngine, sendable, telling_of_absence

if TYPE_CHECKING:
    from ...tables import Recipe

Made = TypeVar("Made")
LOOKED_AT = 8  # partitions that stand for all when collections are told apart


class RemoteBlocks(WrappedBlocks):
    """Rows that the workers of a cluster read, never this process."""

    def __init__(self, blocks: Blocks, client: Client) -> None:
        engine = DaskEngine(client)
        if blocks.part(0, 0, 1) is None:  # what files hold is found out by a worker, too
            with telling_of_absence(engine.client):
                blocks = engine.client.submit(called, sendable(blocks), "surveyed", pure=False).result()
        super().__init__(blocks)
        self.engine = engine
        self._sent = sendable(blocks) if self.travels else b""

    @property
    def there(self) -> Blocks:
        """The rows as the workers have them."""
        return self.blocks

    def reduce(self, aggregate: Aggregate[P], *, title: str = "") -> P:
        return reduce_rows(self, aggregate, title)

    def on(self, client: object) -> Blocks:
        return RemoteBlocks(self.blocks, client)

    def opened_as(self, kind: Callable[..., Made], *arguments: object) -> Made:
        if not self.travels:
            return kind(self.blocks, *arguments)
        made = self._answer(Blocks.opened_as, kind, *arguments)
        made.engine = self.engine
        return made

    @property
    def travels(self) -> bool:
        return self.blocks.part(0, 0, 1) is None

    def read(self, start: int, stop: int) -> Block:
        return self._answer(Blocks.read, start, stop)

    def take(self, numbers: object) -> Block:
        return self._answer(Blocks.take, numbers)

    def stream(self, start: int, rows: int) -> Iterator[Block]:
        """A block at a time comes from the workers, which read the next one."""
        if not self.travels:
            yield from self.blocks.stream(start, rows)
            return
        firsts = iter(range(start, self.n_rows, rows))
        ask = partial(self._asked, Blocks.read)
        coming = [ask(first, min(first + rows, self.n_rows)) for first in islice(firsts, 2)]
        while coming:
            with telling_of_absence(self.engine.client):
                block = coming.pop(0).result()
            coming += [ask(first, min(first + rows, self.n_rows)) for first in islice(firsts, 1)]
            yield block

    def shuffled(self, rows: int, stream: Stream, without: np.ndarray) -> Iterator[Block]:
        return Blocks.shuffled(self, rows, stream, without) if self.travels else super().shuffled(rows, stream, without)

    def unrecorded(self) -> Blocks:
        return self

    def part(self, start: int, stop: int, rows: int) -> list[Block] | None:
        return Blocks.part(self, start, stop, rows)

    def _answer(self, verb: Callable[..., Made], *arguments: object) -> Made:
        if not self.travels:
            return getattr(self.blocks, verb.__name__)(*arguments)
        with telling_of_absence(self.engine.client):
            return self._asked(verb, *arguments).result()

    def _asked(self, verb: Callable[..., object], *arguments: object) -> distributed.Future:
        return self.engine.client.submit(called, self._sent, verb.__name__, *arguments, pure=False)


def called(blocks: bytes, name: str, *arguments: object) -> object:
    """What a method of Blocks gives, which come as bytes: the scheduler would look into files to send them on."""
    return getattr(pickle.loads(blocks), name)(*arguments)


class DaskBlocks(Blocks):
    """Rows of Dask arrays, a piece of X with its y and weights for each of their partitions.

    Pieces are made anew for each pass, unless the collection was persisted. Without a client they are made here.
    """

    def __init__(
        self, X: da.Array, y: da.Array | None = None, weight: da.Array | None = None, *,
        recipe: Recipe | None = None, names: list[str] | None = None,
    ) -> None:  # fmt: skip
        """Arrays with the same known partitions of rows, X in one piece across its columns."""
        self.sizes = tuple(int(size) for size in X.chunks[0])
        self.n_rows, self.n_columns = sum(self.sizes), int(X.shape[1])
        self.recipe, self.names, self.kind = recipe, names, "Dask array" if names is None else "Dask frame"
        columns = [None if part is None else list(part.to_delayed().ravel()) for part in (X, y, weight)]
        count = len(self.sizes)
        self.pieces = list(zip(*([None] * count if part is None else part for part in columns), strict=True))
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)
        self.engine = DaskEngine() if has_client() else None

    def source(self, start: int, stop: int) -> tuple[Source, list[Any]]:
        """Which pieces hold some rows, and these pieces."""
        first = int(np.searchsorted(self.starts, start, side="right")) - 1
        last = max(int(np.searchsorted(self.starts, stop, side="left")), first + 1)
        sizes = self.sizes[first:last]
        header = Source(self.kind, int(self.starts[first]), first, sizes, self.n_columns, [])
        return header, [list(piece) for piece in self.pieces[first:last]]

    def read(self, start: int, stop: int) -> Block:
        header, pieces = self.source(start, stop)
        source = replace(header, pieces=computed(pieces))
        return next(regroup(source.rows(), start, stop - start, skip=start - source.start))

    def stream(self, start: int, rows: int) -> Iterator[Block]:
        """Pieces are made one after another, of the next one while this one is worked on."""

        def coming() -> Iterator[Piece]:
            header, pieces = self.source(start, self.n_rows)
            for k, piece in enumerate(pieces):
                if header.sizes[k]:
                    yield header.checked(k, computed(piece))

        first = self.source(start, self.n_rows)[0].start
        return regroup(coming(), start, rows, skip=start - first)

    def take(self, numbers: np.ndarray) -> Block:
        """Only these rows travel."""
        found = []
        for k, start in enumerate(self.starts[:-1].tolist()):
            inside = numbers[(numbers >= start) & (numbers < start + self.sizes[k])]
            if len(inside):
                header, pieces = self.source(start, start + self.sizes[k])
                found.append(delayed(chosen_rows, pure=False)(pickle.dumps((header, inside - start)), pieces))
        X, y, weight = (None if part[0] is None else stack(part) for part in zip(*computed(found), strict=True))
        return Block(X, y, weight, 0)

    def fingerprint(self) -> dict[str, Any]:
        """A digest of a few pieces, besides the sizes of all."""
        few = sorted({len(self.pieces) * k // LOOKED_AT for k in range(LOOKED_AT)} & set(range(len(self.pieces))))
        digests = computed([delayed(digest_of, pure=False)(list(self.pieces[k])) for k in few])
        return {**super().fingerprint(), "partitions": list(self.sizes), "data": digests}


def computed(made: object) -> Any:
    """What delayed tasks give, by the cluster if there is one, else here."""
    with telling_of_absence(distributed.default_client()) if has_client() else nullcontext():
        return dask.compute(made)[0]


def chosen_rows(given: bytes, pieces: list[Any]) -> Piece:
    source, numbers = pickle.loads(given)
    (piece,) = replace(source, pieces=pieces).rows()
    X, y, weight = (None if part is None else part[numbers] for part in piece)
    return X, y, weight


def digest_of(piece: list[Any]) -> str:
    """A digest of what MemoryBlocks would hold."""
    X, y, weight = (None if part is None else plain_array(part) for part in piece)
    return str(MemoryBlocks(X, y, weight).fingerprint()["data"])


def has_client() -> bool:
    try:
        distributed.default_client()
    except ValueError:
        return False
    return True

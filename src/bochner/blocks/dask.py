"""The engine of a Dask cluster: partials are made where the rows are, and come back along the same tree.

Dask says which worker does what, and does again what a dead one had done; here stands only what is to be done. Maps,
coefficients and settings travel as one small job, rows and drawn weights never do.
"""

from __future__ import annotations

import pickle
import uuid
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from copy import copy, deepcopy
from dataclasses import replace
from functools import partial
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import dask
import dask.array as da
import distributed
import numpy as np
from dask.delayed import Delayed, delayed
from distributed import Client

from ..arrays import Rows
from ..config import get_config
from ..ops import threads
from ..streams import Stream
from ..typing import ArrayLike
from . import kept, tasks
from .aggregate import Aggregate, P
from .base import Block, Blocks, WrappedBlocks, stack
from .engine import Engine, Folded, Passed
from .engine import reduce as reduce_rows
from .frames import is_plain
from .memory import MemoryBlocks
from .partitions import SMALL, Node, Plan, Tree
from .regroup import Piece, regroup
from .tasks import Answer, ClusterError, Job, Source, plain_array, step_with_store
from .threads import one_after_another

if TYPE_CHECKING:
    import dask.dataframe as dd
    import pandas
    import pyarrow
    from sklearn.base import BaseEstimator

    from ..tables import Recipe
    from ..tables.survey import Summary
    from .formats.arrow import ArrowTable

Collection: TypeAlias = "da.Array | dd.DataFrame | dd.Series"
Made = TypeVar("Made")
TASK = 1 << 26  # bytes of rows of one task
FEWEST, MOST = 4, 1 << 12  # tasks of one pass: for each worker at least, and in all at most
CATEGORIES = 64  # of a column of text that get a column each, as `read` has it
LOOKED_AT = 8  # partitions that stand for all when collections are told apart
HEAVY = 16  # large partials that the client takes in; the others are joined by the workers
SENT = 4  # tasks for each worker whose rows are under way, where rows are sent


class DaskEngine(Engine):
    """Partitions side by side on the workers of a client; None is the client of this process."""

    is_remote, keeps = True, False

    def __init__(self, client: Client | None = None) -> None:
        self.given = client
        self.states: dict[str, dict[int, kept.State]] = {}
        self.places: dict[tuple[str, Node], str] = {}  # who kept what became of the blocks of a node
        self.told = False

    @property
    def client(self) -> Client:
        """The client, which must be there."""
        try:
            client = distributed.default_client() if self.given is None else self.given
        except ValueError:
            raise ValueError("there is no Dask client: make one first, distributed.Client(address).") from None
        if client.status != "running":
            raise ValueError(f"the Dask client is {client.status}: make a new one, distributed.Client(address).")
        return client

    def release(self, key: str) -> None:
        """Forget states here, and what workers keep, without waiting for them."""
        self.states.pop(key, None)
        for known in [known for known in self.places if known[0] == key]:
            del self.places[known]
        with suppress(Exception):  # called when objects are thrown away, perhaps long after the client
            client = self.client
            client.loop.add_callback(client._run, kept.drop, key, wait=False)

    def fold(
        self, blocks: Blocks, aggregate: Aggregate[Any], plan: Plan, missing: list[int], begun: Folded | None
    ) -> Generator[Folded | Passed]:
        rows = blocks.blocks if isinstance(blocks, RemoteBlocks) else blocks
        travels = isinstance(rows, DaskBlocks) or rows.part(0, 0, plan.rows) is None
        if len(plan) == 1 and not travels:
            yield from one_after_another(rows, aggregate, plan, missing, begun)
            return
        work = Pass(self, rows, aggregate, plan, travels)
        try:
            yield from work.fold(missing)
        finally:
            work.end()

    def tell(self, answer: Answer) -> None:
        """Warn, once, of a worker that is slow."""
        if not (answer.native or self.told):
            self.told = True
            warnings.warn(
                f"the worker {answer.worker} has no native code of bochner, perhaps others too: integer features have "
                "the same bits there, but take many times as long; install the compiled wheel.",
                stacklevel=2,
            )


class Pass:
    """One reduce on the cluster: its tasks, and their answers as they come."""

    def __init__(self, engine: DaskEngine, rows: Blocks, aggregate: Aggregate[Any], plan: Plan, travels: bool) -> None:
        self.engine, self.client, self.rows, self.plan, self.travels = engine, engine.client, rows, plan, travels
        self.step = step_with_store(aggregate)
        self.tree = Tree(len(plan), aggregate.combine)
        self.workers = max(1, sum(self.client.nthreads().values()))
        self.level = self.top = self._level_of_tasks()
        if aggregate.partial_bytes > SMALL and travels:
            self.top = max(self.level, (-(-len(plan) // HEAVY) - 1).bit_length())
        self.name = f"bochner {aggregate.name}-{uuid.uuid4().hex[:12]}"
        self.nodes: dict[str, Node] = {}  # tasks whose answers come here
        self.below: dict[str, Passed] = {}  # tasks whose answers go to other tasks
        self.futures: dict[str, distributed.Future] = {}
        blocks = None if isinstance(rows, DaskBlocks) or not travels else copy(rows)
        if blocks is not None:
            blocks.engine = None  # which is here
        message = sendable((get_config() | {"engine": "threads"}, aggregate, plan, blocks))
        facts = own_version(), kept.process, frozenset(kept.alive)
        self.job = delayed(Job, pure=False)(*facts, message, dask_key_name=f"{self.name}-job")

    def _level_of_tasks(self) -> int:
        """That of the nodes that are folded by one task: neither too small, nor too few, nor too many."""
        size = max(1, self.plan.rows * self.plan.blocks * 8 * max(self.rows.n_columns, 1))
        together = min(max(1, TASK // size), max(1, len(self.plan) // (FEWEST * self.workers)))
        return int(max(together, -(-len(self.plan) // MOST))).bit_length() - 1

    def fold(self, missing: list[int]) -> Generator[Folded | Passed]:
        """All rows that workers can get at are asked for at once; rows that are sent, a few at a time."""
        nodes = iter(self.tree.covering(missing, self.top))
        coming = distributed.as_completed()
        coming.update(self.submit(islice(nodes, None if self.travels else SENT * self.workers)))
        for batch in coming.batches():
            tops = [future for future in batch if future.key in self.nodes]
            for future in batch:
                if future.key in self.below:
                    self.result(future, whole=False)
                    yield self.below.pop(future.key)
            for future in tops:
                yield self.folded(self.nodes[future.key], self.result(future))
            for future in batch:
                self.futures.pop(future.key, None)
            if not self.travels:
                coming.update(self.submit(islice(nodes, len(batch))))

    def submit(self, nodes: Iterator[Node]) -> list[distributed.Future]:
        """The tasks of some nodes, and those below them, under way."""
        made: dict[str, Delayed] = {}
        for node in nodes:
            top = self.grown(node, node, made)
            self.nodes[top.key] = node
            self.below.pop(top.key, None)
        if not made:
            return []
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"}):
            futures = self.client.compute(list(made.values()))
        self.futures |= {future.key: future for future in futures}
        return list(futures)

    def grown(self, node: Node, top: Node, made: dict[str, Delayed]) -> Delayed:
        """The task of a node: it is folded, or its halves are joined."""
        level, place = node
        left, right = (level - 1, 2 * place), (level - 1, 2 * place + 1)
        if level <= self.level:
            task = self.leaf(node)
        elif not len(self.tree.inside(*right)):
            return self.grown(left, top, made)
        else:
            halves = [self.grown(half, top, made) for half in (left, right)]
            task = delayed(join, pure=False)(self.job, *halves, dask_key_name=f"{self.name}-join-{level}-{place}")
        rows = 0 if level > self.level else self.bounds(node)[1] - self.bounds(node)[0]
        self.below[task.key] = Passed(top[1] << top[0], rows)
        made[task.key] = task
        return task

    def leaf(self, node: Node) -> Delayed:
        """The task that folds the partitions of a node, which begins where it was folded before."""
        start, stop = self.bounds(node)
        states, where = None, {}
        source: tuple[Any, list[Any] | None] = (None, None)
        if self.step is not None:
            known = self.engine.states.get(self.step.key, {})
            states = {first: known[first] for first in range(start, stop, self.plan.rows) if first in known}
            place = self.engine.places.get((self.step.key, node))
            where = {} if place is None else {"workers": [place], "allow_other_workers": True}
        if isinstance(self.rows, DaskBlocks):
            source = self.rows.source(start, stop)
        elif not self.travels:
            source = self.rows.part(start, stop, self.plan.rows), None
        with dask.annotate(**where):
            given = sendable((node, source[0], states))  # bytes, which Dask does not look into
            key = f"{self.name}-{node[0]}-{node[1]}"
            return delayed(fold, pure=False)(self.job, given, source[1], dask_key_name=key)

    def bounds(self, node: Node) -> tuple[int, int]:
        numbers = self.tree.inside(*node)
        return self.plan[numbers[0]].start, self.plan[numbers[-1]].stop

    def folded(self, node: Node, answer: Answer) -> Folded:
        """What a task found, taken in."""
        self.engine.tell(answer)
        if self.step is not None:
            self.engine.places[self.step.key, node] = answer.worker
            self.engine.states.setdefault(self.step.key, {}).update(answer.states or {})
        return Folded(node[1], self.bounds(node)[1], pickle.loads(answer.partial), True, node[0])

    def result(self, future: distributed.Future, whole: bool = True) -> Any:
        """The answer of a task that has ended; what went wrong, in a sentence."""
        if not whole and future.status == "finished":
            return None
        try:
            return future.result()
        except distributed.KilledWorker as error:
            first, last = self.rows_of(future.key) or (0, self.plan.n_rows)
            raise ClusterError(
                f"rows {first} to {last - 1}: the worker that folded them died, and so did those that tried again "
                f"(the last was {error.last_worker.address}): are workers short of memory?"
            ) from None
        except (distributed.client.FutureCancelledError, distributed.client.FuturesCancelledError) as error:
            raise ClusterError(
                f"the cluster has let go of rows that were to be folded ({type(error).__name__}): is a persisted "
                "collection of a client that was closed or restarted among them?"
            ) from None

    def rows_of(self, key: str) -> tuple[int, int] | None:
        return self.bounds(self.nodes[key]) if key in self.nodes else None

    def end(self) -> None:
        """Nothing is left under way; tasks that are being worked on notice it after their block."""
        if self.futures and self.client.status == "running":
            self.client.cancel(list(self.futures.values()), force=True)
        self.futures = {}


def sendable(message: object) -> bytes:
    try:
        return pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ValueError(f"this cannot be sent to the workers of a cluster ({error}).") from None


def own_version() -> str:
    return str(import_module("bochner").__version__)


# ---- on the workers ----


def fold(job: Job, given: bytes, pieces: list[Any] | None) -> Answer:
    """`tasks.fold`, by all threads of this worker."""
    worker = distributed.get_worker()
    key = worker.get_current_task()
    node, source, states = pickle.loads(given)
    source = replace(source, pieces=pieces or []) if isinstance(source, Source) else source

    def is_cancelled() -> bool:
        task = worker.state.tasks.get(key)
        return task is None or task.state == "cancelled"

    here = own_version(), worker.address, worker.state.nthreads
    return tasks.fold(job, node, source, states, *here, is_cancelled)


def join(job: Job, left: Answer, right: Answer) -> Answer:
    """`tasks.join` on this worker."""
    return tasks.join(job, left, right, own_version(), distributed.get_worker().address)


# ---- rows of a cluster ----


class RemoteBlocks(WrappedBlocks):
    """Rows that the workers of a cluster read, never this process."""

    def __init__(self, blocks: Blocks, client: Client) -> None:
        engine = DaskEngine(client)
        if blocks.part(0, 0, 1) is None:  # what files hold is found out by a worker, too
            blocks = engine.client.submit(called, sendable(blocks), "surveyed", pure=False).result()
        super().__init__(blocks)
        self.engine = engine
        self._sent = sendable(blocks) if self.travels else b""

    def reduce(self, aggregate: Aggregate[P], *, title: str = "") -> P:
        return reduce_rows(self, aggregate, title)

    def on(self, client: object) -> Blocks:
        return RemoteBlocks(self.blocks, client)

    def opened_as(self, kind: Callable[..., Made], *arguments: object) -> Made:
        if not self.travels:
            return kind(self.blocks, *arguments)
        made = self._asked(Blocks.opened_as, kind, *arguments).result()
        made.engine = self.engine
        return made

    @property
    def travels(self) -> bool:
        return self.blocks.part(0, 0, 1) is None

    def read(self, start: int, stop: int) -> Block:
        return self._there(Blocks.read, start, stop)

    def take(self, numbers: object) -> Block:
        return self._there(Blocks.take, numbers)

    def stream(self, start: int, rows: int) -> Iterator[Block]:
        """A block at a time comes from the workers, which read the next one."""
        if not self.travels:
            yield from self.blocks.stream(start, rows)
            return
        firsts = iter(range(start, self.n_rows, rows))
        ask = partial(self._asked, Blocks.read)
        coming = [ask(first, min(first + rows, self.n_rows)) for first in islice(firsts, 2)]
        while coming:
            block = coming.pop(0).result()
            coming += [ask(first, min(first + rows, self.n_rows)) for first in islice(firsts, 1)]
            yield block

    def shuffled(self, rows: int, stream: Stream, without: np.ndarray) -> Iterator[Block]:
        return Blocks.shuffled(self, rows, stream, without) if self.travels else super().shuffled(rows, stream, without)

    def unrecorded(self) -> Blocks:
        return self

    def part(self, start: int, stop: int, rows: int) -> list[Block] | None:
        return Blocks.part(self, start, stop, rows)

    def _there(self, verb: Callable[..., Made], *arguments: object) -> Made:
        if not self.travels:
            return getattr(self.blocks, verb.__name__)(*arguments)
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


# ---- collections ----


def blocks_of(
    X: Collection,
    y: Collection | ArrayLike | None = None,
    weight: Collection | ArrayLike | None = None,
    recipe: Recipe | None = None,
) -> Blocks:
    """A Dask array or frame with its targets and weights as blocks; a recipe is that of the fit, for a frame."""
    names = list(X.columns) if hasattr(X, "columns") else None
    rows = as_array(X, "X") if names is None else None
    if rows is None:
        rows, recipe = frame_as_array(X, recipe)
    if rows.ndim != 2:
        raise ValueError(f"X must have two dimensions; it has {rows.ndim}.")
    beside = [None if part is None else as_array(part, what) for part, what in ((y, "y"), (weight, "sample_weight"))]
    rows, *others = with_sizes([rows, *beside])
    if rows.shape[0] == 0:
        raise ValueError("there are no rows: at least one is needed.")
    rows = rows.rechunk({1: -1}) if rows.numblocks[1] > 1 else rows
    for other, what in zip(others, ("y", "sample_weight"), strict=True):
        if other is not None and other.shape[0] != rows.shape[0]:
            raise ValueError(f"X has {rows.shape[0]} rows but {what} has {other.shape[0]}.")
    fitting = [None if other is None else other.rechunk((rows.chunks[0], *[-1] * (other.ndim - 1))) for other in others]
    return DaskBlocks(rows, *fitting, recipe=recipe, names=names if recipe is None else None)


# ---- frames ----


def frame_as_array(X: dd.DataFrame, recipe: Recipe | None) -> tuple[da.Array, Recipe | None]:
    """A frame as an array, and the recipe by which it became one; frames of plain numbers have none."""
    pieces = list(X.to_delayed())
    facts = computed([delayed(rows_and_kind, pure=False)(piece) for piece in pieces])
    sizes = tuple(rows for rows, _ in facts)
    if recipe is None and all(plain for _, plain in facts):
        return X.to_dask_array(lengths=sizes), None
    recipe = FrameTable(pieces, sizes).recipe() if recipe is None else recipe
    shared = delayed(recipe, traverse=False)
    parts = [
        da.from_delayed(delayed(encoded, pure=False)(shared, piece), (size, recipe.n_columns), dtype=recipe.dtype)
        for piece, size in zip(pieces, sizes, strict=True)
    ]
    return da.concatenate(parts), recipe


def rows_and_kind(frame: pandas.DataFrame) -> tuple[int, bool]:
    """How many rows there are, and whether all columns are plain numbers."""
    return len(frame), is_plain(frame)


def encoded(recipe: Recipe, frame: pandas.DataFrame) -> np.ndarray:
    if not len(frame):
        return np.empty((0, recipe.n_columns), recipe.dtype)
    found: np.ndarray = recipe.encode(frame)
    return found


class FrameTable:
    """A frame of text, dates and gaps, whose recipe is learned by the workers, as `read` learns that of a frame."""

    def __init__(self, pieces: list[Any], sizes: tuple[int, ...]) -> None:
        self.pieces, self.sizes = pieces, sizes
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    def recipe(self) -> Recipe:
        """The recipe that all rows have."""
        from .files import Choice, frame_table, learn

        schemas = computed(
            [delayed(schema_of, pure=False)(p) for p, n in zip(self.pieces, self.sizes, strict=True) if n]
        )
        empty = schemas[0].empty_table() if len(schemas) == 1 else unified(schemas).empty_table()
        table = frame_table(empty, Choice(None, None, None, [], []))
        table.summaries = partial(self.summaries, table)  # type: ignore[method-assign]
        return learn(table, True, "mean", "auto", CATEGORIES)

    def summaries(self, table: ArrowTable, summary: Summary, rows: int) -> Iterator[Summary]:
        """One task after another adds its rows to the summary, in their order."""
        made, total = delayed(summary, traverse=False), int(self.starts[-1])
        table = delayed(table.dataset.schema, traverse=False)
        for start in range(0, total, rows):
            stop = min(start + rows, total)
            first = int(np.searchsorted(self.starts, start, side="right")) - 1
            last = int(np.searchsorted(self.starts, stop, side="left"))
            within = slice(start - int(self.starts[first]), stop - int(self.starts[first]))
            made = delayed(summarized, pure=False)(table, made, within, self.pieces[first:last])
        yield computed(made)


def schema_of(frame: pandas.DataFrame) -> pyarrow.Schema:
    from .formats.arrow import arrow_table

    return arrow_table(frame).schema


def unified(schemas: list[pyarrow.Schema]) -> pyarrow.Schema:
    """Types that hold the numbers of all partitions."""
    import pyarrow

    return pyarrow.unify_schemas([schema.remove_metadata() for schema in schemas], promote_options="permissive")


def summarized(schema: pyarrow.Schema, summary: Summary, rows: slice, frames: list[pandas.DataFrame]) -> Summary:
    """A summary with some rows of neighbouring frames; the one that was given stays as it is."""
    import pandas

    from .files import Choice, frame_table

    frame = pandas.concat(frames).iloc[rows]
    table = frame_table(schema_cast(frame, schema), Choice(None, None, None, [], []))
    more = deepcopy(summary)
    for chunk in table.chunks(0, len(frame)):
        more.add(chunk)
    return more


def schema_cast(frame: pandas.DataFrame, schema: pyarrow.Schema) -> pyarrow.Table:
    from .formats.arrow import arrow_table

    return arrow_table(frame).replace_schema_metadata(None).cast(schema).combine_chunks()  # one piece, as of one frame


# ---- arrays ----


def as_array(part: object, name: str) -> da.Array:
    """An array of a collection's partitions; what is in memory is parted as Dask thinks fit."""
    if hasattr(part, "to_dask_array"):
        return part.to_dask_array()
    if isinstance(part, da.Array):
        return part
    if dask.is_dask_collection(part):
        raise ValueError(f"{name} must be a Dask array or frame; it is a {type(part).__name__}.")
    return da.from_array(np.asarray(part))


def with_sizes(arrays: list[Any]) -> list[Any]:
    """The same arrays with the sizes of all their partitions, found out in one pass if they are not known."""
    unknown = [k for k, a in enumerate(arrays) if a is not None and any(s != s for s in a.chunks[0])]
    firsts = [list(arrays[k].to_delayed().reshape(arrays[k].numblocks[0], -1)[:, 0]) for k in unknown]
    found = computed([[delayed(n_rows_of, pure=False)(piece) for piece in first] for first in firsts])
    out = list(arrays)
    for k, sizes in zip(unknown, found, strict=True):
        a = arrays[k]
        out[k] = da.Array(a.dask, a.name, (tuple(sizes), *a.chunks[1:]), dtype=a.dtype, meta=a._meta)
    return out


def n_rows_of(piece: Rows) -> int:
    return int(piece.shape[0])


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """The client of a scheduler at this address."""
    try:
        client = distributed.Client(address, timeout="10s")
    except (OSError, ValueError) as error:
        raise ValueError(f"there is no Dask scheduler at {address!r}: {str(error).splitlines()[0]}") from None
    with client:
        yield client


@contextmanager
def local_cluster(workers: int) -> Iterator[Client]:
    """The client of so many worker processes of one thread on this machine."""
    with (
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, memory_limit=None, dashboard_address=":0"
        ) as on,
        distributed.Client(on) as client,
    ):
        yield client


# ---- predictions ----


def lazy_rows(
    estimator: BaseEstimator, name: str, X: da.Array | dd.DataFrame, *arguments: object, **named: object
) -> da.Array | tuple[da.Array, ...]:
    """What a method of a fitted estimator makes of each partition, as lazy Dask arrays."""
    plain = not (arguments or named) and hasattr(estimator, "_without_sums")  # deviations need the sums
    light = estimator._without_sums() if plain else estimator
    if hasattr(X, "to_dask_array"):
        example, pieces = X._meta_nonempty, list(X.to_delayed())
        sizes = [float("nan")] * len(pieces)
        example = example.iloc[:1]
    else:
        rows = X.rechunk({1: -1}) if X.ndim == 2 and X.numblocks[1] > 1 else X
        example, pieces, sizes = np.zeros((1, *X.shape[1:]), X.dtype), list(rows.to_delayed().ravel()), rows.chunks[0]
    found = getattr(in_worker(light), name)(example, *arguments, **named)
    several = isinstance(found, tuple)
    empty = [part[:0] for part in (found if several else (found,))]
    model = delayed(light, pure=False, traverse=False)
    made = [delayed(called_on, pure=False)(model, name, piece, arguments, named, empty) for piece in pieces]
    out = tuple(
        da.concatenate([
            da.from_delayed(one[k], (size, *part.shape[1:]), meta=part) for one, size in zip(made, sizes, strict=True)
        ], allow_unknown_chunksizes=True)
        for k, part in enumerate(empty)
    )  # fmt: skip
    return out if several else out[0]


def called_on(
    estimator: BaseEstimator,
    name: str,
    piece: Rows | pandas.DataFrame,
    arguments: tuple[object, ...],
    named: dict[str, object],
    empty: list[np.ndarray],
) -> list[np.ndarray]:
    """What a method makes of some rows, as a list; of none, nothing."""
    if not piece.shape[0]:
        return empty
    with threads.limited(1):  # Dask works on as many partitions at a time as there are threads
        found = getattr(in_worker(estimator), name)(piece, *arguments, **named)
    return list(found) if isinstance(found, tuple) else [found]


def in_worker(estimator: BaseEstimator) -> BaseEstimator:
    """The estimator as it works where it has come to, if that matters."""
    return estimator._in_worker() if hasattr(estimator, "_in_worker") else estimator


engine = DaskEngine()

"""One pass over rows on a cluster: its tasks, and their answers as they come.

Dask says which worker does what, and does again what a dead one had done; here stands only what is to be done. Maps,
coefficients and settings travel as one small job, rows and drawn weights never do.
"""

from __future__ import annotations

import pickle
import threading
import uuid
import warnings
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import replace
from importlib import import_module
from itertools import islice
from typing import Any, Protocol, runtime_checkable

import dask
import distributed
from dask.delayed import Delayed, delayed
from distributed import Client

from ...config import get_config
from .. import kept, tasks
from ..aggregate import Aggregate
from ..base import Blocks
from ..engine import Engine, Folded, Passed
from ..partitions import SMALL, Node, Plan, Tree
from ..tasks import Answer, ClusterError, Job, Source, step_with_store
from ..threads import one_after_another
from .heap import kept_heap

TASK = 1 << 26  # bytes of rows of one task
FEWEST, MOST = 4, 1 << 12  # tasks of one pass: for each worker at least, and in all at most
HEAVY = 16  # large partials that the client takes in; the others are joined by the workers
SENT = 4  # tasks for each worker whose rows are under way, where rows are sent
PATIENCE = 10.0  # seconds without any worker before a pass that waits for one says so


@runtime_checkable
class InPieces(Protocol):
    """Rows that Dask holds in pieces: a task is given those that it needs."""

    def source(self, start: int, stop: int) -> tuple[Source, list[Any]]:
        """Which pieces hold some rows, and these pieces."""
        ...


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
        rows = getattr(blocks, "there", blocks)
        travels = isinstance(rows, InPieces) or rows.part(0, 0, plan.rows) is None
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
        self.threads = [worker for worker, threads in self.client.nthreads().items() for _ in range(threads)]
        self.workers = max(1, len(self.threads))
        self.level = self.top = self._level_of_tasks()
        if aggregate.partial_bytes > SMALL and travels:
            self.top = max(self.level, (-(-len(plan) // HEAVY) - 1).bit_length())
        self.name = f"bochner {aggregate.name}-{uuid.uuid4().hex[:12]}"
        self.nodes: dict[str, Node] = {}  # tasks whose answers come here
        self.below: dict[str, Passed] = {}  # tasks whose answers go to other tasks
        self.futures: dict[str, distributed.Future] = {}
        blocks = None if isinstance(rows, InPieces) or not travels else copy(rows)
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
        with telling_of_absence(self.client):
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
        if not isinstance(self.rows, InPieces):
            where = self.share(node)
        if self.step is not None:
            known = self.engine.states.get(self.step.key, {})
            states = {first: known[first] for first in range(start, stop, self.plan.rows) if first in known}
            place = self.engine.places.get((self.step.key, node))
            where = where if place is None else preferred(place)
        if isinstance(self.rows, InPieces):
            source = self.rows.source(start, stop)
        elif not self.travels:
            source = self.rows.part(start, stop, self.plan.rows), None
        with dask.annotate(**where):
            given = sendable((node, source[0], states))  # bytes, which Dask does not look into
            key = f"{self.name}-{node[0]}-{node[1]}"
            return delayed(fold, pure=False)(self.job, given, source[1], dask_key_name=key)

    def share(self, node: Node) -> dict[str, Any]:
        """Where the task of a node is best done. Dask would do them all where the job is, since they are short.

        Neighbours go to one worker, for their answers are joined; of rows that are sent in order, to one after another.
        """
        if not self.threads:
            return {}
        first, several = self.tree.inside(*node)[0], len(self.threads)
        return preferred(self.threads[first * several // len(self.plan) if self.travels else node[1] % several])

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


@contextmanager
def telling_of_absence(client: Client) -> Generator[None]:
    """Warn, once, while the cluster has no worker: Dask waits for one without a word."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(PATIENCE):
            with suppress(Exception):  # a client that is closed or cut off says so itself
                if not client.nthreads():
                    warnings.warn("the Dask cluster has no worker left: the fit waits for one to join.", stacklevel=2)
                    return

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        over.set()


def preferred(worker: str) -> dict[str, Any]:
    """What a task is annotated with that this worker should do, and others may."""
    return {"workers": [worker], "allow_other_workers": True}


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
    with kept_heap():
        return tasks.fold(job, node, source, states, *here, is_cancelled)


def join(job: Job, left: Answer, right: Answer) -> Answer:
    """`tasks.join` on this worker."""
    return tasks.join(job, left, right, own_version(), distributed.get_worker().address)

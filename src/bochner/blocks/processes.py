"""The engine of worker processes here: aggregates and partitions travel by pickle, and partials come back.

Rows of files are read where they are worked on; those in memory are sent. A partition always goes to the same worker,
so what it keeps of a block stays there. Workers start when they are first needed (spawned, never forked), share the
threads of this process among them, and end with it. After an error or an interrupt they are ended at once.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import pickle
import signal
from collections.abc import Generator, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any

from ..config import config_context, get_config
from ..ops import threads
from . import kept
from .aggregate import Aggregate
from .engine import Engine, Folded
from .partitions import Partition, Plan
from .threads import one_after_another

if TYPE_CHECKING:
    from .base import Block, Blocks


class ProcessEngine(Engine):
    """Partitions side by side in workers; a single one is folded here."""

    def __init__(self) -> None:
        self.workers: list[Worker] = []
        self.owner = 0
        self.released: list[str] = []  # keys that nobody needs any more; workers are told when they are next spoken to
        atexit.register(self.close)

    def fold(
        self, blocks: Blocks, aggregate: Aggregate[Any], plan: Plan, missing: list[int], begun: Folded | None
    ) -> Generator[Folded]:
        if len(plan) == 1:
            with threads.blas_limited():
                yield from one_after_another(blocks, aggregate, plan, missing, begun)
            return
        self._start(threads.count())
        waiting: dict[Connection, Iterator[int]] = {}
        travels = blocks.part(0, 0, plan.rows) is None
        try:
            message = sendable(("begin", get_config() | {"engine": "threads"}, aggregate, plan, tuple(self.released),
                                blocks if travels else None))  # fmt: skip
            for number, worker in enumerate(self.workers):
                mine = [k for k in missing if k * len(self.workers) // len(plan) == number]
                if mine:
                    worker.pipe.send_bytes(message)
                    waiting[worker.pipe] = iter(mine)
                    self._send(worker.pipe, waiting, None if travels else blocks, plan)
            self.released.clear()
            while waiting:
                for pipe in wait(list(waiting)):
                    assert isinstance(pipe, Connection)
                    folded = received(pipe)
                    self._send(pipe, waiting, None if travels else blocks, plan)
                    yield folded
        except BaseException:
            self.close()
            raise

    def _send(
        self, pipe: Connection, waiting: dict[Connection, Iterator[int]], blocks: Blocks | None, plan: Plan
    ) -> None:
        """The next partition for a worker, with its rows if they are here; nothing if there is none."""
        number = next(waiting[pipe], None)
        if number is None:
            del waiting[pipe]
            return
        partition = plan[number]
        rows = None if blocks is None else blocks.part(partition.start, partition.stop, plan.rows)
        pipe.send_bytes(sendable(("fold", partition, rows)))

    def release(self, key: str) -> None:
        self.released.append(key)

    def _start(self, count: int) -> None:
        if len(self.workers) == count and self.owner == os.getpid() and all(w.process.is_alive() for w in self.workers):
            return
        self.close()
        self.owner = os.getpid()
        self.workers = [Worker(max(1, threads.available() // count)) for _ in range(count)]

    def close(self) -> None:
        """End all workers."""
        mine, self.workers = self.workers, []
        if self.owner != os.getpid():  # those of a process that this one was forked from
            return
        for worker in mine:
            worker.pipe.close()
            worker.process.kill()
        for worker in mine:
            worker.process.join()


class Worker:
    """A process, and the pipe to it."""

    def __init__(self, count: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, far = context.Pipe()
        self.process = context.Process(target=serve, args=(far, count), name="bochner", daemon=True)
        self.process.start()
        far.close()


def sendable(message: object) -> bytes:
    try:
        return pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ValueError(f"this cannot be sent to worker processes ({error}): use engine='threads'.") from None


def received(pipe: Connection) -> Folded:
    """What a worker sends; an error there is raised here as it is."""
    try:
        found = pickle.loads(pipe.recv_bytes())
    except (EOFError, ConnectionError):
        raise RuntimeError(
            "a worker process ended before its work was done: was it killed, or short of memory?"
        ) from None
    if isinstance(found, BaseException):
        raise found
    assert isinstance(found, Folded)
    return found


# ---- in the worker ----


def serve(pipe: Connection, count: int) -> None:
    """Fold what comes until there is no one left to send it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the interrupt is for the parent, which ends its workers
    with suppress(EOFError, ConnectionError), threads.limited(count), threads.blas_limited():
        pass_: Pass | None = None
        while True:
            try:
                kind, *details = pickle.loads(pipe.recv_bytes())
                if kind == "begin":
                    pass_ = Pass(*details)
                    continue
                assert pass_ is not None
                answer: Any = pass_.fold(*details)
            except (EOFError, ConnectionError):
                raise
            except BaseException as error:
                answer = error
            pipe.send_bytes(answered(answer))


def answered(answer: object) -> bytes:
    try:
        return pickle.dumps(answer, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # an error of a kind that does not pickle
        return pickle.dumps(RuntimeError(f"{type(answer).__name__}: {answer} ({error})"))


class Pass:
    """One aggregate over some partitions, in the worker that has them."""

    def __init__(
        self, settings: dict[str, Any], aggregate: Aggregate[Any], plan: Plan, released: tuple[str, ...],
        blocks: Blocks | None,
    ) -> None:  # fmt: skip
        self.settings, self.aggregate, self.plan, self.blocks = settings, aggregate, plan, blocks
        self._reading: Iterator[Block] | None = None
        self._place = -1
        for key in released:
            kept.drop(key)

    def fold(self, partition: Partition, rows: list[Block] | None) -> Folded:
        partial = None
        with config_context(**self.settings):
            for block in self._blocks(partition) if rows is None else rows:
                partial = self.aggregate.step(partial, block)
        return Folded(partition.number, partition.stop, partial, True)

    def _blocks(self, partition: Partition) -> Iterator[Block]:
        """Partitions mostly follow one another: then reading goes on where it was."""
        assert self.blocks is not None
        if self._place != partition.start or self._reading is None:
            self._reading, self._place = self.blocks.stream(partition.start, self.plan.rows), partition.start
        while self._place < partition.stop:
            block = next(self._reading)
            self._place = min(self._place + self.plan.rows, partition.stop)
            yield block


engine = ProcessEngine()

"""The engine of this process: blocks are read ahead by a thread, and folded by as many as calls may use.

A step that uses all threads itself has them to itself. Others keep to one thread each, and BLAS to one for all: with
several, its sums have other bits. Steps that are sooner done than handed over stay where they are.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from ..config import config_context, device_room, get_config
from ..ops import threads
from .aggregate import Aggregate, P
from .engine import Engine, Folded
from .partitions import TOGETHER, Plan

if TYPE_CHECKING:
    from .base import Block, Blocks


MOST = 8 * TOGETHER  # blocks that are folded side by side take half of the memory budget at most
QUICK = 3e-4  # seconds: to hand a step to another thread takes about as long


class ThreadEngine(Engine):
    """Partitions one after another, or side by side."""

    def __init__(self) -> None:
        self.quick: set[str] = set()  # names of aggregates whose steps took no time when they were last seen

    def fold(
        self, blocks: Blocks, aggregate: Aggregate[Any], plan: Plan, missing: list[int], begun: Folded | None
    ) -> Generator[Folded]:
        # A device works through what it is given in order.
        in_turn = aggregate.is_parallel or device_room() or len(missing) == 1
        workers = 1 if in_turn else min(threads.count(), len(missing), MOST)
        with threads.blas_limited():
            if workers == 1 or plan.blocks > 1:
                yield from one_after_another(blocks, aggregate, plan, missing, begun)
            else:
                yield from self._side_by_side(blocks, aggregate, plan, missing, workers)

    def _side_by_side(
        self, blocks: Blocks, aggregate: Aggregate[Any], plan: Plan, missing: list[int], workers: int
    ) -> Generator[Folded]:
        """Partitions of one block each; they are told of in their order.

        Steps that were quick are taken here, until one is not: of many features, or of long blocks.
        """
        settings, waiting, name, took = get_config(), deque[tuple[int, "Future[Any]"]](), aggregate.name, list[float]()

        def first() -> Folded:
            number, future = waiting.popleft()
            seconds, partial = future.result()
            took.append(seconds)
            return Folded(number, plan[number].stop, partial, True)

        with ThreadPoolExecutor(workers) as pool:
            try:
                for run in neighbours(missing):
                    for block in blocks.ahead(plan[run[0]].start, plan[run[-1]].stop, plan.rows):
                        number = plan.of_row(block.start)
                        if name not in self.quick:
                            waiting.append((number, pool.submit(alone, settings, aggregate, block)))
                            if len(waiting) > workers:
                                yield first()
                            continue
                        seconds, partial = timed(aggregate, block)
                        if seconds > QUICK:
                            self.quick.discard(name)
                        yield Folded(number, plan[number].stop, partial, True)
                while waiting:
                    yield first()
            finally:
                for _, future in waiting:  # after an error or an interrupt, what has not begun is left undone
                    future.cancel()
        if took and sum(took) < QUICK * len(took):
            self.quick.add(name)


def one_after_another(
    blocks: Blocks, aggregate: Aggregate[Any], plan: Plan, missing: list[int], begun: Folded | None
) -> Iterator[Folded]:
    for run in neighbours(missing, None if begun is None else begun.number):
        start, partial = plan[run[0]].start, None
        if begun is not None and begun.number == run[0]:
            start, partial = begun.stop, begun.partial
        for block in blocks.ahead(start, plan[run[-1]].stop, plan.rows):
            number, stop = plan.of_row(block.start), min(block.start + plan.rows, plan.n_rows)
            partial = aggregate.step(partial, block)
            finished = stop == plan[number].stop
            yield Folded(number, stop, partial, finished)
            if finished:
                partial = None


def alone(settings: dict[str, Any], aggregate: Aggregate[P], block: Block) -> tuple[float, P]:
    """A step in a thread of a pool, which has settings of its own until it is told."""
    with config_context(**settings):
        return timed(aggregate, block)


def timed(aggregate: Aggregate[P], block: Block) -> tuple[float, P]:
    """The seconds for which a step kept its thread busy, and its partial."""
    begun = time.thread_time()
    with threads.limited(1):
        partial = aggregate.step(None, block)
    return time.thread_time() - begun, partial


def neighbours(numbers: list[int], apart: int | None = None) -> Iterator[list[int]]:
    """Lists of numbers that follow one another, to be read in one go; one may begin a list of its own."""
    run: list[int] = []
    for number in numbers:
        if run and (number != run[-1] + 1 or number == apart):
            yield run
            run = []
        run.append(number)
    if run:
        yield run


engine = ThreadEngine()

"""Who folds partitions: the seam between what is computed and where. `reduce` is the one verb that goes through it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator
from contextlib import closing
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ..blocks.aggregate import P
from ..config import get_config
from .aggregate import Aggregate
from .partitions import Plan, Tree
from .progress import Progress

if TYPE_CHECKING:
    from .base import Blocks

MODULES = {"threads": ".threads", "processes": ".processes", "dask": ".dask"}


class Folded(NamedTuple):
    """A partition as far as it is folded: its rows up to `stop` are in the partial; `finished` if these are all.

    With a level it is a node of the tree: 2^level neighbouring partitions, whose partials are combined already.
    """

    number: int
    stop: int
    partial: Any
    finished: bool
    level: int = 0


class Passed(NamedTuple):
    """So many more rows were folded, for the node that begins with this partition; their partial comes later."""

    first: int
    rows: int


class Engine(ABC):
    """Folds the partitions of a plan by an aggregate's `step`, in any order and wherever it likes."""

    is_remote = False  # whether partitions are folded on other machines
    keeps = True  # whether a partition stays where it is, and with it what a pass leaves with its blocks

    @abstractmethod
    def fold(
        self, blocks: Blocks, aggregate: Aggregate[Any], plan: Plan, missing: list[int], begun: Folded | None
    ) -> Generator[Folded | Passed]:
        """The missing partitions as they are folded; one that was begun before may be gone on with.

        A partition may be told of several times, the last time as finished. What is not waited for any more, because
        the caller closed the iterator, is left undone.
        """

    def release(self, key: str) -> None:  # noqa: B027, most keep nothing elsewhere
        """Nobody needs any more what passes of this key left with blocks."""


class Record(Protocol):
    """Keeps what is done of one reduce, so that it can be taken up again."""

    plan: Plan
    nodes: dict[tuple[int, int], Any]
    begun: Folded | None

    def __call__(self, tree: Tree, part: Folded) -> None:
        """Told after each block of a partition, and when it is finished."""


def engine_of(blocks: Blocks | None) -> Engine:
    """The engine of the rows, if they have one of their own, or that of the settings, by name or as an object."""
    chosen = get_config()["engine"] if blocks is None or blocks.engine is None else blocks.engine
    return named_engine(chosen) if isinstance(chosen, str) else chosen


@cache
def named_engine(name: str) -> Engine:
    found: Engine = import_module(MODULES[name], __package__).engine
    return found


def reduce(blocks: Blocks, aggregate: Aggregate[P], title: str = "", record: Record | None = None) -> P:
    """What the aggregate makes of all rows: partitions folded by the engine, combined along the tree."""
    plan = Plan.of(aggregate, blocks.n_rows) if record is None else record.plan
    begun = None if record is None else record.begun
    tree = Tree(len(plan), aggregate.combine, {} if record is None else record.nodes)
    missing = tree.missing()
    if not missing:
        return tree.root  # type: ignore[return-value]
    done = {number: plan[number].start for number in missing}  # the rows before are in the partial
    if begun is not None:
        done[begun.number] = begun.stop
    before = plan.n_rows - sum(plan[number].stop - start for number, start in done.items())
    parts = engine_of(blocks).fold(blocks, aggregate, plan, missing, begun)
    with Progress(title, plan.n_rows, before) as progress, closing(parts):
        for part in parts:
            if isinstance(part, Passed):
                progress.advance(part.rows)
                done[part.first] += part.rows
                continue
            if part.finished:
                tree.add(part.number, part.partial, part.level)
            first = part.number << part.level
            progress.advance(part.stop - done[first])
            done[first] = part.stop
            if record is not None:
                record(tree, part)
    return tree.root  # type: ignore[return-value]

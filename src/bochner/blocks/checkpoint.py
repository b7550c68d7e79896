"""Sums that survive a crash: every reduce leaves what its partitions gave in a folder, and finds it there next time.

A fit is a fixed sequence of reduces with arithmetic between them. Each is recorded as the set of its finished
partitions, and the one under way as far as it has come. Sums that were completed are read back, the one that was
interrupted goes on with the partitions that are missing, and the arithmetic is done again: the result has the same bits
as without the interruption, with any number of threads and on any engine.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from .. import storage
from ..blocks.aggregate import P
from .aggregate import Aggregate
from .base import Blocks, WrappedBlocks
from .engine import Folded, reduce
from .partitions import Node, Plan, Tree

KIND, VERSIONS = "bochner checkpoint", range(2, 3)
Value = TypeVar("Value")
OLD = "was written by an older version of bochner, which kept other records: delete the folder to start afresh."
INTERVAL = 5.0  # seconds between two writes, at least
SHARE = 0.05  # of the time at most goes into writing


class Journal:
    """A folder that remembers the values of one job, numbered in the order in which they are asked for."""

    def __init__(self, folder: str | os.PathLike[str], job: dict[str, Any], known: Iterable[type] = ()) -> None:
        self.folder, self.known = Path(folder), tuple(known)
        self.step = 0
        if self.folder.exists() and not self.folder.is_dir():
            raise ValueError(f"the checkpoint {str(folder)!r} must be a folder, and it is a file.")
        self.folder.mkdir(parents=True, exist_ok=True)
        if any(not is_own(file.name) for file in self.folder.iterdir()):
            raise ValueError(f"the folder {str(folder)!r} holds other files: give the checkpoint a folder of its own.")
        self._lock = lock(self.folder)
        for part in self.folder.glob(f"{storage.PART}*.part"):  # left by a run that was killed while writing
            part.unlink()
        try:
            self._require_same(job)
        except BaseException:
            self.close()
            raise

    def _require_same(self, job: dict[str, Any]) -> None:
        before = self._load("job")
        if before is None:
            self._save("job", job)
        elif before != job:
            differing = [name for name in {**before, **job} if before.get(name) != job.get(name)]
            raise ValueError(
                f"the checkpoint in {str(self.folder)!r} belongs to another fit (different: {', '.join(differing)}): "
                "give another folder, or delete this one."
            )

    def close(self) -> None:
        """Let go of the folder."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def value(self, make: Callable[[], Value]) -> Value:
        """A value that is made once and then remembered."""
        name = self.next_name()
        state = self._load(name)
        if state is None:
            state = {"value": make()}
            self._save(name, state)
        return state["value"]

    def next_name(self) -> str:
        """The name of the next value to be recorded."""
        self.step += 1
        return f"step-{self.step:05}"

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.checkpoint"

    def _load(self, name: str) -> Any:
        if not self._path(name).exists():
            return None
        try:
            version, state = storage.load(self._path(name), KIND, range(1, VERSIONS.stop), self.known)
        except storage.BadFileError as error:
            raise storage.BadFileError(f"{error} Delete the folder {str(self.folder)!r} to start afresh.") from None
        if version not in VERSIONS:
            raise storage.BadFileError(f"the checkpoint in {str(self.folder)!r} {OLD}")
        return state

    def _save(self, name: str, state: object) -> None:
        try:
            storage.save(self._path(name), KIND, VERSIONS[-1], state, self.known)
        except OSError as error:
            raise OSError(error.errno, f"{error.strerror}; the last good checkpoint is kept") from None


def forget_checkpoint(folder: str | os.PathLike[str]) -> None:
    """Delete what a journal wrote in its folder, and the folder if nothing else is in it."""
    folder = Path(folder)
    for file in [*folder.glob("*.checkpoint"), folder / "lock"]:
        file.unlink(missing_ok=True)
    if not any(folder.iterdir()):
        folder.rmdir()


class CheckpointedBlocks(WrappedBlocks):
    """Blocks whose sums are kept in a journal."""

    def __init__(self, blocks: Blocks, journal: Journal) -> None:
        super().__init__(blocks)
        self.journal = journal

    @property
    def is_recorded(self) -> bool:
        return True

    def unrecorded(self) -> Blocks:
        return self.blocks

    def reduce(self, aggregate: Aggregate[P], *, title: str = "") -> P:
        record = PartitionRecord.opened(self.journal, aggregate, Plan.of(aggregate, self.n_rows))
        return reduce(self.blocks, aggregate, title, record)


class PartitionRecord:
    """The finished partitions of one aggregate, and the one under way; written now and then, and when all are done."""

    def __init__(self, journal: Journal, name: str, job: dict[str, Any], plan: Plan) -> None:
        self.journal, self.name, self.job, self.plan = journal, name, job, plan
        self.nodes: dict[Node, Any] = {}
        self.begun: Folded | None = None
        self.next_time = time.monotonic() + INTERVAL

    @classmethod
    def opened(cls, journal: Journal, aggregate: Aggregate[Any], plan: Plan) -> PartitionRecord:
        """The record of the next aggregate of the job, with what was done of it before."""
        job = {"aggregate": aggregate.name, "rows": plan.n_rows, "block": plan.rows, "blocks": plan.blocks}
        record = cls(journal, journal.next_name(), job, plan)
        state = journal._load(record.name)
        if state is None:
            return record
        if not isinstance(state, dict) or state.get("job") != job:
            raise ValueError(f"the checkpoint in {str(journal.folder)!r} is of another fit: delete the folder.")
        try:
            record.nodes = {(level, place): partial for level, place, partial in state["nodes"]}
            if state["begun"] is not None:
                number, stop, partial = state["begun"]
                record.begun = Folded(number, stop, partial, False)
            record._require_sound()
        except (KeyError, TypeError, ValueError):
            raise storage.BadFileError(
                f"the checkpoint in {str(journal.folder)!r} is damaged: delete the folder to start afresh."
            ) from None
        return record

    def _require_sound(self) -> None:
        """Refuse partitions that there are not, or that are there twice."""
        count, seen = len(self.plan), 0
        for level, place in self.nodes:
            if not (0 <= level <= 64 and 0 <= place << level < count):
                raise ValueError("no such partition")
            seen += min((place + 1) << level, count) - (place << level)
        missing = Tree(count, lambda left, right: None, self.nodes).missing()
        if seen + len(missing) != count:
            raise ValueError("a partition is there twice")
        if self.begun is not None:
            partition = self.plan[self.begun.number]
            if partition.number not in missing or not partition.start < self.begun.stop < partition.stop:
                raise ValueError("no such partition")

    def __call__(self, tree: Tree, part: Folded) -> None:
        begun = time.monotonic()
        if begun < self.next_time and not tree.is_complete:
            return
        nodes = [[*node, partial] for node, partial in tree.nodes.items()]
        under_way = None if part.finished else [part.number, part.stop, part.partial]
        self.journal._save(self.name, {"job": self.job, "nodes": nodes, "begun": under_way})
        now = time.monotonic()
        self.next_time = now + max(INTERVAL, (now - begun) / SHARE)


def is_own(name: str) -> bool:
    """Whether a journal gives its files such names."""
    return name == "lock" or name.endswith(".checkpoint") or (name.startswith(storage.PART) and name.endswith(".part"))


def lock(folder: Path) -> int | None:
    """Keep a second process out of the folder; the lock goes with the process, however it ends."""
    try:
        import fcntl
    except ImportError:  # Windows has no such locks
        return None
    handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise ValueError(f"another fit is using the checkpoint folder {str(folder)!r}.") from None
    return handle

"""Sums that survive a crash: every reduce leaves its partial sum in a folder, and finds it there the next time.

A fit is a fixed sequence of reduces with arithmetic between them. Sums that were completed are read back, the one
that was interrupted goes on from its last saved block, and the arithmetic is done again: the result has the same bits
as without the interruption.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .. import storage
from ..streams import Stream
from .base import Block, Blocks, plus, rows_per_block

KIND, VERSIONS = "bochner checkpoint", range(1, 2)
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
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def value(self, make: Callable[[], Any]) -> Any:
        """A value that is made once and then remembered."""
        name = self.next_name()
        state = self._load(name)
        if state is None:
            state = {"value": make()}
            self._save(name, state)
        return state["value"]

    def next_name(self) -> str:
        self.step += 1
        return f"step-{self.step:05}"

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.checkpoint"

    def _load(self, name: str) -> Any:
        if not self._path(name).exists():
            return None
        try:
            return storage.load(self._path(name), KIND, VERSIONS, self.known)[1]
        except storage.BadFileError as error:
            raise storage.BadFileError(f"{error} Delete the folder {str(self.folder)!r} to start afresh.") from None

    def _save(self, name: str, state: Any) -> None:
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


class CheckpointedBlocks(Blocks):
    """Blocks whose sums are kept in a journal."""

    def __init__(self, blocks: Blocks, journal: Journal) -> None:
        self.blocks, self.journal = blocks, journal
        self.n_rows, self.n_columns, self.recipe = blocks.n_rows, blocks.n_columns, blocks.recipe

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

    def reduce(
        self,
        function: Callable[[Block], Any],
        *,
        add: Callable[[Any, Any], Any] = plus,
        width: int = 1,
        rows: int = 0,
        title: str = "",
        workers: int = 1,
    ) -> Any:
        name = self.journal.next_name()
        state = self.journal._load(name)
        if state is None:
            state = {"title": title, "rows": rows or rows_per_block(width * workers), "done": 0, "total": None}
        elif state.get("title") != title or not 0 < state.get("done", 0) <= self.n_rows:
            raise ValueError(f"the checkpoint in {str(self.journal.folder)!r} is of another fit: delete the folder.")
        if state["done"] == self.n_rows:
            return state["total"]
        writer = Writer(self.journal, name, state, self.n_rows)
        return self.blocks.accumulate(
            function, state["rows"], add=add, start=state["done"], total=state["total"], title=title,
            workers=workers, after=writer,
        )  # fmt: skip


class Writer:
    """Writes a partial sum now and then, and the whole sum always."""

    def __init__(self, journal: Journal, name: str, state: dict[str, Any], n_rows: int) -> None:
        self.journal, self.name, self.state, self.n_rows = journal, name, state, n_rows
        self.next_time = time.monotonic() + INTERVAL

    def __call__(self, total: Any, done: int) -> None:
        begun = time.monotonic()
        if begun < self.next_time and done < self.n_rows:
            return
        self.journal._save(self.name, {**self.state, "done": done, "total": total})
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

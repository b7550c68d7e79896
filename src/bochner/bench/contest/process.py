"""A contestant in a process of its own, which is killed when it takes half as long again as it was given.

It is given rows and targets to learn from and rows to predict, never the targets that it is judged by. Its clock starts
when it has imported what it needs and has the rows.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from ...data.frames import FrameSplit
from .entrant import Clock, Contestant, Rows, losses

OVERTIME = 1.5  # times the seconds given: then it is killed
ANSWERING = 10.0  # times the seconds given, for the predictions: they are not what the contest is about
STARTING = 300.0  # seconds to start a process and to hand over the rows
LEAVING = 5.0  # seconds to put things away, for one that is done
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BOCHNER_NUM_THREADS")
# Threads that wait give way: others may be at work on this machine. Who is killed cannot put its semaphores away.
CALM = {"OMP_WAIT_POLICY": "PASSIVE", "PYTHONWARNINGS": "ignore:resource_tracker:UserWarning"}


@dataclass(frozen=True)
class Result:
    """How a contestant ended: "done", "killed" or "failed" with a reason; seconds of its fit and of its predictions.

    `losses` has one number for each test row, their mean is its error.
    """

    status: str
    seconds: float
    predict_seconds: float = 0.0
    tried: int = 0
    rows: int = 0
    note: str = ""
    losses: np.ndarray | None = None

    @property
    def error(self) -> float | None:
        return None if self.losses is None else float(self.losses.mean())


def enter(contestant: Contestant, split: FrameSplit, seconds: float, cores: int, seed: int) -> Result:
    """One contestant on one split."""
    rows, y_test = encoded(split)
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    how = (theirs, contestant, rows, split.X_test, seconds, cores, seed)
    process = context.Process(target=work, args=how)
    with threads(cores):
        process.start()
    theirs.close()
    try:
        result = watched(ours, seconds, y_test, rows.classes)
        process.join(LEAVING if result.status == "done" else 0.0)
        return result
    finally:
        end(process)
        ours.close()


def watched(connection: Connection, seconds: float, y_test: np.ndarray, classes: int) -> Result:
    """What the process says, in its three steps."""
    ready = heard(connection, STARTING)
    if ready is None or ready[0] != "ready":
        return Result("failed", 0.0, note=ready[1] if ready else f"it did not start within {STARTING:.0f} s")
    fitted = heard(connection, OVERTIME * seconds)
    if fitted is None:
        return Result("killed", OVERTIME * seconds, note=f"no model after {OVERTIME * seconds:.3g} s")
    if fitted[0] != "fitted":
        return Result("failed", 0.0, note=fitted[1])
    facts = fitted[1]
    answered = heard(connection, ANSWERING * seconds)
    if answered is None:
        return Result("killed", facts["seconds"], note=f"no predictions after {ANSWERING * seconds:.3g} s")
    if answered[0] != "predicted":
        return Result("failed", facts["seconds"], note=answered[1])
    predicted, took = answered[1:]
    found = losses(y_test, predicted, classes)
    if not np.isfinite(found).all():
        return Result("failed", facts["seconds"], note="its predictions are not finite")
    return Result("done", predict_seconds=took, losses=found, **facts)


def heard(connection: Connection, seconds: float) -> tuple[Any, ...] | None:
    """The next message; None if it does not come in time."""
    if not connection.poll(seconds):
        return None
    try:
        message: tuple[Any, ...] = connection.recv()
    except (EOFError, ConnectionResetError):
        return ("failed", "its process ended without a word: it may have run out of memory")
    return message


def work(connection: Connection, contestant: Contestant, rows: Rows, X_test: object, *how: Any) -> None:
    """What the process does."""
    with suppress(AttributeError, PermissionError):
        os.setsid()  # so that those it starts are ended with it, and Ctrl-C is left to the one who watches
    seconds, cores, seed = how
    try:
        contestant.load()
        connection.send(("ready",))
        clock = Clock(seconds)
        model = contestant.fit(rows, clock, cores, seed)
        facts = {"seconds": clock.spent, "tried": model.tried, "rows": model.rows, "note": model.note}
        connection.send(("fitted", facts))
        begun = time.perf_counter()
        predicted = np.asarray(model.predict(X_test))
        connection.send(("predicted", predicted, time.perf_counter() - begun))
    except Exception as error:
        connection.send(("failed", " ".join(f"{type(error).__name__}: {error}".split())[:300]))


def encoded(split: FrameSplit) -> tuple[Rows, np.ndarray]:
    """Labels as 0, 1, ... in the order of those learned from; one that is new in the test is -1, which nobody says."""
    if not split.has_labels:
        return Rows(split.X, split.y, 0), split.y_test
    known, y = np.unique(split.y, return_inverse=True)
    place = np.searchsorted(known, split.y_test).clip(0, len(known) - 1)
    return Rows(split.X, y, len(known)), np.where(known[place] == split.y_test, place, -1)


@contextmanager
def threads(cores: int) -> Iterator[None]:
    """Every library in a process that is started meanwhile uses so many threads."""
    wanted = dict.fromkeys(THREADS, str(cores)) | CALM
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name)
            else:
                os.environ[name] = value


def end(process: Any) -> None:
    """End a process and those it started."""
    if process.is_alive():
        with suppress(AttributeError, ProcessLookupError, PermissionError):
            if os.getpgid(process.pid) == process.pid:  # not before it has a group of its own
                os.killpg(process.pid, signal.SIGKILL)
        process.kill()
    process.join()

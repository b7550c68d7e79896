"""Threads for work that releases the GIL, native kernels above all: a pool over slices of rows.

The pool is shared by all callers and made when first needed; a forked child makes its own. A call from one of the
pool's own threads is not spread further, so nothing waits for itself.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import cache, partial
from itertools import pairwise
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

WORTH = 1 << 16  # numbers that are worth a thread where each takes an exponential, say
WORTH_PASSING = 1 << 18  # numbers that are only multiplied or added

_local = threading.local()
_pool: ThreadPoolExecutor | None = None
_making, _limiting = threading.Lock(), threading.Lock()
_limit: list[Any] = []  # one for each who wants BLAS to keep to one thread


def available() -> int:
    """Processors that this process may use, or BOCHNER_NUM_THREADS."""
    asked = os.environ.get("BOCHNER_NUM_THREADS", "")
    if asked:
        if not asked.isdecimal() or int(asked) < 1:
            raise ValueError(f"BOCHNER_NUM_THREADS must be a positive integer; it is {asked!r}.")
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def count() -> int:
    """How many threads a call from this thread may use."""
    if getattr(_local, "inside", False):
        return 1
    return int(getattr(_local, "limit", None) or available())


@contextmanager
def limited(threads: int) -> Iterator[None]:
    """At most so many threads for calls from this thread."""
    before = getattr(_local, "limit", None)
    _local.limit = threads
    try:
        yield
    finally:
        _local.limit = before


@cache
def _blas() -> ThreadpoolController:
    """To look through all loaded libraries takes milliseconds, and conjugate gradients would do it in every step."""
    return ThreadpoolController()


def blas_limited(threads: int = 1) -> AbstractContextManager[Any]:
    """At most so many threads for BLAS: with several its sums have other bits, and of small matrices they only wait."""
    return _one_blas_thread() if threads == 1 else _blas().limit(limits=threads, user_api="blas")


@contextmanager
def _one_blas_thread() -> Iterator[None]:
    """The limit is that of the whole process: the first of those who ask for it sets it, the last one lifts it."""
    with _limiting:
        _limit.append(_limit[0] if _limit else _blas().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _limiting:
            limiter = _limit.pop()
            if not _limit:
                limiter.restore_original_limits()


def run(tasks: list[Callable[[], Any]]) -> None:
    """Do all tasks, several at a time; the first error is raised when all have ended."""
    if count() == 1 or len(tasks) < 2:
        for task in tasks:
            task()
        return
    left, errors = deque(tasks), []

    def work() -> None:
        while left:
            try:
                task = left.popleft()
            except IndexError:  # another thread took the last one
                return
            try:
                task()
            except BaseException as error:
                errors.append(error)

    try:
        waiting = [_shared().submit(_inside, work) for _ in range(min(count(), len(tasks)))]
        for future in waiting:
            future.result()
    finally:
        left.clear()  # after an interrupt, what has not begun is left undone
    if errors:
        raise errors[0]


def over_rows(function: Callable[[slice], Any], rows: int, least: int) -> None:
    """function(slice) for slices that cover 0..rows-1, one per thread, none shorter than `least` rows."""
    parts = max(1, min(count(), rows // max(least, 1)))
    bounds = [rows * k // parts for k in range(parts + 1)]
    run([partial(function, slice(*ends)) for ends in pairwise(bounds)])


def total(x: np.ndarray) -> float:
    """The sum of all numbers, which may overflow."""
    sums: list[float] = []

    def add(part: slice) -> None:
        with np.errstate(over="ignore", invalid="ignore"):  # which holds for one thread alone
            sums.append(x[part].sum())

    over_rows(add, len(x), WORTH_PASSING * len(x) // max(x.size, 1))
    return sum(sums)


def _inside(task: Callable[[], Any]) -> object:
    _local.inside = True
    return task()


def _shared() -> ThreadPoolExecutor:
    global _pool
    with _making:
        if _pool is None:
            _pool = ThreadPoolExecutor(available(), thread_name_prefix="bochner")
        return _pool


def _forget() -> None:
    """In a forked child the threads are gone."""
    global _pool, _making, _limiting
    _pool, _making, _limiting = None, threading.Lock(), threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)

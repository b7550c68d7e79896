"""The heap of a worker while it folds rows: what a block frees is there for the next.

Where thresholds are as glibc and Dask have them, arrays of a block come from the system and go back to it, and to get
their pages anew takes longer than the work on them.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

TRIM, MMAP = -1, -3  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of mallopt
KEPT, WHOLE = (
    1 << 29,
    1 << 25,
)  # bytes that are free and kept; bytes from which an array comes from the system all the same
USUAL = 1 << 17  # of both, by glibc's default


@cache
def _mallopt() -> Callable[[int, int], int] | None:
    """glibc's; other libraries have none."""
    try:
        found: Callable[[int, int], int] = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return None
    return found


@contextmanager
def kept_heap() -> Iterator[None]:
    """Keep what is freed, for the duration of a `with` block; then thresholds are those of the worker's environment."""
    mallopt = _mallopt()
    if mallopt is None:
        yield
        return
    mallopt(TRIM, KEPT)
    mallopt(MMAP, WHOLE)
    try:
        yield
    finally:
        mallopt(TRIM, _asked("MALLOC_TRIM_THRESHOLD_"))
        mallopt(MMAP, _asked("MALLOC_MMAP_THRESHOLD_"))


def _asked(name: str) -> int:
    """What the environment of the process says, or the default."""
    given = os.environ.get(name, "")
    return int(given) if given.isdecimal() else USUAL

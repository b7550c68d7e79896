"""Settings of the whole library: `set_config`, `get_config`, `config_context`, as in scikit-learn.

They are per thread; a new thread starts from the values that were set in the main one.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

UNITS = {
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KIB": 2**10,
    "MIB": 2**20,
    "GIB": 2**30,
    "TIB": 2**40,
}

ENGINES = ("threads", "processes", "dask")

HOST = 4 * 10**9  # bytes that "auto" means where rows are in the memory of the host

_defaults: dict[str, Any] = {"memory": "auto", "block_rows": "auto", "progress": False, "engine": "threads"}
_local = threading.local()


def _settings() -> dict[str, Any]:
    if not hasattr(_local, "settings"):
        _local.settings = _defaults.copy()
    return _local.settings


def get_config() -> dict[str, Any]:
    """Return the settings of this thread.

    Returns
    -------
    dict
        A copy of the settings by name; `set_config` says what they mean.

    Examples
    --------
    >>> from bochner import get_config
    >>> sorted(get_config())
    ['block_rows', 'engine', 'memory', 'progress']
    """
    return _settings().copy()


def set_config(
    *,
    memory: str | int | None = None,
    block_rows: str | int | None = None,
    progress: bool | None = None,
    engine: object = None,
) -> None:
    """Change settings of the library; what is left at None keeps its value.

    Settings are those of a thread; a new thread starts with those of the main one.

    Parameters
    ----------
    memory : str or int, default=None
        Memory budget of one fit or transform: '4GB', '512MiB' or a number of bytes; 'auto' is 4 GB on the host, and
        three fifths of its memory on a GPU.
    block_rows : int or 'auto', default=None
        Rows of one block; 'auto' derives them from the memory budget.
    progress : bool, default=None
        Whether long work shows a progress bar.
    engine : {'threads', 'processes', 'dask'} or Engine, default=None
        Who works through the blocks: threads of this process, worker processes, or the cluster of the current Dask
        client. The results have the same bits.

    Examples
    --------
    >>> from bochner import get_config, set_config
    >>> before = get_config()["memory"]
    >>> set_config(memory="2GB")
    >>> get_config()["memory"]
    '2GB'
    >>> set_config(memory=before)
    """
    if memory is not None:
        bytes_of(memory)
    if block_rows is not None and block_rows != "auto" and not (isinstance(block_rows, int) and block_rows >= 1):
        raise ValueError(f"block_rows must be 'auto' or a positive integer; got {block_rows!r}.")
    if engine is not None and engine not in ENGINES and not hasattr(engine, "fold"):
        raise ValueError(f"engine must be one of {', '.join(map(repr, ENGINES))}; got {engine!r}.")
    asked = {"memory": memory, "block_rows": block_rows, "progress": progress, "engine": engine}
    _update({name: value for name, value in asked.items() if value is not None})


def _update(settings: dict[str, Any]) -> None:
    _settings().update(settings)
    if threading.current_thread() is threading.main_thread():
        _defaults.update(settings)


@contextmanager
def config_context(**changes: Any) -> Iterator[None]:
    """Change settings for the duration of a `with` block.

    Parameters
    ----------
    **changes : dict
        Settings by name, as `set_config` takes them.

    Yields
    ------
    None
        The former settings come back at the end of the block.

    Examples
    --------
    >>> from bochner import config_context, get_config
    >>> with config_context(memory="512MiB"):
    ...     get_config()["memory"]
    '512MiB'
    """
    before = get_config()
    set_config(**changes)
    try:
        yield
    finally:
        _update(before)


def bytes_of(size: str | int) -> int:
    """The number of bytes that "4GB", "512MiB" or 4000000000 means; "auto" is that of the host."""
    if size == "auto":
        return HOST
    if isinstance(size, int) and not isinstance(size, bool) and size > 0:
        return size
    if isinstance(size, str):
        text = size.strip().upper()
        for unit in sorted(UNITS, key=len, reverse=True):
            number = text.removesuffix(unit).strip()
            if number != text and number.replace(".", "", 1).isdigit() and float(number) > 0:
                return int(float(number) * UNITS[unit])
    raise ValueError(f"memory must be a size such as '4GB' or a positive number of bytes; got {size!r}.")


def memory_budget() -> int:
    """The memory setting of this thread, in bytes."""
    chosen = _settings()["memory"]
    return device_room() or HOST if chosen == "auto" else bytes_of(chosen)


def device_room() -> int:
    """Bytes that "auto" means where rows are on a device; 0 where they are on the host."""
    return getattr(_local, "room", 0)


@contextmanager
def room_context(room: int) -> Iterator[None]:
    """Rows are on a device that has room for so many bytes, for the duration of a `with` block; 0 is the host."""
    before, _local.room = device_room(), room
    try:
        yield
    finally:
        _local.room = before

"""Dask: the engine of a cluster, rows that its workers hold, and lazy predictions. Nothing else imports dask."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import dask.array as da
import distributed
from distributed import Client

from .cluster import DaskEngine
from .collections import blocks_of
from .predictions import lazy_rows
from .rows import DaskBlocks, RemoteBlocks

__all__ = [
    "Client", "DaskBlocks", "DaskEngine", "RemoteBlocks", "blocks_of", "connected", "da", "engine", "lazy_rows",
    "local_cluster",
]  # fmt: skip


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """The client of a scheduler at this address."""
    try:
        client = distributed.Client(address, timeout="10s")
    except (OSError, ValueError) as error:
        raise ValueError(f"there is no Dask scheduler at {address!r}: {str(error).splitlines()[0]}") from None
    with client:
        yield client


@contextmanager
def local_cluster(workers: int) -> Iterator[Client]:
    """The client of so many worker processes of one thread on this machine."""
    with (
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, memory_limit=None, dashboard_address=":0"
        ) as on,
        distributed.Client(on) as client,
    ):
        yield client


engine = DaskEngine()

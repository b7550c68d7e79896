"""A small cluster on this machine: two worker processes of one thread each, which come back when they are killed."""

import os
import signal
from contextlib import contextmanager

import dask
from distributed import Client, LocalCluster

# A worker that is killed again and again must not be given up, nor what it held be thought to have killed it.
PATIENT = {"distributed.scheduler.allowed-failures": 1000, "distributed.nanny.pre-spawn-environ.OMP_NUM_THREADS": 1}


@contextmanager
def cluster(workers=2, **settings):
    """A client of so many workers."""
    with (
        dask.config.set(PATIENT),
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None, **settings) as local,
        Client(local) as client,
    ):
        yield client


def process_ids(client):
    """Of the workers, by address."""
    return {address: info["pid"] for address, info in client.run(own_process, on_error="ignore").items()}


def own_process():
    return {"pid": os.getpid()}


def kill(pid):
    os.kill(pid, signal.SIGKILL)

"""A small cluster on this machine, whose workers come back when they are killed; and rows that take their time."""

import os
import signal
import threading
import time
from contextlib import contextmanager, suppress

import dask
import numpy as np
from distributed import Client, LocalCluster, Status

import bochner
from bochner import ops
from bochner.blocks import Block, Blocks

# Nobody may think that it was the rows that killed a worker, however often that happens, or give up one that is away.
PATIENT = {
    "distributed.scheduler.allowed-failures": 10_000,
    "distributed.comm.timeouts.connect": "10s",
    "distributed.deploy.lost-worker-timeout": "1h",
}


@contextmanager
def cluster(workers=2):
    """The client of so many workers of one thread, with any free port: other tests may have clusters too."""
    with (
        dask.config.set(PATIENT),
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0", memory_limit=None) as local,
        Client(local) as client,
    ):
        yield client


class SlowRows(Blocks):
    """Rows that are made where they are worked on, each block in so many seconds."""

    n_columns = 5

    def __init__(self, n_rows, seconds):
        self.n_rows, self.seconds = n_rows, seconds

    def read(self, start, stop):
        time.sleep(self.seconds)
        X = np.sin(np.arange(start, stop)[:, None] * np.arange(1, 6) * 0.37)
        return Block(X, X[:, 0] * X[:, 1] + X[:, 2], None, start)

    def part(self, start, stop, rows):
        return None


class Killer(threading.Thread):
    """Kills a worker that has begun now and then, one after another."""

    def __init__(self, client, pauses):
        super().__init__(daemon=True)
        self.client, self.pauses, self.killed, self.over = client, pauses, 0, False

    def run(self):
        for number, pause in enumerate(self.pauses):
            time.sleep(pause)
            nannies = self.at_work()
            while not nannies and not self.over:
                time.sleep(0.05)
                nannies = self.at_work()
            if self.over:
                return
            with suppress(ProcessLookupError):
                os.kill(nannies[number % len(nannies)].process.pid, signal.SIGKILL)
                self.killed += 1

    def at_work(self):
        """Those of Dask's nannies whose worker has begun."""
        nannies = self.client.cluster.workers.values()
        return [nanny for nanny in nannies if nanny.process is not None and nanny.process.status == Status.running]

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *details):
        self.over = True
        self.join()


def quiet(client, seconds=10.0):
    """Whether nothing is worked on any more, or soon."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if not any(client.processing().values()):
            return True
        time.sleep(0.1)
    return False


# ---- what is done to workers and to partitions ----


def narrow(block):
    return block[:, :-1]


def with_gap(block):
    block = block.copy()
    block[-1, 0] = np.nan
    return block


def change_version(version):
    bochner.__version__, before = version, bochner.__version__
    return before


def use_definitions(yes):
    ops.use_backends(*(["reference"] if yes else ["native", "reference"]))

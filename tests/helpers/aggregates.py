"""Aggregates that travel to worker processes, which find them by the name of this module."""

import threading
import time

from bochner.blocks import SumOf


class Columns(SumOf):
    def of(self, block):
        return block.X.sum(axis=0)


class Failing(SumOf):
    def of(self, block):
        if block.start >= 200:
            raise ArithmeticError(f"row {block.start}")
        return 0


class Heavy(Columns):
    """As a Gram matrix: the step uses all threads, and partials are large."""

    def __init__(self, partial_bytes):
        self.size = partial_bytes

    @property
    def partial_bytes(self):
        return self.size

    @property
    def is_parallel(self):
        return True


class Threads(SumOf):
    """Which threads take the steps, the first of which are quick and the last of which are not."""

    def __init__(self, slow_from):
        self.slow_from, self.seen = slow_from, []

    def of(self, block):
        if block.start >= self.slow_from:
            begun = time.thread_time()
            while time.thread_time() < begun + 2e-3:
                pass
        self.seen.append(threading.current_thread())
        return block.X.sum(axis=0)

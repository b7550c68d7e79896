"""Drawn weights, kept outside the estimators, which so stay small and unchanged by transform."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from ..arrays import Same
from ..config import memory_budget


class WeightCache:
    """Recently drawn weights, bounded in bytes and in number."""

    def __init__(self) -> None:
        self._entries: OrderedDict[Hashable, tuple[Any, ...]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, key: Hashable, draw: Callable[[], tuple[Same, ...]]) -> tuple[Same, ...]:
        try:
            hash(key)
        except TypeError:  # a parameter that cannot be compared, such as an unhashable callable
            return draw()
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
                return self._entries[key]
        weights = draw()
        for array in weights:
            if isinstance(array, np.ndarray):  # tensors cannot be locked
                array.flags.writeable = False
        with self._lock:
            if key not in self._entries:
                self._entries[key] = weights
                self._bytes += sum(w.nbytes for w in weights)
            while self._bytes > memory_budget() // 8 or len(self._entries) > 256:
                self._bytes -= sum(w.nbytes for w in self._entries.popitem(last=False)[1])
        return weights

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()
            self._bytes = 0


WEIGHTS = WeightCache()
# A fork copies the lock as it stands, perhaps held by a thread that the child does not have.
if hasattr(os, "register_at_fork"):  # Windows has no forks
    os.register_at_fork(after_in_child=WEIGHTS.__init__)  # type: ignore[misc]

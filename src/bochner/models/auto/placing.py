"""Where a search makes its fits: on the host, or on a GPU, whose speed and memory say how large they may be.

A search asks a place for rows, which it gives its fits, and brings home what is to be kept: fitted models hold arrays.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import TypeVar

import numpy as np

from ...arrays import FEW_ROWS, Array, to_host
from ...ops.devices import Carrier, as_tensor, memory_of, require_device
from .expansion import Expansion
from .fits import Rows
from .local import LocalExpansion

SHARE = 0.4  # of the speed of products, what factors of one large matrix reach
BATCHED = 0.1  # of it, what those of many small ones reach
PROBED = 4096  # rows of the matrix by which the speed is measured
PLANNED = 2e13  # floating-point operations a second, where trials are counted
IN_MEMORY, MATRICES = 0.8, 7  # of the memory, what so many kernel matrices of all rows may take
ROUND = 0.01  # of the budget, what a round of a chain may take
IN_ROUND = 15.0  # operations of a round, in cubes of the number of its rows
LEAST_SAMPLED, MOST_SAMPLED = 1000, 3000

Function = TypeVar("Function")


class Host:
    """Arrays, by numpy."""

    members = 5  # chains whose best is fitted to all rows
    leaders = 4  # fits to all rows from which the search goes on
    largest_leaf = 4000  # rows

    def rows(self, rows: Rows) -> Rows:
        """Rows where they are."""
        return rows

    def home(self, function: Function) -> Function:
        """A function as it is."""
        return function

    def scores(self, function: object, X: np.ndarray) -> np.ndarray:
        """What a fitted function says of rows."""
        return np.asarray(function(X))  # type: ignore[operator]

    def gradients(self, function: object, X: np.ndarray) -> np.ndarray:
        """Its slopes there."""
        return np.asarray(function.gradients(X))  # type: ignore[attr-defined]

    def exact(self, work: float) -> int:
        """The most rows of an exact fit that takes so many operations."""
        return int(work ** (1 / 3))


@dataclass(frozen=True, eq=False)
class Device(Host):
    """Tensors on a GPU, by torch."""

    carrier: Carrier
    members = 8
    largest_leaf = 16_000

    def placed(self, array: np.ndarray) -> Array:
        """An array as a tensor there."""
        found: Array = as_tensor(array, self.carrier.torch).to(self.carrier.device)
        return found

    def rows(self, rows: Rows) -> Rows:
        """Rows there; folds stay on the host."""
        X, Y, *versions = (self.placed(np.asarray(part)) for part in (rows.X, rows.Y, *rows.versions))
        return Rows(X, Y, rows.folds, rows.one_fold, versions)

    def home(self, function: Function) -> Function:
        """A function with arrays in place of tensors."""
        return moved(function, to_host)

    def scores(self, function: object, X: np.ndarray) -> np.ndarray:
        """What a fitted function of arrays says of rows of an array, some at a time; one of pictures does so here."""
        if not isinstance(function, Expansion | LocalExpansion):
            return super().scores(function, X)
        there = moved(function, self.placed)
        starts = range(0, max(len(X), 1), FEW_ROWS)
        return np.concatenate([to_host(there(self.placed(X[start : start + FEW_ROWS]))) for start in starts])

    def gradients(self, function: object, X: np.ndarray) -> np.ndarray:
        """Its slopes there."""
        if not isinstance(function, Expansion | LocalExpansion):
            return super().gradients(function, X)
        found: np.ndarray = to_host(moved(function, self.placed).gradients(self.placed(X)))
        return found

    def exact(self, work: float) -> int:
        """The most rows of an exact fit that takes so many operations, and whose matrices find room."""
        memory = memory_of(str(self.carrier.device))
        room = int((IN_MEMORY * memory / (8 * MATRICES)) ** 0.5) if memory else super().exact(work)
        return min(super().exact(work), room)

    def sample(self, seconds: float, speed: float) -> int:
        """The rows of a sample by which metrics are learned, so that a round takes its share of so many seconds."""
        rows = (ROUND * seconds * BATCHED / SHARE * speed / IN_ROUND) ** (1 / 3)
        return int(np.clip(rows, LEAST_SAMPLED, MOST_SAMPLED))

    def speed(self, is_planned: bool) -> float:
        """Floating-point operations a second of a factor; a number where results may not hang on the machine."""
        if is_planned:
            return PLANNED
        column = self.placed(np.random.default_rng(0).standard_normal((PROBED, 1)))
        matrix = column @ column.T

        def seconds() -> float:
            start = time.monotonic()
            float((matrix @ matrix)[0, 0])  # which waits for it
            return time.monotonic() - start

        return SHARE * 2.0 * PROBED**3 / max(min(seconds() for _ in range(3)), 1e-6)


HOST = Host()


@lru_cache(maxsize=8)
def device_named(name: str) -> Device:
    """The place of a device of torch's."""
    return Device(Carrier(name))


def place_of(device: object) -> Host:
    """The place that was asked for, by `device=`."""
    name = require_device(device)
    return HOST if name in (None, "cpu") else device_named(str(name))


def moved(function: Function, move: object) -> Function:
    """A function whose arrays are moved; metrics and trees stay on the host."""
    if isinstance(function, LocalExpansion):
        return replace(function, leaves=[moved(leaf, move) for leaf in function.leaves])
    if not isinstance(function, Expansion):
        return function
    kept = ("setting", "kernel")
    parts = {part.name: getattr(function, part.name) for part in fields(function) if part.name not in kept}
    return replace(function, **{name: move(part) for name, part in parts.items()})  # type: ignore[operator]

"""How work is timed and told: the best of a few runs, in one process, after its result has been checked."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Entry:
    """One measurement. `amount` is what a second of it does, in `unit`; larger is better."""

    work: str
    who: str
    kind: str  # "ours", "peer" or "limit"
    seconds: float
    amount: float
    unit: str
    note: str = ""
    costs: dict[str, float] = field(default_factory=dict)  # in units of bench/limits.py, or as they are named

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


class WrongResultError(RuntimeError):
    """The result of a benchmark is wrong, so its speed is of no interest."""


def best_time(action: Callable[[], Any], runs: int = 3, least: float = 0.0) -> float:
    """The shortest of several runs, which go on until `least` seconds have passed."""
    best, spent, done = np.inf, 0.0, 0
    while done < runs or spent < least:
        begun = time.perf_counter()
        action()
        seconds = time.perf_counter() - begun
        best, spent, done = min(best, seconds), spent + seconds, done + 1
    return float(best)


class PeakMemory:
    """The most anonymous memory that this process had while it was watched, in bytes; read from /proc."""

    def __init__(self) -> None:
        self.bytes = 0
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while True:
            lines = Path("/proc/self/status").read_text().splitlines()
            self.bytes = max(self.bytes, 1024 * next(int(x.split()[1]) for x in lines if x.startswith("RssAnon")))
            time.sleep(0.01)


def check(what: str, close: bool) -> None:
    if not close:
        raise WrongResultError(f"{what} gives a wrong result: no speed is reported.")

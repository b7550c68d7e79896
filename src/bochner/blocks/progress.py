"""A line on the error stream that says how far long work has come, if the setting `progress` asks for it."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from ..config import get_config

INTERVAL = 0.2  # seconds between two updates


class Progress:
    def __init__(self, title: str, steps: int) -> None:
        self.title, self.steps, self.done = title, steps, 0
        self.visible = bool(get_config()["progress"]) and bool(title)

    def __enter__(self) -> Progress:
        self.begun = self.shown = time.perf_counter()
        return self

    def step(self) -> None:
        self.done += 1
        now = time.perf_counter()
        if self.visible and (now - self.shown >= INTERVAL or self.done == self.steps):
            self.shown = now
            left = (now - self.begun) / self.done * (self.steps - self.done)
            sys.stderr.write(f"\r{self.title}: block {self.done} of {self.steps}, {left:.0f} s left ")
            sys.stderr.flush()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.visible and self.done:
            sys.stderr.write("\n")

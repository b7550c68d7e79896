"""A bar on the error stream that says how far long work has come, if the setting `progress` asks for it."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from ..config import get_config

INTERVAL = 0.2  # seconds between two updates
BAR = 24


class Progress:
    """Rows done of all rows, with rate and time left; nothing is shown without a title."""

    def __init__(self, title: str, rows: int, done: int = 0) -> None:
        self.title, self.rows, self.done, self.first = title, rows, done, done
        self.visible = bool(get_config()["progress"]) and bool(title)
        self.shown = 0.0

    def __enter__(self) -> Progress:
        self.begun = time.perf_counter()
        return self

    def advance(self, rows: int) -> None:
        """Count more rows, and draw the bar anew if it is time to."""
        self.done += rows
        now = time.perf_counter()
        if self.visible and (now - self.shown >= INTERVAL or self.done >= self.rows):
            self.shown = now
            sys.stderr.write("\r" + self.line(now - self.begun))
            sys.stderr.flush()

    def line(self, seconds: float) -> str:
        """What the bar says now."""
        share = self.done / max(self.rows, 1)
        full = round(BAR * share)
        rate = (self.done - self.first) / max(seconds, 1e-9)
        left = (self.rows - self.done) / max(rate, 1e-9)
        bar = "━" * full + "─" * (BAR - full)
        return f"{self.title:16} {bar} {share:4.0%}  {count(rate)} rows/s  {clock(left)} left  "

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.visible and self.done > self.first:
            sys.stderr.write("\n")


def count(number: float) -> str:
    """A number in three digits or so: 950, 12.3 k, 4.56 M."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number:.0f}"


def clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"

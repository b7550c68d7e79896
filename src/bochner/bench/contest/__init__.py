"""Ours beside others: the same rows, the same seconds on the same cores, each tuned as well as the time allows."""

from .page import page
from .record import Record, opened, read
from .running import CONTESTANTS, Step, chosen, run, steps
from .scoring import Score, scored

__all__ = ["CONTESTANTS", "Record", "Score", "Step", "chosen", "opened", "page", "read", "run", "scored", "steps"]

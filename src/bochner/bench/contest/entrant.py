"""What it takes to enter: rows to learn from, a clock, and a model that predicts.

Labels are 0, 1, ... for everyone. A model answers with numbers, or with a column of weights for each label, of which
the largest wins; so the answers of several models may be averaged.
"""

from __future__ import annotations

import importlib
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, ClassVar, NamedTuple

import numpy as np

PREDICTED = 20_000  # rows at a time: a kernel machine holds a number for each of them and each row it learned from


class Rows(NamedTuple):
    """Rows to learn from: a pandas frame, targets, and how many labels there are (none, if targets are numbers)."""

    X: Any
    y: np.ndarray
    classes: int


@dataclass(frozen=True)
class Clock:
    """The seconds of a contestant, from when it is made."""

    seconds: float
    begun: float = field(default_factory=time.perf_counter)

    @property
    def spent(self) -> float:
        return time.perf_counter() - self.begun

    @property
    def left(self) -> float:
        return self.seconds - self.spent

    def until(self, reserve: float = 0.0) -> float:
        """The time, by `time.perf_counter`, at which only `reserve` seconds are left."""
        return self.begun + self.seconds - reserve


@dataclass(frozen=True)
class Model:
    """A fitted model: its answers for a frame; settings tried; rows it learned from; and itself in words."""

    answer: Callable[[Any], np.ndarray]
    tried: int
    rows: int
    note: str

    def predict(self, X: Any) -> np.ndarray:
        """Numbers, or labels."""
        pieces = [self.answer(X.iloc[start : start + PREDICTED]) for start in range(0, len(X), PREDICTED)]
        return decided(np.concatenate(pieces))


def decided(answers: np.ndarray) -> np.ndarray:
    """Numbers as they are, or the label with the largest weight."""
    return answers.argmax(axis=1) if answers.ndim == 2 else answers


def votes(labels: np.ndarray, classes: int) -> np.ndarray:
    """Labels as weights."""
    return np.eye(classes, dtype=np.float32)[np.asarray(labels, dtype=int)]


def losses(y: np.ndarray, predicted: np.ndarray, classes: int) -> np.ndarray:
    """For each row 1 if its label is wrong; or its squared error over the variance of the targets."""
    if classes:
        return (predicted != y).astype(np.float64)
    return (predicted - y) ** 2 / max(float(np.var(y)), np.finfo(float).tiny)


class Contestant(ABC):
    """One who enters. `name` is for commands, `title` for readers, `needs` the modules that it is made of."""

    name: ClassVar[str]
    title: ClassVar[str]
    needs: ClassVar[tuple[str, ...]] = ()
    is_ours: ClassVar[bool] = False

    def missing(self) -> str:
        """Why it cannot enter here; nothing, if it can."""
        absent = [module for module in self.needs if find_spec(module) is None]
        return f'{", ".join(absent)} is not installed: pip install "bochner[contest]"' if absent else ""

    def load(self) -> None:
        """Import what it needs, before the clock runs."""
        for module in self.needs:
            importlib.import_module(module)

    @abstractmethod
    def fit(self, rows: Rows, clock: Clock, cores: int, seed: int) -> Model:
        """The best model that it finds before the clock has run out."""

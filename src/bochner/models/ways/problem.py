"""A least-squares problem as the three ways of solving it see it, and what they give back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...bases import Basis
from ...blocks import Block, Blocks
from ...solvers import Solution
from ...streams import Stream


@dataclass(frozen=True)
class Problem:
    """Rows with coded targets (n, k) and weights in blocks, a fitted basis, and what was asked for.

    alpha is a number, a list of candidates, or "auto" or "loo"; `classifies` says that targets are +-1 codes.
    """

    basis: Basis
    blocks: Blocks
    alpha: float | Sequence[float] | str
    intercept: bool
    classifies: bool
    outputs: int = 1

    def asks_for(self, word: str) -> bool:
        return isinstance(self.alpha, str) and self.alpha == word

    @property
    def scale(self) -> float:
        return float(self.basis.scale_)

    @property
    def width(self) -> float:
        """Float64 numbers that the features of a row take."""
        sizes = {"int8": 1, "int14": 2, "float32": 4}
        return int(self.basis.n_components) * sizes.get(str(self.basis.precision), 8) / 8

    @property
    def rounding_floor(self) -> float:
        """The ridge that rounding features to integers amounts to: a smaller penalty makes no difference."""
        integer = self.basis.precision in ("int8", "int14") and self.basis.quantizes_input
        return self.blocks.n_rows * self.scale**2 / 12.0 if integer else 0.0

    def features(self, X: Any) -> Any:
        return self.basis.features(X)


@dataclass(frozen=True)
class Units:
    """What targets are measured from and by, one number per output, and the mean weight that weights are taken by."""

    centre: np.ndarray
    spread: np.ndarray
    weight: float


@dataclass(frozen=True)
class Training:
    """How far stochastic training has come: the rate it began with, its steps (epochs, calls), the rows it met.

    `units` are those of the first rows, which all further steps are taken in; None in old files, where there were none.
    """

    rate: float
    steps: int
    rows: int
    units: Units | None = None


@dataclass(frozen=True)
class HeldOut:
    """How the chosen penalty did on rows held out: mean loss (targets in their spreads), R^2 or share of right labels,
    the standard error of that, and how many rows there were."""

    loss: float
    score: float
    error: float
    rows: int


@dataclass(frozen=True)
class Chosen:
    """A penalty, how it was found, and what it promises, if that is known."""

    alpha: float
    note: str
    held_out: HeldOut | None = None


@dataclass
class Fit:
    """A solved problem. `posterior` gives predictive variances, or is None; `penalty` says how alpha was chosen.

    `scale` is that of Huber's loss, learned; `held_out` what rows said that were held out to choose alpha.
    """

    solution: Solution
    intercept: np.ndarray
    penalty: str
    noise: np.ndarray
    posterior: Any = None
    start: np.ndarray | None = None  # where a like problem may begin
    training: Training | None = None
    scale: np.ndarray | None = None
    held_out: HeldOut | None = None


def fold_of(block: Block, folds: int) -> np.ndarray:
    """The fold of each row, from its number alone, so that blocks do not matter."""
    rows = np.arange(block.X.shape[0]) if block.kept is None else block.kept
    stop = block.start + (int(rows[-1]) + 1 if len(rows) else 0)
    return Stream(0, "folds").integers(block.start, stop, folds)[rows, 0]


def mean_square(features: Any) -> float:
    """The mean squared length of a row of features, dense or sparse."""
    squares = features.power(2) if hasattr(features, "power") else np.square(features, dtype=np.float64)
    return float(np.asarray(squares.sum(axis=1)).mean()) if features.shape[0] else 1.0


def wrong(scores: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Which rows (n,) are classified wrongly: scores and +-1 codes of shape (n, k)."""
    if codes.shape[1] == 1:
        return (scores[:, 0] > 0) != (codes[:, 0] > 0)
    return scores.argmax(axis=1) != codes.argmax(axis=1)

"""A least-squares problem as the three ways of solving it see it, and what they give back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ... import ops
from ...arrays import Array, empty
from ...bases.design import Design
from ...blocks import Block, Blocks
from ...ops import threads
from ...solvers import Solution
from .penalty import CrossValidated


class Featurizer(Protocol):
    """What makes features of rows; it is small and pickles."""

    def features(self, X: Any) -> Any: ...


@dataclass(frozen=True)
class Problem:
    """Rows with coded targets (n, k) and weights in blocks, a fitted basis, and what was asked for.

    alpha is a number, a list of candidates, "auto", "loo" or "gcv"; `classifies` says that targets are +-1 codes.
    """

    basis: Design
    blocks: Blocks
    alpha: float | Sequence[float] | str
    intercept: bool
    classifies: bool
    outputs: int = 1

    def asks_for(self, word: str) -> bool:
        return isinstance(self.alpha, str) and self.alpha == word

    @property
    def scale(self) -> Any:
        """What columns are multiplied by: a number, or one for each."""
        return self.basis.scale_

    @property
    def width(self) -> float:
        """Float64 numbers that the features of a row take."""
        sizes = {"int8": 1, "int14": 2, "float32": 4}
        return int(self.basis.n_components) * sizes.get(str(self.basis.precision), 8) / 8

    @property
    def rounding_floor(self) -> float:
        return rounding_floor(self.basis, self.blocks.n_rows)

    @property
    def feature_map(self) -> Featurizer:
        """What aggregates carry with them to make features."""
        return self.basis

    def features(self, X: Any) -> Any:
        return self.feature_map.features(X)


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


@dataclass
class Fit:
    """A solved problem. `posterior` gives predictive variances, or is None; `penalty` says how alpha was chosen.

    `scale` is that of Huber's loss, learned.
    """

    solution: Solution
    intercept: np.ndarray
    penalty: str
    noise: np.ndarray
    posterior: Any = None
    start: np.ndarray | None = None  # where a like problem may begin
    validated: CrossValidated | None = None  # what it is expected to score on new rows
    end: str = ""  # "lower" or "upper" if the penalty lies at an end of its candidates
    training: Training | None = None
    scale: np.ndarray | None = None


def fold_of(block: Block, folds: int) -> Array:
    """The fold of each row, by what the row holds: copies of a row share a fold, wherever and whenever they come."""
    found = empty((block.X.shape[0],), block.X, "int64")

    def take(rows: slice) -> None:
        found[rows] = ops.row_folds(block.X[rows], folds)

    threads.over_rows(take, len(found), threads.WORTH // max(block.X.shape[1], 1))
    return found


def rounding_floor(design: Design, rows: int) -> float:
    """The ridge that rounding features to integers amounts to: a smaller penalty makes no difference."""
    integer = design.basis.is_integer and design.quantizes_input
    return rows * float(design.basis.scale_) ** 2 / 12.0 if integer else 0.0


def mean_square(features: Any, scale: Any = 1.0) -> float:
    """The mean squared length of a row of features, dense or sparse, times `scale`: a number, or one for each."""
    squares = features.power(2) if hasattr(features, "power") else np.square(features, dtype=np.float64)
    return float(np.mean(squares @ np.broadcast_to(scale**2, features.shape[1]))) if features.shape[0] else 1.0


def wrong(scores: Array, codes: Array) -> Array:
    """Which rows (n,) are classified wrongly: scores and +-1 codes of shape (n, k)."""
    if codes.shape[1] == 1:
        return (scores[:, 0] > 0) != (codes[:, 0] > 0)
    return scores.argmax(axis=1) != codes.argmax(axis=1)

"""What a solver is given: rows in blocks, a map that makes features of them, a loss, and a penalty."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from .. import ops
from ..arrays import Array, empty
from ..blocks import Block, Blocks
from ..losses import Loss, Squared
from ..maps import FeatureMap
from ..maps.design import DesignMap
from ..moments import FoldedMoments
from ..ops import threads

if TYPE_CHECKING:
    from .kernel_rows import KernelRows
    from .triangle import TriangleSystem

Alpha: TypeAlias = float | Sequence[float] | np.ndarray | str  # a penalty, candidates, or how it is to be chosen
Made = TypeVar("Made")


@dataclass(frozen=True)
class Problem:
    """What a solver is given: rows with targets and weights, a map that makes features of them, and what was asked for.

    Attributes
    ----------
    map : FeatureMap
        Makes features of rows; features times `scale` are the columns of the linear model.
    blocks : Blocks
        The rows, with coded targets of shape (n_samples, n_outputs) and weights.
    asked : float, array-like or {'auto', 'loo', 'gcv'}
        The penalty, candidates for it, or how it is to be chosen.
    intercept : bool
        Whether the model has an intercept.
    classifies : bool
        Whether targets are labels, coded -1 and +1.
    outputs : int
        Number of scores of a row.
    loss : Loss
        The loss.
    bound : float or None
        Largest size of a coefficient; None is no bound.
    seed : int
        Seed of whatever is drawn.
    calibrates : bool
        Whether scores of rows left out are wanted.
    chosen : float or None
        The penalty that was chosen.
    unit : float or None
        The weight that counts as one row; None is the mean weight.
    start : ndarray or None
        Where a search may begin.
    sums : FoldedMoments or None
        Moments of the features, if they are at hand.
    kernel : KernelRows or None
        Kernel matrix of the rows, if it is at hand.
    triangle : TriangleSystem or None
        One triangle of the Gram matrix with a factor, if it is at hand.
    journal : callable or None
        Remembers what is made if the work is taken up again; None remembers nothing.
    """

    map: FeatureMap
    blocks: Blocks
    asked: Alpha
    intercept: bool
    classifies: bool
    outputs: int = 1
    loss: Loss = field(default_factory=Squared)
    bound: float | None = None
    seed: int = 0
    calibrates: bool = False
    chosen: float | None = None
    unit: float | None = None
    start: Array | None = field(default=None, repr=False)
    sums: FoldedMoments | None = field(default=None, repr=False)
    kernel: KernelRows | None = field(default=None, repr=False)
    triangle: TriangleSystem | None = field(default=None, repr=False)
    journal: Callable[[Callable[[], Any]], Any] | None = field(default=None, repr=False)

    @property
    def alpha(self) -> float:
        """The penalty, a number: what solvers go by."""
        if self.chosen is not None:
            return self.chosen
        if isinstance(self.asked, float):
            return self.asked
        raise ValueError("the penalty is not chosen yet.")

    def asks_for(self, word: str) -> bool:
        """Whether the penalty is to be chosen in the way of this name, such as "loo"."""
        return isinstance(self.asked, str) and self.asked == word

    @property
    def columns(self) -> int:
        """Number of columns of the linear model."""
        return int(self.map.columns)

    @property
    def scale(self) -> float | np.ndarray:
        """What columns are multiplied by: a number, or one for each."""
        return self.map.scale

    @property
    def linear_columns(self) -> int:
        """Columns of the rows themselves, which stand before the features."""
        return self.map.linear_columns if isinstance(self.map, DesignMap) else 0

    @property
    def width(self) -> float:
        """Float64 numbers that the features of a row take."""
        sizes = {"int8": 1, "int14": 2, "float32": 4}
        return self.columns * sizes.get(str(self.map.precision), 8) / 8

    @property
    def single(self) -> bool:
        """Whether features hold no more digits than float32 does."""
        return str(self.map.precision) in ("int8", "float32")

    @property
    def rounding_floor(self) -> float:
        """The penalty that rounding features to integers amounts to; a smaller one makes no difference."""
        return rounding_floor(self.map, self.blocks.n_rows)

    def features(self, X: Array) -> Array:
        """The features of some rows, not yet multiplied by `scale`."""
        return self.map(X)

    def remember(self, make: Callable[[], Made]) -> Made:
        """A value that is the same if the work is taken up again."""
        return make() if self.journal is None else self.journal(make)


def fold_of(block: Block, folds: int) -> Array:
    """The fold of each row, by what the row holds: copies of a row share a fold, wherever and whenever they come."""
    X = block.X if block.originals is None else block.originals
    found = empty((X.shape[0],), X, "int64")

    def take(rows: slice) -> None:
        found[rows] = ops.row_folds(X[rows], folds)

    threads.over_rows(take, len(found), threads.WORTH // max(X.shape[1], 1))
    return found


def features_alone(feature_map: FeatureMap) -> FeatureMap:
    """The map without what stands before and beside the random features."""
    return feature_map.map if isinstance(feature_map, DesignMap) else feature_map


def rounding_floor(feature_map: FeatureMap, rows: int) -> float:
    """The ridge that rounding features to integers amounts to: a smaller penalty makes no difference."""
    inner = features_alone(feature_map)
    return rows * float(np.max(inner.scale)) ** 2 / 12.0 if inner.rounds_input else 0.0


def mean_square(features: Array, scale: float | np.ndarray = 1.0) -> float:
    """The mean squared length of a row of features, dense or sparse, times `scale`: a number, or one for each."""
    squares = features.power(2) if hasattr(features, "power") else np.square(features, dtype=np.float64)
    return float(np.mean(squares @ np.broadcast_to(scale**2, features.shape[1]))) if features.shape[0] else 1.0


def wrong(scores: Array, codes: Array) -> Array:
    """Which rows (n,) are classified wrongly: scores and +-1 codes of shape (n, k)."""
    if codes.shape[1] == 1:
        return (scores[:, 0] > 0) != (codes[:, 0] > 0)
    return scores.argmax(axis=1) != codes.argmax(axis=1)

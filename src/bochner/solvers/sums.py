"""The moments of a problem's features, of all rows or of folds apart: one pass."""

from __future__ import annotations

from dataclasses import dataclass

from ..blocks import Aggregate, Block
from ..costs import FOLDS, folds_apart
from ..maps import FeatureMap
from ..moments import FoldedMoments, Moments, Rows
from .problem import Problem, fold_of


def reduce_folds(problem: Problem) -> FoldedMoments:
    """Moments of five folds; of many features, of a held-out fifth and of the rest; of all if nothing is chosen."""
    given = isinstance(problem.asked, float) or problem.asks_for("gcv")
    apart = 1 if given else folds_apart(problem.columns)
    return problem.blocks.reduce(MomentsOf.problem(problem, apart), title="moments")


def reduce_moments(problem: Problem, title: str = "moments") -> Moments:
    folded: FoldedMoments = problem.blocks.reduce(MomentsOf.problem(problem), title=title)
    return folded.total()


@dataclass(frozen=True)
class MomentsOf(Aggregate[FoldedMoments]):
    """The moments of features, those of each fold apart; of two folds the first is a fifth of the rows."""

    map: FeatureMap
    room: float  # float64 numbers that the features of a row take
    folds: int = 1

    @classmethod
    def problem(cls, problem: Problem, folds: int = 1) -> MomentsOf:
        return cls(problem.map, problem.width, folds)

    @property
    def width(self) -> float:
        return int(3 * self.room) + 1

    @property
    def partial_bytes(self) -> int:
        return 8 * self.folds * self.map.columns**2

    @property
    def is_parallel(self) -> bool:
        return True

    def step(self, partial: FoldedMoments | None, block: Block) -> FoldedMoments:
        parts: list[Rows | None]
        if self.folds == 1:
            parts = [self.rows_of(block)]
        else:
            folds = fold_of(block, FOLDS).clip(max=self.folds - 1)
            chosen = [folds == fold for fold in range(self.folds)]
            parts = [self.rows_of(block.only(fold)) if fold.any() else None for fold in chosen]
        return FoldedMoments.plus_rows(partial, parts)

    def rows_of(self, block: Block) -> Rows:
        return Rows(self.map(block.X), block.y, block.weight)

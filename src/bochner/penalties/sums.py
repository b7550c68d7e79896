"""The penalty from the moments of the features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..moments import Centered, FoldedMoments
from ..solvers import RidgePath
from ..solvers.problem import Alpha, Problem, rounding_floor
from .base import FEW, Chosen, CrossValidated, PenaltySelection
from .kfold import LeftOut
from .labels import by_labels
from .leave_one_out import errors_by_pass
from .search import candidates, edge_note, end_of, minimise, smallest, too_few


@dataclass
class FromSums(PenaltySelection):
    """From sums alone: by folds, or by generalised cross-validation, which is all that sums without folds allow.

    `scale` multiplies the columns, of which the first `always` stand before the random features; candidates far below
    `floor` make no difference.
    """

    folded: FoldedMoments
    scale: float | np.ndarray
    intercept: bool
    classifies: bool
    floor: float
    always: int

    @property
    def centered(self) -> Centered:
        return self.folded.centered(self.scale, self.intercept)

    def by_folds(self, asked: Alpha) -> Chosen:
        if len(self.folded.folds) == 1:
            return self.by_generalised_cross_validation(asked)
        return self.left_out.choose(asked, self.floor)

    @property
    def left_out(self) -> LeftOut:
        return LeftOut(self.folded, self.scale, self.intercept, self.classifies, self.always)

    def by_leave_one_out(self) -> Chosen:
        raise ValueError("alpha='loo' needs a second pass over all rows.")

    def by_generalised_cross_validation(self, asked: Alpha) -> Chosen:
        """By the sums of all rows, which it takes for rows of equal leverage."""
        centered = self.centered
        alphas = candidates(asked, float(centered.gram.trace()))
        if too_few(centered.rows):
            return Chosen(float(alphas[-1]), FEW)
        path = RidgePath(centered.gram, centered.cross, centered.square)

        def criterion(a: float) -> float:
            return path.generalised_cross_validation(a, centered.rows, self.intercept)

        best = minimise(criterion, alphas, refine=isinstance(asked, str))
        end = "lower" if best <= alphas[0] else "upper" if best >= alphas[-1] and len(alphas) > 1 else ""
        how = "generalised cross-validation"
        how += "" if isinstance(asked, str) and asked == "gcv" else ", for sums without folds"
        return Chosen(best, how + edge_note(end), None, end)


@dataclass
class FromSumsAndRows(FromSums):
    """The same where rows can be read again: labels are counted, and rows left out one by one."""

    problem: Problem

    @classmethod
    def of(cls, problem: Problem) -> FromSumsAndRows:
        assert problem.sums is not None
        floor = rounding_floor(problem.map, problem.sums.rows)
        facts = problem.intercept, problem.classifies, floor, problem.linear_columns
        return cls(problem.sums, problem.scale, *facts, problem)

    def by_folds(self, asked: Alpha) -> Chosen:
        if self.classifies and len(self.folded.folds) > 1:
            return by_labels(self.problem, self.folded, asked)
        return super().by_folds(asked)

    def by_leave_one_out(self) -> Chosen:
        """An eigen-decomposition and a second pass for the leverages."""
        centered = self.centered
        alphas = candidates("loo", float(centered.gram.trace()), per_decade=2)
        if too_few(centered.rows):
            return Chosen(float(alphas[-1]), FEW)
        totals = errors_by_pass(self.problem, centered, alphas)
        best = smallest(totals)
        end = end_of(best, len(alphas))
        score = 1.0 - float(totals[best]) / max(float(centered.square.sum()), np.finfo(float).tiny)
        told = CrossValidated(score, None, centered.rows, "rows left out one by one")
        note = "exact leave-one-out, by a second pass" + edge_note(end)
        return Chosen(float(alphas[best]), note, None if self.classifies else told, end)

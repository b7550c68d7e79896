"""The penalty of very many features: at full size, on a fifth of the rows, with one factor.

The search begins where the leading features have the smallest error; but few features want another penalty than many,
so every candidate on the way downhill is solved with all of them, by conjugate gradients.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..moments import FoldedMoments, Moments
from ..ops.reference_sums import LOT
from ..solvers.problem import Alpha, Problem, wrong
from ..solvers.triangle import ROUGH, TriangleSystem, system_of
from .base import FEW, Chosen, CrossValidated, PenaltySelection
from .kfold import LEADING, LeftOut, above_floor
from .search import candidates, edge_note, end_of, settled, smallest, valley

HOW = "a held-out fifth"


@dataclass
class FromTriangle(PenaltySelection):
    """By labels of the rows left out that are wrong, or by their squared error."""

    problem: Problem
    system: TriangleSystem
    _found: dict[int, tuple[float, float]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, problem: Problem) -> FromTriangle:
        return cls(problem, system_of(problem, leaves_out=True))

    def by_leave_one_out(self) -> Chosen:
        raise ValueError("alpha='loo' needs the whole Gram matrix, of which solver='triangle' makes one triangle.")

    def by_folds(self, asked: Alpha) -> Chosen:
        per_decade = 2 if isinstance(asked, str) else 1
        alphas = above_floor(candidates(asked, self.system.trace, per_decade), asked, self.problem.rounding_floor)
        if not self.system.sums.left_out:
            return Chosen(float(alphas[-1]), FEW)
        start = self.start(alphas)
        start = max(0, start - per_decade) if self.problem.classifies else start  # labels want a smaller penalty
        self.system.factorise(float(alphas[start]))
        errors = valley(lambda k: self.judged(float(alphas[k]), k)[0], start, len(alphas))
        best, alpha = smallest(errors), float(alphas[smallest(errors)])
        if not self.problem.classifies and isinstance(asked, str):
            best, alpha = settled(alphas, errors)
        end = end_of(best, len(alphas))
        return Chosen(alpha, f"errors of {HOW}, at full size{edge_note(end)}", self.promise(best), end)

    def start(self, alphas: np.ndarray) -> int:
        """The best candidate for the leading features."""
        sums, few = self.system.sums, min(LEADING, LOT, self.system.sums.columns)
        parts = [Moments.of(z[:, :few].astype(np.float64), y, w) for z, y, w in sums.left_out]
        held = sum(parts[1:], parts[0])
        scale = self.system.scale[:few] * np.sqrt(sums.columns / few)
        folded = FoldedMoments([held, sums.leading(few)])
        left = LeftOut(folded, scale, self.problem.intercept, self.problem.classifies)
        return smallest(np.array([left.criterion(left.errors(float(alpha))) for alpha in alphas]))

    def judged(self, alpha: float, number: int) -> tuple[float, float]:
        """The errors of rows left out, and what they would be of the mean: weights of rows, or squares."""
        b = self.system.solve(alpha, ROUGH).coefficients
        scores = self.system.scores_left_out(b)
        _, codes, weights = zip(*self.system.sums.left_out, strict=True)
        y = np.concatenate(codes).astype(np.float64)
        weight = np.ones(len(y)) if weights[0] is None else np.concatenate(weights)
        if self.problem.classifies:
            self._found[number] = float(weight @ wrong(scores, y)), float(weight.sum())
        else:
            spread = (weight[:, None] * (y - np.average(y, axis=0, weights=weight)) ** 2).sum(axis=0)
            there = np.where(spread > 0, spread, np.inf)
            errors = (weight[:, None] * (y - scores) ** 2).sum(axis=0)
            self._found[number] = float((errors / there).sum()), float(np.isfinite(there).sum())
        return self._found[number]

    def promise(self, best: int) -> CrossValidated:
        """The share of right labels, or R^2."""
        errors, whole = self._found[best]
        share, rows = errors / max(whole, 1e-300), sum(len(part[1]) for part in self.system.sums.left_out)
        error = float(np.sqrt(share * (1.0 - share) / rows)) if self.problem.classifies and share < 1 else None
        return CrossValidated(1.0 - share, error, rows, HOW)

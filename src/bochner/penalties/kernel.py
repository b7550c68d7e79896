"""The penalty from the kernel matrix of the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array, cast, constant, places, to_host
from ..blocks import Block
from ..costs import FOLDS
from ..solvers import DualPath, dual_problem, solve_or_none
from ..solvers.kernel_rows import KernelRows
from ..solvers.problem import Alpha, fold_of, wrong
from .base import FEW, Chosen, CrossValidated, PenaltySelection
from .leave_one_out import errors_of_kernel
from .search import (
    ABOVE,
    BELOW,
    above_humps,
    candidates,
    edge_note,
    end_of,
    minimise,
    settled,
    smallest,
    too_few,
)

LEADING_ROWS = 600  # with which all candidates are tried


@dataclass
class FromKernel(PenaltySelection):
    """By folds of the rows, exact leave-one-out, or generalised cross-validation."""

    rows: KernelRows
    classifies: bool

    def candidates(self, asked: Alpha, per_decade: int = 1) -> np.ndarray:
        return candidates(asked, float(self.rows.dual.kernel.trace()), per_decade)

    def choose(self, asked: Alpha) -> Chosen:
        if not isinstance(asked, float) and too_few(len(self.rows.kernel)):
            return Chosen(float(self.candidates(asked)[-1]), FEW)
        return super().choose(asked)

    def by_folds(self, asked: Alpha) -> Chosen:
        rows = self.rows
        folds = KernelFolds.of(rows.kernel, rows.block, rows.intercept, self.classifies)
        return by_kernel_folds(folds, self.candidates(asked), isinstance(asked, str))

    def by_leave_one_out(self) -> Chosen:
        alphas, dual = self.candidates("loo", per_decade=2), self.rows.dual
        totals = errors_of_kernel(dual, alphas, self.rows.intercept)
        best, size = smallest(totals), float((dual.target**2).sum())
        end = end_of(best, len(alphas))
        score = 1.0 - float(totals[best]) / max(size, np.finfo(float).tiny)
        told = CrossValidated(score, None, len(self.rows.kernel), "rows left out one by one")
        note = "exact leave-one-out" + edge_note(end)
        return Chosen(float(alphas[best]), note, None if self.classifies else told, end)

    def by_generalised_cross_validation(self, asked: Alpha) -> Chosen:
        alphas, rows = self.candidates(asked), self.rows
        path = DualPath(rows.dual.kernel, rows.dual.target)

        def criterion(a: float) -> float:
            return path.generalised_cross_validation(a, len(rows.kernel), rows.intercept)

        best = minimise(criterion, alphas, refine=True)
        end = "lower" if best <= alphas[0] else "upper" if best >= alphas[-1] else ""
        return Chosen(best, "generalised cross-validation" + edge_note(end), None, end)


@dataclass
class KernelFolds:
    """Kernel matrices of rows by rows, of which each fold is left out once."""

    kernel: Array
    block: Block
    folds: Array
    intercept: bool
    classifies: bool

    @classmethod
    def of(cls, kernel: Array, block: Block, intercept: bool, classifies: bool) -> KernelFolds:
        return cls(kernel, block, fold_of(block, FOLDS), intercept, classifies)

    @property
    def judged(self) -> list[int]:
        """The folds that have rows, and leave some."""
        sizes = [int((self.folds == fold).sum()) for fold in range(FOLDS)]
        return [fold for fold in range(FOLDS) if 0 < sizes[fold] < len(self.folds) - 1]

    def leading(self, rows: int) -> KernelFolds:
        """Of the first rows alone."""
        part = slice(0, rows)
        block = self.block.only(np.arange(min(rows, len(self.kernel))))
        return KernelFolds(self.kernel[part, part], block, self.folds[part], self.intercept, self.classifies)

    def errors(self, alphas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Squared errors (penalties, folds, outputs) and weights of wrong labels (penalties,) of the rows left out."""
        y, judged = cast(self.block.y, "float64"), self.judged
        squares, counts = np.full((len(alphas), len(judged), y.shape[1]), np.inf), np.zeros(len(alphas))
        for place, fold in enumerate(judged):
            out, rest = places(self.folds == fold), places(self.folds != fold)
            weight = None if self.block.weight is None else self.block.weight[rest]
            part = dual_problem(self.kernel[rest[:, None], rest], y[rest], weight, self.intercept)
            rows = self.kernel[out[:, None], rest]
            rows = part.center_new(rows) if self.intercept else rows
            weights = constant(1.0, (len(out),), y) if self.block.weight is None else self.block.weight[out]
            for k, alpha in enumerate(alphas):
                found = solve_or_none(part.kernel, part.target, float(alpha))
                if found is None:
                    counts[k] = np.inf
                    continue
                scores = rows @ (found * part.root[:, None]) + part.mean_y
                squares[k, place] = to_host(weights @ (scores - y[out]) ** 2)
                if self.classifies:
                    counts[k] += float(weights @ cast(wrong(scores, y[out]), "float64"))
        return squares, counts

    def criteria(self, squares: np.ndarray) -> np.ndarray:
        """One number for each penalty, to be made small: as those of sums."""
        total, size = squares.sum(axis=1), self.deviations()
        if not self.classifies and (size > 0).any():
            total = total[:, size > 0] / size[size > 0]
        return np.sum(total, axis=1)

    def reachable(self, criteria: np.ndarray) -> np.ndarray:
        """The criteria of all candidates, those below a hump infinite."""
        return criteria if self.classifies else above_humps(criteria, criteria.__getitem__, len(self.folds))

    def weights(self) -> Array:
        return constant(1.0, (len(self.folds),), self.folds) if self.block.weight is None else self.block.weight

    def deviations(self) -> np.ndarray:
        y, weight = cast(self.block.y, "float64"), self.weights()
        mean = weight @ y / weight.sum() if self.intercept else 0.0
        return np.asarray(to_host(weight @ (y - mean) ** 2))

    def validated(self, squares: np.ndarray, count: float) -> CrossValidated:
        """What the rows left out say of one penalty."""
        rows, how, weight = len(self.folds), f"{len(self.judged)} folds", self.weights()
        total = float(weight.sum())
        if self.classifies:
            share = float(count / total)
            return CrossValidated(1.0 - share, float(np.sqrt(share * (1.0 - share) / rows)), rows, how)
        size = self.deviations()
        there = size > 0
        if not there.any():
            return CrossValidated(1.0 if not squares.any() else 0.0, None, rows, how)
        parts = np.array([float(weight[self.folds == fold].sum()) for fold in self.judged])
        means = np.mean(squares[:, there] / parts[:, None] / (size[there] / total), axis=1)
        score = float(np.mean(1.0 - squares.sum(axis=0)[there] / size[there]))
        return CrossValidated(score, float(np.sqrt(np.var(means, ddof=1) / len(means))), rows, how)


def by_kernel_folds(folds: KernelFolds, alphas: np.ndarray, refine: bool) -> Chosen:
    """The penalty of smallest squared error of rows left out; for labels, of fewest errors near there."""
    if len(folds.judged) < 2:
        return Chosen(float(alphas[-1]), FEW)
    tried = np.arange(len(alphas))
    if refine and len(folds.kernel) > LEADING_ROWS:  # where to look is told by fewer rows, at a fraction of the cost
        few = folds.leading(LEADING_ROWS)
        start = smallest(few.reachable(few.criteria(few.errors(alphas)[0])))
        tried = np.arange(max(start - 2, 0), min(start + ABOVE + 1, len(alphas)))
    squares, counts = folds.errors(alphas[tried])
    criteria = folds.criteria(squares)
    if refine and len(tried) == len(alphas):
        criteria = folds.reachable(criteria)
    best, chosen = settled(alphas[tried], criteria)
    if folds.classifies:
        window = slice(max(best - BELOW, 0), best + ABOVE + 1)
        best = window.start + smallest(counts[window])
    end = end_of(int(tried[best]), len(alphas))
    chosen = chosen if refine and not folds.classifies else float(alphas[tried][best])
    validated = folds.validated(squares[best], float(counts[best]))
    how = "errors" if folds.classifies else "squared error"
    return Chosen(chosen, f"{how} of {len(folds.judged)} folds{edge_note(end)}", validated, end)

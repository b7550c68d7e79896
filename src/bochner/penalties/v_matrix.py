"""Exact kernel ridge with the V-matrix: the penalty, and scores of rows left out, by five folds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..arrays import Array, cast, constant, places
from ..blocks import Block
from ..costs import FOLDS
from ..solvers import OUT, HeldOutScores, Solution, root_of, solve_v_matrix, v_matrix
from ..solvers.problem import Alpha, fold_of, wrong
from .base import FEW, Chosen, PenaltySelection
from .search import candidates, edge_note, end_of, smallest, too_few


@dataclass
class FromVMatrix(PenaltySelection):
    """By five folds; alpha is n gamma of the paper."""

    kernel: Array
    block: Block
    intercept: bool
    classifies: bool

    @cached_property
    def root(self) -> Array:
        return weighted_root(self.block)

    def by_leave_one_out(self) -> Chosen:
        raise ValueError("alpha='loo' has no formula for the V-matrix: use 'auto', which goes by five folds.")

    def by_folds(self, asked: Alpha) -> Chosen:
        alphas = np.asarray(asked, dtype=float) if not isinstance(asked, str) else None
        if alphas is None:
            alphas = candidates(asked, float(((self.root.T @ self.kernel) * self.root.T).sum()))
        if too_few(len(self.block.y)):
            return Chosen(float(alphas[-1]), FEW)
        y = cast(self.block.y, "float64")
        weight = constant(1.0, (len(y),), y) if self.block.weight is None else self.block.weight
        scores = left_out_scores(self.kernel, self.block, alphas, self.intercept)
        errors = [wrong(f, self.block.y) if self.classifies else ((y - f) ** 2).sum(axis=1) for f in scores]
        best = smallest(np.array([float(weight @ cast(error, "float64")) for error in errors]))
        end = end_of(best, len(alphas))
        return Chosen(float(alphas[best]), f"error of {FOLDS} folds" + edge_note(end))

    def solve(self, chosen: Chosen) -> Solution:
        """Coefficients of the kernel functions of the rows, and scores of rows left out."""
        y = cast(self.block.y, "float64")
        found = solve_v_matrix(self.kernel, y, self.root, chosen.alpha, self.intercept)
        scores = left_out_scores(self.kernel, self.block, np.array([chosen.alpha]), self.intercept)[0]
        return replace(found, held_out=HeldOutScores(scores, self.block.y, self.block.weight, OUT).on_host())


def weighted_root(block: Block) -> Array:
    """R with R R' = V, rows times their weights: a row of weight 2 is two rows, each in both factors of r'V r."""
    root = root_of(v_matrix(cast(block.X, "float64")))
    return root if block.weight is None else root * block.weight[:, None]


def left_out_scores(kernel: Array, block: Block, alphas: np.ndarray, intercept: bool) -> Array:
    """(penalties, n, k): each row by the model of the other folds; in the first place zero."""
    folds = fold_of(block, FOLDS)
    scores = constant(0.0, (len(alphas), *block.y.shape), kernel)
    for fold in range(FOLDS):
        out, rest = places(folds == fold), places(folds != fold)
        if not len(out) or not len(rest):
            continue
        root, y = weighted_root(block.only(rest)), cast(block.y[rest], "float64")
        for k, alpha in enumerate(alphas):
            found = solve_v_matrix(kernel[rest[:, None], rest], y, root, float(alpha), intercept)
            scores[k, out] = kernel[out[:, None], rest] @ found.coefficients + found.intercepts
    return scores

"""Exact kernel ridge with the V-matrix: the penalty, and scores of rows left out, by five folds."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...blocks import Block
from ...solvers import Solution, root_of, solve_invariant, v_matrix
from .calibration import HeldOutScores
from .penalty import FEW, FOLDS, candidates, edge_note, end_of, smallest, too_few
from .problem import Fit, fold_of, wrong


def fit_invariant(
    kernel: np.ndarray, block: Block, alpha: Any, intercept: bool, classifies: bool
) -> tuple[Fit, HeldOutScores]:
    """Coefficients of the kernel functions of the rows; alpha is n gamma of the paper."""
    if isinstance(alpha, str) and alpha == "loo":
        raise ValueError("alpha='loo' has no formula for the V-matrix: use 'auto', which goes by five folds.")
    root, y = weighted_root(block), block.y.astype(np.float64)
    alphas, note = np.atleast_1d(np.asarray(alpha, dtype=float)) if not isinstance(alpha, str) else None, "given"
    if alphas is None:
        alphas = candidates(alpha, float(np.sum((root.T @ kernel) * root.T)))
    scores = left_out_scores(kernel, block, alphas, intercept)
    best = len(alphas) - 1
    if len(alphas) > 1 and too_few(len(y)):
        note = FEW
    elif len(alphas) > 1:
        weight = np.ones(len(y)) if block.weight is None else block.weight
        errors = [weight @ (wrong(f, block.y) if classifies else np.sum((y - f) ** 2, axis=1)) for f in scores]
        best = smallest(np.array(errors))
        note = f"error of {FOLDS} folds" + edge_note(end_of(best, len(alphas)))
    solution, offset = solve_invariant(kernel, y, root, float(alphas[best]), intercept)
    held_out = HeldOutScores(scores[best], block.y, block.weight, "rows left out")
    return Fit(solution, offset, note, np.zeros(y.shape[1])), held_out


def weighted_root(block: Block) -> np.ndarray:
    """R with R R' = V, rows times their weights: a row of weight 2 is two rows, each in both factors of r'V r."""
    root = root_of(v_matrix(np.asarray(block.X, dtype=np.float64)))
    return root if block.weight is None else root * block.weight[:, None]


def left_out_scores(kernel: np.ndarray, block: Block, alphas: np.ndarray, intercept: bool) -> np.ndarray:
    """(penalties, n, k): each row by the model of the other folds; in the first place zero."""
    folds = fold_of(block, FOLDS)
    scores = np.zeros((len(alphas), *block.y.shape))
    for fold in np.unique(folds):
        out, rest = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        if not len(rest):
            continue
        root, y = weighted_root(block.only(rest)), block.y[rest].astype(np.float64)
        for k, alpha in enumerate(alphas):
            found: tuple[Solution, np.ndarray] = solve_invariant(
                kernel[np.ix_(rest, rest)], y, root, float(alpha), intercept
            )
            scores[k, out] = kernel[np.ix_(out, rest)] @ found[0].coefficients + found[1]
    return scores

"""The penalty of a loss that has no formula for it: the loss of held-out rows, along a path of penalties."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...bases.design import times_columns
from ...blocks import MemoryBlocks
from ...config import memory_budget
from ...losses import Huber, Loss, Squared
from ...streams import sample_rows
from ...validation import option
from .full_batch import fit_newton
from .matrix_free import probe_alpha
from .multipliers import fit_multipliers
from .penalty import FEW, FOLDS, candidates, edge_note, end_of, too_few
from .problem import Problem, fold_of, mean_square

PROBE, MEASURED = 2000, 400  # rows from which the penalty is chosen, and whose features are measured
PATIENCE, GAIN = 1, 1e-3  # penalties in a row that may be no better; a smaller gain does not count


def choose_penalty(problem: Problem, loss: Loss) -> tuple[float, str]:
    """alpha as given; or the best on a sample: a fifth of it held out, from large penalties to small ones.

    The best alpha balances noise against size, which the number of rows does not change much.
    """
    if problem.asks_for("loo"):
        raise ValueError(f"{option('alpha', 'loo')} needs the squared loss and solver 'cholesky' or 'dual'.")
    if isinstance(problem.alpha, float):
        return problem.alpha, "given"
    if isinstance(loss, Squared):
        chosen = probe_alpha(problem)
        return chosen.alpha, chosen.note
    rows = int(np.clip(memory_budget() // (64 * int(problem.basis.n_components)), 50, PROBE))
    numbers = sample_rows(problem.blocks.n_rows, rows, seed=2)
    block = problem.blocks.take(numbers)
    held = fold_of(block, FOLDS) == 0
    train, judged = block.only(~held), block.only(held)
    if not block.X.shape[0]:  # of all rows sampled the weight is zero
        return float(candidates(problem.alpha, 1.0)[-1]), FEW
    # Weights below 1 are taken relative to their mean, as they are for least squares.
    weight = 1.0 if block.weight is None else min(1.0, float(block.weight.mean()))
    unit = weight * len(numbers) * mean_square(problem.features(block.X[:MEASURED]), problem.scale)
    alphas = candidates(problem.alpha, unit)
    if too_few(train.X.shape[0]) or not held.any():
        return float(alphas[-1]), FEW
    features = problem.features(judged.X)
    part = replace(problem, blocks=MemoryBlocks(train.X, train.y, train.weight))
    solve = fit_newton if loss.smooth else fit_multipliers
    if isinstance(loss, Huber):  # the learned scales differ: all are judged by one
        spread = np.std(train.y, axis=0)
        loss = replace(loss, scale=np.where(spread > 0, spread, 1.0))
    losses, start, worse = np.full(len(alphas), np.inf), None, 0
    for k in reversed(range(len(alphas))):
        fit = solve(part, loss, float(alphas[k]), start, rough=True)
        start = fit.start
        scores = np.asarray(features @ times_columns(problem.scale, fit.solution.coefficients)) + fit.intercept
        with np.errstate(over="ignore"):
            values = loss.value(scores, judged.y.astype(np.float64))
        losses[k] = np.average(values, weights=judged.weight)
        worse = 0 if losses[k] < (1.0 - GAIN) * losses[k + 1 :].min(initial=np.inf) else worse + 1
        if worse > PATIENCE:
            break
    best = float(alphas[np.flatnonzero(losses <= losses.min() / (1.0 - GAIN))[-1]])
    end = end_of(int(np.searchsorted(alphas, best)), len(alphas))
    return best, f"loss of a held-out fifth of {len(numbers):,} rows" + edge_note(end)

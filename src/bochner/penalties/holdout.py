"""The penalty of a loss that has no formula for it: the loss of held-out rows, along a path of penalties."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..config import memory_budget
from ..costs import FOLDS
from ..solvers.problem import Alpha, Problem, fold_of, mean_square
from ..streams import sample_rows
from ..validation import option
from .base import FEW, Chosen, PenaltySelection
from .fold_models import Trials
from .probe import PROBE
from .search import candidates, edge_note, end_of, too_few

MEASURED = 400  # rows whose features are measured
MANY, FEWER = 1000, 3  # with more rows than this, fewer folds
GAIN, CLEAR = 1e-3, 1.02  # a smaller gain does not count; a loss so much larger than the least is no accident
RISING, FLAT = 2, 4  # penalties in a row that are worse, or no better, after which smaller ones are not tried
FIRST, LAST, LEAST = 1, 5, -10  # decades of the largest penalties tried, at first and if larger is better; the least
HALF = 10.0**0.5


@dataclass
class FromHeldOut(PenaltySelection):
    """The best for rows held out, each once, of all rows or of a sample of them.

    The best alpha balances noise against size, which the number of rows does not change much.
    """

    problem: Problem

    def by_leave_one_out(self) -> Chosen:
        raise ValueError(f"{option('alpha', 'loo')} needs the squared loss and solver 'cholesky' or 'dual'.")

    def by_folds(self, asked: Alpha) -> Chosen:
        problem = self.problem
        rows = int(np.clip(memory_budget() // (64 * problem.columns), 50, PROBE))
        block = problem.blocks.take(sample_rows(problem.blocks.n_rows, rows, seed=2))
        if not block.X.shape[0]:  # of all rows sampled the weight is zero
            return Chosen(float(candidates(asked, 1.0)[-1]), FEW)
        weight = 1.0 if block.weight is None else float(block.weight.mean())
        unit = weight * mean_square(problem.features(block.X[:MEASURED]), problem.scale) or 1.0  # of one row
        folds = fold_of(block, FOLDS if block.X.shape[0] <= MANY else FEWER)
        if too_few(block.X.shape[0]) or len(np.unique(folds)) < 2:
            return Chosen(float(candidates(asked, unit)[-1]), FEW)
        trials = Trials(problem, block, folds)
        if isinstance(asked, str):
            ends = unit * 10.0 ** np.array([LEAST, LAST])
            best = best_half_decade(trials, best_decade(trials, unit), *ends)
        else:
            ends = candidates(asked, unit)
            best = simplest(search_down(trials, ends[::-1]))
        end = end_of(int(np.searchsorted(ends, best * 0.99)), len(ends)) if best <= ends[0] or best >= ends[-1] else ""
        note = f"loss of {len(trials)} folds of {trials.rows:,} rows" + edge_note(end)
        return Chosen(best, note, trials.promise(best), end)


def best_decade(trials: Trials, unit: float) -> float:
    """From large penalties to small ones, and beyond the largest if that is best."""
    losses = search_down(trials, unit * 10.0 ** np.arange(FIRST, LEAST - 1.0, -1.0))
    for decade in range(FIRST + 1, LAST + 1):
        if simplest(losses) < max(losses):
            break
        losses[unit * 10.0**decade] = trials.loss_at(unit * 10.0**decade)
    return simplest(losses)


def search_down(trials: Trials, alphas: np.ndarray) -> dict[float, float]:
    """The losses of penalties, until smaller ones are no better."""
    losses: dict[float, float] = {}
    rising = flat = 0
    for alpha in alphas.tolist():
        least = min(losses.values(), default=np.inf)
        now = losses[alpha] = trials.loss_at(alpha)
        size = abs(least) if np.isfinite(least) else 0.0  # losses with a scale of their own may be negative
        flat = 0 if now < least - GAIN * size else flat + 1
        rising = rising + 1 if now > least + GAIN * size else 0
        if rising >= RISING or flat >= FLAT or now > least + (CLEAR - 1.0) * size:
            break
    return losses


def best_half_decade(trials: Trials, middle: float, low: float, high: float) -> float:
    """The best of a penalty and those half a decade away, within the ends."""
    near = [middle * HALF, middle, middle / HALF]
    return simplest({alpha: trials.loss_at(alpha) for alpha in near if low * 0.99 < alpha < high * 1.01})


def simplest(losses: dict[float, float]) -> float:
    """The largest penalty whose loss is least but for GAIN."""
    least = min(losses.values())
    return max(alpha for alpha, loss in losses.items() if not np.isfinite(least) or loss <= least + GAIN * abs(least))

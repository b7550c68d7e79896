"""The penalty with few rows: folds drawn several times over, from one decomposition of the kernel matrix.

How few rows part into folds is chance, and so is what one partition says. The rows B of a fold are predicted by the
model of the others; with P = (K + alpha I)^-1, from which the direction of the means is taken out, their errors are
(P_BB)^-1 (P y)_B. For a single row that is residual / (1 - leverage).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..arrays import to_host
from ..blocks import Block
from ..costs import FOLDS
from ..solvers import DualProblem, dual_problem
from ..solvers.problem import wrong
from ..streams import hash_multipliers, row_hashes
from .base import FEW, Chosen, CrossValidated
from .leave_one_out import decomposed
from .search import ABOVE, BELOW, between, edge_note, end_of, is_noise, smallest

ROWS, PARTITIONS = 200, 5  # up to so many rows part into folds several times; how often
FEWER = 100  # rows up to which a larger penalty is taken if it may be as good


def groups_of(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The hashes of different rows, and which of them each row is."""
    hashes, group = np.unique(row_hashes(X), return_inverse=True)
    return hashes, group.ravel()


def partitions_of(hashes: np.ndarray, folds: int) -> np.ndarray:
    """The fold (partitions, rows) of different rows: in another order each time, folds in turn."""
    orders = [np.argsort(hashes * multiplier) for multiplier in hash_multipliers(PARTITIONS)]
    return np.array([np.argsort(order) % folds for order in orders])


@dataclass
class RepeatedFolds:
    """Few rows with their kernel matrix: each row is left out once in every partition."""

    dual: DualProblem
    block: Block
    intercept: bool
    classifies: bool
    _known: dict[float, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, kernel: np.ndarray, block: Block, intercept: bool, classifies: bool) -> RepeatedFolds:
        block = block.on_host()
        dual = dual_problem(to_host(kernel), block.y.astype(np.float64), block.weight, intercept)
        return cls(dual, block, intercept, classifies)

    def __post_init__(self) -> None:
        hashes, self.group = groups_of(self.block.X)
        self.folds = min(FOLDS, len(hashes))
        self._partitions = partitions_of(hashes, self.folds)[:, self.group]
        self._values, self._vectors = decomposed(self.dual, self.intercept)
        self._rotated = self._vectors.T @ self.dual.target
        self.weights = self.dual.root**2

    @property
    def tell(self) -> bool:
        """Whether rows can be left out: each fold leaves two."""
        return all(np.bincount(p, minlength=2).max() < len(p) - 1 for p in self._partitions)

    @property
    def deviations(self) -> np.ndarray:
        return np.sum(self.dual.target**2, axis=0)

    def errors(self, alpha: float) -> tuple[np.ndarray, np.ndarray]:
        """Squared errors (rows, outputs) of rows left out, and weights (rows,) of wrong labels: means of partitions."""
        if alpha not in self._known:
            shares = 1.0 / (np.maximum(self._values, 0.0) + alpha)
            inverse = (self._vectors * shares) @ self._vectors.T
            residuals = self._vectors @ (shares[:, None] * self._rotated)
            found = [self._left_out(inverse, residuals, folds) for folds in self._partitions]
            missed = [self._missed(out) for out in found] if self.classifies else [np.zeros(len(residuals))]
            self._known[alpha] = np.mean(np.square(found), axis=0), np.mean(missed, axis=0)
        return self._known[alpha]

    def _left_out(self, inverse: np.ndarray, residuals: np.ndarray, folds: np.ndarray) -> np.ndarray:
        found = np.empty_like(residuals)
        for fold in range(self.folds):
            out = np.flatnonzero(folds == fold)
            try:
                found[out] = np.linalg.solve(inverse[np.ix_(out, out)], residuals[out])
            except np.linalg.LinAlgError:
                found[out] = np.inf
        return found

    def _missed(self, errors: np.ndarray) -> np.ndarray:
        y = self.block.y.astype(np.float64)
        return self.weights * np.asarray(wrong(y - errors / self.dual.root[:, None], y), dtype=np.float64)

    def relative(self, alpha: float) -> np.ndarray:
        """The share of each different row in the squared errors, relative to those of the mean."""
        squares, size = self.errors(alpha)[0], self.deviations
        size = np.full(len(size), size.sum()) if self.classifies else size
        there = size > 0
        shares = np.sum(squares[:, there] / size[there], axis=1) if there.any() else np.sum(squares, axis=1)
        return np.bincount(self.group, shares)

    def criterion(self, alpha: float) -> float:
        return float(np.sum(self.relative(alpha)))

    def choose(self, alphas: np.ndarray, refine: bool) -> Chosen:
        """The penalty of smallest squared error of rows left out, or the next larger one if that may be as good; for
        labels, of fewest errors near there."""
        if not self.tell:
            return Chosen(float(alphas[-1]), FEW)
        criteria = np.array([self.criterion(float(alpha)) for alpha in alphas])
        best = smallest(criteria)
        chosen = between(alphas, criteria, best) if refine else float(alphas[best])
        if self.classifies:
            first = max(best - BELOW, 0)
            counts = np.array([np.sum(self.errors(float(alpha))[1]) for alpha in alphas[first : best + ABOVE + 1]])
            best = first + smallest(counts)
            chosen = float(alphas[best])
        elif refine and self._may_be_as_good(alphas, best + 1):
            best, chosen = best + 1, float(alphas[best + 1])
        end = end_of(best, len(alphas))
        how = "errors" if self.classifies else "squared error"
        return Chosen(chosen, f"{how} of {self.how}{edge_note(end)}", self.validated(float(alphas[best])), end)

    def _may_be_as_good(self, alphas: np.ndarray, next_one: int) -> bool:
        """Whether a penalty is worse than the one before it by no more than a standard error."""
        if next_one >= len(alphas) or len(self.weights) > FEWER:
            return False
        before, after = (self.relative(float(alphas[k])) for k in (next_one - 1, next_one))
        return is_noise(after - before)

    @property
    def how(self) -> str:
        return f"{self.folds} folds, {PARTITIONS} times"

    def validated(self, alpha: float) -> CrossValidated:
        """What rows left out say of a penalty."""
        rows = len(self.weights)
        if self.classifies:
            share = float(np.sum(self.errors(alpha)[1]) / self.weights.sum())
            return CrossValidated(1.0 - share, float(np.sqrt(share * (1.0 - share) / rows)), rows, self.how)
        there = self.deviations > 0
        shares = self.relative(alpha) / max(int(there.sum()), 1)
        if not there.any():
            return CrossValidated(0.0 if shares.any() else 1.0, None, rows, self.how)
        error = float(np.sqrt(len(shares) * np.var(shares, ddof=1)))
        return CrossValidated(1.0 - float(np.sum(shares)), error, rows, self.how)

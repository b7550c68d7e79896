"""Losses with kinks (hinge, epsilon-insensitive) to their optimum, by the method of multipliers.

minimise sum_i w_i loss(t_i) + alpha |b|^2 with t = Z b + c, by multipliers u for that equation: given u and a stiffness
s, the best t is the loss's proximal map of f + u/s, which leaves a smooth, piecewise quadratic function of (b, c) for
Newton's method; then u becomes its slope. The u are the variables of the dual, as in a support vector machine, so at
the minimum over (b, c) the duality gap is known: sum of w loss(f) - w loss(t) - u (f - t).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...config import memory_budget
from ...losses import EpsilonInsensitive, Hinge, Loss
from ...solvers import Minimum, factor_gram, minimise, sampled_preconditioner
from ...validation import option
from .full_batch import finished
from .objective import Piece, RiskObjective
from .problem import Fit, Problem

LARGEST = 2048  # rows or features of a matrix that is factored in every step
ROUNDS, STIFFER, WELL = 50, 5.0, 0.2  # at most; s grows by this unless the gap falls below this share of the last one
SOFTER = 25.0  # s falls by this where a search gets stuck

Product = Callable[[np.ndarray], np.ndarray]


def fit_multipliers(
    problem: Problem, loss: Loss, alpha: float, start: np.ndarray | None = None, rough: bool = False
) -> Fit:
    """To the optimum; or roughly, where only the loss of other rows is to be judged."""
    objective = Envelope(problem, loss, alpha)
    x = objective.zeros() if start is None else start
    goal, finest = (1e-6, 1e-5) if objective.pieces.kind == np.float32 else (1e-10, 1e-9)
    if rough:
        goal, finest = 1e-3, 1e-3
    gap = previous = np.inf
    steps = 0
    tolerance = 1e-2
    for _ in range(ROUNDS):
        found = minimise(objective, x, tolerance=tolerance, reference=objective.reference)
        steps, x = steps + found.iterations, found.x
        if not found.converged:  # all rows may be on straight parts, where nothing bends: softer, some are not
            objective.stiffness /= SOFTER
            continue
        gap = objective.raise_multipliers(x)
        if gap <= goal and tolerance <= finest:
            break
        tolerance = max(min(0.1 * tolerance, gap), finest)
        if gap > WELL * previous:
            objective.stiffness *= STIFFER
        previous = gap
    ended = "converged" if found.converged and gap <= 10 * goal else "stopped"
    status = f"{ended} in {steps} steps, relative duality gap {gap:.1e}"
    return finished(objective, Minimum(x, found.value, status, gap, steps), "multipliers with Newton")


def ridge_inverse(rows: np.ndarray, ratio: float, shift: float) -> Product:
    """v -> (ratio Z'Z + shift I)^-1 v, by whichever of Z'Z and ZZ' is smaller."""
    if len(rows) >= rows.shape[1]:
        factor = factor_gram(rows.T @ rows, shift / ratio)
        if factor is not None:
            return lambda v: factor.solve(v) / ratio
    apply = sampled_preconditioner(rows, ratio, shift)
    return lambda v: apply(v) / shift


class Envelope(RiskObjective):
    """The smooth function that multipliers and a stiffness make of a loss with kinks."""

    def __init__(self, problem: Problem, loss: Loss, alpha: float) -> None:
        assert isinstance(loss, Hinge | EpsilonInsensitive)
        self.kinked = loss
        needed = 16 * problem.blocks.n_rows * problem.outputs
        if needed > memory_budget() // 2:
            raise ValueError(
                f"one multiplier for each of {problem.blocks.n_rows:,} rows and {problem.outputs} outputs needs "
                f"{needed / 1e9:.3g} GB, over half the memory budget: use {option('solver', 'sgd')} or a smooth loss."
            )
        super().__init__(problem, loss, alpha)
        self._inverses: list[Product] = []
        self.multipliers = np.zeros((problem.blocks.n_rows, problem.outputs))
        self.stiffness = 0.5 * self.typical_ratio()
        self.reference = self.size(self.look(self.zeros())[1])

    def typical_ratio(self) -> float:
        """Mean weight over mean target: a stiffness that puts scores near zero on the curved part of the envelope."""

        def part(piece: Piece) -> np.ndarray:
            return np.array([np.abs(piece.y).mean(axis=1).sum(), piece.weight.sum()])

        targets, weights = self.pieces.reduce(part, "targets")
        return float(weights / targets) if targets > 0 else 1.0

    def nearest(self, piece: Piece, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """t, and the slope s (f + u/s - t), which the multipliers are to become."""
        shifted = f + self.multipliers[piece.rows] / self.stiffness
        t = self.kinked.nearest(shifted, piece.y, piece.weight[:, None] / self.stiffness)
        return t, self.stiffness * (shifted - t)

    def terms(self, piece: Piece, f: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        t, slope = self.nearest(piece, f)
        value = piece.weight @ self.kinked.value(t, piece.y) + np.sum(slope**2) / (2.0 * self.stiffness)
        return float(value), slope, self.curvature(piece, slope)

    def bend(self, piece: Piece, f: np.ndarray, change: np.ndarray) -> np.ndarray:
        return self.curvature(piece, self.nearest(piece, f)[1]) * change

    def curvature(self, piece: Piece, slope: np.ndarray) -> np.ndarray:
        """s at the kink, where the slope is between its extremes; zero on the straight parts."""
        size = np.abs(slope)
        return np.where((size > 0) & (size < piece.weight[:, None] * (1 - 1e-12)), self.stiffness, 0.0)

    def approach(self, x: np.ndarray) -> None:
        """Only rows at the kink bend the function, and they are few: for them 2 alpha I + s Z'Z is inverted exactly."""
        self._inverses = []
        if self.pieces.kept is None or self.alpha == 0:
            return
        zones = [self.curvature(p, self.nearest(p, self.scores(p, x))[1]) > 0 for p in self.pieces.kept]
        for column in range(x.shape[1]):
            parts = [p.features[zone[:, column]] for p, zone in zip(self.pieces.kept, zones, strict=True)]
            if min(sum(part.shape[0] for part in parts), len(x)) > LARGEST:
                self._inverses = []
                return
            rows = np.vstack([part.toarray() if hasattr(part, "toarray") else part for part in parts])
            rows = self.problem.scale * rows.astype(np.float64) - self._metric.mean
            if self.problem.intercept:
                rows = np.column_stack([rows, np.ones(len(rows))])
            self._inverses.append(ridge_inverse(rows, self.stiffness, 2.0 * self.alpha))

    def precondition(self, v: np.ndarray) -> np.ndarray:
        if not self._inverses:
            return super().precondition(v)
        return np.column_stack([inverse(v[:, [k]]) for k, inverse in enumerate(self._inverses)])

    def raise_multipliers(self, x: np.ndarray) -> float:
        """Set the multipliers to the slopes at x; the duality gap, relative to the sum of losses and penalty."""
        gap = losses = 0.0
        for piece in self.pieces.each("multipliers"):
            f = self.scores(piece, x)
            t, slope = self.nearest(piece, f)
            self.multipliers[piece.rows] = slope
            loss = float(piece.weight @ self.kinked.value(f, piece.y))
            gap += loss - float(piece.weight @ self.kinked.value(t, piece.y) + np.sum(slope * (f - t)))
            losses += loss
        primal = losses + self.alpha * np.sum(self.model(x)[0] ** 2)
        return float(abs(gap) / max(primal, np.finfo(float).tiny))

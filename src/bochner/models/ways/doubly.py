"""Doubly stochastic training: every step has new rows and new features, made from the seed and never kept.

The features of earlier steps are made again for each batch, a tile of columns at a time. What a run has learned is the
seed, its coefficients and how many steps it took; from there it can go on with more rows and more features.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ...bases.design import Design
from ...blocks import Block, Progress
from ...losses import Loss
from ...solvers import DoublyStochastic, Solution
from ...streams import Stream, sample_rows
from .calibration import CALIBRATED, HeldOutScores
from .problem import Fit, Problem, Training
from .stochastic import Remember, copied, require_finite_training, require_sane_training, typical, typical_curvature

TILE = 1 << 16  # features that are made at a time, at most, unless a step has more
MEASURED, ROWS = 3, 256  # steps whose curvature is measured, and rows whose features are averaged
FEW = 16.0  # rows of a batch
STRETCHES = 20  # parts of a run after each of which it could be taken up again


@dataclass
class Descent:
    """f = sum over steps of z_t'b_t + c; the rows of step t are batch t of one endless stream."""

    problem: Problem
    loss: Loss
    alpha: float
    method: DoublyStochastic
    seed: int
    rows: Any = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.rows = self.problem.blocks.take(sample_rows(self.problem.blocks.n_rows, ROWS, seed=10)).X

    def first_rate(self) -> float:
        """The inverse of the curvature of a batch: that of the loss times the largest eigenvalue of its kernel.

        The kernel is that of the features of one step, as it comes into play; of three steps the largest is taken. Few
        rows are noise, which smaller steps average out: (FEW / rows)^2 times the sum of the eigenvalues is added.
        """
        if self.method.learning_rate != "auto":
            return float(self.method.learning_rate)
        block = next(self.batches(0))
        largest = 0.0
        for step in range(min(MEASURED, steps_for(self.problem.basis, self.method.features))):
            tile, _ = self.new_tile(block.X, step)[1:]
            share = int(self.problem.basis.n_components) / tile.shape[1] / len(tile)
            noise = (FEW / len(tile)) ** 2 * float(np.sum(tile**2))
            largest = max(largest, share * (float(np.linalg.norm(tile, 2)) ** 2 + noise))
        return 1.0 / (typical_curvature(self.loss, self.problem.outputs) * typical(block.weight) * max(largest, 1e-12))

    def new_tile(self, X: Any, step: int) -> tuple[slice, np.ndarray, np.ndarray]:
        """The columns of a step, their features, centred if there is an intercept, and the means.

        Centred, they leave the mean to the intercept, which would else set the pace for all other directions. Some rows
        that stay the same tell the means, for those of a small batch are noise.
        """
        columns, tile = next(self.tiles(X, self.method.features, step))
        if not self.problem.intercept:
            return columns, tile, np.zeros(tile.shape[1])
        mean = next(self.tiles(self.rows, self.method.features, step))[1].mean(axis=0)
        return columns, tile - mean, mean

    def tiles(self, X: Any, width: int, first: int = 0) -> Iterator[tuple[slice, np.ndarray]]:
        """Which columns are in each tile, and their features of some rows, times the scale."""
        for columns, tile in self.problem.basis.column_tiles(X, width, first):
            dense = tile.toarray() if hasattr(tile, "toarray") else tile
            yield columns, dense.astype(np.float64) * self.problem.scale

    def batches(self, first: int) -> Iterator[Block]:
        """The batches from number `first` on, epoch after epoch without end."""
        size, nothing = self.method.batch_size, np.empty(0, dtype=np.int64)
        epoch, skipped = divmod(first, -(-self.problem.blocks.n_rows // size))
        while True:
            order = Stream(self.seed, f"order {epoch}")
            for number, block in enumerate(self.problem.blocks.shuffled(size, order, nothing)):
                if number >= skipped and block.X.shape[0]:
                    yield block
            epoch, skipped = epoch + 1, 0

    def begin(self) -> dict[str, Any]:
        """Nothing learned yet; of the latest batches, the scores they had before they were learned from."""
        k = self.problem.outputs
        empty = {name: np.empty((0, k)) for name in ("scores", "codes")}
        return {"b": np.zeros((int(self.problem.basis.n_components), k)), "c": np.zeros(k), "step": 0, **empty}

    def run(self, state: dict[str, Any], until: int, rate: float, batches: Iterator[Block]) -> dict[str, Any]:
        """Steps until there are so many."""
        state = copied(state)
        nu = 2.0 * self.alpha / self.problem.blocks.present
        while state["step"] < until:
            self.step(state, next(batches), self.method.rate(rate, nu, state["step"]), nu)
        return state

    def scores(self, state: dict[str, Any], X: Any, known: int) -> np.ndarray:
        """f of some rows from the columns that have coefficients; those beyond have zeros."""
        f = np.tile(state["c"], (X.shape[0], 1))
        for columns, tile in self.tiles(X, max(self.method.features, TILE // X.shape[0])) if known else ():
            f += tile @ state["b"][columns]
            if columns.stop >= known:
                break
        return f

    def step(self, state: dict[str, Any], block: Block, rate: float, nu: float) -> None:
        columns, tile, mean = self.new_tile(block.X, state["step"])
        f = self.scores(state, block.X, columns.start)
        y = block.y.astype(np.float64)
        slope = self.loss.gradient(f, y) / len(y)
        if block.weight is not None:
            slope *= block.weight[:, None]
        state["b"] *= 1.0 - rate * nu
        # The tile's share of <z, z'> is its width over m: so much more is its estimate of the kernel worth.
        state["b"][columns] = -rate * len(state["b"]) / tile.shape[1] * (tile.T @ slope)
        if self.problem.intercept:
            pace = min(rate, 0.5 / typical_curvature(self.loss, len(state["c"])))
            state["c"] = state["c"] - pace * slope.sum(axis=0) - mean @ state["b"][columns]
        state["step"] += 1
        for name, new in (("scores", f), ("codes", y)):
            state[name] = np.concatenate([state[name], new])[-CALIBRATED:]


def steps_for(design: Design, features: int) -> int:
    """How many tiles of about so many columns a basis has."""
    feature_map = design.basis.map_
    if not feature_map.has_prefixes:
        raise ValueError(f"doubly stochastic training adds columns, and {feature_map.name} shares all of them.")
    return feature_map.tile_count(features)


def fit_doubly(
    problem: Problem, loss: Loss, alpha: float, method: DoublyStochastic, seed: int, remember: Remember
) -> tuple[Fit, HeldOutScores | None]:
    """One step for every tile of the basis's columns."""
    descent = Descent(problem, loss, alpha, method, seed)
    rate, state = descent.first_rate(), descent.begin()
    total = steps_for(problem.basis, method.features)
    with Progress("training", total) as progress:
        for stretch in range(1, STRETCHES + 1):
            before, until = state["step"], total * stretch // STRETCHES
            state = remember(partial(descent.run, state, until, rate, descent.batches(before)))
            require_finite_training(state["b"], 0, rate)
            progress.advance(state["step"] - before)
    return finished(descent, state, rate, problem.blocks.present)


def finished(descent: Descent, state: dict[str, Any], rate: float, rows: int) -> tuple[Fit, HeldOutScores | None]:
    loss, scores, codes = descent.loss, state["scores"], state["codes"]
    if len(scores):
        now, nothing_learned = (float(loss.value(f, codes).mean()) for f in (scores, np.zeros_like(scores)))
        require_sane_training(now, nothing_learned, rate)
    status = f"{state['step']} steps, each {descent.method.batch_size} rows and new features; first rate {rate:.3g}"
    k = state["b"].shape[1]
    solution = Solution(state["b"], "doubly stochastic", descent.alpha, status, float("nan"), state["step"])
    held_out = HeldOutScores(state["scores"], state["codes"], None, "rows before they were learned from")
    training = Training(rate, state["step"], rows)
    return Fit(solution, state["c"], "", np.zeros(k), training=training), held_out

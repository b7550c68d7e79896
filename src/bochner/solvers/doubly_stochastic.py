"""Doubly stochastic training: every step has new rows and new features, made from the seed and never kept.

The features of earlier steps are made again for each batch, a tile of columns at a time. What a run has learned is the
seed, its coefficients and how many steps it took; from there it can go on with more rows and more features.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from ..arrays import Array
from ..blocks import Block, Progress
from ..maps import FeatureMap
from ..streams import Stream, sample_rows
from ..validation import require_integer, require_positive
from .base import HeldOutScores, Solution, Solver, Training
from .leave_one_out import CALIBRATED
from .minibatch import copied, require_finite_training, require_sane_training, typical, typical_curvature
from .problem import Problem, features_alone

STEADY = 50  # steps of about the first rate
TILE = 1 << 16  # features that are made at a time, at most, unless a step has more
MEASURED, ROWS = 3, 256  # steps whose curvature is measured, and rows whose features are averaged
FEW = 16.0  # rows of a batch
STRETCHES = 20  # parts of a run after each of which it could be taken up again


@dataclass(frozen=True)
class DoublyStochastic(Solver):
    """Descent with a new batch of rows and new features in each step, in the kernel's own function space.

    At step t the function f is scaled by 1 - rate nu and gets new features, with coefficients -rate times the mean of
    loss'(f(x_i)) z(x_i). With nu = 2 alpha / n and rates 1 / (nu (t + t0)) the mean squared distance from the optimum
    falls like 1/t. t0 makes the first rate a stable one, unless learning_rate says what it is.

    A basis of m columns has m / features steps in all, and directions of small curvature need thousands: it is for
    streams too long for anything else (docs/learning.md has numbers). On many classes expect two to three times the
    errors of least squares, and more steps (smaller `features`, or more columns) to help.

    Parameters
    ----------
    batch_size : int, default=256
        Rows of a step.
    features : int, default=128
        Features of a step, about.
    learning_rate : float or 'auto', default='auto'
        Size of the first step; 'auto' is the inverse of the curvature of a batch.

    References
    ----------
    Dai and others, Scalable Kernel Methods via Doubly Stochastic Gradients, 2014.

    Examples
    --------
    >>> from bochner import RandomFeatureRegressor, RandomFourier
    >>> from bochner.solvers import DoublyStochastic
    >>> RandomFeatureRegressor(RandomFourier(4096), solver=DoublyStochastic(features=64)).solver.features
    64
    """

    batch_size: int = 256
    features: int = 128  # of a step, about
    learning_rate: float | str = "auto"

    name = "doubly_stochastic"
    needs = frozenset({"bounded_slope"})
    on_batches = True
    holds_out = True

    def __post_init__(self) -> None:
        require_integer("batch_size", self.batch_size)
        require_integer("features", self.features)
        if self.learning_rate != "auto":
            require_positive("learning_rate", self.learning_rate)

    def rate(self, first: float, nu: float, step: int) -> float:
        """Return the size of a step: `first` at step 0, like 1/(nu t) in the end.

        With a small nu, or one that falls as rows come, it falls like 1/sqrt(t).

        Parameters
        ----------
        first : float
            Size of the first step.
        nu : float
            Strength of the penalty, 2 alpha / n.
        step : int
            Number of the step.

        Returns
        -------
        float
            The size.
        """
        return first / max(1.0 + first * nu * step, float(np.sqrt(1.0 + step / STEADY)))

    def solve(self, problem: Problem) -> Solution:
        """Train, one step for each group of about `features` columns.

        Parameters
        ----------
        problem : Problem
            Rows, features, loss and penalty.

        Returns
        -------
        Solution
            Coefficients, and how training ended.
        """
        descent = Descent(problem, self)
        rate, state = descent.first_rate(), descent.begin()
        total = steps_for(problem.map, self.features)
        with Progress("training", total) as progress:
            for stretch in range(1, STRETCHES + 1):
                before, until = state["step"], total * stretch // STRETCHES
                state = problem.remember(partial(descent.run, state, until, rate, descent.batches(before)))
                require_finite_training(state["b"], 0, rate)
                progress.advance(state["step"] - before)
        return finished(descent, state, rate, problem.blocks.present)


@dataclass
class Descent:
    """f = sum over steps of z_t'b_t + c; the rows of step t are batch t of one endless stream."""

    problem: Problem
    method: DoublyStochastic
    rows: Any = field(init=False, default=None)  # whose features are averaged

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
        for step in range(min(MEASURED, steps_for(self.problem.map, self.method.features))):
            tile, _ = self.new_tile(block.X, step)[1:]
            share = self.problem.columns / tile.shape[1] / len(tile)
            noise = (FEW / len(tile)) ** 2 * float(np.sum(tile**2))
            largest = max(largest, share * (float(np.linalg.norm(tile, 2)) ** 2 + noise))
        curvature = typical_curvature(self.problem.loss, self.problem.outputs)
        return 1.0 / (curvature * typical(block.weight) * max(largest, 1e-12))

    def new_tile(self, X: Array, step: int) -> tuple[slice, np.ndarray, np.ndarray]:
        """The columns of a step, their features, centred if there is an intercept, and the means.

        Centred, they leave the mean to the intercept, which would else set the pace for all other directions. Some rows
        that stay the same tell the means, for those of a small batch are noise.
        """
        columns, tile = next(self.tiles(X, self.method.features, step))
        if not self.problem.intercept:
            return columns, tile, np.zeros(tile.shape[1])
        mean = next(self.tiles(self.rows, self.method.features, step))[1].mean(axis=0)
        return columns, tile - mean, mean

    def tiles(self, X: Array, width: int, first: int = 0) -> Iterator[tuple[slice, np.ndarray]]:
        """Which columns are in each tile, and their features of some rows, times the scale."""
        scale = np.broadcast_to(self.problem.scale, self.problem.columns)
        for columns, tile in self.problem.map.tiles(X, width, first):
            dense = tile.toarray() if hasattr(tile, "toarray") else tile
            yield columns, dense.astype(np.float64) * scale[columns]

    def batches(self, first: int) -> Iterator[Block]:
        """The batches from number `first` on, epoch after epoch without end."""
        size, nothing = self.method.batch_size, np.empty(0, dtype=np.int64)
        epoch, skipped = divmod(first, -(-self.problem.blocks.n_rows // size))
        while True:
            order = Stream(self.problem.seed, f"order {epoch}")
            for number, block in enumerate(self.problem.blocks.shuffled(size, order, nothing)):
                if number >= skipped and block.X.shape[0]:
                    yield block
            epoch, skipped = epoch + 1, 0

    def begin(self) -> dict[str, Any]:
        """Nothing learned yet; of the latest batches, the scores they had before they were learned from."""
        k = self.problem.outputs
        empty = {name: np.empty((0, k)) for name in ("scores", "codes")}
        return {"b": np.zeros((self.problem.columns, k)), "c": np.zeros(k), "step": 0, **empty}

    def run(self, state: dict[str, Any], until: int, rate: float, batches: Iterator[Block]) -> dict[str, Any]:
        """Steps until there are so many."""
        state = copied(state)
        nu = 2.0 * self.problem.alpha / self.problem.blocks.present
        while state["step"] < until:
            self.step(state, next(batches), self.method.rate(rate, nu, state["step"]), nu)
        return state

    def scores(self, state: dict[str, Any], X: Array, known: int) -> np.ndarray:
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
        slope = self.problem.loss.gradient(f, y) / len(y)
        if block.weight is not None:
            slope *= block.weight[:, None]
        state["b"] *= 1.0 - rate * nu
        # The tile's share of <z, z'> is its width over m: so much more is its estimate of the kernel worth.
        state["b"][columns] = -rate * len(state["b"]) / tile.shape[1] * (tile.T @ slope)
        if self.problem.intercept:
            pace = min(rate, 0.5 / typical_curvature(self.problem.loss, len(state["c"])))
            state["c"] = state["c"] - pace * slope.sum(axis=0) - mean @ state["b"][columns]
        state["step"] += 1
        for name, new in (("scores", f), ("codes", y)):
            state[name] = np.concatenate([state[name], new])[-CALIBRATED:]


def steps_for(feature_map: FeatureMap, features: int) -> int:
    """How many tiles of about so many columns a map has."""
    inner = features_alone(feature_map)
    if not inner.has_prefixes:
        raise ValueError(f"doubly stochastic training adds columns, and {inner.name} shares all of them.")
    return inner.tile_count(features)


def finished(descent: Descent, state: dict[str, Any], rate: float, rows: int) -> Solution:
    loss, scores, codes = descent.problem.loss, state["scores"], state["codes"]
    if len(scores):
        now, nothing_learned = (float(loss.value(f, codes).mean()) for f in (scores, np.zeros_like(scores)))
        require_sane_training(now, nothing_learned, rate)
    status = f"{state['step']} steps, each {descent.method.batch_size} rows and new features; first rate {rate:.3g}"
    told = Solution(state["b"], "doubly stochastic", descent.problem.alpha, status, float("nan"), state["step"])
    held_out = HeldOutScores(scores, codes, None, "rows before they were learned from")
    return replace(told, intercept=state["c"], training=Training(rate, state["step"], rows), held_out=held_out)

"""Mini-batch training: features are made on the fly, a block of rows at a time, and never kept.

Rates are for the gradient of the mean loss over a batch. A schedule turns the first rate into that of any moment.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from ..arrays import Array, cast
from ..blocks import Block, MemoryBlocks, Progress, rows_per_block
from ..losses import Loss
from ..moments import times_columns
from ..ops import threads
from ..ops.blas import product
from ..streams import Stream, sample_rows
from ..validation import require_choice, require_integer, require_positive
from .base import OUT, SAME, HeldOutScores, Solution, Solver, Training
from .leave_one_out import CALIBRATED
from .problem import Problem, mean_square

VALIDATED, FEWEST = 5000, 50  # rows held out at most; with fewer rows than this in all, none are
TRIED, MEASURED = 2000, 500  # rows on which learning rates are tried, and whose features are averaged
ABSURD = 100.0  # times the loss of the model 0
SLOWER = (0.1, 0.1, 0.1)  # what a rate is multiplied by after it diverged
LARGEST = 4096  # rows whose features are made at a time

SCHEDULES = ("constant", "inverse", "cosine")


@dataclass(frozen=True)
class Stochastic(Solver):
    """What solvers share that take gradient steps on batches of rows, in a new order in each epoch.

    This class is abstract: a kind of training says what a step is.

    Parameters
    ----------
    epochs : int, default=50
        Most passes over the rows.
    batch_size : int, default=50
        Rows of a step.
    learning_rate : float or 'auto', default='auto'
        Size of the first steps, for targets in their standard deviations; 'auto' tries several on a sample of the rows.
    schedule : {'constant', 'inverse', 'cosine'}, default='cosine'
        How the size falls: not at all, as 1 / (1 + epoch), or as a cosine to zero at the last epoch.
    validation : float, default=0.1
        Share of the rows to hold out (at most 5,000 rows), by whose loss the best epoch is known; 0 is none.
    patience : int, default=10
        Epochs without a better one after which training ends.

    Examples
    --------
    >>> from bochner.solvers import SGD, Stochastic
    >>> isinstance(SGD(), Stochastic)
    True
    """

    epochs: int = 50
    batch_size: int = 50
    learning_rate: float | str = "auto"
    schedule: str = "cosine"
    validation: float = 0.1
    patience: int = 10

    on_batches = True
    holds_out = True

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "patience"):
            require_integer(name, getattr(self, name))
        if self.learning_rate != "auto":
            require_positive("learning_rate", self.learning_rate)
        require_choice("schedule", self.schedule, SCHEDULES)
        if not isinstance(self.validation, int | float) or not 0 <= self.validation < 1:
            raise ValueError(f"validation must be a share of the rows below 1, or 0; got {self.validation!r}.")

    def rate(self, first: float, done: float) -> float:
        """Return the size of steps at some moment.

        Parameters
        ----------
        first : float
            Size of the first steps.
        done : float
            Epochs that are done.

        Returns
        -------
        float
            The size.
        """
        if self.schedule == "cosine":
            return first * 0.5 * (1.0 + float(np.cos(np.pi * min(done / self.epochs, 1.0))))
        return first / (1.0 + done) if self.schedule == "inverse" else first

    @abstractmethod
    def begin(self, x: np.ndarray) -> dict[str, Any]:
        """Return the state of a descent that starts at x.

        Parameters
        ----------
        x : ndarray
            The start.

        Returns
        -------
        dict
            Arrays and numbers, the coefficients as 'x'.
        """

    @abstractmethod
    def step(self, state: dict[str, Any], gradient: np.ndarray, rate: float) -> None:
        """Take a step: change state['x'].

        Parameters
        ----------
        state : dict
            What `begin` returned.
        gradient : ndarray
            Gradient of the mean loss over a batch.
        rate : float
            Size of the step.
        """

    @abstractmethod
    def rates(self, square: float, curvature: float) -> np.ndarray:
        """Return sizes of the first steps to try.

        Parameters
        ----------
        square : float
            Mean squared length of the rows.
        curvature : float
            Curvature of the loss, about.

        Returns
        -------
        ndarray
            The sizes.
        """

    def solve(self, problem: Problem) -> Solution:
        """Train until held-out rows are predicted no better.

        If 'auto' found a learning rate that diverges, training begins again with a smaller one.

        Parameters
        ----------
        problem : Problem
            Rows, features, loss and penalty.

        Returns
        -------
        Solution
            Coefficients, and how training ended.
        """
        trainer = MinibatchTrainer(problem, self)
        trainer.hold_out()
        first, how = problem.remember(trainer.find_rate)
        for slower in SLOWER if self.learning_rate == "auto" else ():
            try:
                return train(trainer, first, how)
            except DivergenceError:
                first, how = slower * first, f"{how}; smaller, since {first:.3g} diverged"
        return train(trainer, first, how)


@dataclass
class MinibatchTrainer:
    """(1/n) (sum of losses + alpha |b|^2) as a function of x = (b; c), looked at batch by batch.

    Scores are (z - mean)'b + c, with the mean of sampled rows: steps along b and c then hardly disturb one another.
    """

    problem: Problem
    method: Stochastic
    mean: np.ndarray = field(init=False)
    held: Block | None = field(init=False, default=None)
    numbers: np.ndarray = field(init=False, default_factory=lambda: np.empty(0, dtype=np.int64))

    def __post_init__(self) -> None:
        self.mean = np.zeros(self.m, dtype=self.kind)
        if self.problem.intercept:
            rows = self.problem.blocks.take(sample_rows(self.problem.blocks.n_rows, MEASURED, seed=10)).X
            self.mean += np.asarray(self.features(rows).mean(axis=0)).ravel() * self.problem.scale

    @property
    def m(self) -> int:
        return self.problem.columns

    @property
    def loss(self) -> Loss:
        return self.problem.loss

    @property
    def alpha(self) -> float:
        return self.problem.alpha

    @property
    def kind(self) -> type:
        return np.float32 if self.problem.single else np.float64

    def zeros(self) -> np.ndarray:
        return np.zeros((self.m + int(self.problem.intercept), self.problem.outputs), dtype=self.kind)

    def hold_out(self) -> None:
        """Set some rows aside, to be judged by."""
        n = self.problem.blocks.n_rows
        if self.method.validation and n >= FEWEST:
            numbers = sample_rows(n, min(VALIDATED, max(1, round(self.method.validation * n))), seed=7)
            held = self.problem.blocks.take(numbers)
            if held.X.shape[0]:  # they may all be of weight zero
                self.numbers, self.held = numbers, held

    def some_rows(self) -> Block:
        return self.problem.blocks.take(sample_rows(self.problem.blocks.n_rows, CALIBRATED, seed=9))

    def chunks(self, epoch: int) -> Iterator[tuple[Array, Array, Array | None]]:
        """Features, targets and weights of the rows of an epoch, in a new order, a chunk at a time."""
        rows = min(LARGEST, rows_per_block(2 * self.m))
        rows = max(1, rows // self.method.batch_size) * self.method.batch_size
        for block in self.problem.blocks.shuffled(rows, Stream(self.problem.seed, f"order {epoch}"), self.numbers):
            if block.X.shape[0]:
                yield self.features(block.X), block.y.astype(self.kind), block.weight

    def features(self, X: Array) -> Array:
        features = self.problem.features(X)
        return features if features.dtype.kind == "f" else cast(features, np.dtype(self.kind).name)

    def run(
        self, state: dict[str, Any], epoch: int, rate: Callable[[float], float], progress: Progress | None = None
    ) -> dict[str, Any]:
        """An epoch of steps; `rate` is a function of the epochs done."""
        size, done, rows = self.method.batch_size, 0, self.problem.blocks.n_rows - len(self.numbers)
        for features, y, weight in self.chunks(epoch):
            with threads.blas_limited():
                for start in range(0, len(y), size):
                    batch = slice(start, start + size)
                    part = features[batch], y[batch], None if weight is None else weight[batch]
                    self.method.step(state, self.gradient(state["x"], *part), rate(epoch + done / rows))
                    done += len(y[batch])
            if progress is not None:
                progress.advance(len(y))
        return state

    def gradient(self, x: np.ndarray, features: Array, y: Array, weight: Array | None) -> np.ndarray:
        scale, m = self.problem.scale, self.m
        slope = self.loss.gradient(self.scores(x, features), np.asarray(y))
        if weight is not None:
            slope = slope * weight[:, None]
        out = np.empty_like(x)
        if np.ndim(scale):  # the linear part's columns have scales of their own
            out[:m] = times_columns(scale, product(features.T, (slope / len(y)).astype(x.dtype)))
        else:
            out[:m] = product(features.T, (slope * (scale / len(y))).astype(x.dtype))
        if self.alpha:  # small batches of many features spend their time on passes over x, not on products
            out[:m] += (2.0 * self.alpha / self.problem.blocks.present) * x[:m]
        if len(x) > m:
            out[m:] = slope.mean(axis=0)
            out[:m] -= np.outer(self.mean, out[m])
        return out

    def scores(self, x: np.ndarray, features: Array) -> np.ndarray:
        b, scale = x[: self.m], self.problem.scale
        if np.ndim(scale):
            f = np.asarray(product(features, np.asarray(times_columns(scale, b), dtype=x.dtype)))
        else:
            f = np.asarray(product(features, b)) * scale
        return f + (x[self.m] - self.mean @ x[: self.m]) if len(x) > self.m else f

    def judge(self, x: np.ndarray, block: Block) -> tuple[float, np.ndarray]:
        """The mean loss of some rows, and their scores."""
        rows = rows_per_block(2 * self.m)
        with np.errstate(over="ignore", invalid="ignore"):
            parts = [
                self.scores(x, self.features(block.X[start : start + rows]))
                for start in range(0, block.X.shape[0], rows)
            ]
            scores = np.concatenate(parts).astype(np.float64)
            losses = self.loss.value(scores, block.y.astype(np.float64))
        return float(np.average(losses, weights=block.weight)), scores

    def finished(self, x: np.ndarray, ended: str, training: Training) -> Solution:
        """The solution, with the gradient on a chunk of rows as its residual, relative to that of the model 0."""
        part = next(self.chunks(0))
        sizes = [float(np.linalg.norm(self.gradient(at, *part))) for at in (x, self.zeros())]
        b, rest = np.split(x.astype(np.float64), [self.m])
        residual, name = sizes[0] / (sizes[1] or 1.0), type(self.method).__name__
        intercept = rest[0] - self.mean @ b if len(rest) else np.zeros(b.shape[1])
        told = Solution(b, name, self.alpha, ended, residual, training.steps)
        return replace(told, intercept=intercept, training=training)

    # ---- the learning rate ----

    def find_rate(self) -> tuple[float, str]:
        """The rate after whose epoch on a sample of the rows the loss of other rows is smallest."""
        if self.method.learning_rate != "auto":
            return float(self.method.learning_rate), "given"
        block = self.problem.blocks.take(sample_rows(self.problem.blocks.n_rows, TRIED, seed=8))
        count = block.X.shape[0]
        out = (np.arange(count) % 5 == 0) & (count >= FEWEST)
        train = block.only(~out)
        held_out = block.only(out) if out.any() else train
        share = train.X.shape[0] / self.problem.blocks.present
        blocks = MemoryBlocks(train.X, train.y, train.weight)
        trial = MinibatchTrainer(replace(self.problem, blocks=blocks, chosen=self.alpha * share), self.method)
        steepness = typical_curvature(self.loss, self.problem.outputs) * typical(train.weight)
        rates = self.method.rates(self.mean_square(train.X[:200]), steepness)
        losses = np.array([trial.loss_after(rate, held_out) for rate in rates])
        best = int(np.argmin(np.where(np.isfinite(losses), losses, np.inf)))
        return float(rates[best]), f"best of {len(rates)} tried on {count:,} rows"

    def mean_square(self, X: Array) -> float:
        """The mean squared length of rows of centred features."""
        length = mean_square(self.problem.features(X), self.problem.scale)
        return max(length - float(self.mean @ self.mean), 1e-9 * length, 1e-12)

    def loss_after(self, rate: float, held_out: Block) -> float:
        """What an epoch at a constant rate leads to, or as many as make fifty steps."""
        state = self.method.begin(self.zeros())
        with np.errstate(over="ignore", invalid="ignore"):
            for epoch in range(max(1, 50 * self.method.batch_size // max(self.problem.blocks.n_rows, 1))):
                self.run(state, epoch, lambda done: rate)
            return self.judge(state["x"], held_out)[0]


def train(trainer: MinibatchTrainer, first: float, how: str) -> Solution:
    """Epochs until the held-out loss no longer falls."""
    problem, method = trainer.problem, trainer.method
    state = method.begin(trainer.zeros())
    best, waited = state["x"].copy(), 0
    best_loss = nothing_learned = np.nan if trainer.held is None else trainer.judge(best, trainer.held)[0]
    with Progress("training", method.epochs * problem.blocks.n_rows) as progress:
        for epoch in range(method.epochs):
            state = problem.remember(partial(trainer.run, copied(state), epoch, partial(method.rate, first), progress))
            require_finite_training(state["x"], epoch, first)
            loss_now = np.nan if trainer.held is None else trainer.judge(state["x"], trainer.held)[0]
            waited += 1
            if not loss_now >= best_loss:
                best, best_loss, waited = state["x"].copy(), loss_now, 0
            if waited >= method.patience:
                break
    if trainer.held is None:
        loss_now, nothing_learned = (trainer.judge(x, trainer.some_rows())[0] for x in (best, trainer.zeros()))
    require_sane_training(loss_now, nothing_learned, first)
    ended = f"{epoch + 1} epochs of batches of {method.batch_size}, rate {first:.3g} ({how})"
    if trainer.held is not None:
        ended += f"; loss of {len(trainer.numbers):,} rows held out {best_loss:.4g}"
    block, which = (trainer.some_rows(), SAME) if trainer.held is None else (trainer.held, OUT)
    held_out = HeldOutScores(trainer.judge(best, block)[1], block.y, block.weight, which)
    found = trainer.finished(best, ended, Training(first, epoch + 1, problem.blocks.present))
    return replace(found, held_out=held_out)


def typical_curvature(loss: Loss, outputs: int) -> float:
    """The curvature of the loss of a score 0; of a line with a kink, whose slope changes by about 1 over a unit, 1."""
    zero = np.zeros((1, outputs))
    return float(loss.curvature(zero, np.ones_like(zero)).max()) or 1.0


def typical(weight: np.ndarray | None) -> float:
    """The size of weights; large ones count for more."""
    return 1.0 if weight is None or not len(weight) else max(float(np.sqrt(np.mean(weight**2))), 1e-12)


def copied(state: dict[str, Any]) -> dict[str, Any]:
    return {name: np.copy(value) if isinstance(value, np.ndarray) else value for name, value in state.items()}


class DivergenceError(ValueError):
    """The steps were too long."""


def require_finite_training(x: np.ndarray, epoch: int, rate: float) -> None:
    if not np.isfinite(x).all():
        raise DivergenceError(
            f"training diverged in epoch {epoch + 1} at rate {rate:.3g}: give a smaller learning_rate."
        )


def require_sane_training(loss: float, nothing_learned: float, rate: float) -> None:
    """Refuse an end far above the loss of the model 0."""
    if not loss <= ABSURD * max(nothing_learned, 1e-300):
        raise DivergenceError(
            f"training diverged at rate {rate:.3g}: it ended with a loss of {loss:.3g}, where a model that has learned "
            f"nothing has {nothing_learned:.3g}; give a smaller learning_rate."
        )

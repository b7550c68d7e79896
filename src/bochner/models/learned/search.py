"""From drawn frequencies to learned ones: one descent, watched, and judged on rows that were held out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ...blocks.progress import Progress
from .losses import Logistic, Softmax
from .objective import Joint, Objective, Output
from .optimisers import OPTIMISERS, STOCHASTIC, Settings
from .projection import TOLERANCE, Reduced, solve_output

PATIENCE = 10  # steps without a gain on held-out rows after which a descent ends


@dataclass(frozen=True)
class Method:
    """How to descend."""

    optimizer: str
    settings: Settings
    variable_projection: bool
    inner: float = TOLERANCE  # the slope at which an output layer counts as solved


class Learned(NamedTuple):
    """Where a descent ended; `judged` is the mean loss of held-out rows, or T where none were."""

    parameters: np.ndarray
    output: Output
    judged: float
    iterations: int
    status: str


class Watcher:
    """Told every step: shows progress, and where rows are held out keeps the best step and ends a vain descent."""

    def __init__(self, function: Joint | Reduced, start: np.ndarray, held: Objective | None, progress: Progress):
        self.function, self.held, self.progress = function, held, progress
        self.best, self.loss, self.steps, self.best_step = start, np.inf, -1, 0
        self(start)

    def __call__(self, x: np.ndarray) -> bool:
        self.steps += 1
        if self.steps:
            self.progress.advance(min(len(self.function.objective.targets), self.progress.rows - self.progress.done))
        if self.held is None:
            return False
        loss = self.held.mean_loss(*self.function.split(x))
        if loss < self.loss:
            self.best, self.loss, self.best_step = x.copy(), loss, self.steps
        return self.steps - self.best_step >= PATIENCE


def learn(objective: Objective, method: Method, held: Objective | None = None) -> Learned:
    """Learn the frequencies of an objective; with held-out rows, as many steps as are good for those."""
    convex, settings = objective.loss.curvature is not None, method.settings
    start, output = objective.directions.start, first_output(objective, method.inner)
    reduced = convex and method.variable_projection and method.optimizer not in STOCHASTIC
    function: Any = Reduced(objective, output, method.inner) if reduced else Joint(objective)
    x = start if reduced else function.join(start, output)
    rows = len(objective.targets)
    with Progress("learning", rows * settings.max_iter) as progress:
        watcher, iterations, status = Watcher(function, x, held, progress), 0, "frequencies as drawn"
        if settings.max_iter:
            optimiser = OPTIMISERS[method.optimizer]
            x, iterations, status = optimiser(function, x, replace(settings, rows=rows), watcher)
    if held is not None:
        x, status = watcher.best, f"{status}; best on held-out rows after {watcher.best_step}"
    if not np.isfinite(x).all():
        raise ValueError(f"optimizer={method.optimizer!r} diverged: give a smaller learning_rate.")
    parameters, output = function.split(x)
    if convex and not reduced:
        output = solve_output(objective, parameters, output)
    judged = objective(parameters, output)[0] if held is None else watcher.loss
    return Learned(parameters, output, judged, iterations, status)


def first_output(objective: Objective, tolerance: float = TOLERANCE) -> Output:
    """The best output layer for drawn frequencies; where the loss is not convex, that of the logarithmic one."""
    if objective.loss.curvature is None:
        objective = replace(objective, loss=Logistic() if objective.targets.shape[1] == 1 else Softmax())
    return solve_output(objective, objective.directions.start, None, tolerance)

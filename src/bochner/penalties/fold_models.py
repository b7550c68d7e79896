"""Models of all folds but one, at one penalty after another: what rows say that a model does not know."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Array, cast
from ..blocks import Block, MemoryBlocks
from ..losses import Huber
from ..maps import FeatureMap
from ..moments import times_columns
from ..solvers import minimise, minimise_by_slopes
from ..solvers.augmented_lagrangian import Envelope, approach_optimum
from ..solvers.huber import HuberObjective
from ..solvers.objective import Metric, RiskObjective
from ..solvers.problem import Problem, wrong
from .base import CrossValidated

CLOSE = 1e-2  # relative gradient, and relative duality gap of a loss with kinks
FAR = 10.0  # losses of the model 0, in their median, that are those of far-out targets
SAFE = 1e15  # features up to which float32 will do


@dataclass(frozen=True, eq=False)
class MadeFeatures(FeatureMap):
    """Rows that are features already, those of another map."""

    made_by: FeatureMap

    @property
    def columns(self) -> int:  # type: ignore[override]
        return self.made_by.columns

    @property
    def inputs(self) -> int:  # type: ignore[override]
        return self.made_by.columns

    @property
    def precision(self) -> str | None:  # type: ignore[override]
        return self.made_by.precision

    @property
    def scale(self) -> float | np.ndarray:  # type: ignore[override]
        return self.made_by.scale

    def __call__(self, X: Array) -> Array:
        return X

    def evaluate(self, X: Array) -> Array:
        return X

    def tile_count(self, columns: int) -> int:
        return -(-self.columns // columns)

    def tiles(self, X: Array, columns: int, first: int = 0) -> Iterator[tuple[slice, Array]]:
        for start in range(first * columns, self.columns, columns):
            part = slice(start, min(start + columns, self.columns))
            yield part, X[:, part]

    def truncated(self, columns: int) -> FeatureMap:
        raise ValueError("features that are made already are taken as they are.")

    enlarged = truncated

    def prefix_scale(self, widest: FeatureMap) -> float | np.ndarray:
        return self.scale

    def exact_gram(self, X: Array, Z: Array | None = None) -> Array:
        return self.made_by.exact_gram(X, Z)


class Trials:
    """The rows in folds, each judged by the models of the others."""

    def __init__(self, problem: Problem, block: Block, folds: Array) -> None:
        features, loss = problem.features(block.X), problem.loss
        # Rough models need no more digits than float32 has, but corners need them to be told from slopes.
        small = loss.smooth and (features.dtype.kind != "f" or float(abs(features).max()) < SAFE)
        features = cast(features, "float32" if small else "float64")
        self.problem, self.block = problem, block._replace(X=features, kept=None)
        # The scales that models learn differ: all are judged by one, the spread of the targets, which is 1 here.
        self.loss = replace(loss, scale=1.0) if isinstance(loss, Huber) else loss
        made = self._made(self.block)
        metric = Metric(made)
        self._folds = [
            Fold(self._made(self.block.only(folds != fold)), metric, self.block.only(folds == fold))
            for fold in np.unique(folds)
        ]

    def __len__(self) -> int:
        return len(self._folds)

    @property
    def rows(self) -> int:
        return int(self.block.X.shape[0])

    def _made(self, block: Block) -> Problem:
        blocks = MemoryBlocks(block.X, block.y, block.weight)
        return replace(self.problem, map=MadeFeatures(self.problem.map), blocks=blocks)

    def loss_at(self, alpha: float) -> float:
        """The mean loss of all rows, each held out once; less what no model could do about far-out targets.

        Three targets a million spreads away would make all other rows too small a part of the loss to choose by.
        """
        scores, y, weight = self._judged(alpha)
        with np.errstate(over="ignore"):
            values = self.loss.value(scores, y)
        if not self.problem.classifies:
            nothing = self.loss.value(np.zeros_like(y), y)
            most = FAR * float(np.median(nothing))
            values = values - np.maximum(nothing - most, 0.0) if most > 0 else values
        return float(np.average(values, weights=weight))

    def _judged(self, alpha: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        scores = np.concatenate([fold.scores(alpha) for fold in self._folds])
        held = [fold.held for fold in self._folds]
        y = np.concatenate([block.y for block in held]).astype(np.float64)
        weights = [np.ones(len(block.y)) if block.weight is None else block.weight for block in held]
        return scores, y, np.concatenate(weights)

    def promise(self, alpha: float) -> CrossValidated:
        """What all rows, each held out once, say of a penalty."""
        scores, y, weight = self._judged(alpha)
        share = weight / weight.sum()
        if self.problem.classifies:
            right = 1.0 - wrong(scores, y)
            score, deviation = float(share @ right), right - share @ right
        else:
            squares = np.sum((y - scores) ** 2, axis=1)
            total = float(share @ np.sum((y - share @ y) ** 2, axis=1)) or 1.0
            score, deviation = 1.0 - float(share @ squares) / total, (squares - share @ squares) / total
        error = float(np.sqrt(np.sum((share * deviation) ** 2)))
        return CrossValidated(score, error, len(y), f"{len(self)} folds")


class Fold:
    """The rows of a fold, held out, and models of the others: each begins where that of the next larger penalty ended.

    From a smaller penalty it would come too near to it, for all of them stop early.
    """

    def __init__(self, rest: Problem, metric: Metric, held: Block) -> None:
        self.rest, self.loss, self.metric, self.held = rest, rest.loss, metric, held
        self._objective: RiskObjective | None = None
        self._ends: dict[float, tuple[np.ndarray, str | None, float | None]] = {}
        self._scores: dict[float, np.ndarray] = {}

    def scores(self, alpha: float) -> np.ndarray:
        """Of the rows held out."""
        if alpha not in self._scores:
            b, intercept = self._model(alpha)
            self._scores[alpha] = np.asarray(self.held.X @ times_columns(self.rest.scale, b)) + intercept
        return self._scores[alpha]

    def _model(self, alpha: float) -> tuple[np.ndarray, np.ndarray]:
        if self._objective is None:
            kind = HuberObjective if self.loss.learns_scale else RiskObjective
            kind = Envelope if self.loss.proximal and not self.loss.smooth else kind
            self._objective = kind(replace(self.rest, chosen=alpha), self.metric)
        objective = self._objective
        objective.alpha = alpha
        larger = min((known for known in self._ends if known > alpha), default=None)
        x, multipliers, stiffness = (objective.zeros(), None, None) if larger is None else self._ends[larger]
        if isinstance(objective, Envelope):
            objective.begin(multipliers, stiffness)
            objective.least = 0.1 * objective.nothing  # where hardly any loss is left, its last digits say nothing
            x = approach_optimum(objective, x, CLOSE, CLOSE).x
            objective.keep(str(alpha))
            self._ends[alpha] = x, str(alpha), objective.stiffness
        elif not self.loss.smooth:  # it has a slope and nothing else
            x = minimise_by_slopes(objective, x, CLOSE)
            self._ends[alpha] = x, None, None
        else:
            x = minimise(objective, x, **(objective.settings | {"tolerance": CLOSE})).x
            self._ends[alpha] = x, None, None
        return objective.model(x)

"""How rows are scaled, and whether a linear part serves: tried on a sample of the rows, with few features, by folds.

Per-column scaling is right for tables, whose columns have units of their own, and wrong for pixels and spectra, whose
columns share one; a line serves where the features are bounded and the target is not. The data decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from ..bases import Basis
from ..bases.design import Design
from ..bases.heuristics import different_rows
from ..blocks import Block, Blocks
from ..maps.linear import LinearPart
from ..maps.scaling import HEAVY, ColumnScaler
from ..moments import FoldedMoments, Moments
from ..ops import threads
from ..streams import sample_rows
from .ways.folds import LeftOut
from .ways.penalty import DECADES, FOLDS, candidates, smallest, valley
from .ways.problem import fold_of

TRIED, FEATURES = 2000, 256  # rows and features of a trial; more features than rows tell no more
FEWEST = 10  # rows with which a trial means something
MOST_COLUMNS = 512  # of a linear part
WEIGHTS = (0.0, 1.0, 5.0, 25.0, 125.0)  # of the linear part, in proportion to the features
FIRST = (0.0, 25.0)  # those with which scalings are compared
USUAL, ASKED = 1.0, 5.0  # the weight where folds cannot tell which is best, and where a line is asked for
DOUBT = 0.01  # by which share of its error what reaches far must be better
NOISE = 1.0  # standard errors by which anything must be better than what is usual
BALANCED = 100  # rows whose features tell how long features are
SCALERS = {"robust": ColumnScaler.robust, "standard": ColumnScaler.standard}


@dataclass(frozen=True)
class Wanted:
    """What was asked for: scale is None, "robust", "standard" or "auto"; linear True, False or "auto"."""

    scale: str | None
    linear: bool | str
    intercept: bool
    classifies: bool


@dataclass(frozen=True)
class Choice:
    """How rows are scaled, the weight of the linear part in proportion to the features, and why."""

    scale: str | None
    weight: float
    reason: str


def choose(wanted: Wanted, basis: Basis, sample: Any, largest: float, probe: Block) -> Choice:
    """The scaling and the weight of smallest squared error of rows left out; probe holds rows with coded targets.

    With few rows folds can hardly tell them apart, and then it is what serves best on average.
    """
    sample = different_rows(sample)  # a repeated row counts as one with a weight does
    scales = ["robust", "standard", None] if wanted.scale == "auto" else [wanted.scale]
    may = not scipy.sparse.issparse(sample) and sample.shape[1] <= MOST_COLUMNS
    weights = WEIGHTS if wanted.linear == "auto" and may else (ASKED,) if wanted.linear is True else (0.0,)
    if len(scales) == 1 and len(weights) == 1:
        return Choice(scales[0], weights[0], "as asked")
    rows = different_rows(probe.X).shape[0]
    if rows < FEWEST:
        return Choice(scales[0], 0.0, f"too few rows to try anything on, {rows}")
    # A line through rows far out may be a line to nowhere: for numbers it must serve well there.
    tame = wanted.classifies or len(weights) == 1 or ColumnScaler.robust(sample).farthest(probe.X) < HEAVY
    few = basis.sized(min(FEATURES, rows, int(basis.n_components))).set_params(precision=None)
    trials = {
        scale: Trial(wanted, design_of(Choice(scale, float(len(weights) > 1), ""), few, sample, largest), probe)
        for scale in scales
    }
    found: dict[tuple[str | None, float], np.ndarray] = {}

    def best_of(some_scales: list[str | None], some_weights: Sequence[float]) -> tuple[str | None, float]:
        """The pair of smallest error, which is made larger for what reaches far where there are no rows."""
        pairs = [(scale, weight) for scale in some_scales for weight in some_weights]
        found.update({pair: trials[pair[0]].errors(pair[1]) for pair in pairs if pair not in found})
        return min(pairs, key=doubtful)

    def doubtful(pair: tuple[str | None, float]) -> float:
        doubt = DOUBT * (pair[0] != "robust") + DOUBT * (pair[1] > 0) * (1.0 if tame else 5.0)
        return float(np.sum(found[pair])) * (1.0 + doubt)

    best = best_of(scales, [weight for weight in weights if weight in FIRST] or weights)
    best = best_of([best[0]], weights)
    usual = best_of([scales[0]], [USUAL if USUAL in weights and tame else weights[0]])
    if is_noise(found[usual] - found[best]):
        best = usual
    told = [f"{described(*pair)} {np.sum(found[pair]):.3g}" for pair in sorted(found, key=doubtful)[:3]]
    reason = f"squared error of {FOLDS} folds of {rows:,} rows, relative to that of the mean: {', '.join(told)}"
    return Choice(*best, reason)


def is_noise(gains: np.ndarray) -> bool:
    """Whether the sum of what folds gain is within its standard error."""
    return bool(np.sum(gains) <= NOISE * np.sqrt(len(gains) * np.var(gains, ddof=1))) if len(gains) > 1 else True


def probe_of(blocks: Blocks) -> Block:
    """Rows with coded targets and weights to try things on."""
    return blocks.take(sample_rows(blocks.n_rows, TRIED, seed=3))


def described(scale: str | None, weight: float) -> str:
    return f"{scale or 'as they are'}{' and linear' if weight else ''}"


def design_of(choice: Choice, basis: Basis, sample: Any, largest: float) -> Design:
    """The basis fitted to sampled rows as the choice says."""
    sample = different_rows(sample)
    scaler = None if choice.scale is None else SCALERS[choice.scale](sample)
    rows = sample if scaler is None else scaler(sample)
    if scaler is not None:
        values = rows.data if scipy.sparse.issparse(rows) else rows
        largest = float(np.abs(values).max(initial=0.0))
    fitted = basis.fit_sample(rows, largest)
    if not choice.weight:
        return Design(fitted, scaler)
    weight = choice.weight * float(np.sqrt(max(squared_length(basis, rows, largest), 1e-300) / sample.shape[1]))
    return Design(fitted, scaler, LinearPart.of(np.asarray(sample), weight))


def squared_length(basis: Basis, rows: Any, largest: float) -> float:
    """The mean squared length of centred features, which a linear part is weighed against.

    Of as many features for every basis of its kind, so that models of more and of fewer have the same linear part.
    """
    some = basis.sized(FEATURES).set_params(precision=None, random_state=0).fit_sample(rows, largest)
    features = some.features(rows[:BALANCED])
    features = features.toarray() if scipy.sparse.issparse(features) else features
    return float(np.sum(np.var(features, axis=0, dtype=np.float64)))


class Trial:
    """Rows left out of the sums of a design: their squared error, with the linear part of any weight."""

    def __init__(self, wanted: Wanted, design: Design, probe: Block) -> None:
        features = design.features(probe.X)
        features = features.toarray() if scipy.sparse.issparse(features) else features
        folds, y = fold_of(probe, FOLDS), probe.y.astype(np.float64)
        parts: list[Moments | None] = []
        for fold in range(FOLDS):
            rows = folds == fold
            weight = None if probe.weight is None else probe.weight[rows]
            parts.append(Moments.of(features[rows].astype(np.float64), y[rows], weight) if rows.any() else None)
        self.left = LeftOut(
            FoldedMoments(parts), design.scale_, wanted.intercept, wanted.classifies, design.linear_columns
        )
        for fold in self.left.numbers:
            self.left.pair(fold)
        self._best = -6 - DECADES[0]  # the candidate that did best so far; to begin with, a millionth of all squares

    def error(self, weight: float = 1.0) -> float:
        """The sum of `errors`."""
        return float(np.sum(self.errors(weight)))

    def errors(self, weight: float = 1.0) -> np.ndarray:
        """Squared errors of folds relative to that of the mean of all, at the penalty where their sum is least."""
        nothing = np.full(max(len(self.left.numbers), 1), 1.0 / max(len(self.left.numbers), 1))
        if not self.left.numbers:
            return nothing
        left = self.left.weighted(weight)
        alphas = candidates("auto", float(np.mean([np.trace(rest.gram) for rest, _ in left._pairs.values()])))
        with threads.blas_limited():
            errors = valley(lambda k: left.criterion(left.errors(alphas[k])), self._best, len(alphas))
        self._best = smallest(np.where(np.isnan(errors), np.inf, errors))
        size = float(np.sum(left.deviations)) if left.classifies else float(np.count_nonzero(left.deviations))
        if not size > 0:
            return nothing
        return np.array([left.criterion(fold[None]) for fold in left.errors(alphas[self._best])]) / size

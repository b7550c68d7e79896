"""How rows are scaled, and whether a linear part serves: tried on a sample of the rows, with few features, by folds.

Per-column scaling is right for tables, whose columns have units of their own, and wrong for pixels and spectra, whose
columns share one; a line serves where the features are bounded and the target is not. The data decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse

from ..arrays import Rows, cast, is_csr
from ..bases import Basis
from ..bases.design import Design
from ..bases.heuristics import different_rows
from ..blocks import Block, Blocks
from ..costs import FOLDS
from ..maps.linear import LinearPart
from ..maps.quantize import choose_quantizer
from ..maps.scaling import HEAVY, ColumnScaler
from ..moments import FoldedMoments, Moments, times_columns
from ..ops import threads
from ..penalties import LeftOut
from ..penalties.search import ABOVE, BELOW, DECADES, above_humps, candidates, smallest, valley
from ..solvers import solve_or_none
from ..solvers.problem import fold_of, wrong
from ..streams import sample_rows
from ..typing import Matrix

TRIED, FEATURES = 2000, 256  # rows and features of a trial; more features than rows tell no more
FEWEST = 10  # rows with which a trial means something
MOST_COLUMNS = 512  # of a linear part
ALONE = 1e7  # a weight beside which no penalty lets the features count: ridge on the columns
WEIGHTS = (0.0, 1.0, 5.0, 25.0, 125.0, ALONE)  # of the linear part, in proportion to the features
FIRST = (0.0, 25.0)  # those with which scalings are compared
USUAL, ASKED = 1.0, 5.0  # the weight where folds cannot tell which is best, and where a line is asked for
DOUBT = 0.01  # by which share of its error what reaches far must be better
NOISE = 1.0  # standard errors by which anything must be better than what is usual
LABELS = 1.5  # and by which it must have fewer wrong labels than what is best for squares: it is one of a dozen
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


def choose(wanted: Wanted, basis: Basis, sample: Rows, largest: float, probe: Block) -> Choice:
    """The scaling and the weight of smallest squared error of rows left out; probe holds rows with coded targets.

    With few rows folds can hardly tell them apart, and then it is what serves best on average.
    """
    sample = different_rows(sample)  # a repeated row counts as one with a weight does
    scales = ["robust", "standard", None] if wanted.scale == "auto" else [wanted.scale]
    may = not is_csr(sample) and sample.shape[1] <= MOST_COLUMNS
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
    if not wanted.classifies:
        return Choice(*best, reason)
    # What is best for squares need not be for labels: a line may part two clouds best and fit their codes badly.
    wrong = {pair: trials[pair[0]].wrong(pair[1]) for pair in found}
    fewest = min(wrong, key=lambda pair: float(np.sum(wrong[pair])))
    if not is_noise(wrong[best] - wrong[fewest], LABELS):
        shares = ", ".join(f"{described(*pair)} {np.sum(wrong[pair]):.3g}" for pair in (fewest, best))
        return Choice(*fewest, f"share of wrong labels in {FOLDS} folds of {rows:,} rows: {shares}")
    return Choice(*best, reason)


def is_noise(gains: np.ndarray, errors: float = NOISE) -> bool:
    """Whether the sum of what folds (or rows) gain is within so many of its standard errors."""
    return bool(np.sum(gains) <= errors * np.sqrt(len(gains) * np.var(gains, ddof=1))) if len(gains) > 1 else True


def probe_of(blocks: Blocks) -> Block:
    """Rows with coded targets and weights to try things on."""
    return blocks.take(sample_rows(blocks.n_rows, TRIED, seed=3)).on_host()


def described(scale: str | None, weight: float) -> str:
    """A scaling and a linear part in words; with its weight, by which alone candidates may differ."""
    line = ", linear alone" if weight == ALONE else f" and linear of weight {weight:g}" if weight else ""
    return f"{scale or 'as they are'}{line}"


def design_of(choice: Choice, basis: Basis, sample: Rows, largest: float, metric: np.ndarray | None = None) -> Design:
    """The basis fitted to sampled rows as the choice says, after a metric if there is one."""
    sample = different_rows(sample)
    scaler = None if choice.scale is None else SCALERS[choice.scale](sample)
    rows, codes = sample if scaler is None else scaler(sample), None
    if metric is not None:
        full = metric.ndim == 2
        codes = choose_quantizer(rows, not is_csr(rows)) if full and basis.is_integer else None
        rows = rows @ metric if full else moved_by_diagonal(rows, metric)
    if scaler is not None or metric is not None:
        values = rows.data if is_csr(rows) else rows
        largest = float(np.abs(values).max(initial=0.0))
    fitted = basis.fit_sample(rows, largest)
    if not choice.weight:
        return Design(fitted, scaler, None, metric, codes)
    weight = choice.weight * float(np.sqrt(max(squared_length(basis, rows, largest), 1e-300) / sample.shape[1]))
    return Design(fitted, scaler, LinearPart.of(np.asarray(sample), weight), metric, codes)


def moved_by_diagonal(rows: Matrix, diagonal: np.ndarray) -> Matrix:
    """Rows, dense or sparse, with each column times a number."""
    return scipy.sparse.csr_matrix(rows.multiply(diagonal)) if is_csr(rows) else rows * diagonal


def squared_length(basis: Basis, rows: Matrix, largest: float) -> float:
    """The mean squared length of centred features, which a linear part is weighed against.

    Of as many features for every basis of its kind, so that models of more and of fewer have the same linear part.
    """
    some = basis.sized(FEATURES).set_params(precision=None, random_state=0).fit_sample(rows, largest)
    features = some.features(rows[:BALANCED])
    features = features.toarray() if is_csr(features) else features
    return float(np.sum(np.var(features, axis=0, dtype=np.float64) * np.square(some.scale_)))


class Trial:
    """Rows left out of the sums of a design: their errors, with the linear part of any weight."""

    def __init__(self, wanted: Wanted, design: Design, probe: Block) -> None:
        features = design.features(probe.X)
        features = features.toarray() if is_csr(features) else features
        self.features = cast(features, "float64")
        self.folds, self.probe = fold_of(probe, FOLDS), probe
        y, parts = probe.y.astype(np.float64), []
        for fold in range(FOLDS):
            rows = self.folds == fold
            weight = None if probe.weight is None else probe.weight[rows]
            parts.append(Moments.of(self.features[rows], y[rows], weight) if rows.any() else None)
        self.left = LeftOut(
            FoldedMoments(parts), design.scale_, wanted.intercept, wanted.classifies, design.linear_columns
        )
        for fold in self.left.numbers:
            self.left.pair(fold)
        self._start = -6 - DECADES[0]  # the candidate that did best so far; to begin with, a millionth of all squares
        self._best: dict[float, int] = {}  # the candidate of each weight of the linear part

    def error(self, weight: float = 1.0) -> float:
        """The sum of `errors`."""
        return float(np.sum(self.errors(weight)))

    def errors(self, weight: float = 1.0, features: float | np.ndarray = 1.0) -> np.ndarray:
        """Squared errors of folds relative to that of the mean of all, at the penalty where their sum is least; with
        the linear part times its weight, and the features times theirs."""
        nothing = np.full(max(len(self.left.numbers), 1), 1.0 / max(len(self.left.numbers), 1))
        if not self.left.numbers:
            return nothing
        left = self.left.weighted(weight, features)
        alphas = self._candidates(left)

        def error(k: int) -> float:
            return left.criterion(left.errors(alphas[k]))

        with threads.blas_limited():
            errors = valley(error, self._start, len(alphas))
            errors = errors if left.classifies else above_humps(errors, error, left.rows)
        best = self._start = self._best[weight] = smallest(np.where(np.isnan(errors), np.inf, errors))
        size = float(np.sum(left.deviations)) if left.classifies else float(np.count_nonzero(left.deviations))
        if not size > 0:
            return nothing
        return np.array([left.criterion(fold[None]) for fold in left.errors(alphas[best])]) / size

    def wrong(self, weight: float) -> np.ndarray:
        """The weight of each row left out whose label is wrong, a share of all, at the penalty of fewest near there.

        `errors` goes first: it finds where to look.
        """
        rows = np.ones(len(self.folds)) if self.probe.weight is None else self.probe.weight
        if weight not in self._best:
            return rows / rows.sum()
        left = self.left.weighted(weight)
        alphas, best = self._candidates(left), self._best[weight]
        first = 0 if weight else self.left.always
        tried = []
        for alpha in alphas[max(best - BELOW, 0) : best + ABOVE + 1]:
            missed = np.zeros(len(rows))
            for fold, (rest, _) in left._pairs.items():
                out = self.folds == fold
                b = solve_or_none(rest.gram, rest.cross, float(alpha))
                if b is None:
                    missed[out] = 1.0
                    continue
                scale = np.broadcast_to(left.scale, self.features.shape[1:])[first:]
                scores = self.features[out, first:] @ times_columns(scale, b) + rest.mean_y - rest.mean_z @ b
                missed[out] = wrong(scores, self.probe.y[out])
            tried.append(missed * rows / rows.sum())
        return min(tried, key=lambda missed: float(np.sum(missed)))

    def _candidates(self, left: LeftOut) -> np.ndarray:
        return candidates("auto", float(np.mean([np.trace(rest.gram) for rest, _ in left._pairs.values()])))

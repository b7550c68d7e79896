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
from ..costs import FOLDS
from ..maps.linear import LinearPart
from ..maps.quantize import choose_quantizer
from ..maps.scaling import HEAVY, ColumnScaler
from ..penalties.repeated import PARTITIONS, ROWS
from ..penalties.search import is_noise
from ..streams import sample_rows
from .trial import trial_of

TRIED, FEATURES = 2000, 256  # rows and features of a trial
FEWEST = 10  # rows with which a trial means something
MOST_COLUMNS = 512  # of a linear part
ALONE = 1e7  # a weight beside which no penalty lets the features count: ridge on the columns
WEIGHTS = (0.0, 1.0, 5.0, 25.0, 125.0, ALONE)  # of the linear part, in proportion to the features
FIRST = (0.0, 25.0)  # those with which scalings are compared; with few rows there are no others but ALONE
USUAL, ASKED = 1.0, 5.0  # the weight where folds of many rows cannot tell, and where a line is asked for
DOUBT = 0.01  # by which share of its error what reaches far must be better
CLEAR = 1.5  # standard errors by which a scaling must be better than the first, and features better than the columns
LABELS = 2.0  # and by which anything must have fewer wrong labels than what is best for squares
BALANCED = 100  # rows whose features tell how long features are
SCALERS = {"robust": ColumnScaler.robust, "standard": ColumnScaler.standard}


@dataclass(frozen=True)
class Wanted:
    """What was asked for: scale is None, "robust", "standard" or "auto"; linear True, False or "auto".

    A penalty that was given is that of the features: beside it, columns of the weight ALONE would have none.
    """

    scale: str | None
    linear: bool | str
    intercept: bool
    classifies: bool
    penalty_given: bool = False


@dataclass(frozen=True)
class Choice:
    """How rows are scaled, the weight of the linear part in proportion to the features, and why."""

    scale: str | None
    weight: float
    reason: str


def choose(wanted: Wanted, basis: Basis, sample: Any, largest: float, probe: Block, in_all: int = 0) -> Choice:
    """The scaling and the weight of smallest squared error of rows left out; probe holds rows with coded targets.

    Where features are not clearly better than the columns alone, it is the columns: ridge is the safe choice. What is
    a gain of sampled rows is more surely one of all rows, of which there are `in_all`.
    """
    sample = different_rows(sample)  # a repeated row counts as one with a weight does
    scales = ["robust", "standard", None] if wanted.scale == "auto" else [wanted.scale]
    may = not scipy.sparse.issparse(sample) and sample.shape[1] <= MOST_COLUMNS
    weights: tuple[float, ...] = (
        WEIGHTS if wanted.linear == "auto" and may else (ASKED,) if wanted.linear is True else (0.0,)
    )
    if len(scales) == 1 and len(weights) == 1:
        return Choice(scales[0], weights[0], "as asked")
    rows = different_rows(probe.X).shape[0]
    if rows < FEWEST:
        return Choice(scales[0], 0.0, f"too few rows to try anything on, {rows}")
    # A line through rows far out may be a line to nowhere: for numbers it must serve well there.
    tame = wanted.classifies or len(weights) == 1 or ColumnScaler.robust(sample).farthest(probe.X) < HEAVY
    scarce = probe.X.shape[0] <= ROWS  # then the best of many is best by chance, and features cost nothing
    if len(weights) > 1:
        kept = (*FIRST, ALONE) if scarce else weights
        weights = tuple(weight for weight in kept if not (weight == ALONE and wanted.penalty_given))
    most = min(int(basis.n_components), FEATURES if scarce else rows, FEATURES)
    few = basis.sized(most).set_params(precision=None)
    trials = {
        scale: trial_of(wanted, design_of(Choice(scale, float(len(weights) > 1), ""), few, sample, largest), probe)
        for scale in scales
    }
    clear = CLEAR * float(np.sqrt(min(1.0, probe.X.shape[0] / max(in_all, 1))))
    found: dict[tuple[str | None, float], np.ndarray] = {}

    def best_of(some_scales: list[str | None], some_weights: Sequence[float]) -> tuple[str | None, float]:
        """The pair of smallest error, which is made larger for what reaches far where there are no rows."""
        pairs = [(scale, weight) for scale in some_scales for weight in some_weights]
        found.update({pair: trials[pair[0]].errors(pair[1]) for pair in pairs if pair not in found})
        return min(pairs, key=doubtful)

    def doubtful(pair: tuple[str | None, float]) -> float:
        doubt = DOUBT * (pair[0] != "robust") + DOUBT * (pair[1] > 0) * (1.0 if tame else 5.0)
        return float(np.sum(found[pair])) * (1.0 + doubt)

    def clearly(other: tuple[str | None, float], best: tuple[str | None, float]) -> tuple[str | None, float]:
        """The other one if it is clearly better."""
        return best if is_noise(found[best] - found[other], clear) else other

    first = [weight for weight in weights if weight in FIRST] or weights
    best = best_of(scales[:1], first)
    for scale in scales[1:]:
        best = clearly(best_of([scale], first), best)
    usual = best_of([best[0]], [USUAL]) if USUAL in weights else best
    best = clearly(best_of([best[0]], weights), usual)
    if ALONE in weights:
        best = clearly(best, best_of(scales[:1], [ALONE]))
    told = [f"{described(*pair)} {np.sum(found[pair]):.3g}" for pair in sorted(found, key=doubtful)[:3]]
    how = f"{FOLDS} folds{f', {PARTITIONS} times,' if scarce else ''} of {rows:,} rows"
    reason = f"squared error of {how}, relative to that of the mean: {', '.join(told)}"
    if not wanted.classifies:
        return Choice(*best, reason)
    # What is best for squares need not be for labels: a line may part two clouds best and fit their codes badly.
    wrong = {pair: trials[pair[0]].wrong(pair[1]) for pair in found}
    fewest = min(wrong, key=lambda pair: float(np.sum(wrong[pair])))
    if not is_noise(wrong[best] - wrong[fewest], LABELS):
        shares = ", ".join(f"{described(*pair)} {np.sum(wrong[pair]):.3g}" for pair in (fewest, best))
        return Choice(*fewest, f"share of wrong labels in {how}: {shares}")
    return Choice(*best, reason)


def probe_of(blocks: Blocks) -> Block:
    """Rows with coded targets and weights to try things on."""
    return blocks.take(sample_rows(blocks.n_rows, TRIED, seed=3)).on_host()


def described(scale: str | None, weight: float) -> str:
    """A scaling and a linear part in words; with its weight, by which alone candidates may differ."""
    line = ", linear alone" if weight == ALONE else f" and linear of weight {weight:g}" if weight else ""
    return f"{scale or 'as they are'}{line}"


def design_of(choice: Choice, basis: Basis, sample: Any, largest: float, metric: np.ndarray | None = None) -> Design:
    """The basis fitted to sampled rows as the choice says, after a metric if there is one."""
    sample = different_rows(sample)
    scaler = None if choice.scale is None else SCALERS[choice.scale](sample)
    rows, codes = sample if scaler is None else scaler(sample), None
    if metric is not None:
        full = metric.ndim == 2
        codes = choose_quantizer(rows, not scipy.sparse.issparse(rows)) if full and basis.is_integer else None
        rows = rows @ metric if full else moved_by_diagonal(rows, metric)
    if scaler is not None or metric is not None:
        values = rows.data if scipy.sparse.issparse(rows) else rows
        largest = float(np.abs(values).max(initial=0.0))
    fitted = basis.fit_sample(rows, largest)
    if not choice.weight:
        return Design(fitted, scaler, None, metric, codes)
    weight = choice.weight * float(np.sqrt(max(squared_length(basis, rows, largest), 1e-300) / sample.shape[1]))
    return Design(fitted, scaler, LinearPart.of(np.asarray(sample), weight), metric, codes)


def moved_by_diagonal(rows: Any, diagonal: np.ndarray) -> Any:
    """Rows, dense or sparse, with each column times a number."""
    return scipy.sparse.csr_matrix(rows.multiply(diagonal)) if scipy.sparse.issparse(rows) else rows * diagonal


def squared_length(basis: Basis, rows: Any, largest: float) -> float:
    """The mean squared length of centred features, which a linear part is weighed against.

    Of as many features for every basis of its kind, so that models of more and of fewer have the same linear part.
    """
    some = basis.sized(FEATURES).set_params(precision=None, random_state=0).fit_sample(rows, largest)
    features = some.features(rows[:BALANCED])
    features = features.toarray() if scipy.sparse.issparse(features) else features
    return float(np.sum(np.var(features, axis=0, dtype=np.float64) * np.square(some.scale_)))

"""Which bandwidth, pool size and number of features: successive halving on sums.

All candidates start on a small random share of the rows; in each round the better half stays and the share doubles.
Sums add, so a round looks only at rows that are new. A fifth of the rows is held out, and its squared error follows
from its sums alone: every penalty and every smaller number of features is judged without another pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

from ..arrays import to_numpy
from ..bases import Basis, RandomFourier
from ..blocks import Block, Blocks
from ..config import memory_budget
from ..moments import Centered, FoldedMoments, Moments
from ..solvers import RidgePath
from ..streams import Stream
from ..validation import require_integer
from .classifier import RandomFeatureClassifier
from .regressor import RandomFeatureRegressor
from .rows import Ready
from .targets import looks_like_labels
from .ways.penalty import candidates, smallest
from .ways.problem import fold_of

FACTORS = (0.125, 0.25, 0.5, 0.7071, 1.0, 1.4142, 2.0, 4.0)  # times the median distance
POOL_SIZES = (2, 3, 4, 6, 8, 16)
FIRST_ROWS = 2000  # of the first round, at least; and twice the number of features
FOLDS = 5


@dataclass(frozen=True)
class Trial:
    """One candidate: what it was, the number of features and the penalty that suited it, and its held-out error."""

    settings: dict[str, Any]
    components: int
    alpha: float
    error: float  # squared error of held-out rows, over that of their mean
    rows: int
    rounds: int


@dataclass(frozen=True)
class Tuned:
    """The best candidate as a basis to fit, its penalty, and all trials, the best first."""

    basis: Basis
    alpha: float
    trials: tuple[Trial, ...] = field(repr=False)


def tune(
    X: Any,
    y: Any = None,
    *,
    basis: Basis | None = None,
    bandwidths: Sequence[float] | None = None,
    pool_sizes: Sequence[int] | None = None,
    components: Sequence[int] | None = None,
    classification: bool | None = None,
    random_state: int = 0,
) -> Tuned:
    """Choose settings of a basis by held-out squared error.

    X, y : rows and targets as fit takes them; or Blocks. basis : the kind of basis, and the most features to try.
    bandwidths : candidates; eight multiples of the median distance if None. pool_sizes : likewise, of maxout and gates.
    components : numbers of features; the most there are and its halves down to an eighth if None.
    classification : whether y are labels; if None, text, truth values and up to 20 different whole numbers are.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import RandomFourier, tune
    >>> X = np.linspace(-3, 3, 2000)[:, None]
    >>> tuned = tune(X, np.sin(20 * X[:, 0]), basis=RandomFourier(200))
    >>> bool(tuned.basis.bandwidth < 1.0)
    True
    """
    basis = RandomFourier(1000) if basis is None else basis
    model: Any = RandomFeatureClassifier() if classifies(X, y, classification) else RandomFeatureRegressor()
    model.set_params(basis=basis, random_state=random_state)
    ready = model._ready(X, y, None, first=True, whole=True)
    made = settings_of(basis, ready, bandwidths, pool_sizes, random_state)
    contenders = [Contender(fitted, given) for fitted, given in made]
    most = int(basis.n_components)
    require_room(len(contenders), most)
    sizes = feature_counts(contenders[0].basis, components, most)
    trials = halve(ready.blocks, contenders, sizes, rounds_needed(ready.blocks.n_rows, most, len(contenders)))
    best = trials[0]
    chosen = clone(basis).set_params(**best.settings, n_components=best.components)
    return Tuned(chosen, best.alpha, tuple(trials))


def halve(blocks: Blocks, contenders: list[Contender], sizes: Sequence[int], rounds: int) -> list[Trial]:
    """The trials of all contenders, those that came furthest first, then by error."""
    trials: list[Trial] = []
    for level in range(rounds):
        add_rows(blocks, contenders, level, rounds)
        for contender in contenders:
            contender.judge(sizes)
        contenders.sort(key=lambda contender: contender.trial.error)
        keep = -(-len(contenders) // 2) if level < rounds - 1 else 0
        trials = [contender.trial for contender in contenders[keep:]] + trials
        del contenders[keep:]
    return trials


class Contender:
    """A fitted basis with the sums of its training rows and of its held-out rows."""

    def __init__(self, basis: Basis, settings: dict[str, Any]) -> None:
        self.basis, self.settings = basis, settings
        self.sums: FoldedMoments | None = None
        self.rounds = 0
        self.trial: Trial

    def judge(self, sizes: Sequence[int]) -> None:
        """The best number of features and penalty at the sums there are."""
        assert self.sums is not None
        held, train = self.sums.folds
        if held is None or train is None:
            raise ValueError("there are too few rows to hold some of them out.")
        self.rounds += 1
        best: tuple[float, int, float] = (np.inf, sizes[-1], 1.0)
        for size in sizes:
            scale = self._scale(size)
            error, alpha = held_out_error(train.prefix(size).centered(scale), held.prefix(size).centered(scale))
            best = min(best, (error, size, alpha))
        self.trial = Trial(self.settings, best[1], best[2], best[0], train.rows + held.rows, self.rounds)

    def _scale(self, size: int) -> float:
        """What the first columns of a wider basis are multiplied by."""
        return float(self.basis.scale_) * float(np.sqrt(self.basis.n_components / size))


def held_out_error(train: Centered, held: Centered) -> tuple[float, float]:
    """The smallest held-out squared error over all penalties, relative to that of the mean; and its penalty."""
    path = RidgePath(train.gram, train.cross, train.square)
    alphas = candidates("auto", float(np.trace(train.gram)), per_decade=2)
    errors = np.full(len(alphas), np.inf)
    for k, alpha in enumerate(alphas):
        try:
            b = path.coefficients(float(alpha))
        except np.linalg.LinAlgError:  # not positive definite in floating point: no model there
            continue
        errors[k] = np.sum(held.errors_of(b, train))
    best = smallest(errors)
    return float(errors[best] / max(np.sum(held.square), np.finfo(float).tiny)), float(alphas[best])


def add_rows(blocks: Blocks, contenders: Sequence[Contender], level: int, levels: int) -> None:
    """Add the rows of this level to the sums of every contender, in one pass."""

    def part(block: Block) -> Sums:
        chosen = level_of(block, levels) == level
        block = block.only(chosen)
        out = fold_of(block, FOLDS) == 0
        return Sums([split_moments(contender.basis, block, out) for contender in contenders])

    width = 4 * int(contenders[0].basis.n_components)
    total = blocks.reduce(part, width=width, title=f"round {level + 1}")
    for contender, sums in zip(contenders, total.parts, strict=True):
        if contender.sums is None:
            contender.sums = sums
        else:
            contender.sums += sums


@dataclass
class Sums:
    """Sums of several contenders side by side."""

    parts: list[FoldedMoments]

    def __iadd__(self, other: Sums) -> Sums:
        for mine, more in zip(self.parts, other.parts, strict=True):
            mine += more
        return self


def split_moments(basis: Basis, block: Block, out: np.ndarray) -> FoldedMoments:
    """Sums of held-out rows and of the rest."""
    if not len(out):
        return FoldedMoments([None, None])
    features = basis.features(block.X)
    parts: list[Moments | None] = []
    for rows in (out, ~out):
        weight = None if block.weight is None else block.weight[rows]
        parts.append(Moments.of(features[rows], block.y[rows], weight) if rows.any() else None)
    return FoldedMoments(parts)


def level_of(block: Block, levels: int) -> np.ndarray:
    """In which round a row comes in: 0 for a share 2^-(levels - 1), then as many as there were before."""
    rows = np.arange(block.X.shape[0]) if block.kept is None else block.kept
    stop = block.start + (int(rows[-1]) + 1 if len(rows) else 0)
    ticket = Stream(0, "rounds").integers(block.start, stop, 2 ** (levels - 1))[rows, 0]
    return np.ceil(np.log2(ticket + 1.0)).astype(np.int64)


# ---- what to try ----


def settings_of(
    basis: Basis, ready: Ready, bandwidths: Any, pool_sizes: Any, seed: int
) -> Iterator[tuple[Basis, dict[str, Any]]]:
    """Every candidate, fitted, with the settings that make it different from the others."""
    grid: list[dict[str, Any]] = [{}]
    parameters = basis.get_params(deep=False)
    if "bandwidth" in parameters:
        median = clone(basis).set_params(random_state=seed).fit_sample(ready.sample, ready.largest).bandwidth_
        grid = [{"bandwidth": float(f"{s:.6g}")} for s in bandwidths or [f * median for f in FACTORS]]
    elif bandwidths:
        raise ValueError(f"{type(basis).__name__} has no bandwidth.")
    if "pool_size" in parameters:
        allowed = [q for q in POOL_SIZES if type(basis).__name__ != "GatedLinear" or basis.n_components % q == 0]
        grid = [{**given, "pool_size": int(q)} for given in grid for q in pool_sizes or allowed]
    elif pool_sizes:
        raise ValueError(f"{type(basis).__name__} has no pools.")
    for given in grid:
        yield clone(basis).set_params(**given, random_state=seed).fit_sample(ready.sample, ready.largest), given


def feature_counts(basis: Basis, asked: Any, most: int) -> list[int]:
    """Numbers of features to judge, ascending; those that are no prefix of the basis are left out."""
    if asked is not None:
        counts = sorted({require_integer("components", count) for count in asked})
        if counts[-1] > most:
            raise ValueError(f"components={counts[-1]} is more than the basis has ({most}).")
    else:
        counts = sorted({max(1, most // share) for share in (8, 4, 2, 1)})
    kept = []
    for count in counts:
        try:
            basis.truncated(count)
            kept.append(count)
        except ValueError:
            if asked is not None:
                raise
    return kept


def rounds_needed(rows: int, features: int, contenders: int) -> int:
    """Enough rounds to leave one of the contenders, if there are enough rows to double that often."""
    doublings = int(np.log2(max(rows / max(FIRST_ROWS, 2 * features), 1.0)))
    return 1 + min(doublings, int(np.ceil(np.log2(max(contenders, 1)))))


def require_room(contenders: int, features: int) -> None:
    needed = contenders * 3 * 8 * features**2
    if needed > memory_budget():
        raise ValueError(
            f"{contenders} candidates of {features:,} features need {needed / 1e9:.3g} GB for their sums, over the "
            f"budget of {memory_budget() / 1e9:.3g} GB: try fewer features or candidates."
        )


def classifies(X: Any, y: Any, asked: bool | None) -> bool:
    if asked is not None:
        return asked
    y = X.read(0, min(X.n_rows, 100_000)).y if isinstance(X, Blocks) else np.asarray(to_numpy(y))
    if y is None:
        raise ValueError("the blocks have no targets: name the target column.")
    return looks_like_labels(y)

"""Which bandwidth, pool size and number of features: successive halving on sums.

All candidates start on a small random share of the rows; in each round the better half stays and the share doubles.
Sums add, so a round looks only at rows that are new. What is best at an end of the candidates gets a neighbour beyond.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from sklearn.base import clone

from ..arrays import to_numpy
from ..bases import Basis, RandomFourier
from ..bases.heuristics import median_factor, times_median
from ..blocks import Block, Blocks, RowsLike
from ..config import memory_budget
from ..costs import gram_bytes
from ..penalties.search import LEVEL
from ..streams import Stream
from ..typing import VectorLike
from ..validation import FitWarning, require_integer
from .checks import split_target, with_recipe
from .classifier import RandomFeatureClassifier
from .contest import Contender, Field, Trial, folds_for
from .regressor import RandomFeatureRegressor
from .target_codes import looks_like_labels

FACTORS = (0.125, 0.25, 0.5, 0.7071, 1.0, 1.4142, 2.0, 4.0)  # times the median distance
POOL_SIZES = (2, 3, 4, 6, 8, 16)
FIRST_ROWS = 2000  # of the first round, at least; and twice the number of features
FARTHEST = {"bandwidth": 128.0, "pool_size": 64}  # times the first candidates; largest


@dataclass(frozen=True)
class Tuned:
    """What `tune` found: the best settings, and all trials.

    Attributes
    ----------
    basis : Basis
        The best basis, not fitted.
    alpha : float
        Its penalty.
    trials : tuple of Trial
        All candidates, the best first.
    scale : str or None
        How columns are scaled.
    linear : bool
        Whether the columns stand beside the features.
    classification : bool
        Whether y are labels.
    random_state : int
        Seed of the features.
    notes : tuple of str
        In words, where the best lies at an end of what was tried.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import RandomMaxout, tune
    >>> X = np.random.default_rng(0).standard_normal((100, 2))
    >>> tuned = tune(X, abs(X[:, 0]), basis=RandomMaxout(64), pool_sizes=[2, 4], components=[64])
    >>> len(tuned.trials), tuned.basis.pool_size in (2, 4)
    (2, True)
    """

    basis: Basis
    alpha: float
    trials: tuple[Trial, ...] = field(repr=False)
    scale: str | None = None
    linear: bool = False
    classification: bool = False
    random_state: int = 0
    notes: tuple[str, ...] = ()

    def model(self, **parameters: object) -> RandomFeatureRegressor | RandomFeatureClassifier:
        """Return the model of these settings, not fitted.

        Parameters
        ----------
        **parameters : dict
            Parameters of the model to set besides, or in place of those found.

        Returns
        -------
        RandomFeatureRegressor or RandomFeatureClassifier
            The model to fit; it chooses its penalty by the rows it is fitted to.
        """
        return model_of(self, self.basis, parameters)

    def __str__(self) -> str:
        best = self.trials[0]
        found = f"squared error {best.error:.4g} of that of the mean"
        if best.wrong is not None:
            found = f"{best.wrong:.4g} of labels wrong, {found}"
        head = f"{self.basis!r}, scale={self.scale!r}: {found} (rows left out of {best.rows:,})"
        return "\n".join([head, *(f"- {note}" for note in self.notes)])


class Found(Protocol):
    """Settings that were found."""

    @property
    def scale(self) -> str | None: ...
    @property
    def linear(self) -> bool: ...
    @property
    def classification(self) -> bool: ...
    @property
    def random_state(self) -> int: ...


def model_of(
    found: Found, basis: Basis, parameters: dict[str, object]
) -> RandomFeatureRegressor | RandomFeatureClassifier:
    """The model of settings that were found; its penalty is chosen again, by all rows that it is fitted to."""
    kind: Any = RandomFeatureClassifier if found.classification else RandomFeatureRegressor
    settings = {"scale": found.scale, "linear": "auto" if found.linear else False, "random_state": found.random_state}
    return kind(**{"basis": clone(basis), **settings, **parameters})


def tune(
    X: RowsLike,
    y: VectorLike | None = None,
    *,
    target: str | None = None,
    basis: Basis | None = None,
    bandwidths: Sequence[float | str] | None = None,
    pool_sizes: Sequence[int] | None = None,
    components: Sequence[int] | None = None,
    classification: bool | None = None,
    scale: str | None = "auto",
    random_state: int = 0,
) -> Tuned:
    """Choose settings of a basis by held-out rows: bandwidth or pool size, and number of features.

    All candidates start on a small random share of the rows; in each round the better half stays and the share doubles
    (successive halving). Numbers are judged by squared error, labels by how many are wrong.

    Parameters
    ----------
    X : array-like, sparse matrix, frame, tensor or Blocks of shape (n_samples, n_features)
        The rows, as `fit` of the models takes them.
    y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
        The targets; None if `target` or the blocks hold them.
    target : str, default=None
        Name of the column of the frame X that holds the targets, in place of y.
    basis : Basis, default=None
        The kind of basis, with the most features to try; None is `RandomFourier(1000)`.
    bandwidths : sequence of float or str, default=None
        Candidates: numbers, or multiples such as '0.5*median'. None is eight multiples of the median distance, and more
        beyond the ends if the best is there.
    pool_sizes : sequence of int, default=None
        Candidates for RandomMaxout and GatedLinear. None is 2 to 16, and more beyond if the best is at the end.
    components : sequence of int, default=None
        Numbers of features to try. None is that of the basis, and its halves down to an eighth. Fewer than the most are
        taken where they are better by more than noise.
    classification : bool, default=None
        Whether y are labels. None takes text, booleans and up to 20 different whole numbers for labels.
    scale : {'auto', 'robust', 'standard'} or None, default='auto'
        How columns are scaled, as in RandomFeatureRegressor.
    random_state : int, default=0
        Seed of the features and of the samples.

    Returns
    -------
    Tuned
        The settings and all trials; `.model()` is the model to fit.

    See Also
    --------
    advise : Settings for RandomFourier, with what a fit will cost.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import RandomFourier, tune
    >>> X = np.linspace(-3, 3, 1000)[:, None]
    >>> y = np.sin(20 * X[:, 0])
    >>> tuned = tune(X, y, basis=RandomFourier(200))
    >>> bool(tuned.model().fit(X, y).score(X, y) > 0.99)
    True
    """
    basis = RandomFourier(1000) if basis is None else basis
    X, y = rows_and_targets(X, y, target)
    model = RandomFeatureClassifier() if classifies(X, y, classification) else RandomFeatureRegressor()
    model.set_params(basis=basis, scale=scale, random_state=random_state)
    parameters, ready = model._parameters(), model._prepare(X, y, None, first=True, whole=True)
    race = Race(Field(parameters, ready, basis, random_state), settings_of(basis, bandwidths, pool_sizes), components)
    race.run()
    notes = race.widen(bandwidths is None, pool_sizes is None)
    best = race.best()
    if best.components == race.sizes[-1] and len(race.sizes) > 1:
        notes.append(f"the most features, {best.components:,}, did best: more may do better")
    chosen, choice = (
        clone(basis).set_params(**best.settings, n_components=best.components),
        race.contender_of(best).choice,
    )
    how = choice.scale, bool(choice.weight), race.field.classifies, random_state, tuple(notes)
    trials = sorted(race.trials, key=lambda trial: trial is not best)
    return Tuned(chosen, best.alpha, tuple(trials), *how)


class Race:
    """The candidates of a field, and the trials of those that have run, the best first; on all rows, or on some."""

    def __init__(
        self, field: Field, grid: list[dict[str, Any]], components: Sequence[int] | None, blocks: Blocks | None = None
    ) -> None:
        self.field, self.blocks, self.grid = field, field.ready.blocks if blocks is None else blocks, grid
        self.most, own = int(field.basis.n_components), field.basis.get_params(deep=False)
        require_room(len(grid), self.most)
        self.contenders = [field.contender(settings) for settings in grid]
        self.sizes = feature_counts(self.contenders[0].design.basis, components, self.most)
        self.rounds = rounds_needed(self.blocks.n_rows, self.most, len(grid))
        self.known = list(self.contenders)
        self.usual = next((s for s in grid if all(own[name] == s[name] for name in s)), None)  # of the basis itself
        self.trials: list[Trial] = []

    def run(self) -> None:
        """Halve the contenders and double the rows until there is one, or no more rows."""
        left, folds = self.contenders, folds_for(len(self.contenders), self.contenders[0].design.n_components)
        for level in range(self.rounds):
            self._look(left, folds, level, self.rounds)
            left.sort(key=lambda contender: contender.trial.rank)
            keep = -(-len(left) // 2) if level < self.rounds - 1 else 0
            # What the basis had before stays: it is to be compared with by all rows.
            out = left[keep:] if not keep else [c for c in left[keep:] if c.settings != self.usual]
            self.trials = [contender.trial for contender in out] + self.trials
            for contender in out if keep else []:
                contender.sums = None  # matrices of those that are out
            left[:] = [contender for contender in left if contender not in out]

    def best(self) -> Trial:
        """The trial of smallest error; or that of the basis as it was, if that is no worse but for noise."""
        best = self.trials[0]
        usual = [trial for trial in self.trials if trial.settings == self.usual and trial.rounds == best.rounds]
        return usual[0] if usual and usual[0].is_level(best) else best

    def _look(self, contenders: list[Contender], folds: int, level: int, levels: int) -> None:
        """Add the rows of this level to the sums, and judge by all rows up to it."""
        self.field.add(self.blocks, contenders, folds, Level(levels, level, level))
        self.field.judge(self.blocks, contenders, self.sizes, Level(levels, 0, level))

    def widen(self, bandwidths: bool, pool_sizes: bool, warn: bool = True) -> list[str]:
        """Try what is beyond the end at which the best lies until it lies inside; sentences where it does not.

        Candidates that were given are not added to: that the best is at their end is said.
        """
        notes = []
        for name, may in (("bandwidth", bandwidths), ("pool_size", pool_sizes)):
            while may and (beyond := self._beyond(name)) is not None:
                before = self.trials[0]
                self._add_trial(beyond)
                if self.trials[0] is before or before.rank <= tuple(LEVEL * r for r in self.trials[0].rank):
                    break
            else:
                notes += self._told(name)
        if notes and warn:
            warnings.warn(" ".join(notes), FitWarning, stacklevel=3)
        return notes

    def _add_trial(self, settings: dict[str, Any]) -> None:
        """Judge one more candidate by all rows."""
        contender = self.field.contender(settings)
        self.known.append(contender)
        self.grid.append(settings)
        contender.rounds = self.rounds - 1
        self._look([contender], folds_for(1, contender.design.n_components), 0, 1)
        self.trials.append(contender.trial)
        self.trials.sort(key=lambda trial: (-trial.rounds, trial.rank))

    def _end(self, name: str) -> str:
        """Whether the best has the smallest or the largest value of several."""
        values = [settings[name] for settings in self.grid if name in settings]
        sizes = sorted({size_of(value) for value in values})
        if len(sizes) < 2 or len({isinstance(value, str) for value in values}) > 1:  # numbers and multiples: no order
            return ""
        best = size_of(self.trials[0].settings[name])
        return "smallest" if best == sizes[0] else "largest" if best == sizes[-1] else ""

    def _beyond(self, name: str) -> dict[str, Any] | None:
        """The settings next to the best, beyond the end at which it lies; None if it lies inside or far enough out."""
        end, best = self._end(name), self.trials[0].settings
        if not end or (name == "pool_size" and end == "smallest"):
            return None
        if name == "bandwidth":
            factor = size_of(best[name]) / size_of(self.field.basis.get_params(deep=False)[name])
            if not 1.0 / FARTHEST[name] < factor < FARTHEST[name]:
                return None
            return {**best, name: scaled_by(best[name], 2.0 if end == "largest" else 0.5)}
        wider = {**best, name: 2 * best[name]}
        allowed = wider[name] <= FARTHEST[name] and pool_fits(self.field.basis, wider[name])
        return wider if allowed else None

    def _told(self, name: str) -> list[str]:
        end = self._end(name)
        if not end or (name == "pool_size" and end == "smallest"):
            return []
        value, words = self.trials[0].settings[name], name.replace("_", " ")
        direction = "smaller" if end == "smallest" else "larger"
        return [f"The {end} {words} tried, {value}, did best: {direction} ones may do better."]

    def contender_of(self, trial: Trial) -> Contender:
        return next(contender for contender in self.known if contender.settings == trial.settings)


@dataclass(frozen=True)
class Level:
    """The rows of a block that come in from one round to another."""

    levels: int
    first: int
    last: int

    def __call__(self, block: Block) -> np.ndarray:
        level = level_of(block, self.levels)
        return (self.first <= level) & (level <= self.last)


def level_of(block: Block, levels: int) -> np.ndarray:
    """In which round a row comes in: 0 for a share 2^-(levels - 1), then as many as there were before."""
    rows = np.arange(block.X.shape[0]) if block.kept is None else block.kept
    stop = block.start + (int(rows[-1]) + 1 if len(rows) else 0)
    ticket = Stream(0, "rounds").integers(block.start, stop, 2 ** (levels - 1))[rows, 0]
    return np.ceil(np.log2(ticket + 1.0)).astype(np.int64)


# ---- what to try ----


def settings_of(
    basis: Basis, bandwidths: Sequence[float | str] | None, pool_sizes: Sequence[int] | None
) -> list[dict[str, Any]]:
    """The settings that make candidates different from one another."""
    grid: list[dict[str, Any]] = [{}]
    parameters = basis.get_params(deep=False)
    if "bandwidth" in parameters:
        own = getattr(parameters.get("kernel"), "bandwidth", None) is not None  # a kernel may have one of its own
        middle = parameters["bandwidth"]
        asked = [scaled_by(middle, factor) for factor in FACTORS] if bandwidths is None else list(bandwidths)
        grid = [{}] if own and bandwidths is None else [{"bandwidth": rounded(value)} for value in asked]
    elif bandwidths is not None:
        raise ValueError(f"{type(basis).__name__} has no bandwidth: leave out bandwidths.")
    if "pool_size" in parameters:
        sizes = [q for q in POOL_SIZES if pool_fits(basis, q)] if pool_sizes is None else pool_sizes
        grid = [{**given, "pool_size": int(q)} for given in grid for q in sizes]
    elif pool_sizes is not None:
        raise ValueError(f"{type(basis).__name__} has no pool_size: leave out pool_sizes.")
    return grid


def pool_fits(basis: Basis, pool_size: int) -> bool:
    return type(basis).__name__ != "GatedLinear" or int(basis.n_components) % pool_size == 0


def scaled_by(bandwidth: float | str, factor: float) -> float | str:
    """A number, or a multiple of the median, times a factor."""
    if isinstance(bandwidth, str):
        return times_median(median_factor(bandwidth) * factor)
    return rounded(float(bandwidth) * factor)


def rounded(value: float | str) -> float | str:
    return value if isinstance(value, str) else float(f"{value:.6g}")


def size_of(value: float | str) -> float:
    """A number to compare candidates by."""
    return median_factor(value) if isinstance(value, str) else float(value)


def feature_counts(basis: Basis, asked: Sequence[int] | None, most: int) -> list[int]:
    """Numbers of features to judge, ascending; those that are no prefix of the basis are left out."""
    if asked is not None:
        counts = sorted({require_integer("components", count) for count in asked})
        if counts[-1] > most:
            raise ValueError(f"components={counts[-1]} is more than n_components={most} of the basis.")
    else:
        counts = sorted({max(1, most // share) for share in (8, 4, 2, 1)})
    return list(prefixes(basis, counts, asked is not None))


def prefixes(basis: Basis, counts: Sequence[int], strict: bool) -> Iterator[int]:
    for count in counts:
        try:
            basis.truncated(count)
        except ValueError:
            if strict:
                raise
            continue
        yield count


def rounds_needed(rows: int, features: int, contenders: int) -> int:
    """Enough rounds to leave one of the contenders, if there are enough rows to double that often."""
    doublings = int(np.log2(max(rows / max(FIRST_ROWS, 2 * features), 1.0)))
    return 1 + min(doublings, int(np.ceil(np.log2(max(contenders, 1)))))


def require_room(contenders: int, features: int) -> None:
    needed = contenders * gram_bytes(features)
    if needed > memory_budget():
        raise ValueError(
            f"{contenders} candidates of {features:,} features need {needed / 1e9:.3g} GB for their sums, over the "
            f"budget of {memory_budget() / 1e9:.3g} GB: try fewer features or candidates."
        )


def rows_and_targets(X: RowsLike, y: VectorLike | None, target: str | None) -> tuple[Any, Any]:
    """Rows and targets as fit makes them of what it is given; a frame of more than plain numbers becomes blocks."""
    if isinstance(X, Blocks):
        if target is not None:
            raise ValueError("the blocks have their own targets: give target to bochner.read.")
        return X, y
    X, y = split_target(X, y, target)
    if y is None:
        raise ValueError("there are no targets: give y, or target, the column of a frame that holds them.")
    return with_recipe(to_numpy(X), to_numpy(y), None)[:2]  # tensors are tried as arrays


def classifies(X: RowsLike, y: VectorLike | None, asked: bool | None) -> bool:
    if asked is not None:
        return asked
    y = X.read(0, min(X.n_rows, 100_000)).y if isinstance(X, Blocks) else np.asarray(to_numpy(y))
    if y is None:
        raise ValueError("the blocks have no targets: name the target column.")
    return looks_like_labels(y)

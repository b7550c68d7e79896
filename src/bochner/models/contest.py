"""Settings of a basis against one another: each is judged by rows left out of the sums that its model is made of.

Sums of five folds give the squared error of every penalty and every smaller number of features without another pass.
Labels are counted in a second look at the rows left out, near the penalties that are best for squares.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone

from ..arrays import Array
from ..bases import Basis
from ..bases.design import Design
from ..blocks import Aggregate, Block, Blocks, SumOf
from ..costs import FOLDS, folds_apart, is_many
from ..moments import FoldedMoments, Rows
from ..penalties import LeftOut, above_floor
from ..penalties.labels import all_scores, models_at
from ..penalties.search import ABOVE, BELOW, candidates, settled, smallest, valley
from ..solvers.problem import fold_of, rounding_floor, wrong
from .designing import wanted_of
from .parameters import ModelParameters
from .preparation import PreparedData
from .trials import FEWEST, Choice, choose, design_of, probe_of

NOISE = 1.5  # standard errors of a difference, of which five folds give but a rough idea
Share = Callable[[Block], np.ndarray]  # which rows of a block take part; it pickles


@dataclass(frozen=True)
class Trial:
    """One candidate of `tune`, and how it did.

    Attributes
    ----------
    settings : dict
        Parameters of the basis.
    components : int
        Number of features that suited it.
    alpha : float
        Penalty that suited it.
    error : float
        Squared error of held-out rows, over that of predicting their mean.
    rows : int
        Rows that it was tried on.
    rounds : int
        Rounds that it stayed in.
    wrong : float or None
        Share of held-out rows whose label was wrong; None for numbers.
    by_fold : tuple of float
        Squared errors of each fold, summed.

    Examples
    --------
    >>> from bochner.models import Trial
    >>> one, other = (Trial({}, 100, 1.0, error, 500, 1) for error in (0.2, 0.1))
    >>> other.rank < one.rank
    True
    """

    settings: dict[str, Any]
    components: int
    alpha: float
    error: float
    rows: int
    rounds: int
    wrong: float | None = None
    by_fold: tuple[float, ...] = ()

    @property
    def rank(self) -> tuple[float, float]:
        """Smaller is better: wrong labels and, of equals, squared error; for numbers squared error alone."""
        return self.error if self.wrong is None else self.wrong, self.error

    def is_level(self, other: Trial) -> bool:
        """Say whether this trial is no worse than another one, but for noise.

        Squared errors may differ by a hundredth, or by standard errors of their differences over folds. Of labels both
        the share of wrong ones and the squared error must be level.

        Parameters
        ----------
        other : Trial
            The trial to compare with.

        Returns
        -------
        bool
            Whether it is no worse.
        """
        if self.wrong is not None and other.wrong is not None:
            rows = max(self.rows, 1)
            if self.wrong > other.wrong + float(np.sqrt(max(other.wrong * (1.0 - other.wrong), 0.25 / rows) / rows)):
                return False
        more = np.subtract(self.by_fold, other.by_fold)
        noise = NOISE * float(np.sqrt(len(more) * np.var(more, ddof=1))) if len(more) > 1 else 0.0
        return self.error <= other.error + max(noise, 0.01 * other.error)


@dataclass
class Field:
    """What is the same for all contenders: rows with coded targets, and what the model is asked for."""

    parameters: ModelParameters
    ready: PreparedData
    basis: Basis
    seed: int

    @property
    def classifies(self) -> bool:
        return self.parameters.classifies

    @cached_property
    def probe(self) -> Block:
        if self.ready.blocks.n_rows < FEWEST:
            raise ValueError(f"there are too few rows to hold some of them out: {FEWEST} or more are needed.")
        return probe_of(self.ready.blocks)

    def contender(self, settings: dict[str, Any]) -> Contender:
        """The basis with these settings, its rows scaled and a linear part beside it as the model would have it."""
        basis = clone(self.basis).set_params(**settings, random_state=self.seed)
        wanted, _ = wanted_of(self.parameters, basis, self.ready)
        choice = choose(wanted, basis, self.ready.sample, self.ready.largest, self.probe)
        return Contender(design_of(choice, basis, self.ready.sample, self.ready.largest), choice, settings)

    def add(self, blocks: Blocks, contenders: Sequence[Contender], folds: int, share: Share) -> None:
        """Add a share of the rows to the sums of every contender, in one pass."""

        designs = [contender.design for contender in contenders]
        found = blocks.reduce(MomentsOfDesigns(designs, folds, share), title=f"{len(contenders)} candidates")
        for contender, sums in zip(contenders, found, strict=True):
            contender.add(sums)

    def judge(self, blocks: Blocks, contenders: Sequence[Contender], sizes: Sequence[int], share: Share) -> None:
        """The best number of features and penalty of each at the sums there are; labels by a look at the share."""
        for contender in contenders:
            contender.judge(sizes, self.classifies)
        if not self.classifies:
            return
        folds = len(contenders[0].folded.folds)

        errors = LabelErrors([contender.labelling() for contender in contenders], folds, share)
        found = np.asarray(blocks.reduce(errors, title=f"labels of {len(contenders)} candidates"))
        ends = np.cumsum([len(contender.near) for contender in contenders])
        for contender, counts in zip(contenders, np.split(found[:-1], ends[:-1]), strict=True):
            contender.settle_labels(counts / max(float(found[-1]), np.finfo(float).tiny))


@dataclass(frozen=True)
class MomentsOfDesigns(Aggregate[list[FoldedMoments]]):
    """The moments of the folds of a share of the rows, for each of several designs."""

    designs: list[Design]
    folds: int
    share: Share

    @property
    def width(self) -> float:
        return 3.0 * len(self.designs) * int(self.designs[0].n_components)

    @property
    def partial_bytes(self) -> int:
        return 8 * len(self.designs) * self.folds * int(self.designs[0].n_components) ** 2

    @property
    def is_parallel(self) -> bool:
        return True

    def step(self, partial: list[FoldedMoments] | None, block: Block) -> list[FoldedMoments]:
        block = block.only(self.share(block))
        parts = [block.only(fold) for fold in fold_masks(block, self.folds)]
        before: Sequence[FoldedMoments | None] = [None] * len(self.designs) if partial is None else partial
        return [
            FoldedMoments.plus_rows(sums, [rows_of(design, some) for some in parts])
            for sums, design in zip(before, self.designs, strict=True)
        ]

    def combine(self, left: list[FoldedMoments], right: list[FoldedMoments]) -> list[FoldedMoments]:
        for mine, other in zip(left, right, strict=True):
            mine += other
        return left


def rows_of(design: Design, block: Block) -> Rows | None:
    return Rows(design.features(block.X), block.y, block.weight) if block.X.shape[0] else None


Models = dict[int, tuple[Array, Array]]  # of each fold, weights (penalties, m, k) and intercepts


@dataclass(frozen=True)
class Labelling:
    """A design, and for several numbers of columns the models of all folds but one at several penalties."""

    design: Design
    models: list[tuple[int, Models]]

    def wrong_labels(self, block: Block, masks: Sequence[np.ndarray], weight: np.ndarray) -> np.ndarray:
        """The weight of wrong labels, for each number of columns and penalty."""
        count = np.zeros(sum(len(next(iter(models.values()))[1]) for _, models in self.models))
        for fold in self.models[0][1]:
            rows = np.flatnonzero(masks[fold])
            if not len(rows):
                continue
            features, codes, first = self.design.features(block.X[rows]), block.y[rows], 0
            for columns, models in self.models:
                weights, intercepts = models[fold]
                for scores, intercept in zip(all_scores(features[:, :columns], weights), intercepts, strict=True):
                    found = weight[rows] @ wrong(scores + intercept, codes)
                    count[first] += found if np.isfinite(intercept).all() else np.inf
                    first += 1
        return count


@dataclass(frozen=True)
class LabelErrors(SumOf):
    """The weights of wrong labels of rows left out, of a share of all rows; and last the weight of these rows."""

    labellings: list[Labelling]
    folds: int
    share: Share

    @property
    def width(self) -> float:
        return 2.0 * int(self.labellings[0].design.n_components)

    def of(self, block: Block) -> np.ndarray:
        block = block.only(self.share(block))
        weight = np.ones(block.X.shape[0]) if block.weight is None else block.weight
        masks = fold_masks(block, self.folds)
        counts = [labelling.wrong_labels(block, masks, weight) for labelling in self.labellings]
        left = [float(weight[mask].sum()) for mask in masks[: self.folds if self.folds > 2 else 1]]
        return np.concatenate([*counts, [sum(left)]])


class Contender:
    """A design with the sums of its folds, and what came of them."""

    trial: Trial
    curve: list[Trial]  # the best penalty for each number of features

    def __init__(self, design: Design, choice: Choice, settings: dict[str, Any]) -> None:
        self.design, self.choice, self.settings = design, choice, settings
        self.sums: FoldedMoments | None = None
        self.rounds = 0
        self._above: int | None = None  # how many candidates lie above the best penalty so far
        self.near: list[Trial] = []  # penalties at which labels are counted, for each number of features
        self._models: list[tuple[int, Models]] = []

    @property
    def folded(self) -> FoldedMoments:
        assert self.sums is not None
        return self.sums

    def add(self, sums: FoldedMoments) -> None:
        if self.sums is None:
            self.sums = sums
        else:
            self.sums += sums

    def left_out(self, size: int, classifies: bool) -> LeftOut:
        """The sums of the first random features, with the columns before them."""
        design = self.design.truncated(size)
        folded = self.folded.prefix(design.n_components)
        left = LeftOut(folded, design.prefix_scale(self.design), True, classifies, design.linear_columns)
        if not left.numbers:
            raise ValueError("there are too few rows to hold some of them out.")
        return left

    def judge(self, sizes: Sequence[int], classifies: bool) -> None:
        """Squared errors of every number of features; of labels the models whose errors are to be counted."""
        self.rounds += 1
        self.curve, self.near, self._models = [], [], []
        for size in self._prefixes(sizes):
            left = self.left_out(size, classifies)
            floor = rounding_floor(self.design.truncated(size).map, left.folded.rows)
            alphas = above_floor(candidates("auto", left.folded.square_sum(left.scale, True)), "auto", floor)
            criteria = self._searched(left, alphas)
            if not classifies:
                self.curve.append(self._tried(left, size, settled(alphas, criteria)[1]))
                continue
            best = smallest(criteria)
            tried = alphas[max(best - BELOW, 0) : best + ABOVE + 1]
            self.near += [self._tried(left, size, float(alpha)) for alpha in tried]
            self._models.append((left.folded.features, models_of(left, tried)))
        if not classifies:
            self._choose_size()

    def _searched(self, left: LeftOut, alphas: np.ndarray) -> np.ndarray:
        """Criteria of penalties around the best, NaN at others; the search begins where the last one ended."""
        start = left.start(alphas) if self._above is None else max(len(alphas) - 1 - self._above, 0)
        rough = is_many(left.folded.features)
        criteria = valley(lambda k: left.criterion(left.errors(alphas[k], rough)), start, len(alphas))
        self._above = len(alphas) - 1 - smallest(criteria)
        return criteria

    def _prefixes(self, sizes: Sequence[int]) -> list[int]:
        """Of these numbers of features those that are a basis by themselves; of gates, multiples of the pool size."""
        kept = []
        for size in sizes:
            with suppress(ValueError):
                self.design.truncated(size)
                kept.append(size)
        return kept or [int(self.design.basis.n_components)]

    def _tried(self, left: LeftOut, size: int, alpha: float) -> Trial:
        units = float(np.sum(left.deviations)) if left.classifies else float(np.count_nonzero(left.deviations))
        errors = left.errors(alpha, rough=is_many(left.folded.features))
        if not units > 0:
            return Trial(self.settings, size, alpha, 1.0, left.folded.rows, self.rounds)
        by_fold = tuple(left.criterion(fold[None]) / units for fold in errors)
        error = left.criterion(errors) / units
        return Trial(self.settings, size, alpha, error, left.folded.rows, self.rounds, by_fold=by_fold)

    def labelling(self) -> Labelling:
        """What counts the wrong labels of each of `near`."""
        return Labelling(self.design, self._models)

    def settle_labels(self, shares: np.ndarray) -> None:
        """The penalty of fewest wrong labels for each number of features, of equals that of smallest squared error."""
        judged = [replace(trial, wrong=float(share)) for trial, share in zip(self.near, shares, strict=True)]
        sizes = sorted({trial.components for trial in judged})
        self.curve = [min((t for t in judged if t.components == s), key=lambda t: t.rank) for s in sizes]
        self._models = []
        self._choose_size()

    def _choose_size(self) -> None:
        """The most features, unless fewer are better by more than noise: with few rows fewer are often best by luck."""
        best, most = min(self.curve, key=lambda trial: trial.rank), self.curve[-1]
        self.trial = most if most.is_level(best) else best


def models_of(left: LeftOut, alphas: np.ndarray) -> Models:
    """For each fold the weights (penalties, m, k) and intercepts (penalties, k) of models of the other rows."""
    return {fold: models_at(left.pair(fold)[0], left.scale, alphas) for fold in left.numbers}


def fold_masks(block: Block, folds: int) -> list[np.ndarray]:
    """Which rows are of which fold; of two folds, the first is a fifth."""
    which = np.minimum(fold_of(block, FOLDS), folds - 1)
    return [which == fold for fold in range(folds)]


def folds_for(contenders: int, features: int) -> int:
    """Five folds if their sums, and those in which each is left out, are within the memory budget; else a fifth."""
    return folds_apart(features, contenders * FOLDS)

"""Chains: one kernel and one kind of metric each, learned in rounds.

A round fits, takes the average gradient outer product of the fit as the metric of the next, and looks for the bandwidth
and the penalty near those of the last.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...arrays import is_torch, to_host
from .batched import BatchedFolds
from .expansion import Expansion, Setting, with_metric
from .fits import FoldFits, Member, Rows, by_fold, chosen, downhill

FACTORS = 2.0 ** np.arange(-4.0, 6.0)
LINEAR = 0.1  # weight of a linear part beside a kernel whose diagonal is 1
ROUNDS = 8
GAIN = 0.99  # a round that does not get below this share of the best error has gained nothing
SLOPES, SLOPES_OF_TENSORS = 300, 1000  # rows at which gradients are taken


class Chain(NamedTuple):
    """How rows are scaled, the kernel, and what kind of metric is learned: none, diagonal or full."""

    numbers: str | None
    p: float
    q: float
    metric: str


# In the order in which they are tried, whatever the table.
CHAINS = (
    Chain("robust", 1.0, 1.0, "diagonal"),
    Chain("effects", 1.0, 1.0, "diagonal"),
    Chain("robust", 2.0, 2.0, "diagonal"),
    Chain("effects", 2.0, 2.0, "diagonal"),
    Chain("normal", 2.0, 1.0, "full"),
    Chain("robust", 2.0, 2.0, "full"),
    Chain("normal", 1.0, 1.0, "diagonal"),
    Chain("normal", 2.0, 2.0, "diagonal"),
    Chain("robust", 2.0, 1.0, "full"),
)
# After these, where fits take so little time that most of the budget is left.
MORE_CHAINS = (
    Chain("robust", 1.0, 0.5, "diagonal"),
    Chain("effects", 2.0, 1.0, "full"),
    Chain("normal", 2.0, 2.0, "full"),
    Chain("robust", 2.0, 1.0, "diagonal"),
    Chain("effects", 1.0, 0.5, "diagonal"),
)
# Columns that share a unit, as pixels and spectra do, are not scaled one by one.
ONE_UNIT = (Chain(None, 2.0, 2.0, "none"), Chain(None, 2.0, 1.0, "full"))


def slopes_of(rows: Rows) -> int:
    """Rows at which gradients are taken where the rows are."""
    return SLOPES_OF_TENSORS if is_torch(rows.X) else SLOPES


def rounds(rows: Rows, chain: Chain) -> Iterator[Member]:
    """One member a round, until rounds no longer help."""
    settings = [Setting(chain.numbers, chain.p, chain.q)] * (len(by_fold(rows)) + 1)
    rng, best, idle = np.random.default_rng(0), np.inf, 0
    for number in range(ROUNDS):
        found = tuned(rows, settings, first=number == 0)
        if found is None:
            return
        member, without = found
        yield member
        idle = 0 if member.error < GAIN * best else idle + 1
        best = min(best, member.error)
        if chain.metric == "none" or idle == 2 or not member.error < 1.0:
            return
        at, folds = rng.permutation(len(rows.X)), list(by_fold(rows))
        unseen = [at[rows.folds[at] != fold][: slopes_of(rows)] for fold in folds]
        full, base = chain.metric == "full", member.expansion.setting
        learners = zip(folds, without, unseen, strict=True)
        settings = [with_metric(base, f.metric(chosen(rows.without(fold), i)), full) for fold, f, i in learners]
        settings.append(with_metric(base, member.expansion.metric(chosen(rows.X, at[: slopes_of(rows)])), full))


def tuned(rows: Rows, settings: list[Setting], first: bool) -> tuple[Member, list[Expansion]] | None:
    """The best bandwidth, penalty and, in the first round, linear part for settings, found downhill."""
    fits = BatchedFolds(rows, settings) if is_torch(rows.X) else FoldFits(rows, settings)
    setting = settings[-1]
    alpha, tried = setting.alpha, dict[int, tuple[Member, list[Expansion]] | None]()

    def error(k: int) -> float:
        nonlocal alpha
        if k not in tried:
            tried[k] = fits.best(replace(setting, factor=float(FACTORS[k]), alpha=alpha))
        found = tried[k]
        if found is None:
            return np.inf
        alpha = found[0].expansion.setting.alpha  # a good start for the next
        return found[0].error

    best = tried[downhill(error, int(np.argmin(np.abs(np.log(FACTORS / setting.factor)))), len(FACTORS))]
    if best is None or not first:
        return best
    spread = max(float(np.var(to_host(rows.X), axis=0).sum()), 1e-300)
    straight = fits.best(replace(best[0].expansion.setting, linear=LINEAR / spread))
    return straight if straight is not None and straight[0].error < GAIN * best[0].error else best

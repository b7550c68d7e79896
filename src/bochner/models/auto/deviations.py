"""How far a prediction may be off, row by row: s(x) = w exp(f(x)).

f is a kernel fit in a metric of its own to t = log(r^2 + e^2 / 20) / 2, where r are the errors of rows left out and e^2
is the mean of their squares: which columns say how far off a prediction is need not be those that say where it lies.
Errors of rows that f has not seen judge it. Where they are not clearly likelier by s than by one deviation for all
rows, there is one. By w, 95 of 100 such rows lie within 1.96 deviations.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import NamedTuple

import numpy as np

from .chains import Chain, rounds
from .expansion import Expansion
from .fits import Rows
from .placing import HOST, Host

MOST = 500  # rows that f is fitted to
FEWEST = 50
CHAIN, ROUNDS, FOLDS = Chain("robust", 2.0, 2.0, "diagonal"), 3, 5
FLOOR = 0.05  # of the mean square: what is added to squares, whose logarithms have no end
CLEAR = 2.0  # standard errors by which one deviation for all must be worse


class Deviations(NamedTuple):
    """Deviations of predictions of rows, encoded as numbers of the robust kind; without f, one for all."""

    widening: np.ndarray  # (outputs,)
    logarithm: Expansion | None = None  # f

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Deviations (n, outputs)."""
        if self.logarithm is None:
            return np.tile(self.widening, (len(X), 1))
        return self.widening * np.exp(np.clip(self.logarithm(X), -300.0, 300.0))


def learned_deviations(X: np.ndarray, missed: np.ndarray, place: Host = HOST) -> Deviations:
    """What absolute errors (n, outputs) of rows left out teach."""
    level = np.mean(missed**2, axis=0)
    same = Deviations(widening(missed, np.ones_like(missed)))
    at = np.random.default_rng(0).permutation(len(X))[:MOST]
    if len(at) < FEWEST or not (level > 0).all():
        return same
    T = 0.5 * np.log(missed[at] ** 2 + FLOOR * level)
    middle = T.mean(axis=0)
    rows = place.rows(Rows(X[at], T - middle, np.arange(len(at)) % FOLDS, False))
    found = min(islice(rounds(rows, CHAIN), ROUNDS), key=lambda member: member.error, default=None)
    if found is None:
        return same
    scale = np.exp(middle + found.held_out)
    gains = unlikelihood(missed[at], np.sqrt(level)) - unlikelihood(missed[at], scale * centred(missed[at] / scale))
    gains = gains.sum(axis=1)
    if not gains.mean() > CLEAR * gains.std() / np.sqrt(len(gains)):
        return same
    f = place.home(found.expansion)
    f = replace(f, intercept=f.intercept + middle)
    return Deviations(widening(missed[at], scale), f)


def centred(sizes: np.ndarray) -> np.ndarray:
    """The factor of deviations (outputs,) by which errors of such sizes have the mean square 1."""
    return np.sqrt(np.mean(sizes**2, axis=0))


def widening(missed: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """The factor of deviations by which 95 of 100 errors lie within 1.96 of them."""
    return np.quantile(missed / scale, 0.95, axis=0, method="higher") / 1.96


def unlikelihood(missed: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    """Minus the logarithm of the density of errors, but for a constant, by the law of Laplace, for which a few large
    errors decide less than by the normal one."""
    return np.log(deviations) + np.sqrt(2.0) * missed / deviations

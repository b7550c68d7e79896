"""Kernel ridge fits that know their own error: predictions of rows by models that have not seen them.

With few rows every fold is predicted by a model, in a metric, that has not seen it. With more, one fold is held out.

Rows are arrays, or tensors on a device; folds, errors and predictions of rows left out are the host's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lapack

from ... import ops
from ...arrays import Array, is_torch, like, to_host
from ...kernels import Stable
from ...ops import threads
from ...solvers import solve_or_none
from .expansion import Expansion, Setting, fallen

ALPHAS = 10.0 ** np.arange(-7.0, 4.0)
JITTER = 1e-7  # of the diagonal of a kernel matrix, which is 1


class Member(NamedTuple):
    """A fitted function, what it predicts of rows without having seen them, and its squared error there."""

    expansion: Any  # an Expansion, or one for each leaf of a tree
    held_out: np.ndarray  # (judged rows, outputs), of the host
    error: float  # relative to that of the mean


class Rows(NamedTuple):
    """Encoded rows, coded targets of mean zero, and folds; rows of a judged fold are predicted without it."""

    X: Array
    Y: Array
    folds: np.ndarray
    one_fold: bool  # whether fold 0 alone is judged
    versions: Sequence[Array] = ()  # what X is to those who have not seen a fold, if not the same for all

    @property
    def judged(self) -> np.ndarray:
        """Which rows are predicted without having been seen."""
        return self.folds == 0 if self.one_fold else np.ones(len(self.folds), dtype=bool)

    def without(self, fold: int) -> Array:
        """X as those see it who have not seen a fold."""
        return self.versions[fold] if len(self.versions) else self.X

    def error_of(self, predicted: Array) -> float:
        """Squared error of judged rows, relative to that of predicting their mean."""
        Y = chosen(self.Y, np.flatnonzero(self.judged))
        nothing = float(((Y - Y.mean(axis=0)) ** 2).sum())
        return float(((Y - predicted) ** 2).sum()) / nothing if nothing > 0 else 0.0


def chosen(X: Array, which: np.ndarray) -> Array:
    """The rows of these numbers."""
    found: Array = X[like(which, X)]
    return found


def solved(kernel: Array, Y: Array, alpha: float) -> Array | None:
    """Coefficients (K + alpha I)^-1 Y, or None if that matrix is not positive definite."""
    if is_torch(kernel):
        return solve_or_none(kernel, Y, alpha)
    matrix = np.array(kernel, order="C")
    matrix[np.diag_indices(len(matrix))] += alpha
    try:
        factor = np.linalg.cholesky(matrix)  # which leaves the interpreter free for other folds
    except np.linalg.LinAlgError:
        return None
    return lapack.dpotrs(factor.T, Y, lower=0)[0]


def beside(tasks: list[Callable[[], Any]]) -> list[Any]:
    """What tasks return, done beside one another, each with one thread of BLAS."""
    found: list[Any] = [None] * len(tasks)

    def put(place: int, task: Callable[[], Any]) -> None:
        found[place] = task()

    with threads.blas_limited():
        threads.run([partial(put, place, task) for place, task in enumerate(tasks)])
    return found


class Part:
    """Fits of one setting to some rows, all of them centres; distances are made once for all bandwidths, penalties."""

    def __init__(self, X: Array, Y: Array, setting: Setting, new: Array, median: float | None = None) -> None:
        self.X, self.setting, self.new = X, setting, new
        self.level = Y.mean(axis=0)
        self.Y = Y - self.level if is_torch(Y) else np.asfortranarray(Y - self.level)
        self.Z = setting.metric(X)
        self.median = replace(setting, factor=1.0).kernel(self.Z).scale if median is None else median
        self.middle = X.mean(axis=0)
        self.distances = ops.distances(self.Z, self.Z, setting.p)
        self.to_new = ops.distances(setting.metric(new), self.Z, setting.p)

    def kernels(self, factor: float, linear: float) -> tuple[Array, Array]:
        """The kernel matrix of the rows, and that of new rows with them."""
        s = factor * self.median
        both = fallen(self.distances, s, self.setting.q), fallen(self.to_new, s, self.setting.q)
        if linear:
            centred = self.X - self.middle
            both[0][:] += linear * centred @ centred.T
            both[1][:] += linear * (self.new - self.middle) @ centred.T
        return both

    def expansion(self, setting: Setting, coefficients: Array) -> Expansion:
        """The function with these coefficients; its metric is the one that the part was made with."""
        setting = replace(setting, root=self.setting.root)
        kernel = Stable(setting.p, setting.q, setting.factor * self.median)
        slopes = setting.linear * ((self.X - self.middle).T @ coefficients)
        return Expansion(setting, kernel, self.Z, coefficients, slopes, self.middle, self.level)


class FoldFits:
    """Fits without each fold, every one in a metric that its fold has not seen, and one to all rows."""

    def __init__(self, rows: Rows, settings: list[Setting]) -> None:
        """`settings` has one for each fold and one for all rows; they differ in their metrics alone."""
        places = by_fold(rows)
        self.rows, self.outs = rows, list(places.values())
        everyone, nobody = np.arange(len(rows.X)), np.arange(0)
        tables = [*map(rows.without, places), rows.X]
        rests = [np.setdiff1d(everyone, out) for out in self.outs]
        choices = zip(tables, [*rests, everyone], settings, [*self.outs, nobody], strict=True)
        *self.parts, self.whole = beside([partial(Part, X[r], rows.Y[r], s, X[o]) for X, r, s, o in choices])

    def best(self, setting: Setting) -> tuple[Member, list[Expansion]] | None:
        """The member at the penalty of smallest error, downhill from the setting's, and the functions without folds."""
        kernels = beside([partial(part.kernels, setting.factor, setting.linear) for part in self.parts])
        tried: dict[int, tuple[float, np.ndarray, list[np.ndarray | None]]] = {}

        def error(k: int) -> float:
            if k not in tried:
                predicted, pairs = np.full_like(self.rows.Y, np.inf), list(zip(self.parts, kernels, strict=True))
                found = beside([partial(solved, inner, part.Y, float(ALPHAS[k])) for part, (inner, _) in pairs])
                for (part, (_, outer)), c, out in zip(pairs, found, self.outs, strict=True):
                    if c is not None:
                        predicted[out] = outer @ c + part.level
                tried[k] = (self.rows.error_of(predicted), predicted, found)
            return tried[k][0] if np.isfinite(tried[k][0]) else np.inf

        at = downhill(error, nearest(setting.alpha), len(ALPHAS))
        if not np.isfinite(tried[at][0]):
            return None
        found_error, predicted, found = tried[at]
        setting = replace(setting, alpha=float(ALPHAS[at]))
        everything = solved(self.whole.kernels(setting.factor, setting.linear)[0], self.whole.Y, setting.alpha)
        if everything is None:
            return None
        member = Member(self.whole.expansion(setting, everything), predicted, found_error)
        without = [part.expansion(setting, c) for part, c in zip(self.parts, found, strict=True) if c is not None]
        return member, without


def exact_fit(rows: Rows, setting: Setting) -> tuple[Member, Expansion] | None:
    """The member with all rows as centres, its penalty by fold 0; and the function that has not seen that fold."""
    out, rest = np.flatnonzero(rows.folds == 0), np.flatnonzero(rows.folds != 0)
    part = Part(chosen(rows.X, rest), chosen(rows.Y, rest), setting, chosen(rows.X, out))
    inner, outer = part.kernels(setting.factor, setting.linear)
    tried: dict[int, tuple[float, Array, Array] | None] = {}

    def error(k: int) -> float:
        if k not in tried:
            c = solve_or_none(inner, part.Y, float(ALPHAS[k]))
            predicted = part.level if c is None else outer @ c + part.level
            tried[k] = None if c is None else (rows.error_of(predicted), predicted, c)
        found = tried[k]
        return found[0] if found is not None and np.isfinite(found[0]) else np.inf

    at = downhill(error, nearest(setting.alpha), len(ALPHAS))
    best = tried[at]
    if best is None or not np.isfinite(best[0]):
        return None
    setting = replace(setting, alpha=float(ALPHAS[at]))
    whole = Part(rows.X, rows.Y, setting, rows.X[:0])
    c = solve_or_none(whole.kernels(setting.factor, setting.linear)[0], whole.Y, setting.alpha)
    if c is None:
        return None
    return Member(whole.expansion(setting, c), to_host(best[1]), best[0]), part.expansion(setting, best[2])


def nearest(alpha: float) -> int:
    """The number of the candidate next to a penalty."""
    return int(np.argmin(np.abs(np.log(ALPHAS / alpha))))


def downhill(error: Callable[[int], float], start: int, number: int) -> int:
    """From `start` to where no neighbour is better; where `start` has no error at all, to larger numbers first."""
    at = start
    while at + 1 < number and not np.isfinite(error(at)):
        at += 1
    while True:
        best = min((k for k in (at, at + 1, at - 1) if 0 <= k < number), key=error)
        if best == at:
            return at
        at = best


def by_fold(rows: Rows) -> dict[int, np.ndarray]:
    """The rows of each fold."""
    return {int(fold): np.flatnonzero(rows.folds == fold) for fold in np.unique(rows.folds)}

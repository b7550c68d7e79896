"""Kernel ridge fits that know their own error: predictions of rows by models that have not seen them.

With few rows all of them are centres, and every fold is predicted by a model, in a metric, that has not seen it. With
more, one fold is held out; and with many, some rows are centres (landmarks): their features are
phi(x) = L^-1 k(centres, x) with L L' = K(centres, centres), and sums over the rows give the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import blas, lapack
from scipy.spatial.distance import cdist

from ...kernels import Stable
from .expansion import TILE, Expansion, Setting

ALPHAS = 10.0 ** np.arange(-7.0, 4.0)
JITTER = 1e-7  # of the diagonal of a kernel matrix, which is 1
CITY = {1.0: "cityblock", 2.0: "euclidean"}


class Member(NamedTuple):
    """A fitted function, what it predicts of rows without having seen them, and its squared error there."""

    expansion: Expansion
    held_out: np.ndarray  # (judged rows, outputs)
    error: float  # relative to that of the mean


class Rows(NamedTuple):
    """Encoded rows, coded targets of mean zero, and folds; rows of a judged fold are predicted without it."""

    X: np.ndarray
    Y: np.ndarray
    folds: np.ndarray
    one_fold: bool  # whether fold 0 alone is judged

    @property
    def judged(self) -> np.ndarray:
        """Which rows are predicted without having been seen."""
        return self.folds == 0 if self.one_fold else np.ones(len(self.folds), dtype=bool)

    def error_of(self, predicted: np.ndarray) -> float:
        """Squared error of judged rows, relative to that of predicting their mean."""
        Y = self.Y[self.judged]
        nothing = float(np.sum((Y - Y.mean(axis=0)) ** 2))
        return float(np.sum((Y - predicted) ** 2)) / nothing if nothing > 0 else 0.0


def solved(kernel: np.ndarray, Y: np.ndarray, alpha: float) -> np.ndarray | None:
    """Coefficients (K + alpha I)^-1 Y, or None if that matrix is not positive definite."""
    matrix = kernel.copy(order="F")
    matrix[np.diag_indices(len(matrix))] += alpha
    factor, bad = lapack.dpotrf(matrix, lower=1, overwrite_a=1)
    return None if bad else lapack.dpotrs(factor, Y, lower=1)[0]


class Part:
    """Fits of one setting to some rows, all of them centres; distances are made once for all bandwidths, penalties."""

    def __init__(self, X: np.ndarray, Y: np.ndarray, setting: Setting, new: np.ndarray) -> None:
        self.X, self.setting, self.new = X, setting, new
        self.level = Y.mean(axis=0)
        self.Y = np.asfortranarray(Y - self.level)
        self.Z = setting.metric(X)
        self.median = replace(setting, factor=1.0).kernel(self.Z).scale
        self.middle = X.mean(axis=0)
        self.distances = cdist(self.Z, self.Z, CITY[setting.p])
        self.to_new = cdist(setting.metric(new), self.Z, CITY[setting.p])

    def kernels(self, factor: float, linear: float) -> tuple[np.ndarray, np.ndarray]:
        """The kernel matrix of the rows, and that of new rows with them."""
        q, s = self.setting.q, factor * self.median
        both = np.exp(-((self.distances / s) ** q)), np.exp(-((self.to_new / s) ** q))
        if linear:
            centred = self.X - self.middle
            both[0][:] += linear * centred @ centred.T
            both[1][:] += linear * (self.new - self.middle) @ centred.T
        return both

    def expansion(self, setting: Setting, coefficients: np.ndarray) -> Expansion:
        """The function with these coefficients; its metric is the one that the part was made with."""
        setting = replace(setting, root=self.setting.root)
        kernel = Stable(setting.p, setting.q, setting.factor * self.median)
        slopes = setting.linear * ((self.X - self.middle).T @ coefficients)
        return Expansion(setting, kernel, self.Z, coefficients, slopes, self.middle, self.level)


class FoldFits:
    """Fits without each fold, every one in a metric that its fold has not seen, and one to all rows."""

    def __init__(self, rows: Rows, settings: list[Setting]) -> None:
        """`settings` has one for each fold and one for all rows; they differ in their metrics alone."""
        self.rows, self.outs = rows, list(by_fold(rows).values())
        X, Y, nobody = rows.X, rows.Y, rows.X[:0]
        rests = [np.setdiff1d(np.arange(len(X)), out) for out in self.outs]
        self.parts = [Part(X[r], Y[r], s, X[o]) for r, s, o in zip(rests, settings, self.outs, strict=False)]
        self.whole = Part(X, Y, settings[-1], nobody)

    def best(self, setting: Setting) -> tuple[Member, list[Expansion]] | None:
        """The member at the penalty of smallest error, downhill from the setting's, and the functions without folds."""
        kernels = [part.kernels(setting.factor, setting.linear) for part in self.parts]
        tried: dict[int, tuple[float, np.ndarray, list[np.ndarray]]] = {}

        def error(k: int) -> float:
            if k not in tried:
                predicted, found = np.full_like(self.rows.Y, np.inf), []
                for part, (inner, outer), out in zip(self.parts, kernels, self.outs, strict=True):
                    c = solved(inner, part.Y, float(ALPHAS[k]))
                    if c is None:
                        break
                    found.append(c)
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
        return member, [part.expansion(setting, c) for part, c in zip(self.parts, found, strict=True)]


def exact_fit(rows: Rows, setting: Setting) -> tuple[Member, Expansion] | None:
    """The member with all rows as centres, its penalty by fold 0; and the function that has not seen that fold."""
    out, rest = np.flatnonzero(rows.folds == 0), np.flatnonzero(rows.folds != 0)
    part = Part(rows.X[rest], rows.Y[rest], setting, rows.X[out])
    inner, outer = part.kernels(setting.factor, setting.linear)
    tried: dict[int, tuple[float, np.ndarray, np.ndarray]] = {}

    def error(k: int) -> float:
        if k not in tried:
            c = solved(inner, part.Y, float(ALPHAS[k]))
            predicted = np.full((len(out), part.Y.shape[1]), np.inf) if c is None else outer @ c + part.level
            tried[k] = (rows.error_of(predicted), predicted, np.empty(0) if c is None else c)
        return tried[k][0] if np.isfinite(tried[k][0]) else np.inf

    at = downhill(error, nearest(setting.alpha), len(ALPHAS))
    if not np.isfinite(tried[at][0]):
        return None
    setting = replace(setting, alpha=float(ALPHAS[at]))
    whole = Part(rows.X, rows.Y, setting, rows.X[:0])
    c = solved(whole.kernels(setting.factor, setting.linear)[0], whole.Y, setting.alpha)
    if c is None:
        return None
    return Member(whole.expansion(setting, c), tried[at][1], tried[at][0]), part.expansion(setting, tried[at][2])


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


class LandmarkFits:
    """Fits of one setting with some rows as centres: sums of features over the rows, those of fold 0 apart."""

    def __init__(self, rows: Rows, setting: Setting, centres: np.ndarray) -> None:
        self.rows, self.setting = rows, setting
        self.Z = setting.metric(rows.X[centres])
        self.kernel = setting.kernel(self.Z)
        self.middle = rows.X.mean(axis=0)
        matrix = np.asfortranarray(self.kernel(self.Z))
        matrix[np.diag_indices(len(matrix))] += JITTER
        self.factor, bad = lapack.dpotrf(matrix, lower=1, overwrite_a=1)
        if bad:
            raise np.linalg.LinAlgError("the kernel matrix of the centres is singular")
        self.out = np.flatnonzero(rows.folds == 0)
        self.rest_sums = self._sums(np.flatnonzero(rows.folds != 0))
        self.out_sums = self._sums(self.out)

    def features(self, X: np.ndarray) -> np.ndarray:
        """Features (n, centres and columns): products of them are the kernel."""
        kernel = np.asfortranarray(self.kernel(self.setting.metric(X), self.Z))
        found = blas.dtrsm(1.0, self.factor, kernel, side=1, trans_a=1, lower=1, overwrite_b=1)
        if not self.setting.linear:
            return found
        return np.hstack([found, np.sqrt(self.setting.linear) * (X - self.middle)])

    def _sums(self, which: np.ndarray) -> tuple[float, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Number, sums of features and targets, and of their products."""
        columns = len(self.Z) + (self.rows.X.shape[1] if self.setting.linear else 0)
        outputs = self.rows.Y.shape[1]
        gram, cross = np.zeros((columns, columns)), np.zeros((columns, outputs))
        first, targets = np.zeros(columns), np.zeros(outputs)
        step = max(1, TILE // max(columns, 1))
        for start in range(0, len(which), step):
            part = which[start : start + step]
            features, Y = self.features(self.rows.X[part]), self.rows.Y[part]
            gram += features.T @ features
            cross += features.T @ Y
            first += features.sum(axis=0)
            targets += Y.sum(axis=0)
        return float(len(which)), first, targets, gram, cross

    @staticmethod
    def _solve(sums: Sequence[Any], alpha: float) -> tuple[np.ndarray, np.ndarray] | None:
        """Coefficients and intercept, or None."""
        n, first, targets, gram, cross = sums
        mean, level = first / n, targets / n
        matrix = np.asfortranarray(gram - n * np.outer(mean, mean))
        matrix[np.diag_indices(len(matrix))] += alpha
        factor, bad = lapack.dpotrf(matrix, lower=1, overwrite_a=1)
        if bad:
            return None
        b, _ = lapack.dpotrs(factor, cross - np.outer(first, level), lower=1)
        return b, level - mean @ b

    def best(self, setting: Setting) -> tuple[Member, Expansion] | None:
        """The member at the penalty of smallest error on fold 0, and the function that has not seen that fold."""
        features = self.features(self.rows.X[self.out])
        held: dict[int, tuple[float, np.ndarray]] = {}

        def error(k: int) -> float:
            if k not in held:
                found = self._solve(self.rest_sums, float(ALPHAS[k]))
                predicted = np.full((len(self.out), self.rows.Y.shape[1]), np.inf)
                if found is not None:
                    predicted = features @ found[0] + found[1]
                held[k] = (self.rows.error_of(predicted), predicted)
            return held[k][0] if np.isfinite(held[k][0]) else np.inf

        at = downhill(error, nearest(setting.alpha), len(ALPHAS))
        alpha = float(ALPHAS[at])
        everything = [a + b for a, b in zip(self.rest_sums, self.out_sums, strict=True)]
        found, unseen = self._solve(everything, alpha), self._solve(self.rest_sums, alpha)
        if found is None or unseen is None:
            return None
        setting = replace(setting, alpha=alpha)
        return Member(self._expansion(setting, *found), held[at][1], held[at][0]), self._expansion(setting, *unseen)

    def _expansion(self, setting: Setting, b: np.ndarray, intercept: np.ndarray) -> Expansion:
        m = len(self.Z)
        coefficients = blas.dtrsm(1.0, self.factor, np.asfortranarray(b[:m]), trans_a=1, lower=1)
        slopes = np.sqrt(setting.linear) * b[m:] if setting.linear else np.zeros((len(self.middle), b.shape[1]))
        return Expansion(setting, self.kernel, self.Z, coefficients, slopes, self.middle, intercept)


def ridge(rows: Rows) -> Member:
    """Plain ridge on the encoded columns: no answer may be worse."""
    n, d = rows.X.shape
    middle = rows.X.mean(axis=0)
    X = rows.X - middle
    grams = {fold: (X[at].T @ X[at], X[at].T @ rows.Y[at]) for fold, at in by_fold(rows).items()}
    gram, cross = (sum(part) for part in zip(*grams.values(), strict=True))
    unit = max(float(np.trace(gram)) / d, 1e-300)
    judged = [0] if rows.one_fold else list(grams)

    def held_out(k: int) -> np.ndarray:
        predicted = np.zeros_like(rows.Y)
        for fold in judged:
            at = rows.folds == fold
            left = gram - grams[fold][0] + ALPHAS[k] * unit * np.eye(d)
            predicted[at] = X[at] @ np.linalg.solve(left, cross - grams[fold][1])
        return predicted[rows.judged]

    at = downhill(lambda k: rows.error_of(held_out(k)), nearest(1e-2), len(ALPHAS))
    alpha = float(ALPHAS[at])
    slopes = np.linalg.solve(gram + alpha * unit * np.eye(d), cross)
    setting = Setting("robust", 2.0, 2.0, linear=1.0, alpha=alpha)
    none, level = np.empty((0, d)), np.zeros(rows.Y.shape[1])
    expansion = Expansion(setting, Stable(2.0, 2.0, 1.0), none, np.empty((0, rows.Y.shape[1])), slopes, middle, level)
    predicted = held_out(at)
    return Member(expansion, predicted, rows.error_of(predicted))


def by_fold(rows: Rows) -> dict[int, np.ndarray]:
    """The rows of each fold."""
    return {int(fold): np.flatnonzero(rows.folds == fold) for fold in np.unique(rows.folds)}

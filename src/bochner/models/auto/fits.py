"""Kernel ridge fits that know their own error: predictions of rows by models that have not seen them.

With few rows all of them are centres, and every fold is predicted by a model, in a metric, that has not seen it. With
more, one fold is held out; and with many, some rows are centres (landmarks): their features are
phi(x) = L^-1 k(centres, x) with L L' = K(centres, centres), and sums over the rows give the rest.

Rows are arrays, or tensors on a device; folds, errors and predictions of rows left out are the host's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lapack, solve_triangular

from ... import ops
from ...arrays import Array, constant, is_torch, like, namespace, to_host
from ...kernels import Stable
from ...moments import Centered, FoldedMoments, Moments
from ...moments import Rows as FeatureRows
from ...ops import threads
from ...ops.blas import divide_by_triangle
from ...solvers import solve_or_none
from .expansion import Expansion, Setting, fallen, kernel_between, tile_of

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


class LandmarkFits:
    """Fits of one setting with some rows as centres: sums of features over the rows, those of fold 0 apart."""

    def __init__(self, rows: Rows, setting: Setting, centres: np.ndarray) -> None:
        self.rows, self.setting = rows, setting
        self.Z = setting.metric(chosen(rows.X, centres))
        self.kernel = setting.kernel(self.Z)
        self.middle = rows.X.mean(axis=0)
        self.factor = upper_factor(self._kernel_of(self.Z), JITTER)
        self.out = np.flatnonzero(rows.folds == 0)
        self.rest_sums = self._sums(np.flatnonzero(rows.folds != 0))
        self.out_sums = self._sums(self.out)

    def _kernel_of(self, Z: Array) -> Array:
        return kernel_between(self.kernel, Z, self.Z)

    def features(self, X: Array) -> Array:
        """Features (n, centres and columns): products of them are the kernel."""
        found = divided(self._kernel_of(self.setting.metric(X)), self.factor)
        if not self.setting.linear:
            return found
        features: Array = namespace(X).hstack([found, float(np.sqrt(self.setting.linear)) * (X - self.middle)])
        return features

    def _sums(self, which: np.ndarray) -> Moments:
        return sums_of(self.rows, lambda part: self.features(chosen(self.rows.X, part)), which)

    def best(self, setting: Setting) -> tuple[Member, Expansion] | None:
        """The member at the penalty of smallest error on fold 0, and the function that has not seen that fold."""
        features, unseen = self.features(chosen(self.rows.X, self.out)), self.rest_sums.centered()
        tried: dict[int, tuple[float, Array, Expansion]] = {}

        def error(k: int) -> float:
            if k not in tried:
                found = solve_or_none(unseen.gram, unseen.cross, float(ALPHAS[k]))
                if found is None:
                    return np.inf
                predicted = (features - unseen.mean_z) @ found + unseen.mean_y
                made = self._expansion(replace(setting, alpha=float(ALPHAS[k])), unseen, found)
                tried[k] = (self.rows.error_of(predicted), predicted, made)
            return tried[k][0]

        at = downhill(error, nearest(setting.alpha), len(ALPHAS))
        everything = (self.rest_sums + self.out_sums).centered()
        found = solve_or_none(everything.gram, everything.cross, float(ALPHAS[at]))
        if found is None or at not in tried:
            return None
        whole = self._expansion(replace(setting, alpha=float(ALPHAS[at])), everything, found)
        return Member(whole, to_host(tried[at][1]), tried[at][0]), tried[at][2]

    def _expansion(self, setting: Setting, sums: Centered, b: Array) -> Expansion:
        m, intercept = len(self.Z), sums.mean_y - sums.mean_z @ b
        coefficients = solved_by_triangle(self.factor, b[:m])
        root, none = float(np.sqrt(setting.linear)), constant(0.0, (len(self.middle), b.shape[1]), b)
        slopes = root * b[m:] if setting.linear else none
        return Expansion(setting, self.kernel, self.Z, coefficients, slopes, self.middle, intercept)


def upper_factor(matrix: Array, shift: float) -> Array:
    """R of matrix + shift I = R'R, which may be made in the place of the matrix."""
    if is_torch(matrix):
        matrix.diagonal().add_(shift)
        factor: Array = namespace(matrix).linalg.cholesky(matrix, upper=True)
        return factor
    matrix[np.diag_indices(len(matrix))] += shift
    return np.asfortranarray(np.linalg.cholesky(matrix).T)


def divided(rows: Array, factor: Array) -> Array:
    """Rows times R^-1, perhaps in their place."""
    if is_torch(rows):
        found: Array = namespace(rows).linalg.solve_triangular(factor, rows, upper=True, left=False)
        return found
    threads.over_rows(lambda some: divide_by_triangle(np.asarray(factor), rows[some].T), len(rows), 128)
    return rows


def solved_by_triangle(factor: Array, b: Array) -> Array:
    """R^-1 b."""
    found: Array = (
        namespace(b).linalg.solve_triangular(factor, b, upper=True) if is_torch(b) else solve_triangular(factor, b)
    )
    return found


class LeastSquares(NamedTuple):
    """A linear function of features, what it predicts of judged rows without having seen them, and its error there."""

    alpha: float  # the penalty, in mean diagonal entries of the Gram matrix
    coefficients: np.ndarray
    intercept: np.ndarray
    held_out: np.ndarray
    error: float


def least_squares(rows: Rows, features: Callable[[np.ndarray], np.ndarray], start: float) -> LeastSquares | None:
    """Ridge on features of rows, which are made once: sums of each judged fold, and of the rest, are all it takes."""
    places = by_fold(rows)
    if rows.one_fold:
        places = {0: places[0], 1: np.flatnonzero(rows.folds != 0)}
    sums = {fold: sums_of(rows, features, at) for fold, at in places.items()}
    total = FoldedMoments(list(sums.values())).total()
    judged = {fold: (places[fold], features(places[fold])) for fold in ([0] if rows.one_fold else places)}
    whole = total.centered()
    unit = max(float(np.trace(whole.gram)) / len(whole.gram), np.finfo(float).tiny)
    tried: dict[int, np.ndarray] = {}

    def held_out(k: int) -> np.ndarray:
        predicted = np.full_like(rows.Y, np.inf)
        for fold, (at, Z) in judged.items():
            rest = (total - sums[fold]).centered()
            b = solve_or_none(rest.gram, rest.cross, float(ALPHAS[k]) * unit)
            if b is not None:
                predicted[at] = ops.scores(Z, np.asarray(b)) + (rest.mean_y - rest.mean_z @ b)
        return predicted[rows.judged]

    def error(k: int) -> float:
        if k not in tried:
            tried[k] = held_out(k)
        found = rows.error_of(tried[k])
        return found if np.isfinite(found) else np.inf

    at = downhill(error, nearest(start), len(ALPHAS))
    b = solve_or_none(whole.gram, whole.cross, float(ALPHAS[at]) * unit)
    if b is None or not np.isfinite(error(at)):
        return None
    b = np.asarray(b)
    return LeastSquares(float(ALPHAS[at]), b, whole.mean_y - whole.mean_z @ b, tried[at], error(at))


def dual_least_squares(rows: Rows, features: Callable[[np.ndarray], np.ndarray], start: float) -> LeastSquares | None:
    """The same where features outnumber rows, by the matrix of products of rows."""
    Z = features(np.arange(len(rows.X))).astype(np.float32)
    middle = Z.mean(axis=0)
    Z -= middle
    K = (Z @ Z.T).astype(np.float64)
    unit = max(float(np.trace(K)) / Z.shape[1], np.finfo(float).tiny)
    outs = [np.flatnonzero(rows.folds == fold) for fold in ([0] if rows.one_fold else np.unique(rows.folds))]
    tried: dict[int, np.ndarray] = {}

    def fitted(rest: np.ndarray, alpha: float) -> tuple[Array | None, Array, Array]:
        """Coefficients of the rows, products with these less their mean, and the mean target."""
        towards = K[:, rest].mean(axis=1)
        products = K[:, rest] - towards[:, None] - towards[rest] + towards[rest].mean()
        level = rows.Y[rest].mean(axis=0)
        return solved(products[rest], np.asfortranarray(rows.Y[rest] - level), alpha), products, level

    def error(k: int) -> float:
        if k not in tried:
            predicted = np.full_like(rows.Y, np.inf)
            for out in outs:
                rest = np.setdiff1d(np.arange(len(K)), out)
                c, products, level = fitted(rest, float(ALPHAS[k]) * unit)
                if c is not None:
                    predicted[out] = products[out] @ c + level
            tried[k] = predicted[rows.judged]
        found = rows.error_of(tried[k])
        return found if np.isfinite(found) else np.inf

    at = downhill(error, nearest(start), len(ALPHAS))
    c, _, level = fitted(np.arange(len(K)), float(ALPHAS[at]) * unit)
    if c is None or not np.isfinite(error(at)):
        return None
    b = Z.T.astype(np.float64) @ c
    return LeastSquares(float(ALPHAS[at]), b, level - middle @ b, tried[at], error(at))


def sums_of(rows: Rows, features: Callable[[np.ndarray], Array], which: np.ndarray) -> Moments:
    """The sums of features of some rows, a tile at a time."""
    first = features(which[:1])
    step = max(1, tile_of(first) // first.shape[1])
    total: Moments | None = None
    for part in (which[start : start + step] for start in range(0, len(which), step)):
        total = Moments.plus_rows(total, FeatureRows(features(part), chosen(rows.Y, part)))
    assert total is not None
    return total


def ridge(rows: Rows) -> Member:
    """Plain ridge on the encoded columns: no answer may be worse."""
    middle = rows.X.mean(axis=0)
    X = rows.X - middle
    found = least_squares(rows, X.__getitem__, 1e-2)
    assert found is not None
    setting = Setting("robust", 2.0, 2.0, linear=1.0, alpha=found.alpha)
    kernel, none = Stable(2.0, 2.0, 1.0), (np.empty((0, len(middle))), np.empty((0, len(found.intercept))))
    function = Expansion(setting, kernel, *none, found.coefficients, middle, found.intercept)
    return Member(function, found.held_out, found.error)


def by_fold(rows: Rows) -> dict[int, np.ndarray]:
    """The rows of each fold."""
    return {int(fold): np.flatnonzero(rows.folds == fold) for fold in np.unique(rows.folds)}

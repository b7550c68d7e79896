"""Fits that go by features of rows and their sums: some rows as centres, patches of pictures, columns as they are.

With some rows as centres (landmarks), phi(x) = L^-1 k(centres, x) with L L' = K(centres, centres) has the products of
the kernel there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from ... import ops
from ...arrays import Array, constant, is_torch, namespace, to_host
from ...kernels import Stable
from ...moments import Centered, FoldedMoments, Moments
from ...moments import Rows as FeatureRows
from ...ops import threads
from ...ops.blas import divide_by_triangle
from ...solvers import solve_or_none
from .expansion import Expansion, Setting, kernel_between, tile_of
from .fits import ALPHAS, JITTER, Member, Rows, by_fold, chosen, downhill, nearest, solved


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

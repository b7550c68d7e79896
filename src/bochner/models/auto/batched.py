"""`FoldFits` on a device: the fits without each fold, and those of neighbouring penalties, are one batch.

Folds have about equal sizes. Where one has fewer rows than the largest, its matrices end in rows of the identity, and
its targets in zeros: coefficients of what is not there are zero.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ... import ops
from ...arrays import Array, cast, empty, like, namespace, to_host
from ...kernels import Stable
from ...maps.quantize import round_digits
from .expansion import Expansion, Setting, fallen, sampled
from .fits import ALPHAS, Member, Part, Rows, by_fold, chosen, downhill, nearest, solved

NEAR = 2  # penalties to either side of one that is asked for, which are tried in the same batch


class BatchedFolds:
    """Fits without each fold, every one in a metric that its fold has not seen, and one to all rows."""

    def __init__(self, rows: Rows, settings: list[Setting]) -> None:
        """`settings` has one for each fold and one for all rows; they differ in their metrics alone."""
        places = by_fold(rows)
        self.rows, self.settings, self.outs = rows, settings[:-1], list(places.values())
        rests = [np.setdiff1d(np.arange(len(rows.X)), out) for out in self.outs]
        tables = [rows.without(fold) for fold in places]
        rest, out = Padded.of(rests, rows.X), Padded.of(self.outs, rows.X)
        self.sizes, self.inside = rest.sizes, rest.inside
        self.X, self.new = rest.taken(tables), out.taken(tables)
        Y, self.truth, self.judged = rest.taken([rows.Y] * len(tables)), out.taken([rows.Y] * len(tables)), out.inside
        self.level, self.middle = self._mean(Y), self._mean(self.X)
        self.Y = (Y - self.level) * self.inside
        self.Z = metrics(settings[:-1], self.X)
        self.distances = ops.distances(self.Z, self.Z, settings[0].p)
        self.to_new = ops.distances(metrics(settings[:-1], self.new), self.Z, settings[0].p)
        self.medians = medians(self.distances, self.sizes)
        self.whole = WholePart(rows.X, rows.Y, settings[-1], rows.X[:0], 1.0)

    def _mean(self, numbers: Array) -> Array:
        """The mean of each fold's rows (folds, 1, columns)."""
        found: Array = (numbers * self.inside).sum(axis=1)[:, None] / self.inside.sum(axis=1)[:, None]
        return found

    def kernels(self, setting: Setting) -> tuple[Array, Array]:
        """The kernel matrices of the rows (folds, n, n), and those of each fold with them (folds, m, n)."""
        scales = like(setting.factor * self.medians, self.Z)[:, None, None]
        both = [fallen(part, scales, setting.q) for part in (self.distances, self.to_new)]
        if setting.linear:
            centred = self.X - self.middle
            both[0] += setting.linear * (centred @ centred.mT)
            both[1] += setting.linear * ((self.new - self.middle) @ centred.mT)
        inner = both[0]
        inner *= self.inside
        inner *= self.inside[:, None, :, 0]
        inner.diagonal(0, 1, 2)[...] += 1.0 - self.inside[:, :, 0]
        return inner, both[1]

    def best(self, setting: Setting) -> tuple[Member, list[Expansion]] | None:
        """The member at the penalty of smallest error, downhill from the setting's, and the functions without folds."""
        inner, outer = self.kernels(setting)
        tried: dict[int, Tried] = {}

        def error(k: int) -> float:
            if k not in tried:
                near = [j for j in range(k - NEAR, k + NEAR + 1) if 0 <= j < len(ALPHAS) and j not in tried]
                tried.update(zip(near, self._tried(inner, outer, near), strict=True))
            return tried[k].error

        at = downhill(error, nearest(setting.alpha), len(ALPHAS))
        found = tried[at]
        if not np.isfinite(found.error):
            return None
        setting = replace(setting, alpha=float(ALPHAS[at]))
        everything = solved(self.whole.kernels(setting.factor, setting.linear)[0], self.whole.Y, setting.alpha)
        if everything is None:
            return None
        member = Member(self.whole.expansion(setting, everything), self._in_place(found.predicted), found.error)
        return member, [self._expansion(setting, fold, found.coefficients) for fold in range(len(self.outs))]

    def _tried(self, inner: Array, outer: Array, penalties: list[int]) -> list[Tried]:
        """What comes of some penalties."""
        folds, _, outputs = self.Y.shape
        found = ops.shifted_solutions(inner, like(ALPHAS[penalties], inner), self.Y)  # (penalties, folds, n, outputs)
        side_by_side = namespace(found).moveaxis(found, 0, 2).reshape(folds, -1, len(penalties) * outputs)
        predicted = (outer @ side_by_side).reshape(folds, -1, len(penalties), outputs) + self.level[:, :, None]
        missed = (predicted - self.truth[:, :, None]) * self.judged[:, :, None]
        Y = self.rows.Y
        nothing = ((Y - Y.mean(axis=0)) ** 2).sum()
        errors = to_host((missed**2).sum((0, 1, 3)) / nothing)
        errors = np.where(np.isfinite(errors), errors, np.inf)
        return [Tried(float(e), predicted[:, :, k], found[k]) for k, e in enumerate(errors)]

    def _in_place(self, predicted: Array) -> np.ndarray:
        """Predictions of each fold's rows, in the order of all rows."""
        found, on_host = np.empty(self.rows.Y.shape), to_host(predicted)
        for out, part in zip(self.outs, on_host, strict=True):
            found[out] = part[: len(out)]
        return found

    def _expansion(self, setting: Setting, fold: int, coefficients: Array) -> Expansion:
        """The function that has not seen a fold."""
        n, setting = self.sizes[fold], replace(setting, root=self.settings[fold].root)
        kernel = Stable(setting.p, setting.q, setting.factor * float(self.medians[fold]))
        c, middle = coefficients[fold, :n], self.middle[fold, 0]
        slopes = setting.linear * ((self.X[fold, :n] - middle).T @ c)
        return Expansion(setting, kernel, self.Z[fold, :n], c, slopes, middle, self.level[fold, 0])


class Tried(NamedTuple):
    """What came of a penalty: the error, and predictions and coefficients of all folds."""

    error: float
    predicted: Array
    coefficients: Array


class WholePart(Part):
    """A part whose bandwidth is told by its own distances, on the device."""

    def __init__(self, X: Array, Y: Array, setting: Setting, new: Array, median: float | None = None) -> None:
        super().__init__(X, Y, setting, new, median)
        self.median = float(medians(self.distances[None], [len(X)])[0])


class Padded(NamedTuple):
    """Numbers of rows, those of each fold up to the same length, and which of them are there."""

    numbers: list[np.ndarray]
    sizes: list[int]
    inside: Array  # (folds, n, 1), 1 or 0

    @classmethod
    def of(cls, numbers: list[np.ndarray], template: Array) -> Padded:
        """Row 0 is taken for what is not there."""
        sizes = [len(which) for which in numbers]
        longest = max(sizes)
        padded = [np.pad(which, (0, longest - len(which))) for which in numbers]
        inside = np.arange(longest) < np.array(sizes)[:, None]
        return cls(padded, sizes, like(inside[:, :, None].astype(np.float64), template))

    def taken(self, tables: list[Array]) -> Array:
        """The rows (folds, n, columns), each from the table of its fold; zeros for those that are not there."""
        pairs = zip(tables, self.numbers, strict=True)
        found: Array = namespace(tables[0]).stack([chosen(table, which) for table, which in pairs])
        return found * self.inside


def metrics(settings: list[Setting], X: Array) -> Array:
    """The rows (folds, n, d), each fold in its metric."""
    if settings[0].root is None:
        return X
    roots = like(np.stack([np.asarray(setting.root) for setting in settings]), X)
    found: Array = X * roots[:, None] if roots.ndim == 2 else X @ roots
    return found


def medians(distances: Array, sizes: list[int]) -> np.ndarray:
    """The bandwidth of each fold, as `Setting.kernel` has it, from distances (folds, n, n) of which the first `sizes`
    count: the median of those between some rows that are not 0."""
    xp, picked = namespace(distances), [sampled(n) for n in sizes]
    longest = max(map(len, picked))
    some = empty((len(sizes), longest, longest), distances)
    some[...] = 0.0
    for fold, which in enumerate(picked):
        at = like(which, distances)
        some[fold, : len(at), : len(at)] = distances[fold][at][:, at]
    ordered = xp.sort(some.reshape(len(sizes), -1), dim=1)[0]  # pairs stand there twice, after what is 0
    zeros = cast(ordered <= 0.0, "int64").sum(axis=1)
    pairs = (ordered.shape[1] - zeros) // 2
    last = ordered.shape[1] - 1
    ends = [(zeros + 2 * at).clip(max=last) for at in ((pairs - 1) // 2, pairs // 2)]
    middle = sum(ordered[like(np.arange(len(sizes)), ordered), at] for at in ends) / 2.0
    found, counted = to_host(middle), to_host(pairs)
    return np.array([round_digits(float(m), 6) if n else 1.0 for m, n in zip(found, counted, strict=True)])

"""How much a prediction moves because a bag has few points.

The mean embedding of n points strays from that of their distribution with covariance S/n, S the covariance of phi(x)
within the bag. It is watched in a few directions, the principal ones of the features of all points: with coordinates
a(x) along them, and slopes c of a prediction, the prediction has the variance

    c' C c / n,     C the covariance of a(x) within the bag,     c_k = (g(mu + s d_k) - g(mu - s d_k))/(2 s).

The steps s are as long as the mean strays, so what is not linear in that range counts; the second stage needs only to be
evaluated. The covariance of a small bag is mixed with the mean one of training bags.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...bases import Basis
from ...blocks import rows_per_block

DIRECTIONS = 32  # at most
SHARE = 0.995  # of the variance that the directions hold, if they are not too many
PRIOR = 10.0  # points that the mean covariance counts for


class Directions:
    """Principal directions (k, m) of features, each as long as its standard deviation; from a sample of points."""

    def __init__(self, basis: Basis, points: np.ndarray) -> None:
        features = dense(basis.features(points)) * float(basis.scale_)
        self.origin = features.mean(axis=0)
        _, lengths, rows = np.linalg.svd((features - self.origin) / np.sqrt(len(points)), full_matrices=False)
        share = np.cumsum(lengths**2) / max(float(np.sum(lengths**2)), np.finfo(float).tiny)
        count = min(int(np.searchsorted(share, SHARE)) + 1, DIRECTIONS, np.count_nonzero(share < 1) + 1)
        self.vectors = lengths[:count, None] * rows[:count]
        self.scale = float(basis.scale_)
        self.reading = (rows[:count] / np.maximum(lengths[:count, None], np.finfo(float).tiny)).T

    def coordinates(self, features: Any) -> np.ndarray:
        """Coordinates (n, k) of which directions are the units."""
        return np.asarray(features @ (self.scale * self.reading)) - self.origin @ self.reading


class Scatter:
    """Sums of products of coordinates for some bags, all if `watched` is None; from them their covariances."""

    def __init__(self, directions: Directions, sizes: np.ndarray, watched: np.ndarray | None = None) -> None:
        self.directions = directions
        self.watched = np.arange(len(sizes)) if watched is None else watched
        self.sizes = sizes[self.watched].astype(np.float64)
        self.place = np.full(len(sizes), -1)
        self.place[self.watched] = np.arange(len(self.watched))
        k = len(directions.vectors)
        self.sums, self.products = np.zeros((len(self.watched), k)), np.zeros((len(self.watched), k, k))

    def add(self, features: Any, owner: np.ndarray) -> None:
        chosen = np.flatnonzero(self.place[owner] >= 0)
        if not len(chosen):
            return
        order = chosen[np.argsort(owner[chosen], kind="stable")]
        places = self.place[owner[order]]
        coordinates = self.directions.coordinates(features[order])
        starts = np.flatnonzero(np.diff(places, prepend=-1))
        for start, part in zip(starts, np.split(coordinates, starts[1:]), strict=True):
            self.sums[places[start]] += part.sum(axis=0)
            self.products[places[start]] += part.T @ part

    def within(self) -> np.ndarray:
        """Sums of squares and products within each bag, about its own mean."""
        return self.products - self.sums[:, :, None] * self.sums[:, None, :] / self.sizes[:, None, None]

    def mean_covariance(self) -> np.ndarray:
        """That within bags, over all that are watched; zero if all have a single point."""
        return self.within().sum(axis=0) / max(float(np.sum(self.sizes - 1.0)), 1.0)

    def variances(
        self, predict: Callable[[np.ndarray], np.ndarray], means: np.ndarray, prior: np.ndarray
    ) -> np.ndarray:
        """The variance (bags, outputs) of `predict`, a function of embeddings, over samples of the sizes of the bags."""
        weight = (self.sizes - 1.0 + PRIOR)[:, None, None]
        covariance = (self.within() + PRIOR * prior) / weight / self.sizes[:, None, None]
        variance = []
        for start in range(0, len(means), rows := rows_per_block(4 * means.shape[1])):
            part = slice(start, start + rows)
            slopes = self._slopes(predict, means[part], covariance[part])
            variance.append(np.einsum("bok,bkl,bol->bo", slopes, covariance[part], slopes))
        return np.concatenate(variance)

    def _slopes(
        self, predict: Callable[[np.ndarray], np.ndarray], means: np.ndarray, covariance: np.ndarray
    ) -> np.ndarray:
        slopes = []
        for k, vector in enumerate(self.directions.vectors):
            step = np.sqrt(np.maximum(covariance[:, k, k], 1e-12))[:, None]
            slopes.append((predict(means + step * vector) - predict(means - step * vector)) / (2.0 * step))
        return np.stack(slopes, axis=2)


def dense(features: Any) -> np.ndarray:
    return features.toarray() if hasattr(features, "toarray") else features

"""How much a prediction moves because a bag has few points.

The mean embedding of n points strays from that of their distribution with covariance S/n, S the covariance of phi(x)
within the bag. It is watched in k principal directions of the features of all points. Let C be the covariance of the
coordinates along them within a bag, R its root, and h_j the rows of a Hadamard matrix, signs with sum_j h_j h_j' = J I.
Then the displacements +-e_j = +-R h_j/sqrt(n), j = 1..J, have the covariance C/n exactly, and the squared error of a
prediction g(mu) for want of points is

    mean over +- and j of (g(mu +- e_j) - g(mu))^2:

exact where g is linear, and at the distances that matter where it is not. The second stage is only evaluated, so it may
be any. The covariance of a small bag is mixed with the mean one of training bags.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.linalg import hadamard

from ...arrays import Array, Rows, cast, is_torch, like, to_host
from ...bases import Basis
from ...streams import sample_rows
from ...typing import Matrix
from ..checks import row_slices
from .bag_sums import BagSums

DIRECTIONS = 32  # at most
SHARE = 0.995  # of the variance that the directions hold, if they are not too many
PRIOR = 10.0  # points that the mean covariance counts for
REFERENCE = 200  # training bags that are kept

Predict = Callable[[np.ndarray], Array]  # from embeddings (bags, m) to predictions (bags, outputs)


class Directions:
    """Principal directions (k, m) of features, each as long as its standard deviation; from a sample of points."""

    def __init__(self, basis: Basis, points: np.ndarray) -> None:
        self.scale = float(basis.scale_)
        features = dense(basis.features(points)) * self.scale
        self.origin = features.mean(axis=0)
        _, lengths, rows = np.linalg.svd((features - self.origin) / np.sqrt(len(points)), full_matrices=False)
        share = np.cumsum(lengths**2) / max(float(np.sum(lengths**2)), np.finfo(float).tiny)
        count = min(int(np.searchsorted(share, SHARE)) + 1, DIRECTIONS, len(lengths))
        lengths, rows = lengths[:count, None], rows[:count]
        self.vectors = lengths * rows
        reading = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 1e-9 * lengths[0])
        self.reading = np.ascontiguousarray(reading.T)  # as a file gives it back: the same bits then

    def coordinates(self, features: Rows) -> Array:
        """Coordinates (n, k) of which directions are the units."""
        if is_torch(features):
            reading, origin = (like(part, features) for part in (self.scale * self.reading, self.origin @ self.reading))
            return cast(features, "float64") @ reading - origin
        return np.asarray(features @ (self.scale * self.reading)) - self.origin @ self.reading


@dataclass(frozen=True)
class ScatterOf:
    """Sums of coordinates and of their products for each bag, or for those that are watched."""

    directions: Directions
    watched: np.ndarray | None = None

    def of(self, features: Rows, owner: np.ndarray) -> BagSums:
        chosen = np.arange(len(owner)) if self.watched is None else np.flatnonzero(np.isin(owner, self.watched))
        order = chosen[np.argsort(owner[chosen], kind="stable")]
        bags, starts = np.unique(owner[order], return_index=True)
        coordinates = self.directions.coordinates(features[like(order, features)])
        k = coordinates.shape[1]
        sums, products = np.zeros((len(bags), k)), np.zeros((len(bags), k, k))
        for place, (first, last) in enumerate(pairwise([*starts.tolist(), len(order)])):
            part = coordinates[first:last]
            sums[place], products[place] = to_host(part.sum(axis=0)), to_host(part.T @ part)
        return BagSums(bags, (sums, products))


class Scatter:
    """Sums of products of coordinates for some bags; from them their covariances."""

    def __init__(self, directions: Directions, sizes: np.ndarray, found: BagSums) -> None:
        self.directions, self.sizes = directions, sizes[found.bags].astype(np.float64)
        self.sums, self.products = found.tables

    def within(self, part: slice) -> np.ndarray:
        """Sums of squares and products within each bag, about its own mean."""
        sums, sizes = self.sums[part], self.sizes[part]
        return self.products[part] - sums[:, :, None] * sums[:, None, :] / sizes[:, None, None]

    def mean_covariance(self) -> np.ndarray:
        """That within bags, over all that are watched; zero if all have a single point."""
        return self.within(slice(None)).sum(axis=0) / max(float(np.sum(self.sizes - 1.0)), 1.0)

    def squared_errors(self, predict: Predict, means: np.ndarray, prior: np.ndarray) -> np.ndarray:
        """The squared errors (bags, outputs) that samples of the sizes of these bags lead to."""
        errors = []
        for part in row_slices(len(means), 4 * (means.shape[1] + prior.size)):
            weight = (self.sizes[part] - 1.0 + PRIOR) * self.sizes[part]
            covariance = (self.within(part) + PRIOR * prior) / weight[:, None, None]
            errors.append(self._mean_squares(predict, means[part], root(covariance)))
        return np.concatenate(errors)

    def _mean_squares(self, predict: Predict, means: np.ndarray, roots: np.ndarray) -> np.ndarray:
        k = roots.shape[1]
        signs = hadamard(1 << (k - 1).bit_length())[:, :k]
        here = np.asarray(predict(means))
        total = np.zeros_like(here)
        for sign in (*signs, *-signs):
            total += (predict(means + (roots @ sign) @ self.directions.vectors) - here) ** 2
        return total / (2 * len(signs))


def root(matrices: np.ndarray) -> np.ndarray:
    """The symmetric roots of positive semi-definite matrices (n, k, k)."""
    values, axes = np.linalg.eigh(matrices)
    return (axes * np.sqrt(np.maximum(values, 0.0))[:, None, :]) @ axes.transpose(0, 2, 1)


class Reference:
    """Some training bags: how features scatter within them, and how much of the noise comes from their sizes."""

    def __init__(self, scatter: Scatter, means: np.ndarray, weight: np.ndarray | None) -> None:
        self.scatter, self.means, self.covariance = scatter, means, scatter.mean_covariance()
        self.weight = np.ones(len(means)) if weight is None else weight

    @staticmethod
    def bags(count: int) -> np.ndarray:
        """The numbers of the bags that are kept."""
        return sample_rows(count, REFERENCE, seed=1)

    def noise_of_sizes(self, predict: Predict) -> np.ndarray:
        """The mean squared error (outputs,) that the sizes of training bags lead to."""
        errors = self.scatter.squared_errors(predict, self.means, self.covariance)
        return np.average(errors, axis=0, weights=self.weight)


def dense(features: Matrix) -> np.ndarray:
    return features.toarray() if hasattr(features, "toarray") else features

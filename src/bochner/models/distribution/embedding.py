"""Mean embeddings: the mean of the features of a bag's points, from sums that are made in one pass over all points.

    mu = (1/n) sum_j phi(x_j)       stands for the distribution that the points were drawn from

Sums of integer features are exact, whatever the order of points. Sums that are larger than a quarter of the memory
budget are kept in a temporary file.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse

from ...bases import Basis
from ...blocks import rows_per_block
from ...config import memory_budget
from ...typing import Matrix
from ..checks import row_slices
from .bags import Bags

Watch = Callable[[Any, np.ndarray], None]


def embed(basis: Basis, bags: Bags, watch: Watch | None = None) -> np.ndarray:
    """The mean embeddings (bags, m): one pass, of which only sums per bag are kept.

    `watch` is shown the features of each piece and the bags of its points, for other sums.
    """
    columns = int(basis.n_components)
    means = room(bags.n_bags, columns)
    for points, owner in bags.walk(rows_per_block(4 * columns + bags.n_columns), "embedding"):
        features = basis.features(points)
        if watch is not None:
            watch(features, owner)
        bag, totals = sums_per_bag(features, owner)
        means[bag] += totals
    for part in row_slices(len(means), columns):
        means[part] *= (float(basis.scale_) / bags.sizes[part])[:, None]
    return means


def sums_per_bag(features: Matrix, owner: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The bags of a piece in order, and the sum of the features of each."""
    bag, place = np.unique(owner, return_inverse=True)
    wide = features.astype(np.int64 if features.dtype.kind == "i" else np.float64, copy=False)
    ones = np.ones(len(owner), dtype=wide.dtype)
    member = scipy.sparse.csr_matrix((ones, (place.reshape(-1), np.arange(len(owner)))), shape=(len(bag), len(owner)))
    totals = member @ wide
    return bag, totals.toarray() if scipy.sparse.issparse(totals) else totals


def room(rows: int, columns: int) -> np.ndarray:
    """Zeros in memory, or in a file without a name where they are large."""
    if 8 * rows * columns <= memory_budget() // 4:
        return np.zeros((rows, columns))
    with tempfile.TemporaryFile() as file:
        return np.memmap(file, dtype=np.float64, mode="w+", shape=(rows, columns))

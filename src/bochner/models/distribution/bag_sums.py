"""Sums over the points of each bag: what a pass leaves of points, of as many bags as it met."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from ...arrays import FEW_ROWS, Array, Rows, cast, constant, is_integer, is_torch, like, to_host
from ...config import memory_budget
from ..checks import row_slices


@dataclass
class BagSums:
    """Bags in order, and tables with a row of sums for each. Large tables are kept in a temporary file."""

    bags: np.ndarray
    tables: tuple[np.ndarray, ...]

    def __iadd__(self, other: BagSums) -> BagSums:
        bags = np.union1d(self.bags, other.bags)
        if len(bags) > len(self.bags):
            self.tables = tuple(spread(table, np.searchsorted(bags, self.bags), len(bags)) for table in self.tables)
            self.bags = bags
        places = np.searchsorted(bags, other.bags)
        for table, more in zip(self.tables, other.tables, strict=True):
            for part in parts_of(more):
                table[places[part]] += more[part]
        return self


def spread(table: np.ndarray, places: np.ndarray, count: int) -> np.ndarray:
    """The rows of a table at their places among `count` rows, and zeros between them."""
    wide = room((count, *table.shape[1:]), table.dtype)
    for part in parts_of(table):
        wide[places[part]] = table[part]
    return wide


def parts_of(table: np.ndarray) -> Iterator[slice]:
    return row_slices(len(table), int(np.prod(table.shape[1:])))


def room(shape: tuple[int, ...], dtype: np.dtype | type = np.float64) -> np.ndarray:
    """Zeros in memory, or in a file without a name where they are large."""
    if int(np.prod(shape)) * np.dtype(dtype).itemsize <= memory_budget() // 4:
        return np.zeros(shape, dtype)
    with tempfile.TemporaryFile() as file:
        return np.memmap(file, dtype=dtype, mode="w+", shape=shape)


def sums_per_bag(features: Rows, owner: np.ndarray) -> BagSums:
    """The sum of the features of each bag of a piece, exact where they are integers."""
    bags, place = np.unique(owner, return_inverse=True)
    if is_torch(features):
        return BagSums(bags, (summed_tensor(features, place.reshape(-1), len(bags)),))
    wide: Any = cast(features, "int64" if is_integer(features) else "float64")  # dense or CSR
    ones = np.ones(len(owner), dtype=wide.dtype)
    member = scipy.sparse.csr_matrix((ones, (place.reshape(-1), np.arange(len(owner)))), shape=(len(bags), len(owner)))
    totals = member @ wide
    return BagSums(bags, (totals.toarray() if scipy.sparse.issparse(totals) else totals,))


def summed_tensor(features: Array, place: np.ndarray, bags: int) -> np.ndarray:
    """The same of a tensor, added up on its device; only a row for each bag comes to the host."""
    kind = "int64" if is_integer(features) else "float64"
    totals: Any = constant(0, (bags, features.shape[1]), features, kind)
    totals.index_add_(0, like(place, features), cast(features, kind))
    return np.concatenate([to_host(totals[first : first + FEW_ROWS]) for first in range(0, bags, FEW_ROWS)])

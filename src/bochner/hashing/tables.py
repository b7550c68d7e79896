"""Hash tables as sorted arrays: in each table the keys ascend, and beside each stands the row it belongs to.

A bucket is a run of equal keys, with its rows in ascending order. So tables are the same bits whichever way their rows
came: at once, one after another, or with others that have been removed since.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Tables:
    """keys (tables, n), uint64, ascending in each table; rows (tables, n): the row of each key."""

    keys: np.ndarray
    rows: np.ndarray

    def __post_init__(self) -> None:
        keys, rows = self.keys, self.rows
        sound = keys.dtype == np.uint64 and rows.dtype == np.int64 and keys.ndim == 2 and keys.shape == rows.shape
        if not (sound and (keys[:, :-1] <= keys[:, 1:]).all() and (np.sort(rows) == np.arange(rows.shape[1])).all()):
            raise ValueError("the tables are not sorted")

    @classmethod
    def empty(cls, tables: int) -> Tables:
        return cls(np.empty((tables, 0), dtype=np.uint64), np.empty((tables, 0), dtype=np.int64))

    def with_rows(self, keys: np.ndarray) -> Tables:
        """With further rows, numbered on; keys has shape (tables, new rows)."""
        old = self.keys.shape[1]
        numbers = np.broadcast_to(np.arange(old, old + keys.shape[1]), keys.shape)
        keys, rows = np.hstack([self.keys, keys]), np.hstack([self.rows, numbers])
        order = np.argsort(keys, axis=1, kind="stable")
        return Tables(np.take_along_axis(keys, order, axis=1), np.take_along_axis(rows, order, axis=1))

    def without_rows(self, kept: np.ndarray) -> Tables:
        """Only the rows that a mask keeps, numbered anew in their order."""
        inside, numbers = kept[self.rows], np.cumsum(kept) - 1
        shape = (len(self.keys), int(kept.sum()))
        return Tables(self.keys[inside].reshape(shape), numbers[self.rows[inside]].reshape(shape))

    def look_up(self, probes: np.ndarray) -> list[np.ndarray]:
        """The rows in the buckets of each query, as often as they were met; probes has shape (queries, tables, T)."""
        starts, counts = np.empty((2, *probes.shape), dtype=np.int64)
        for table, keys in enumerate(self.keys):
            starts[:, table] = np.searchsorted(keys, probes[:, table], side="left")
            counts[:, table] = np.searchsorted(keys, probes[:, table], side="right") - starts[:, table]
        starts += (np.arange(len(self.keys)) * self.keys.shape[1])[:, None]
        flat = self.rows.ravel()
        return [flat[joined(s.ravel(), c.ravel())] for s, c in zip(starts, counts, strict=True)]


def joined(starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """start, start + 1, ..., start + count - 1 of every run, one after another."""
    ends = np.cumsum(counts)
    return np.arange(ends[-1]) + np.repeat(starts - (ends - counts), counts)

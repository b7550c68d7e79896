"""Nearest neighbours by hashing: several tables, several buckets of each, and true distances to what is there."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from ..arrays import to_numpy
from ..bases.heuristics import SAMPLE, draw_seed, largest_size
from ..blocks import MemoryBlocks, rows_per_block
from ..streams import sample_rows
from ..typing import ArrayLike, MatrixLike, RandomStateLike
from ..validation import require_choice, require_finite, require_integer, require_numbers
from .codes import MaxoutHash
from .distances import METRICS, distances_from
from .probing import bucket_keys, probe_keys
from .saving import KEPT, SavedIndex, checked_ids, require_short
from .tables import Tables

NOBODY = -1  # the id where fewer neighbours were found than were asked for


class MaxoutIndex(SavedIndex, BaseEstimator):
    """Approximate nearest neighbours by maxout hashing.

    Each of several tables has a bucket for each way that a few codes can come out. A query looks into the likeliest
    buckets of each table, and only rows found there are compared with it.

    Parameters
    ----------
    n_tables : int, default=16
        Number of tables: more find more neighbours, for more memory and time.
    codes_per_table : int or 'auto', default='auto'
        Number of codes of a bucket; 'auto' takes as many as give about one bucket for each row of `fit`.
    pool_size : int, default=16
        Number of projections of a code.
    n_probes : int, default=48
        Number of buckets to look into in each table.
    metric : {'euclidean', 'angular'}, default='euclidean'
        Distance to the rows found; 'angular' is the angle in radians as seen from `hash_.center_`, or from the origin.
    center : bool, default=True
        Whether codes see angles from the mean of the data: right for Euclidean distances, and for angles of data whose
        origin means nothing.
    precision : {'float32', 'float64', 'int8'}, default=None
        Number type of the projections. None keeps that of X; 'int8' gives the same codes on every machine.
    random_state : int, RandomState instance, Generator or None, default=None
        Seed of the projections.

    Attributes
    ----------
    hash_ : MaxoutHash
        The fitted hash.
    ids_ : ndarray of shape (n_rows,)
        Ids of the rows in the index, in the order in which they came.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns of X; only if X is a frame whose column names are all strings.

    See Also
    --------
    MaxoutHash : The codes.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from bochner import MaxoutIndex
    >>> X, _ = load_digits(return_X_y=True)
    >>> index = MaxoutIndex(random_state=0).fit(X[:1700])
    >>> distances, ids = index.add(X[1700:]).query(X[1790:1793], k=2)
    >>> ids[:, 0]
    array([1790, 1791, 1792])
    """

    def __init__(
        self,
        n_tables: int = 16,
        *,
        codes_per_table: int | str = "auto",
        pool_size: int = 16,
        n_probes: int = 48,
        metric: str = "euclidean",
        center: bool = True,
        precision: str | None = None,
        random_state: RandomStateLike = None,
    ) -> None:
        self.n_tables = n_tables
        self.codes_per_table = codes_per_table
        self.pool_size = pool_size
        self.n_probes = n_probes
        self.metric = metric
        self.center = center
        self.precision = precision
        self.random_state = random_state

    # ---- rows come and go ----

    def fit(self, X: MatrixLike, y: object = None, *, ids: ArrayLike | None = None) -> MaxoutIndex:
        """Make the tables, and add the rows of X.

        Parameters
        ----------
        X : array-like, frame or tensor of shape (n_samples, n_features)
            The rows.
        y : object, default=None
            Ignored.
        ids : array-like of int of shape (n_samples,), default=None
            Ids of the rows, different integers from 0 on; None numbers them.

        Returns
        -------
        MaxoutIndex
            The index itself.
        """
        X = self._validate(X, reset=True)
        tables = require_integer("n_tables", self.n_tables)
        self._check_parameters()
        codes = self._choose_codes(X.shape[0])
        self.hash_ = MaxoutHash(
            tables * codes, pool_size=self.pool_size, center=self.center, precision=self.precision,
            random_state=draw_seed(self.random_state),
        )  # fmt: skip
        self.hash_.fit_sample(X[sample_rows(len(X), SAMPLE, seed=0)], largest_size(X))
        self.ids_ = np.empty(0, dtype=np.int64)
        self._rows, self._tables, self._next_id = X[:0], Tables.empty(tables), 0
        return self._insert(X, ids)

    def add(self, X: MatrixLike, ids: ArrayLike | None = None) -> MaxoutIndex:
        """Add rows.

        Parameters
        ----------
        X : array-like, frame or tensor of shape (n_samples, n_features)
            The rows.
        ids : array-like of int of shape (n_samples,), default=None
            Ids that the index does not have yet; None numbers them on.

        Returns
        -------
        MaxoutIndex
            The index itself.
        """
        check_is_fitted(self)
        return self._insert(self._validate(X, reset=False), ids)

    def remove(self, ids: ArrayLike) -> MaxoutIndex:
        """Remove rows; nothing is left of them.

        Parameters
        ----------
        ids : array-like of int
            Ids of the rows.

        Returns
        -------
        MaxoutIndex
            The index itself.
        """
        check_is_fitted(self)
        ids = checked_ids(ids)
        unknown = ids[~np.isin(ids, self.ids_)]
        if len(unknown):
            raise ValueError(f"there is no row with the id {unknown[0]} in this index.")
        kept = ~np.isin(self.ids_, ids)
        self._rows, self.ids_ = self._rows[kept], self.ids_[kept]
        self._tables = self._tables.without_rows(kept)
        return self

    def _insert(self, X: np.ndarray, ids: ArrayLike | None) -> MaxoutIndex:
        ids = self._next_id + np.arange(len(X)) if ids is None else checked_ids(ids)
        if len(ids) != len(X):
            raise ValueError(f"X has {len(X)} rows but there are {len(ids)} ids.")
        taken = ids[np.isin(ids, self.ids_)]
        if len(taken):
            raise ValueError(f"the id {taken[0]} is in the index already: remove it first, or choose another.")
        keys = np.empty((len(self._tables.keys), len(X)), dtype=np.uint64)
        width = 2 * X.shape[1] + self.hash_.n_codes * self.hash_.pool_size
        for block in MemoryBlocks(X).walk(rows_per_block(width), title="hashing"):
            codes = self.hash_.features(block.X).reshape(len(block.X), len(keys), -1)
            keys[:, block.start : block.start + len(block.X)] = bucket_keys(codes, self.hash_.pool_size).T
        self._rows = np.concatenate([self._rows, X])
        self._tables, self.ids_ = self._tables.with_rows(keys), np.concatenate([self.ids_, ids])
        self._next_id = max(self._next_id, int(ids.max()) + 1)
        return self

    # ---- queries ----

    def query(
        self, X: MatrixLike, k: int = 10, *, n_probes: int | None = None, max_candidates: int | None = None,
        return_counts: bool = False,
    ) -> tuple[np.ndarray, ...]:  # fmt: skip
        """Find the nearest of the rows in the buckets of each query.

        Parameters
        ----------
        X : array-like, frame or tensor of shape (n_samples, n_features)
            The queries.
        k : int, default=10
            Number of neighbours.
        n_probes : int, default=None
            Buckets to look into in each table; None is that of the index.
        max_candidates : int, default=None
            Most rows to compare with a query: those found in most buckets. None compares all.
        return_counts : bool, default=False
            Whether to return the number of rows that each query was compared with.

        Returns
        -------
        distances : ndarray of shape (n_samples, k)
            Distances, nearest first; inf where fewer than k rows were found.
        ids : ndarray of shape (n_samples, k)
            Ids of the rows; -1 where fewer than k rows were found.
        counts : ndarray of shape (n_samples,)
            Rows that each query was compared with; only with return_counts.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        probes = require_integer("n_probes", self.n_probes if n_probes is None else n_probes)
        limit = None if max_candidates is None else require_integer("max_candidates", max_candidates)
        if require_integer("k", k) > len(self.ids_):
            raise ValueError(f"k={k} neighbours were asked for, but the index has {len(self.ids_)} rows.")
        distances, ids = np.full((len(X), k), np.inf), np.full((len(X), k), NOBODY)
        counts = np.empty(len(X), dtype=np.int64)
        tables = len(self._tables.keys)
        width = 2 * X.shape[1] + (self.hash_.n_codes + 5 * tables * probes) * self.hash_.pool_size
        for block in MemoryBlocks(X).walk(rows_per_block(width), title="searching"):
            for i, found in enumerate(self._tables.look_up(self._probes(block.X, probes)), block.start):
                found = most_frequent(found, limit)
                nearest, chosen = self._nearest(X[i], found, k)
                distances[i, : len(nearest)], ids[i, : len(nearest)] = nearest, self.ids_[chosen]
                counts[i] = len(found)
        return (distances, ids, counts) if return_counts else (distances, ids)

    def _probes(self, X: np.ndarray, count: int) -> np.ndarray:
        """The keys to look up, shape (n, tables, probes)."""
        tables = len(self._tables.keys)
        margins = self.hash_.margins(X)
        keys = probe_keys(margins.reshape(len(X) * tables, -1, self.hash_.pool_size), count)
        return keys.reshape(len(X), tables, -1)

    def _nearest(self, x: np.ndarray, found: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The k smallest distances to the rows found, and which rows these are; equals in the order of rows."""
        metric = METRICS[require_choice("metric", self.metric, METRICS)]
        distances = distances_from(x, self._rows, found, metric, self.hash_.center_)
        order = np.argsort(distances, kind="stable")[:k]
        return distances[order], found[order]

    # ---- checks ----

    def _check_parameters(self) -> None:
        require_choice("metric", self.metric, METRICS)
        require_integer("pool_size", self.pool_size, 2)
        require_integer("n_probes", self.n_probes)

    def _choose_codes(self, rows: int) -> int:
        if self.codes_per_table == "auto":
            return max(1, round(np.log(rows) / np.log(self.pool_size)))
        codes = require_integer("codes_per_table", self.codes_per_table)
        require_short(codes, self.pool_size)
        return codes

    def _validate(self, X: MatrixLike, reset: bool) -> np.ndarray:
        given = to_numpy(X)
        require_numbers(given)
        rows: np.ndarray = validate_data(self, given, reset=reset, dtype=KEPT, ensure_all_finite=False)
        require_finite(rows)
        return rows


def most_frequent(found: np.ndarray, limit: int | None) -> np.ndarray:
    """Each row once, ascending; at most `limit` of them, those met most often and the first of equals."""
    rows, counts = np.unique(found, return_counts=True)
    if limit is None or len(rows) <= limit:
        return rows
    return np.sort(rows[np.argsort(-counts, kind="stable")[:limit]])

"""What a method of a fitted estimator makes of a Dask collection: lazy arrays, a partition at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dask.array as da
import numpy as np
from dask.delayed import delayed

from ...arrays import Rows
from ...ops import threads

if TYPE_CHECKING:
    import dask.dataframe as dd
    import pandas
    from sklearn.base import BaseEstimator


def lazy_rows(
    estimator: BaseEstimator, name: str, X: da.Array | dd.DataFrame, *arguments: object, **named: object
) -> da.Array | tuple[da.Array, ...]:
    """What a method of a fitted estimator makes of each partition, as lazy Dask arrays."""
    plain = not (arguments or named) and hasattr(estimator, "_without_sums")  # deviations need the sums
    light = estimator._without_sums() if plain else estimator
    if hasattr(X, "to_dask_array"):
        example, pieces = X._meta_nonempty, list(X.to_delayed())
        sizes = [float("nan")] * len(pieces)
        example = example.iloc[:1]
    else:
        rows = X.rechunk({1: -1}) if X.ndim == 2 and X.numblocks[1] > 1 else X
        example, pieces, sizes = np.zeros((1, *X.shape[1:]), X.dtype), list(rows.to_delayed().ravel()), rows.chunks[0]
    found = getattr(in_worker(light), name)(example, *arguments, **named)
    several = isinstance(found, tuple)
    empty = [part[:0] for part in (found if several else (found,))]
    model = delayed(light, pure=False, traverse=False)
    made = [delayed(called_on, pure=False)(model, name, piece, arguments, named, empty) for piece in pieces]
    out = tuple(
        da.concatenate([
            da.from_delayed(one[k], (size, *part.shape[1:]), meta=part) for one, size in zip(made, sizes, strict=True)
        ], allow_unknown_chunksizes=True)
        for k, part in enumerate(empty)
    )  # fmt: skip
    return out if several else out[0]


def called_on(
    estimator: BaseEstimator,
    name: str,
    piece: Rows | pandas.DataFrame,
    arguments: tuple[object, ...],
    named: dict[str, object],
    empty: list[np.ndarray],
) -> list[np.ndarray]:
    """What a method makes of some rows, as a list; of none, nothing."""
    if not piece.shape[0]:
        return empty
    with threads.limited(1):  # Dask works on as many partitions at a time as there are threads
        found = getattr(in_worker(estimator), name)(piece, *arguments, **named)
    return list(found) if isinstance(found, tuple) else [found]


def in_worker(estimator: BaseEstimator) -> BaseEstimator:
    """The estimator as it works where it has come to, if that matters."""
    return estimator._in_worker() if hasattr(estimator, "_in_worker") else estimator

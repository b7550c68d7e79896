"""Numbers that a fit settles by looking at rows: seeds, bandwidths, radii."""

from __future__ import annotations

import numbers

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.metrics import pairwise_distances
from sklearn.utils import check_random_state

from ..arrays import Rows, cast, is_csr
from ..maps.quantize import round_digits
from ..typing import RandomStateLike
from ..validation import require_choice, require_positive

SAMPLE = 500  # rows from which bandwidths and scales are learned


def draw_seed(random_state: RandomStateLike) -> int:
    """An integer random_state is the seed itself; None, RandomState and Generator give a drawn one."""
    if isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool):
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    return int(check_random_state(random_state).randint(2**31 - 1))


def different_rows(rows: Rows) -> Rows:
    """Each different row once: a repeated row must not count for more than one with a weight would."""
    if not is_csr(rows):
        return np.unique(rows, axis=0)
    rows.sum_duplicates()
    seen: dict[bytes, int] = {}
    for i in range(rows.shape[0]):
        part = slice(rows.indptr[i], rows.indptr[i + 1])
        seen.setdefault(rows.indices[part].tobytes() + rows.data[part].tobytes(), i)
    return rows[list(seen.values())]


def largest_size(X: Rows) -> float:
    """max |x|, without a copy of X."""
    return max(float(X.max()), -float(X.min())) if min(X.shape) else 0.0


def median_bandwidth(rows: Rows, order: float) -> float:
    """The median distance |x - z|_p of order p between sampled rows (of those that are not 0; 1 if there is none), to
    six digits."""
    metric = {1.0: "cityblock", 2.0: "euclidean"}.get(order, "minkowski")
    rows = rows.toarray() if metric == "minkowski" and is_csr(rows) else rows
    if is_csr(rows):
        square = pairwise_distances(cast(rows, "float64"), metric=metric)
        distances = square[np.triu_indices(len(square), 1)]
    else:
        with np.errstate(over="ignore"):
            distances = pdist(cast(rows, "float64"), metric, **({"p": order} if metric == "minkowski" else {}))
    distances = distances[distances > 0]
    median = np.median(distances) if len(distances) else 1.0
    if not np.isfinite(median):
        raise ValueError("distances between the rows of X overflow: rescale X, or give the bandwidth as a number.")
    return round_digits(median, 6)


def settle_bandwidth(bandwidth: float | str, rows: Rows, order: float) -> float:
    """`bandwidth` as a number: "median", or a multiple such as "0.5*median", looks at the rows."""
    if isinstance(bandwidth, str):
        factor = median_factor(bandwidth)
        median = median_bandwidth(rows, order)
        return median if factor == 1.0 else round_digits(factor * median, 6)
    return require_positive("bandwidth", bandwidth)


def median_factor(bandwidth: str) -> float:
    """What the median distance is multiplied by: 1 for "median", 0.5 for "0.5*median"."""
    factor, star, rest = bandwidth.partition("*")
    if star and rest.strip() == "median":
        try:
            return require_positive("bandwidth", float(factor))
        except ValueError:
            raise ValueError(f"bandwidth={bandwidth!r} is not a multiple such as '0.5*median'.") from None
    require_choice("bandwidth", bandwidth, ["median"])
    return 1.0


def times_median(factor: float) -> str:
    """The bandwidth that is so many times the median distance, in words."""
    return "median" if factor == 1.0 else f"{factor:.4g}*median"

"""Numbers that fit settles: seeds, bandwidths, lengths of rows."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import scipy.sparse
from scipy.spatial.distance import pdist
from sklearn.metrics import pairwise_distances
from sklearn.utils import check_random_state

from ..fields import LARGEST, Check, flag, number, shown, whole
from ..validation import require_choice, require_positive
from .quantize import round_digits

SEEDS = 1 << 64
SAMPLE = 500  # rows from which bandwidths and scales are learned


def draw_seed(random_state: Any) -> int:
    """An integer random_state is the seed itself; None, RandomState and Generator give a drawn one."""
    if isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool):
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    return int(check_random_state(random_state).randint(2**31 - 1))


def different_rows(rows: Any) -> Any:
    """Each different row once: a repeated row must not count for more than one with a weight would."""
    if not scipy.sparse.issparse(rows):
        return np.unique(rows, axis=0)
    rows.sum_duplicates()
    seen: dict[bytes, int] = {}
    for i in range(rows.shape[0]):
        part = slice(rows.indptr[i], rows.indptr[i + 1])
        seen.setdefault(rows.indices[part].tobytes() + rows.data[part].tobytes(), i)
    return rows[list(seen.values())]


NARROW = 1e30  # of numbers by which float32 is multiplied or divided
# Parameters of bases that their `fit` does not look at.
PARAMETERS: dict[str, Check] = {
    "pairs": flag,
    "center": flag,
    "structured": flag,
    "sparse_output": flag,
    "scale": number(1.0 / NARROW, NARROW),
    "bias_scale": number(0.0, NARROW),
    "random_state": whole(-SEEDS, SEEDS),
}
# Fitted numbers, by their names: those of floats are lengths and scales, which are multiplied and divided by.
FITTED: dict[str, Check] = {
    "seed_": whole(-SEEDS, SEEDS),
    "shift_": whole(0, 62),
    "rescale_shift_": whole(1, 62),
    "table_shift_": whole(1, 62),
    "clipped_fraction_": number(0.0, 1.0),
}


def largest_factor(precision: str | None) -> float:
    """The largest number from a file that features are multiplied or divided by."""
    return NARROW if precision == "float32" else LARGEST


def require_like(name: str, value: Any, expected: Any, precision: str | None) -> None:
    """Refuse a fitted value from a file that is not of the kind that a fit gives."""
    widest = largest_factor(precision)
    sound = type(value) is type(expected)
    if name in FITTED:
        sound = sound and FITTED[name](value)
    elif isinstance(value, float):
        sound = sound and 1.0 / widest <= value <= widest
    elif isinstance(value, int):
        sound = sound and 0 <= value < 2**31
    if not sound:
        raise ValueError(f"{name} is {shown(value)}, which no fit gives")


def largest_size(X: Any) -> float:
    """max |x|, without a copy of X."""
    return max(float(X.max()), -float(X.min())) if min(X.shape) else 0.0


def median_bandwidth(rows: Any, metric: str) -> float:
    """The median distance between sampled rows (of those that are not 0; 1 if there is none), to six digits."""
    if scipy.sparse.issparse(rows):
        square = pairwise_distances(rows.astype(np.float64), metric=metric)
        distances = square[np.triu_indices(len(square), 1)]
    else:
        with np.errstate(over="ignore"):
            distances = pdist(rows.astype(np.float64), metric)
    distances = distances[distances > 0]
    median = np.median(distances) if len(distances) else 1.0
    if not np.isfinite(median):
        raise ValueError("distances between the rows of X overflow: rescale X, or give the bandwidth as a number.")
    return round_digits(median, 6)


def settle_bandwidth(bandwidth: Any, rows: Any, metric: str) -> float:
    """`bandwidth` as a number: "median", or a multiple such as "0.5*median", looks at the rows."""
    if isinstance(bandwidth, str):
        factor = median_factor(bandwidth)
        median = median_bandwidth(rows, metric)
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


def row_norms(X: Any) -> np.ndarray:
    """|x| of each row in float64, dense or sparse, without overflow or underflow on the way."""
    squares = X.multiply(X).sum(axis=1) if scipy.sparse.issparse(X) else None
    if squares is not None:
        return np.sqrt(np.asarray(squares, dtype=np.float64)).ravel()
    if X.dtype == np.float32:  # whose squares float64 holds
        return np.sqrt(np.einsum("nd,nd->n", X, X, dtype=np.float64))
    wide = X.astype(np.float64)
    largest = np.abs(wide).max(axis=1, keepdims=True, initial=0.0)
    largest = np.where(largest > 0, largest, 1.0)
    return np.linalg.norm(wide / largest, axis=1) * largest[:, 0]

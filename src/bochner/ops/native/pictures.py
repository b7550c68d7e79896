"""Pictures: their patches, and features of patches added up over cells while they are in cache."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..threads import over_rows
from .backend import CODES, FEATURES, FLOATS, serves
from .instruction_sets import _native

PICTURES = 2  # that are worth a thread


def _over_pictures(kernel: Callable[..., None], rows: int, cells: np.ndarray, out: np.ndarray) -> np.ndarray:
    """kernel(rows of patches, pictures) for some pictures at a time."""
    patches = len(cells)

    def part(pictures: slice) -> None:
        kernel(slice(pictures.start * patches, pictures.stop * patches), pictures)

    over_rows(part, rows // patches, PICTURES)
    return out


@serves(dtypes=CODES)
def patches(
    x: np.ndarray,
    places: np.ndarray,
    whitening: np.ndarray,
    factor: float,
    contrast: float,
    floor: float,
    offset: np.ndarray,
) -> np.ndarray:
    x, places, whitening, offset = map(np.ascontiguousarray, (x, places, whitening, offset))
    count, size = places.shape
    out = np.empty((len(x) * count, size), dtype=np.int8)

    def part(pictures: slice) -> None:
        made = out[pictures.start * count : pictures.stop * count]
        _native.patches(x[pictures], places, whitening, factor, contrast, floor, offset, made)

    over_rows(part, len(x), PICTURES)
    return out


@serves(dtypes=(*FEATURES, *FLOATS))
def pooled(features: np.ndarray, cells: np.ndarray, grid: int, largest: bool) -> np.ndarray:
    features, cells = np.ascontiguousarray(features), np.ascontiguousarray(cells)
    dtype = features.dtype if features.dtype.kind == "f" else np.int32
    out = np.empty((len(features) // len(cells), features.shape[1] * grid), dtype=dtype)

    def kernel(rows: slice, pictures: slice) -> None:
        _native.pooled(features[rows], cells, grid, largest, out[pictures])

    return _over_pictures(kernel, len(features), cells, out)


@serves(dtypes=("int32",))
def standardize(sums: np.ndarray, root: bool, centre: np.ndarray, factor: np.ndarray, limit: int) -> np.ndarray:
    sums, centre, factor = map(np.ascontiguousarray, (sums, centre, factor))
    out = np.empty(sums.shape, dtype=np.int8 if limit <= 127 else np.int16)
    over_rows(lambda rows: _native.standardize(sums[rows], root, centre, factor, limit, out[rows]), len(sums), PICTURES)
    return out


@serves(dtypes=CODES)
def pooled_threshold(
    x: np.ndarray,
    directions: np.ndarray,
    shift: int,
    least: int,
    limit: int,
    cells: np.ndarray,
    grid: int,
    largest: bool,
) -> np.ndarray:
    x, directions, cells = map(np.ascontiguousarray, (x, directions, cells))
    out = np.empty((len(x) // len(cells), 2 * len(directions) * grid), dtype=np.int32)

    def kernel(rows: slice, pictures: slice) -> None:
        _native.pooled_threshold(x[rows], directions, shift, least, limit, cells, grid, largest, out[pictures])

    return _over_pictures(kernel, len(x), cells, out)


@serves(dtypes=CODES)
def pooled_maxout(
    x: np.ndarray,
    directions: np.ndarray,
    pool_size: int,
    centre: np.ndarray,
    multiplier: int,
    shift: int,
    limit: int,
    cells: np.ndarray,
    grid: int,
    largest: bool,
) -> np.ndarray:
    x, directions, centre, cells = map(np.ascontiguousarray, (x, directions, centre, cells))
    out = np.empty((len(x) // len(cells), len(directions) // pool_size * grid), dtype=np.int32)
    rescaling = multiplier, shift, limit

    def kernel(rows: slice, pictures: slice) -> None:
        made = out[pictures]
        _native.pooled_maxout(x[rows], directions, pool_size, centre[rows], *rescaling, cells, grid, largest, made)

    return _over_pictures(kernel, len(x), cells, out)

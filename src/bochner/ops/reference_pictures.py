"""The meaning of the ops on pictures: their patches, features of patches pooled over cells of a grid, one spread.

Patches of a few pictures are rows like any others: n pictures with P patches each are n P rows, picture by picture.
Integer ops are defined bit for bit: each float64 operation in them is rounded once, as IEEE says, and none is a sum.
"""

from __future__ import annotations

import numpy as np

from .dispatch import op


@op
def patches(
    x: np.ndarray,
    places: np.ndarray,
    whitening: np.ndarray,
    factor: float,
    contrast: float,
    floor: float,
    offset: np.ndarray,
) -> np.ndarray:
    """round(g Z p - offset) as int8 for each patch p of each picture, with g = factor / sqrt(contrast v + floor).

    x is int8 or uint8 (n, pixels). Patch k of a picture is x[places[k]], places int32 (P, D). v = D sum p^2 - (sum p)^2
    is D^2 times its variance, and Z int16 (D, D), whose rows add up to zero, takes out its mean. |Z p| is below 2^31.
    """
    p = x[:, places].astype(np.float64)
    size = places.shape[1]
    spread = size * (p * p).sum(axis=2) - p.sum(axis=2) ** 2  # whole numbers, which float64 holds
    gain = factor / np.sqrt(contrast * spread + floor)
    codes = np.rint((p @ whitening.T.astype(np.float64)) * gain[:, :, None] - offset)
    return np.clip(codes, -127, 127).astype(np.int8).reshape(-1, size)


@op
def threshold(values: np.ndarray, shift: int, least: int, limit: int) -> np.ndarray:
    """max(0, v - least), max(0, -v - least) in neighbouring columns, at most limit; v = round(values / 2^shift)."""
    v = (values.astype(np.int64) + ((1 << shift) >> 1)) >> shift
    both = np.stack((v - least, -v - least), axis=2).reshape(len(v), 2 * v.shape[1])
    return np.clip(both, 0, limit).astype(np.int8 if limit <= 127 else np.int16)


@op
def pooled(features: np.ndarray, cells: np.ndarray, grid: int, largest: bool) -> np.ndarray:
    """Sums, or the largest, over the patches of each cell: column grid j + c holds feature j in cell c.

    features (n P, m) of patches that lie in cells int32 (P,), of which there are `grid`, none empty. Integers become
    int32.
    """
    table = features.reshape(len(features) // len(cells), len(cells), features.shape[1])
    dtype = features.dtype if features.dtype.kind == "f" else np.dtype(np.int32)
    out = np.empty((len(table), features.shape[1], grid), dtype=dtype)
    for cell in range(grid):
        inside = table[:, cells == cell]
        out[:, :, cell] = inside.max(axis=1) if largest else inside.sum(axis=1, dtype=dtype)
    return out.reshape(len(table), features.shape[1] * grid)


@op
def standardize(sums: np.ndarray, root: bool, centre: np.ndarray, factor: np.ndarray, limit: int) -> np.ndarray:
    """round((s - centre) factor), or with the root of s, saturated at +-limit: int8, or int16 past 127. sums int32."""
    values = sums.astype(np.float64)
    codes = np.rint(((np.sqrt(values) if root else values) - centre) * factor)
    return np.clip(codes, -limit, limit).astype(np.int8 if limit <= 127 else np.int16)

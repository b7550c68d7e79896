"""True distances of rows from one query, in float64, a block of rows at a time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..blocks import rows_per_block

Metric = Callable[[np.ndarray, np.ndarray, np.ndarray | None], np.ndarray]


def euclidean(rows: np.ndarray, x: np.ndarray, center: np.ndarray | None) -> np.ndarray:
    """|x - z|, wherever it is seen from."""
    difference = rows.astype(np.float64) - x.astype(np.float64)
    return np.sqrt(np.einsum("nd,nd->n", difference, difference))


def angular(rows: np.ndarray, x: np.ndarray, center: np.ndarray | None) -> np.ndarray:
    """The angle between x and z as seen from the centre: a right angle if either is the centre itself."""
    origin = 0.0 if center is None else center
    z, x = rows.astype(np.float64) - origin, x.astype(np.float64) - origin
    lengths = np.linalg.norm(z, axis=1) * np.linalg.norm(x)
    return np.arccos(np.clip(np.divide(z @ x, lengths, out=np.zeros(len(z)), where=lengths > 0), -1.0, 1.0))


METRICS: dict[str, Metric] = {"euclidean": euclidean, "angular": angular}


def distances_from(
    x: np.ndarray, rows: np.ndarray, chosen: np.ndarray, metric: Metric, center: np.ndarray | None
) -> np.ndarray:
    """The distances of x from the chosen rows."""
    out = np.empty(len(chosen))
    step = rows_per_block(2 * rows.shape[1])
    for start in range(0, len(chosen), step):
        part = slice(start, start + step)
        out[part] = metric(rows[chosen[part]], x, center)
    return out

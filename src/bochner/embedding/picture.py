"""A picture of two components."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..streams import sample_rows

SHOWN = 10_000  # points, at most


def scatter(points: np.ndarray, labels: Any, shares: np.ndarray, ax: Any = None) -> Any:
    """Draw the first two columns of `points` on matplotlib's axes, one colour for each label."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError("plot needs matplotlib: pip install matplotlib") from None
    if labels is not None and len(labels) != len(points):
        raise ValueError(f"X has {len(points)} rows but there are {len(labels)} labels.")
    shown = sample_rows(len(points), SHOWN, seed=1)
    names, which = np.unique([""] * len(points) if labels is None else np.asarray(labels), return_inverse=True)
    ax = pyplot.subplots()[1] if ax is None else ax
    for k, name in enumerate(names):
        group = points[shown[which[shown] == k]]
        ax.scatter(group[:, 0], group[:, 1], s=8, label=str(name))
    for k, describe in enumerate((ax.set_xlabel, ax.set_ylabel)):
        describe(f"component {k + 1} ({shares[k]:.1%} of the variance)")
    if labels is not None:
        ax.legend()
    return ax

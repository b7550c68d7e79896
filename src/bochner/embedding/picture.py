"""A picture of two components."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array, like, to_host
from ..streams import sample_rows
from ..typing import VectorLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes


SHOWN = 10_000  # points, at most


def scatter(points: Array, labels: VectorLike | None, shares: np.ndarray, ax: Axes | None = None) -> Axes:
    """Draw the first two columns of `points` on matplotlib's axes, one colour for each label."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError("plot needs matplotlib: pip install matplotlib") from None
    given = None if labels is None else np.asarray(to_host(labels))
    if given is not None and len(given) != len(points):
        raise ValueError(f"X has {len(points)} rows but there are {len(given)} labels.")
    shown = sample_rows(len(points), SHOWN, seed=1)
    some = to_host(points[like(shown, points)])
    names, which = np.unique([""] * len(points) if given is None else given, return_inverse=True)
    ax = pyplot.subplots()[1] if ax is None else ax
    for k, name in enumerate(names):
        group = some[which[shown] == k]
        ax.scatter(group[:, 0], group[:, 1], s=8, label=str(name))
    for k, describe in enumerate((ax.set_xlabel, ax.set_ylabel)):
        describe(f"component {k + 1} ({shares[k]:.1%} of the variance)")
    if labels is not None:
        ax.legend()
    return ax

"""Kernels of random cells: the chance that no comparison of a tree tells x and z apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from ..arrays import Array
from .base import Kernel


@dataclass(frozen=True, eq=False)
class AxisCells(Kernel):
    """The kernel of cells that compare columns, (1 - sum_k p_k share of thresholds between x_k and z_k)^depth.

    Parameters
    ----------
    thresholds : ndarray of shape (n_features, n_thresholds)
        Thresholds of each column, of which one is drawn.
    probabilities : ndarray of shape (n_features,), default=None
        Chance p_k of each column to be compared; None is the same for all.
    depth : int, default=1
        Comparisons of a tree.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.kernels import AxisCells
    >>> AxisCells(np.array([[0.0, 1.0]]), depth=2)([[-1.0]], [[0.5], [2.0]])
    array([[0.25, 0.  ]])
    """

    thresholds: Any
    probabilities: Any = None
    depth: int = 1

    def _evaluate(self, X: Array, Z: Array) -> Array:
        table = np.asarray(self.thresholds)
        chances = np.full(len(table), 1.0 / len(table)) if self.probabilities is None else self.probabilities
        # Of sorted thresholds, those below x are the first; x > t is what a comparison asks.
        ordered = np.sort(table, axis=1)
        below = [
            np.stack([np.searchsorted(t, column, side="left") for t, column in zip(ordered, A.T, strict=True)], axis=1)
            for A in (X, Z)
        ]
        weighted = [np.asarray(chances) * count / table.shape[1] for count in below]
        return (1.0 - cdist(*weighted, "cityblock")).clip(min=0.0) ** self.depth


@dataclass(frozen=True, eq=False)
class ObliqueCells(Kernel):
    """The kernel of cells that compare projections, (1 - mean angle of x - r and z - r over pi)^depth.

    A comparison asks whether <v, x> > <v, r> for a random direction v and one of the rows r. It tells x and z apart
    with the chance angle(x - r, z - r) / pi.

    Parameters
    ----------
    anchors : ndarray of shape (n_anchors, n_features)
        The rows r, of which one is drawn.
    depth : int, default=1
        Comparisons of a tree.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.kernels import ObliqueCells
    >>> ObliqueCells(np.zeros((1, 2)))([[1.0, 0.0]], [[0.0, 3.0], [-1.0, 0.0]])
    array([[0.5, 0. ]])
    """

    anchors: Any
    depth: int = 1

    def _evaluate(self, X: Array, Z: Array) -> Array:
        apart = np.zeros((len(X), len(Z)))
        for anchor in np.asarray(self.anchors):
            apart += _angles(X - anchor, Z - anchor)
        return (1.0 - apart / (np.pi * len(self.anchors))).clip(min=0.0) ** self.depth


def _angles(X: Array, Z: Array) -> np.ndarray:
    """Angles between rows; a row of zeros is never above, and apart from another row by half of all directions."""
    lengths = [np.linalg.norm(A, axis=1, keepdims=True) for A in (X, Z)]
    units = [A / np.where(length > 0, length, 1.0) for A, length in zip((X, Z), lengths, strict=True)]
    # Half the chord is the sine of half the angle: exact to rounding where the cosine of a small angle is not.
    half = np.minimum(0.5 * cdist(*units), 1.0)
    angles = 2.0 * np.arcsin(half)
    none = [length[:, 0] == 0 for length in lengths]
    angles[none[0]], angles[:, none[1]] = 0.5 * np.pi, 0.5 * np.pi
    angles[np.ix_(*none)] = 0.0
    return angles

"""Random stumps: their radius is settled here, `maps/stumps.py` has the formula and the kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..maps.stumps import StumpsMap
from ..validation import require_choice, require_positive
from .base import Basis, Bounds


class RandomStumps(Basis):
    """Random decision stumps (the kitchen-sinks and random-bases papers).

    Parameters
    ----------
    n_components : number of stumps, one column each.
    thresholds : "uniform" on [-radius, radius], or standard "normal" (for standardised columns).
    radius : the number a of uniform thresholds, or "max", the largest |x| seen in fit.
    precision, random_state : as in RandomFourier. Integer features are -1 and +1.

    Examples
    --------
    >>> from bochner import RandomStumps
    >>> RandomStumps(4, random_state=0).fit_transform([[1.0], [-1.0]])
    array([[ 0.5,  0.5,  0.5,  0.5],
           [-0.5, -0.5, -0.5, -0.5]])
    """

    kind = StumpsMap

    def __init__(
        self,
        n_components: int = 100,
        *,
        thresholds: str = "uniform",
        radius: float | str = "max",
        precision: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.thresholds = thresholds
        self.radius = radius
        self.precision = precision
        self.random_state = random_state

    def _settle(self, rows: np.ndarray, largest: float) -> None:
        require_choice("thresholds", self.thresholds, ["uniform", "normal"])
        if isinstance(self.radius, str):
            require_choice("radius", self.radius, ["max"])
            # A column of zeros has no largest value to speak of.
            self.radius_ = largest or 1.0
        else:
            self.radius_ = require_positive("radius", self.radius)
        self.scale_ = 1.0 / float(np.sqrt(self._m)) if self.is_integer else 1.0

    def _own_fields(self) -> dict[str, Any]:
        return {"thresholds": self.thresholds, "radius": self.radius_}

    @property
    def bounds(self) -> Bounds:
        return Bounds(columns=1, product=1.0, second_moment=1.0)

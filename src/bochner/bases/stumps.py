"""Random stumps: their radius is settled here, `maps/stumps.py` has the formula and the kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Rows
from ..maps.stumps import StumpsMap
from ..typing import RandomStateLike
from ..validation import require_choice, require_positive
from .base import Basis, Bounds


class RandomStumps(Basis):
    """Random decision stumps: the sign of a random column less a random threshold.

        phi_l(x) = sign(x_k - t) / sqrt(n_components),   k a random column, t a random threshold.

    The kernel is 1 - |x - z|_1 / (radius n_features) for uniform thresholds: a sum over columns, without interactions.
    Features are cheap, and do not change under small noise.

    Parameters
    ----------
    n_components : int, default=100
        Number of features: one for each stump.
    thresholds : {'uniform', 'normal'}, default='uniform'
        Law of the thresholds: uniform on [-radius, radius], or standard normal, for columns that are standardised.
    radius : float or 'max', default='max'
        Largest uniform threshold; 'max' is the largest |x| of all numbers of X.
    precision : {'float32', 'float64', 'int8', 'int14'}, default=None
        Number type of the features. None keeps that of X. 'int8' and 'int14' compute in integers alone: the same bits
        on every machine, and faster. Such features are to be multiplied by `scale_`.
    random_state : int, RandomState instance, Generator or None, default=None
        Seed of the random draws. An int gives the same features on every machine; None draws a seed.

    Attributes
    ----------
    radius_ : float
        The radius that was given, or was found in X.
    seed_ : int
        Seed of the draws; with the other fitted numbers it determines the features.
    map_ : FeatureMap
        The feature map: small, immutable, and callable as `map_(X)`.
    scale_ : float
        Factor after which integer features have `<phi(x), phi(z)> ~ k(x, z)`; 1.0 for floats.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns of X; only if X is a frame whose column names are all strings.

    See Also
    --------
    RandomBins : Cells of random grids, whose kernel has interactions of columns.

    References
    ----------
    Rahimi and Recht, Weighted Sums of Random Kitchen Sinks, 2008.

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
        random_state: RandomStateLike = None,
    ) -> None:
        self.n_components = n_components
        self.thresholds = thresholds
        self.radius = radius
        self.precision = precision
        self.random_state = random_state

    def _settle(self, rows: Rows, largest: float) -> None:
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

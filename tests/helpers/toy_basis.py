"""The example of CONTRIBUTING: step functions of random projections, whose kernel is arc-cosine of order 0."""

import numpy as np

from bochner import ops
from bochner.bases import Basis, Bounds
from bochner.kernels import ArcCosine
from bochner.streams import Stream


class RandomSteps(Basis):
    """sqrt(2/m) 1[<w, x> > 0], w normal: the kernel 1 - theta/pi."""

    def __init__(self, n_components=100, *, precision=None, random_state=None):
        self.n_components = n_components
        self.precision = precision
        self.random_state = random_state

    def _settle(self, rows, largest):
        self.scale_ = float(np.sqrt(2.0 / self.n_components)) if self._is_integer else 1.0

    def _exact_kernel(self):
        return ArcCosine(0)

    @property
    def bounds(self):
        return Bounds(columns=1, product=2.0, second_moment=2.0)

    def _units(self):
        return self.n_components, self.n_features_in_, 1

    def _columns(self, unit):
        return unit

    def _draw(self, start, stop):
        stream = Stream(self.seed_, "weights")
        normal = stream.normal_int8 if self._is_integer else stream.normal
        return (normal(start, stop, self.n_features_in_),)

    def _map(self, X, weights):
        return np.where(X @ weights[0].T > 0, X.dtype.type(np.sqrt(2.0 / self.n_components)), X.dtype.type(0))

    def _map_integer(self, X, weights):
        return (ops.project(X, weights[0]) > 0).astype(np.int8)

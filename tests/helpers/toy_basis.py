"""The example of CONTRIBUTING: step functions of random projections, whose kernel is arc-cosine of order 0."""

from dataclasses import dataclass

import numpy as np

from bochner import ops
from bochner.bases import Basis, Bounds
from bochner.kernels import ArcCosine
from bochner.maps import UnitMap, Units
from bochner.streams import Stream


@dataclass(frozen=True, eq=False, kw_only=True)
class StepsMap(UnitMap):
    """sqrt(2/m) 1[<w, x> > 0], w normal: the kernel 1 - theta/pi."""

    name = "RandomSteps"

    def exact_kernel(self):
        return ArcCosine(0)

    @property
    def units(self):
        return Units(self.columns, self.inputs, 1)

    def first_column(self, unit):
        return unit

    def draw(self, start, stop):
        stream = Stream(self.seed, "weights")
        normal = stream.normal_int8 if self.is_integer else stream.normal
        return (normal(start, stop, self.inputs),)

    def apply(self, X, weights):
        return np.where(X @ weights[0].T > 0, X.dtype.type(np.sqrt(2.0 / self.columns)), X.dtype.type(0))

    def apply_integer(self, X, weights):
        return (ops.project(X, weights[0]) > 0).astype(self.output_dtype(X))


class RandomSteps(Basis):
    """Steps of random projections."""

    kind = StepsMap

    def __init__(self, n_components=100, *, precision=None, random_state=None):
        self.n_components = n_components
        self.precision = precision
        self.random_state = random_state

    def _settle(self, rows, largest):
        self.scale_ = float(np.sqrt(2.0 / self.n_components)) if self.is_integer else 1.0

    def _own_fields(self):
        return {}

    @property
    def bounds(self):
        return Bounds(columns=1, product=2.0, second_moment=2.0)

"""Exact kernels: the functions that random features approximate."""

from .base import Coordinatewise, Kernel, NormalMixture, Product, Radial, ShiftInvariant
from .cells import AxisCells, ObliqueCells
from .maxout import (
    Collision,
    Gated,
    Maxout,
    collision_integral,
    collision_probability,
    maximum_mean,
    maximum_moment,
)
from .piecewise import Binning, Hat, NormalStump, UniformStump
from .ridge import ArcCosine, Ridge, activation_function
from .shift_invariant import BallMatern, Cauchy, Gaussian, Laplacian, Matern
from .stable import Stable

__all__ = [
    "ArcCosine", "AxisCells", "BallMatern", "Binning", "Cauchy", "Collision", "Coordinatewise", "Gated", "Gaussian",
    "Hat", "Kernel", "Laplacian", "Matern", "Maxout", "NormalMixture", "NormalStump", "ObliqueCells", "Product",
    "Radial", "Ridge", "ShiftInvariant", "Stable", "UniformStump", "activation_function", "collision_integral",
    "collision_probability", "maximum_mean", "maximum_moment",
]  # fmt: skip

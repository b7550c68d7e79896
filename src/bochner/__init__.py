"""bochner: kernel machines as cheap as linear algebra.

Random features turn a non-linear problem into a linear one that streams, adds, scales and can be solved exactly.
"""

from . import blocks, kernels, theory
from .bases import Fastfood, GatedLinear, RandomBins, RandomFourier, RandomMaxout, RandomRidge, RandomStumps
from .blocks import read
from .config import config_context, get_config, set_config
from .modelfile import load
from .models import (
    DistributionClassifier,
    DistributionRegressor,
    KernelRidgeClassifier,
    KernelRidgeRegressor,
    RandomFeatureClassifier,
    RandomFeatureRegressor,
    advise,
    tune,
)

__version__ = "0.1.0"

__all__ = [
    "DistributionClassifier", "DistributionRegressor", "Fastfood", "GatedLinear", "KernelRidgeClassifier",
    "KernelRidgeRegressor", "RandomBins", "RandomFeatureClassifier", "RandomFeatureRegressor", "RandomFourier",
    "RandomMaxout", "RandomRidge", "RandomStumps", "advise", "blocks", "config_context", "get_config", "kernels",
    "load", "read", "set_config", "theory", "tune",
]  # fmt: skip

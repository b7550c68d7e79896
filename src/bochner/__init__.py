"""bochner: kernel machines as cheap as linear algebra.

Random features turn a non-linear problem into a linear one that streams, adds, scales and can be solved exactly.
"""

from . import blocks, kernels, losses, maps, moments, solvers, theory
from .bases import (
    BasisUnion,
    Fastfood,
    FixedFourier,
    GatedLinear,
    PatchFeatures,
    RandomBins,
    RandomCells,
    RandomFourier,
    RandomMaxout,
    RandomRidge,
    RandomStumps,
)
from .blocks import read
from .config import config_context, get_config, set_config
from .embedding import FeaturePCA
from .hashing import MaxoutHash, MaxoutIndex
from .modelfile import load
from .models import (
    AutoClassifier,
    AutoRegressor,
    DistributionClassifier,
    DistributionRegressor,
    KernelRidgeClassifier,
    KernelRidgeRegressor,
    LearnedFourierClassifier,
    LearnedFourierRegressor,
    RandomFeatureClassifier,
    RandomFeatureRegressor,
    advise,
    tune,
)
from .tables import TableEncoder
from .two_sample import mmd, mmd_test

__version__ = "0.1.0"

__all__ = [
    "AutoClassifier", "AutoRegressor", "BasisUnion", "DistributionClassifier", "DistributionRegressor", "Fastfood",
    "FeaturePCA", "FixedFourier", "GatedLinear", "KernelRidgeClassifier", "KernelRidgeRegressor",
    "LearnedFourierClassifier", "LearnedFourierRegressor", "MaxoutHash", "MaxoutIndex", "PatchFeatures", "RandomBins",
    "RandomCells", "RandomFeatureClassifier", "RandomFeatureRegressor", "RandomFourier", "RandomMaxout", "RandomRidge",
    "RandomStumps", "TableEncoder", "advise", "blocks", "config_context", "get_config", "kernels", "load", "losses",
    "maps", "mmd", "mmd_test", "moments", "read", "set_config", "solvers", "theory", "tune",
]  # fmt: skip

"""Models: a basis, a loss and a solver behind scikit-learn's face."""

from .advise import Advice, advise
from .auto import AutoClassifier, AutoRegressor
from .classifier import RandomFeatureClassifier
from .distribution import DistributionClassifier, DistributionRegressor
from .exact import KernelRidgeClassifier, KernelRidgeRegressor
from .learned import LearnedFourierClassifier, LearnedFourierRegressor
from .regressor import RandomFeatureRegressor
from .tune import Trial, Tuned, tune

__all__ = [
    "Advice", "AutoClassifier", "AutoRegressor",
    "DistributionClassifier", "DistributionRegressor", "KernelRidgeClassifier", "KernelRidgeRegressor",
    "LearnedFourierClassifier", "LearnedFourierRegressor",
    "RandomFeatureClassifier", "RandomFeatureRegressor", "Trial", "Tuned", "advise", "tune",
]  # fmt: skip

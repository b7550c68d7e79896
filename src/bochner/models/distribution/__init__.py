"""Models of distributions that are known by bags of points."""

from .classifier import DistributionClassifier
from .regressor import DistributionRegressor

__all__ = ["DistributionClassifier", "DistributionRegressor"]

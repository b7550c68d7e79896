"""Models of distributions that are known by bags of points."""

from .estimators import DistributionClassifier, DistributionRegressor

__all__ = ["DistributionClassifier", "DistributionRegressor"]

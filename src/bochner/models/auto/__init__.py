"""Models that need no settings: a table in, the best stack of kernels in learned metrics out."""

from .estimators import AutoClassifier, AutoRegressor

__all__ = ["AutoClassifier", "AutoRegressor"]

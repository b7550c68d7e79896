"""Ridge with an exact kernel: the reference for random features, and the answer where rows are few."""

from .estimators import KernelRidgeClassifier, KernelRidgeRegressor

__all__ = ["KernelRidgeClassifier", "KernelRidgeRegressor"]

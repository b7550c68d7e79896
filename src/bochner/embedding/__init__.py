"""Few numbers for many: principal components of random features."""

from .pca import FeaturePCA

__all__ = ["FeaturePCA"]

"""Fourier features whose frequencies are learned (Kernel Learning via Random Fourier Representations).

layer, losses: one layer of waves and its derivative, and what is asked of its output. directions: what of a frequency
is learned. sums, objective: equation (4) and its gradient, over blocks of rows. projection: coefficients solved exactly
inside. optimisers, search, penalties: ways down, from where, how far. spectrum: what was learned. base, estimators,
saving: the models.
"""

from .estimators import LearnedFourierClassifier, LearnedFourierRegressor

__all__ = ["LearnedFourierClassifier", "LearnedFourierRegressor"]

"""z-scores over independent seeds (never over features, which may depend on each other)."""

import numpy as np


def z_scores(sample, slack=0.0):
    """Of the mean over seeds; a spread of rounding size counts as none."""
    mean, deviation = sample.mean(axis=0), sample.std(axis=0, ddof=1) / np.sqrt(len(sample))
    return np.maximum(np.abs(mean) - slack - 1e-12, 0.0) / np.maximum(deviation, 1e-15)

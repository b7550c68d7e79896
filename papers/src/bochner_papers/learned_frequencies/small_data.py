"""Rows of two classes for quick runs, cut in half."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_breast_cancer

from bochner.data import Split


def halves(X: np.ndarray, y: np.ndarray, seed: int) -> Split:
    """Half of the rows to learn from, half to judge by, at random; standardised by the first half."""
    order, half = np.random.default_rng(seed).permutation(len(y)), len(y) // 2
    return Split(X[order[:half]], y[order[:half]], X[order[half:]], y[order[half:]]).standardized()


def tumours() -> tuple[np.ndarray, np.ndarray]:
    """Breast cancer, 569 rows of 30 columns, labels 0 and 1."""
    X, y = load_breast_cancer(return_X_y=True)
    return X, y

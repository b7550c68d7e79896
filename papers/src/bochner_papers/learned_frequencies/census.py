"""The rows and the networks that the Adult experiments share."""

from __future__ import annotations

import numpy as np

from bochner import LearnedFourierClassifier, data

from .small_data import halves, tumours

NUMBERS = 6  # of the columns; the others are indicators
FREQUENCIES = 100


def census(quick: bool) -> data.Split:
    """Adult with its numbers standardised and its indicators 0 and 1: 108 columns, as the paper has."""
    if quick:
        return halves(*tumours(), seed=0)
    split = data.adult("mixed")
    mean, deviation = split.X[:, :NUMBERS].mean(axis=0), split.X[:, :NUMBERS].std(axis=0)

    def scaled(X: np.ndarray) -> np.ndarray:
        return np.hstack([(X[:, :NUMBERS] - mean) / deviation, X[:, NUMBERS:]])

    return split._replace(X=scaled(split.X), X_test=scaled(split.X_test))


def papers_network(frequencies: int, seed: int) -> LearnedFourierClassifier:
    """Squared error of a sigmoid by stochastic gradient descent, from standard Gaussian frequencies.

    Batches of ten at a step of 1 are what one row at a time at the paper's step of 0.1 is, ten times as fast.
    """
    return LearnedFourierClassifier(
        2 * frequencies, loss="squared_probability", alpha=0.0, frequency_alpha=0.0, bandwidth=1.0, optimizer="sgd",
        learning_rate=1.0, batch_size=10, max_iter=5, random_state=seed,
    )  # fmt: skip


def error(model: object, split: data.Split) -> float:
    """Per cent of the test rows that are wrong."""
    return 100 * float(np.mean(model.predict(split.X_test) != split.y_test))  # type: ignore[attr-defined]

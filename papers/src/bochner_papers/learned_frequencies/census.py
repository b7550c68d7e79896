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


def papers_network(
    frequencies: int, seed: int, penalty: float = 0.0, step: float = 0.1, epochs: int = 5
) -> LearnedFourierClassifier:
    """Squared error of a sigmoid by stochastic gradient descent, from standard Gaussian frequencies.

    Batches of ten at ten times the step are what one row at a time at the paper's step is, ten times as fast. `penalty`
    stands before the squares of coefficients and of frequencies, beside the mean of the squared errors.
    """
    return LearnedFourierClassifier(
        2 * frequencies, loss="squared_probability", alpha=penalty, frequency_alpha=penalty, bandwidth=1.0,
        optimizer="sgd", learning_rate=10 * step, batch_size=10, max_iter=epochs, random_state=seed,
    )  # fmt: skip


def error(model: object, split: data.Split) -> float:
    """Per cent of the test rows that are wrong."""
    return 100 * float(np.mean(model.predict(split.X_test) != split.y_test))  # type: ignore[attr-defined]

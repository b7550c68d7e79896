"""The baseline of Figures 3 to 5: softmax(W x + b) on the inputs themselves, by plain steps on small batches."""

from __future__ import annotations

from typing import Any

import numpy as np

from bochner.losses import Logistic
from bochner.solvers import SGD


class PixelSoftmax:
    """Softmax regression by the loss and the steps that the library's own models have. A call is an epoch.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bochner_papers.mckernel.pixel_softmax import PixelSoftmax
    >>> X, y = load_iris(return_X_y=True)
    >>> model = PixelSoftmax(learning_rate=0.1)
    >>> for _ in range(30):
    ...     _ = model.partial_fit(X - X.mean(axis=0), y, classes=[0, 1, 2])
    >>> bool((model.predict(X - X.mean(axis=0)) == y).mean() > 0.9)
    True
    """

    def __init__(self, *, learning_rate: float = 0.01, batch_size: int = 10, bias: bool = True, seed: int = 0) -> None:
        self.method = SGD(batch_size=batch_size, learning_rate=learning_rate, momentum=0.0)
        self.rate, self.bias, self.generator = learning_rate, bias, np.random.default_rng(seed)

    def partial_fit(self, X: np.ndarray, y: np.ndarray, classes: Any = None) -> PixelSoftmax:
        """An epoch over the rows, in a new order."""
        if not hasattr(self, "classes_"):
            self.classes_ = np.unique(y if classes is None else classes)
            self.state = self.method.begin(np.zeros((X.shape[1] + 1, len(self.classes_)), dtype=X.dtype))
        codes = np.where(np.asarray(y)[:, None] == self.classes_, 1.0, -1.0).astype(X.dtype)
        order, size = self.generator.permutation(len(X)), self.method.batch_size
        for start in range(0, len(X), size):
            rows = order[start : start + size]
            self.method.step(self.state, self.gradient(X[rows], codes[rows]), self.rate)
        return self

    def gradient(self, X: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Of the mean loss of a batch, by (W; b)."""
        slope = Logistic().gradient(self.decision_function(X), codes) / len(X)
        return np.vstack([X.T @ slope, slope.sum(axis=0) if self.bias else np.zeros_like(slope[0])])

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        return X @ self.state["x"][:-1] + self.state["x"][-1]

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.classes_[self.decision_function(X).argmax(axis=1)]

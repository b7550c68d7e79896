"""Who learns from pictures beside us, for the seconds that we took: a convolutional network, trees, a network."""

from __future__ import annotations

import time
from typing import Any, Self

import numpy as np

BATCH = 128


class Network:
    """Two convolutions of 5 x 5 with 32 and 64 channels, each pooled by two, and two dense layers; Adam, one cycle.

    The rate rises and falls over the seconds given, whatever the number of epochs: so it ends well trained.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        import torch
        from torch import nn

        begun = time.perf_counter()
        torch.manual_seed(0)
        self.model = nn.Sequential(
            nn.Conv2d(1, 32, 5, padding=2), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 5, padding=2), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Dropout(0.3), nn.Linear(64 * 49, 128), nn.ReLU(), nn.Linear(128, 10),
        )  # fmt: skip
        pictures, labels = as_tensor(X), torch.tensor(y.astype(np.int64))
        best = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        self.model.train()
        while True:
            for rows in torch.randperm(len(y)).split(BATCH):
                share = (time.perf_counter() - begun) / self.seconds
                if share >= 1.0:
                    return self
                for group in best.param_groups:  # up for a third of the time, then down to nothing
                    group["lr"] = 4e-3 * min(3.0 * share + 0.05, 1.5 * (1.0 - share))
                loss = nn.functional.cross_entropy(self.model(pictures[rows]), labels[rows])
                best.zero_grad()
                loss.backward()
                best.step()

    def predict(self, X: np.ndarray) -> np.ndarray:
        import torch

        self.model.eval()
        with torch.no_grad():
            scores = [self.model(part) for part in as_tensor(X).split(1000)]
        return np.asarray(torch.cat(scores).argmax(dim=1).numpy())


def as_tensor(X: np.ndarray) -> Any:
    import torch

    return torch.tensor((X.reshape(-1, 1, 28, 28) / 255.0 - 0.3).astype(np.float32))


class Trees:
    """LightGBM on pixels, with rounds until the seconds are over."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        import lightgbm

        begun = time.perf_counter()

        def stop(state: Any) -> None:
            if time.perf_counter() - begun > self.seconds:
                raise lightgbm.callback.EarlyStopException(state.iteration, [])

        self.model = lightgbm.LGBMClassifier(n_estimators=2000, verbose=-1, random_state=0)
        self.model.fit(X.astype(np.float32), y, callbacks=[stop])
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(self.model.predict(X.astype(np.float32)))


class Perceptron:
    """scikit-learn's network with one hidden layer of 256, epoch by epoch until the seconds are over."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        from sklearn.neural_network import MLPClassifier

        begun, scaled = time.perf_counter(), X.astype(np.float32) / 255
        self.model = MLPClassifier((256,), batch_size=BATCH, random_state=0)
        labels = np.unique(y)
        while time.perf_counter() - begun < self.seconds:
            self.model.partial_fit(scaled, y, classes=labels)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(self.model.predict(X.astype(np.float32) / 255))

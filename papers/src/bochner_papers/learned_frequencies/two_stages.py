"""What the three experiments on bags share: learned and random frequencies of both stages, D = 50 and 50."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from bochner import DistributionClassifier, DistributionRegressor, RandomFourier

FREQUENCIES = 50  # of each stage, two features each


class Bags(NamedTuple):
    """Bags to learn from and to judge by, with their targets."""

    train: list[np.ndarray]
    y: np.ndarray
    test: list[np.ndarray]
    y_test: np.ndarray

    def standardized(self) -> Bags:
        """Columns of mean 0 and variance 1 over the points of the training bags."""
        points = np.concatenate(self.train)
        mean, deviation = points.mean(axis=0), points.std(axis=0)
        deviation = np.where(deviation > 0, deviation, 1.0)
        train, test = ([(bag - mean) / deviation for bag in bags] for bags in (self.train, self.test))
        return self._replace(train=train, test=test)


class Outcome(NamedTuple):
    """Over seeds: root mean squared errors, or per cent of wrong labels; and the mean seconds of a fit."""

    errors: np.ndarray
    seconds: float

    def told(self, unit: str) -> str:
        return f"{self.errors.mean():.4g} +- {self.errors.std():.2g} {unit}".strip() + f" in {self.seconds:.1f} s"


def two_stages(kind: type, frequencies: int, learned: bool, seed: int, **settings: Any) -> Any:
    def basis() -> RandomFourier:
        return RandomFourier(2 * frequencies)

    return kind(basis(), basis(), learned=learned, random_state=seed, **settings)


def regressed(bags: Bags, learned: bool, seeds: int, frequencies: int = FREQUENCIES, **settings: Any) -> Outcome:
    """Root mean squared errors of the test bags."""
    return fitted(DistributionRegressor, bags, learned, seeds, frequencies, root_mean_square, settings)


def classified(bags: Bags, learned: bool, seeds: int, frequencies: int = FREQUENCIES, **settings: Any) -> Outcome:
    """Per cent of the test bags with a wrong label."""
    return fitted(DistributionClassifier, bags, learned, seeds, frequencies, wrong, settings)


def fitted(
    kind: type, bags: Bags, learned: bool, seeds: int, frequencies: int, judge: Any, settings: dict[str, Any]
) -> Outcome:
    errors, seconds = [], 0.0
    for seed in range(seeds):
        model = two_stages(kind, frequencies, learned, seed, **settings)
        begun = time.perf_counter()
        model.fit(bags.train, bags.y)
        seconds += time.perf_counter() - begun
        errors.append(judge(model.predict(bags.test), bags.y_test))
    return Outcome(np.array(errors), seconds / seeds)


def root_mean_square(prediction: np.ndarray, y: np.ndarray) -> float:
    return float(np.sqrt(np.mean((prediction - y) ** 2)))


def wrong(prediction: np.ndarray, y: np.ndarray) -> float:
    return 100 * float(np.mean(prediction != y))

"""Random stumps against boosted stumps: test error and seconds of training and testing, for growing K."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import AdaBoostClassifier, GradientBoostingRegressor
from sklearn.tree import DecisionTreeClassifier

from bochner import RandomFeatureClassifier, RandomFeatureRegressor
from bochner.data import Split

from ..findings import Chart
from ..plain import AS_IN_PAPERS


class Point(NamedTuple):
    """One classifier: how many nonlinearities, its test error in per cent, seconds to train and to test."""

    terms: int
    error: float
    seconds: float


class TimedStump(DecisionTreeClassifier):
    """A decision stump that remembers when it was fitted, so that one boosting run tells the time of every K."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True) -> TimedStump:
        super().fit(X, y, sample_weight, check_input)
        self.fitted_at_ = time.perf_counter()
        return self


def random_features(split: Split, basis: Any, counts: Sequence[int], **settings: Any) -> list[Point]:
    """A fit for each K, from the rows to the predictions: features, the choice of the penalty and the solution."""
    points = []
    for count in counts:
        begun = time.perf_counter()
        model = RandomFeatureClassifier(basis.set_params(n_components=count), **AS_IN_PAPERS, **settings).fit(
            split.X, split.y
        )
        predicted = np.asarray(model.predict(split.X_test))
        points.append(Point(count, error(predicted, split.y_test), time.perf_counter() - begun))
    return points


def boosted_stumps(split: Split, counts: Sequence[int]) -> list[Point]:
    """AdaBoost by scikit-learn, once: the first K stumps of a longer run are the run of K stumps."""
    begun = time.perf_counter()
    model = AdaBoostClassifier(TimedStump(max_depth=1), n_estimators=max(counts), random_state=0)
    model.fit(split.X, split.y)
    points, tested = [], time.perf_counter()
    for count, predicted in enumerate(model.staged_predict(split.X_test), start=1):
        if count in counts:
            training = model.estimators_[count - 1].fitted_at_ - begun
            testing = time.perf_counter() - tested
            points.append(Point(count, error(predicted, split.y_test), training + testing))
    return points


def with_penalty_given(split: Split, basis: Any, counts: Sequence[int], share: float = 1e-3) -> list[Point]:
    """The paper's algorithm and no more: features, least squares of -1 and +1 with one penalty, signs."""
    points, classes = [], np.unique(split.y)
    y = np.where(split.y == classes[1], 1.0, -1.0)
    for count in counts:
        begun = time.perf_counter()
        model = RandomFeatureRegressor(basis.set_params(n_components=count), alpha=share * len(y), **AS_IN_PAPERS)
        model.fit(split.X, y)
        predicted = classes[(model.predict(split.X_test) > 0).astype(int)]
        points.append(Point(count, error(predicted, split.y_test), time.perf_counter() - begun))
    return points


def pursued_stumps(split: Split, counts: Sequence[int]) -> list[Point]:
    """Matching pursuit: each stump is the one that the residual of least squares likes best."""
    classes = np.unique(split.y)
    y = np.where(split.y == classes[1], 1.0, -1.0)
    begun, last = time.perf_counter(), max(counts)
    ended: dict[int, float] = {}
    model = GradientBoostingRegressor(n_estimators=last, learning_rate=1.0, max_depth=1, random_state=0)
    model.fit(split.X, y, monitor=lambda stage, *others: ended.__setitem__(stage + 1, time.perf_counter()))
    points, tested = [], time.perf_counter()
    for count, scores in enumerate(model.staged_predict(split.X_test), start=1):
        if count in counts:
            predicted = classes[(scores > 0).astype(int)]
            seconds = ended[count] - begun + time.perf_counter() - tested
            points.append(Point(count, error(predicted, split.y_test), seconds))
    return points


def error(predicted: np.ndarray, labels: np.ndarray) -> float:
    return 100.0 * float(np.mean(predicted != labels))


def best(points: Sequence[Point]) -> Point:
    return min(points, key=lambda point: (point.error, point.seconds))


def soonest(points: Sequence[Point], level: float) -> Point | None:
    """The quickest of those that reach an error."""
    reached = [point for point in points if point.error <= level]
    return min(reached, key=lambda point: point.seconds) if reached else None


def speedups_at_equal_error(ours: Sequence[Point], theirs: Sequence[Point]) -> list[float]:
    """How many times sooner the error of each of their points is reached, where it is reached at all."""
    pairs = [(point, soonest(ours, point.error)) for point in theirs]
    first = [(soonest(theirs, point.error), mine) for point, mine in pairs if mine is not None]
    return [peer.seconds / mine.seconds for peer, mine in first if peer is not None]


def charts(name: str, runs: dict[str, Sequence[Point]]) -> list[Chart]:
    """The three columns of the figure: error against K, seconds against K, error against seconds."""
    rows: list[dict[str, Any]] = [
        {"K": point.terms, "test error (%)": point.error, "seconds": point.seconds, "method": method}
        for method, points in runs.items()
        for point in points
    ]
    by_time = sorted(rows, key=lambda row: row["seconds"])
    return [
        Chart(f"{name}: error against K", rows, "K", "test error (%)", "method", log_x=True),
        Chart(f"{name}: time against K", rows, "K", "seconds", "method", log_x=True, log_y=True),
        Chart(f"{name}: error against time", by_time, "seconds", "test error (%)", "method", log_x=True),
    ]


def breast_cancer() -> Split:
    """What scikit-learn ships, for quick runs."""
    X, y = load_breast_cancer(return_X_y=True)
    return Split(X[:400], y[:400], X[400:], y[400:]).standardized()

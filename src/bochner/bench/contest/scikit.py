"""scikit-learn's network, support vector machine and random forest, on scaled columns and indicators."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.svm import SVC, SVR

from .encoding import Encoding, scalings
from .entrant import votes
from .search import Fitted, Part, Peer, Problem, Settings, log_uniform, one_of

EPOCHS, PATIENCE = 1000, 20  # of the network
TREES, MORE_TREES, AT_ONCE = 100, 500, 20  # of a forest: in a trial, at the end, and between looks at the clock
SMALLEST = 1e-6  # probability


def encodings(X: np.ndarray, dtype: type) -> dict[str, Callable[[], Callable[[Any], Any]]]:
    return {scaling: partial(Encoding, X, scaling, dtype) for scaling in scalings(X)}


class Unit:
    """Targets of mean 0 and variance 1."""

    def __init__(self, y: np.ndarray) -> None:
        self.mean, self.deviation = float(y.mean()), float(y.std()) or 1.0

    def __call__(self, y: np.ndarray) -> np.ndarray:
        return (y - self.mean) / self.deviation

    def back(self, y: np.ndarray) -> np.ndarray:
        return np.asarray(y, dtype=np.float64) * self.deviation + self.mean


class Network(Peer):
    """scikit-learn's multi-layer perceptron, an epoch at a time; it ends with the weights of its best epoch."""

    name, title = "mlp", "network"
    longer = 1.1

    def views(self, X: np.ndarray) -> dict[str, Callable[[], Callable[[Any], Any]]]:
        return encodings(X, np.float32)

    def usual(self, problem: Problem) -> Settings:
        return {"layers": (128, 128), "alpha": 1e-4, "rate": 1e-3, "batch": 64, "stop": "likelihood"}

    def draw(self, rng: np.random.Generator, problem: Problem) -> Settings:
        return {
            "layers": one_of(rng, (128,), (256,), (512,), (128, 128), (256, 128), (256, 256), (128, 128, 128)),
            "alpha": log_uniform(rng, 1e-6, 1.0),
            "rate": log_uniform(rng, 3e-4, 1e-2),
            "batch": one_of(rng, 32, 64, 128, 256),
            "stop": one_of(rng, "likelihood", "error"),
        }

    def fit_once(
        self, problem: Problem, settings: Settings, train: Part, judge: Part | None, rounds: int | None, until: float
    ) -> Fitted:
        kind = MLPClassifier if problem.classes else MLPRegressor
        model = kind(
            hidden_layer_sizes=settings["layers"], alpha=settings["alpha"], learning_rate_init=settings["rate"],
            batch_size=min(settings["batch"], len(train.y)), random_state=problem.seed,
        )  # fmt: skip
        unit = Unit(train.y)
        y = train.y if problem.classes else unit(train.y).astype(np.float32)
        known = {"classes": np.arange(problem.classes)} if problem.classes else {}
        best, kept, last = np.inf, None, 0
        for epoch in range(1, (rounds or EPOCHS) + 1):
            model.partial_fit(train.X, y, **(known if epoch == 1 else {}))
            if judge is not None:
                score = self.score(model, judge, settings, problem, unit)
                if score < best:
                    best, last = score, epoch
                    kept = ([w.copy() for w in model.coefs_], [b.copy() for b in model.intercepts_])
            if time.perf_counter() > until or (judge is not None and epoch - last >= PATIENCE):
                break
        if kept is not None:
            model.coefs_, model.intercepts_ = kept
        answer = model.predict_proba if problem.classes else lambda X: unit.back(model.predict(X))
        return Fitted(answer, last or epoch)

    def score(self, model: Any, judge: Part, settings: Settings, problem: Problem, unit: Unit) -> float:
        if not problem.classes:
            return float(np.mean((model.predict(judge.X) - unit(judge.y)) ** 2))
        found = model.predict_proba(judge.X)
        if settings["stop"] == "error":
            return float(np.mean(found.argmax(axis=1) != judge.y))
        return float(-np.log(np.maximum(found[np.arange(len(judge.y)), judge.y], SMALLEST)).mean())


class SupportVectors(Peer):
    """An exact SVM with a Gaussian kernel. Its iterations are bounded by what they took so far, for it has no clock."""

    name, title = "svm", "SVM"

    def __init__(self) -> None:
        self.rate = np.inf  # iterations x rows in a second

    def views(self, X: np.ndarray) -> dict[str, Callable[[], Callable[[Any], Any]]]:
        return encodings(X, np.float64)

    def usual(self, problem: Problem) -> Settings:
        return {"C": 1.0, "gamma": 1.0, **({} if problem.classes else {"epsilon": 0.1})}

    def draw(self, rng: np.random.Generator, problem: Problem) -> Settings:
        drawn = {"C": log_uniform(rng, 0.1, 1000.0), "gamma": log_uniform(rng, 0.03, 10.0)}
        return drawn if problem.classes else drawn | {"epsilon": log_uniform(rng, 0.003, 0.3)}

    def fit_once(
        self, problem: Problem, settings: Settings, train: Part, judge: Part | None, rounds: int | None, until: float
    ) -> Fitted:
        gamma = settings["gamma"] / (train.X.shape[1] * max(float(train.X.var()), 1e-12))  # 1: scikit-learn's "scale"
        allowed = self.rate / len(train.y) * max(until - time.perf_counter(), 0.1)
        how = {"gamma": gamma, "cache_size": 500, "max_iter": -1 if np.isinf(allowed) else max(1000, int(allowed))}
        begun, unit = time.perf_counter(), Unit(train.y)
        if problem.classes:
            model = SVC(C=settings["C"], **how).fit(train.X, train.y)
        else:
            model = SVR(C=settings["C"], epsilon=settings["epsilon"], **how).fit(train.X, unit(train.y))
        self.rate = float(np.sum(model.n_iter_)) * len(train.y) / max(time.perf_counter() - begun, 1e-3)
        if problem.classes:
            return Fitted(lambda X: votes(model.predict(X), problem.classes))
        return Fitted(lambda X: unit.back(model.predict(X)))


class Forest(Peer):
    name, title = "forest", "random forest"

    def views(self, X: np.ndarray) -> dict[str, Callable[[], Callable[[Any], Any]]]:
        return {"numbers": partial(Encoding, X, None, np.float32)}

    def usual(self, problem: Problem) -> Settings:
        return {"max_features": "sqrt" if problem.classes else 1.0, "min_samples_leaf": 1, "max_samples": None}

    def draw(self, rng: np.random.Generator, problem: Problem) -> Settings:
        return {
            "max_features": one_of(rng, "sqrt", 0.2, 0.35, 0.5, 0.75, 1.0),
            "min_samples_leaf": round(log_uniform(rng, 1, 10)),
            "max_samples": one_of(rng, None, None, 0.8, 0.5),
        }

    def fit_once(
        self, problem: Problem, settings: Settings, train: Part, judge: Part | None, rounds: int | None, until: float
    ) -> Fitted:
        kind = RandomForestClassifier if problem.classes else RandomForestRegressor
        chosen = {name: value for name, value in settings.items() if name != "view"}
        model = kind(0, n_jobs=problem.cores, random_state=problem.seed, warm_start=True, **chosen)
        while model.n_estimators < (TREES if judge is not None else MORE_TREES):
            model.set_params(n_estimators=model.n_estimators + AT_ONCE).fit(train.X, train.y)
            if time.perf_counter() > until:
                break
        if not problem.classes:
            return Fitted(model.predict)
        return Fitted(partial(spread, model, problem.classes))


def spread(model: Any, classes: int, X: np.ndarray) -> np.ndarray:
    """Probabilities with a column for every label, also those that this model has not seen."""
    found = np.zeros((len(X), classes))
    found[:, model.classes_] = model.predict_proba(X)
    return found

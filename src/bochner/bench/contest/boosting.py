"""Gradient boosting: LightGBM, XGBoost and CatBoost, each with categories and missing values as it takes them."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .encoding import categorical, coded, numbers_or, worded
from .search import Fitted, Part, Peer, Problem, Settings, log_uniform, one_of

MOST, PATIENCE = 5000, 50  # rounds, and rounds without a better one


class Patience:
    """Stops when the time has come, or when the best round is long ago."""

    def __init__(self, until: float) -> None:
        self.until, self.best, self.round = until, np.inf, 0

    def is_over(self, now: int, score: float | None) -> bool:
        if score is None:
            self.round = now
        elif score < self.best:
            self.best, self.round = score, now
        return now - self.round >= PATIENCE or time.perf_counter() > self.until


class Boosting(Peer):
    """What the three have in common. The setting "stop" is what early stopping watches, for labels."""

    longer = 1.1

    def usual(self, problem: Problem) -> Settings:
        return {"stop": "likelihood"}

    def metric(self, settings: Settings, problem: Problem, names: tuple[str, str, str, str, str]) -> str:
        """Of names for: numbers; the likelihood of two labels and of several; errors of two and of several."""
        if not problem.classes:
            return names[0]
        place = (1 if settings["stop"] == "likelihood" else 3) + (problem.classes > 2)
        return names[place]


def weights(answers: np.ndarray, classes: int) -> np.ndarray:
    """The probability of the second of two labels, as two columns."""
    return np.column_stack([1.0 - answers, answers]) if classes == 2 else answers


class LightGBM(Boosting):
    name, title, needs = "lightgbm", "LightGBM", ("lightgbm",)

    def views(self, X: np.ndarray) -> dict[str, Callable[[], Callable[[Any], Any]]]:
        return {"frame": lambda: numbers_or(lambda X: X)}

    def draw(self, rng: np.random.Generator, problem: Problem) -> Settings:
        return {
            "stop": one_of(rng, "likelihood", "error"),
            "learning_rate": log_uniform(rng, 0.015, 0.3),
            "num_leaves": round(log_uniform(rng, 6, 256)),
            "min_data_in_leaf": round(log_uniform(rng, 1, 100)),
            "bagging_fraction": rng.uniform(0.5, 1.0), "bagging_freq": 1,
            "feature_fraction": rng.uniform(0.4, 1.0),
            "lambda_l2": log_uniform(rng, 1e-3, 30.0),
            "extra_trees": one_of(rng, False, False, False, True),
            "cat_smooth": log_uniform(rng, 1.0, 100.0),
        }  # fmt: skip

    def fit_once(
        self, problem: Problem, settings: Settings, train: Part, judge: Part | None, rounds: int | None, until: float
    ) -> Fitted:
        import lightgbm

        kind = ("regression", "binary", "multiclass")[min(max(problem.classes - 1, 0), 2)]
        watched = self.metric(
            settings, problem, ("l2", "binary_logloss", "multi_logloss", "binary_error", "multi_error")
        )
        parameters = {name: value for name, value in settings.items() if name not in ("stop", "view")} | {
            "objective": kind, "metric": watched, "num_threads": problem.cores, "seed": problem.seed, "verbose": -1,
        }  # fmt: skip
        if problem.classes > 2:
            parameters["num_class"] = problem.classes
        data = lightgbm.Dataset(train.X, train.y)
        judges = [] if judge is None else [lightgbm.Dataset(judge.X, judge.y, reference=data)]
        patience = Patience(until)

        def stop(state: Any) -> None:
            score = state.evaluation_result_list[0][2] if judges else None
            if patience.is_over(state.iteration + 1, score):
                raise lightgbm.callback.EarlyStopException(patience.round - 1, state.evaluation_result_list)

        booster = lightgbm.train(parameters, data, rounds or MOST, valid_sets=judges, callbacks=[stop])
        count = max(patience.round, 1)
        return Fitted(lambda X: weights(booster.predict(X, num_iteration=count), problem.classes), count)


class XGBoost(Boosting):
    name, title, needs = "xgboost", "XGBoost", ("xgboost",)

    def views(self, X: np.ndarray) -> dict[str, Callable[[], Callable[[Any], Any]]]:
        return {"frame": lambda: numbers_or(coded)}

    def draw(self, rng: np.random.Generator, problem: Problem) -> Settings:
        return {
            "stop": one_of(rng, "likelihood", "error"),
            "eta": log_uniform(rng, 0.015, 0.3),
            "max_depth": int(rng.integers(3, 12)),
            "min_child_weight": log_uniform(rng, 0.5, 50.0),
            "subsample": rng.uniform(0.5, 1.0),
            "colsample_bytree": rng.uniform(0.4, 1.0),
            "lambda": log_uniform(rng, 1e-2, 30.0),
            "max_cat_to_onehot": one_of(rng, 1, 4, 16),
        }

    def fit_once(
        self, problem: Problem, settings: Settings, train: Part, judge: Part | None, rounds: int | None, until: float
    ) -> Fitted:
        import xgboost

        kind = ("reg:squarederror", "binary:logistic", "multi:softprob")[min(max(problem.classes - 1, 0), 2)]
        parameters = {name: value for name, value in settings.items() if name not in ("stop", "view")} | {
            "objective": kind, "nthread": problem.cores, "seed": problem.seed, "tree_method": "hist",
            "eval_metric": self.metric(settings, problem, ("rmse", "logloss", "mlogloss", "error", "merror")),
        }  # fmt: skip
        if problem.classes > 2:
            parameters["num_class"] = problem.classes
        matrix = partial(xgboost.DMatrix, enable_categorical=True, nthread=problem.cores)
        evals = [] if judge is None else [(matrix(judge.X, judge.y), "judge")]
        patience = Patience(until)

        class Stop(xgboost.callback.TrainingCallback):
            def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
                score = next(iter(evals_log["judge"].values()))[-1] if evals else None
                return patience.is_over(epoch + 1, score)

        data = matrix(train.X, train.y)
        booster = xgboost.train(parameters, data, rounds or MOST, evals=evals, callbacks=[Stop()], verbose_eval=False)
        count = max(patience.round, 1)

        def answer(X: np.ndarray) -> np.ndarray:
            return weights(booster.predict(matrix(X), iteration_range=(0, count)), problem.classes)

        return Fitted(answer, count)


class CatBoost(Boosting):
    name, title, needs = "catboost", "CatBoost", ("catboost",)

    def views(self, X: np.ndarray) -> dict[str, Callable[[], Callable[[Any], Any]]]:
        self.categories = np.flatnonzero(categorical(X)).tolist()
        return {"frame": lambda: numbers_or(worded)}

    def usual(self, problem: Problem) -> Settings:
        fast = {"learning_rate": 0.1, "max_ctr_complexity": 1}  # its own settings are made for minutes
        return {"stop": "likelihood", "iterations": MOST, **fast}

    def draw(self, rng: np.random.Generator, problem: Problem) -> Settings:
        return {
            "stop": one_of(rng, "likelihood", "error"),
            "iterations": MOST,
            "learning_rate": log_uniform(rng, 0.03, 0.3),
            "depth": int(rng.integers(3, 9)),
            "border_count": one_of(rng, 64, 128, 254),
            "l2_leaf_reg": log_uniform(rng, 0.3, 30.0),
            "random_strength": log_uniform(rng, 0.1, 10.0),
            "bootstrap_type": "Bernoulli", "subsample": rng.uniform(0.5, 1.0),
            "rsm": rng.uniform(0.4, 1.0),
            "one_hot_max_size": one_of(rng, 2, 8, 32), "max_ctr_complexity": one_of(rng, 1, 1, 2),
        }  # fmt: skip

    def fit_once(
        self, problem: Problem, settings: Settings, train: Part, judge: Part | None, rounds: int | None, until: float
    ) -> Fitted:
        import catboost

        loss = self.metric({"stop": "likelihood"}, problem, ("RMSE", "Logloss", "MultiClass", "", ""))
        watched = self.metric(settings, problem, ("RMSE", "Logloss", "MultiClass", "ZeroOneLoss", "ZeroOneLoss"))
        parameters = {name: value for name, value in settings.items() if name not in ("stop", "view")} | {
            "loss_function": loss, "eval_metric": watched, "random_seed": problem.seed,
            "thread_count": problem.cores, "verbose": False, "allow_writing_files": False,
        }  # fmt: skip
        if rounds is not None:
            parameters["iterations"] = rounds
        if problem.classes > 2:
            parameters["classes_count"] = problem.classes
        pool = partial(catboost.Pool, cat_features=self.categories or None, thread_count=problem.cores)

        class Stop:
            def after_iteration(self, info: object) -> bool:
                return time.perf_counter() < until

        booster = catboost.CatBoost(parameters)
        judges = {} if judge is None else {"eval_set": pool(judge.X, judge.y), "early_stopping_rounds": PATIENCE}
        booster.fit(pool(train.X, train.y), callbacks=[Stop()], **judges)

        def answer(X: np.ndarray) -> np.ndarray:
            if not problem.classes:
                return np.asarray(booster.predict(pool(X)))
            return np.asarray(booster.predict(pool(X), prediction_type="Probability"))

        return Fitted(answer, int(booster.tree_count_))

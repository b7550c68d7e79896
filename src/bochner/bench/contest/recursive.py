"""xRFM: recursive feature machines in the leaves of a tree, with the search space that its authors use."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .encoding import Encoding, scalings
from .scikit import Unit
from .search import Fitted, Part, Peer, Problem, Settings, log_uniform, one_of

LEAVES = (1000, 2000, 4000)  # rows of a leaf: an exact solve costs their cube, on processors
SPLITTING = 2000  # rows that say in which direction a node is split; 50,000 are meant for a GPU
ROUNDS = 5
JUDGE = 10  # one row in so many judges the last fit
FEW = 200  # rows that tell what a kernel costs


class RecursiveFeatures(Peer):
    """Numbers are scaled and indicators are not, as its documentation recommends."""

    name, title, needs = "xrfm", "xRFM", ("xrfm", "torch")

    def __init__(self) -> None:
        self.costs: dict[str, float] = {}  # seconds of a round, over the square of the rows

    def views(self, X: np.ndarray) -> dict[str, Callable[[], Callable[[Any], Any]]]:
        return {scaling: partial(Encoding, X, scaling, np.float32) for scaling in scalings(X)}

    def usual(self, problem: Problem) -> Settings:
        return {"kernel": "l2", "bandwidth": 10.0, "exponent": 1.0, "reg": 1e-3, "diag": False, "leaf": LEAVES[1]}

    def draw(self, rng: np.random.Generator, problem: Problem) -> Settings:
        exponent = rng.uniform(0.7, 1.4)
        kernel: Settings = {"kernel": "l2"}
        if rng.uniform() < 0.8:
            kernel = {"kernel": "lpq", "norm_p": exponent + rng.uniform(0.0, 0.8) * (2.0 - exponent)}
        return kernel | {
            "bandwidth": log_uniform(rng, 0.5, 200.0), "exponent": exponent, "reg": log_uniform(rng, 1e-6, 10.0),
            "diag": one_of(rng, False, True), "leaf": one_of(rng, *LEAVES),
        }  # fmt: skip

    def fit_once(
        self, problem: Problem, settings: Settings, train: Part, judge: Part | None, rounds: int | None, until: float
    ) -> Fitted:
        if judge is None and rounds is None:  # leaves that differ in their rounds need rows that judge them
            judge = Part(train.X[::JUDGE], train.y[::JUDGE])
            train = Part(np.delete(train.X, slice(None, None, JUDGE), 0), np.delete(train.y, slice(None, None, JUDGE)))
        how = {"iters": ROUNDS, "early_stop_rfm": True}
        if judge is None:
            judge = Part(train.X[:FEW], train.y[:FEW])
            how = {"iters": (rounds or 1) - 1, "early_stop_rfm": False, "return_best_params": False}
        elif self.foreseen(problem, settings, train) > until - time.perf_counter():
            settings.pop("norm_p", None)  # in place: what is told of the trial is what was fitted
            settings["kernel"] = "l2"
        return self.solved(problem, settings, how, train, judge, until)

    def foreseen(self, problem: Problem, settings: Settings, train: Part) -> float:
        """Seconds of one round with this kernel; xRFM looks at the clock between rounds, and some kernels are slow."""
        rows = min(FEW, len(train.y))
        if settings["kernel"] not in self.costs:
            few, begun = Part(train.X[:rows], train.y[:rows]), time.perf_counter()
            self.solved(problem, settings, {"iters": 1}, few, few, np.inf)
            self.costs[settings["kernel"]] = (time.perf_counter() - begun) / 2 / rows**2
        leaf = min(len(train.y), settings["leaf"])
        return 2 * self.costs[settings["kernel"]] * leaf * len(train.y)  # a round, and the fit that ends them

    def solved(
        self, problem: Problem, settings: Settings, how: Settings, train: Part, judge: Part, until: float
    ) -> Fitted:
        import torch
        from xrfm import xRFM

        chosen = {name: value for name, value in settings.items() if name not in ("view", "leaf", "reg")}
        limit = None if np.isinf(until) else max(until - time.perf_counter(), 0.1)
        how = {"reg": settings["reg"], "verbose": False, **how}
        model = xRFM(
            {"model": {**chosen, "bandwidth_mode": "constant"}, "fit": how}, max_leaf_size=settings["leaf"],
            device=torch.device("cpu"), time_limit_s=limit, n_threads=problem.cores, random_state=problem.seed,
            tuning_metric="accuracy" if problem.classes else "mse", verbose=False,
            classification_mode="prevalence" if problem.classes else "zero_one",
        )  # fmt: skip
        model._get_agop_on_subset = partial(model._get_agop_on_subset, subset_size=SPLITTING)
        unit = Unit(train.y)
        y, y_judge = (train.y, judge.y) if problem.classes else (unit(train.y), unit(judge.y))
        model.fit(train.X, y, judge.X, y_judge)
        answer = model.predict_proba if problem.classes else lambda X: unit.back(model.predict(X)[:, 0])
        return Fitted(answer, rounds_of(model))


def rounds_of(model: Any) -> int | None:
    """Fits up to the best one, if there is one leaf; several have their own."""
    leaves = model._collect_leaf_nodes(model.trees[0])
    best = leaves[0]["model"].best_iter
    return None if len(leaves) > 1 else 1 + (ROUNDS if best is None else int(best))

"""Small fits of every loss with every solver that takes it: what the seams of blocks are tested with."""

import warnings

import numpy as np
import pytest

from bochner import (
    DistributionClassifier,
    DistributionRegressor,
    LearnedFourierClassifier,
    LearnedFourierRegressor,
    RandomFeatureClassifier,
    RandomFeatureRegressor,
    RandomFourier,
)
from bochner.losses import CLASSIFYING, REGRESSING, loss_of
from bochner.solvers import SGD, Adam, DoublyStochastic
from bochner.solvers.matching import solvers_for
from helpers.toy_loss import TOY_CLASSIFYING, TOY_REGRESSING, TOYS
from helpers.toy_solver import GradientDescent

rng = np.random.default_rng(7)
X = rng.standard_normal((300, 4))
Y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.standard_normal(300)
LABELS = np.array(["low", "middle", "high"])[np.digitize(Y, [-0.5, 0.5])]
METHODS = {
    "sgd": SGD(epochs=3, batch_size=32),
    "adam": Adam(epochs=3, batch_size=32),
    "doubly_stochastic": DoublyStochastic(batch_size=32, features=8),
    "mine": GradientDescent(10),
}


def battery():
    """Names of fits: task, loss, solver, and whether the penalty is chosen."""
    names = []
    tasks = {"regression": {**REGRESSING, **TOY_REGRESSING}, "classification": {**CLASSIFYING, **TOY_CLASSIFYING}}
    for task, losses in tasks.items():
        for loss, made in losses.items():
            for solver in solvers_for(loss_of(made, losses)):
                names.append(f"{task} {loss} {solver}")
    return [*names, "regression squared cholesky auto", "regression squared cholesky loo",
            "classification squared cholesky auto", "classification squared cg auto",
            "classification logistic newton auto", "regression epsilon_insensitive dual auto",
            "regression log_cosh newton auto", "regression pinball dual auto",
            "regression slopes_alone sgd auto", "regression squared mine auto", "regression log_cosh mine",
            "classification logistic mine", "classification hinge mine"]  # fmt: skip


SLOW = {"regression pinball dual auto"}  # its like, epsilon_insensitive, is met every time
BATTERY = [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in battery()]


def model_of(name, **settings):
    task, loss, solver, *rest = name.split()
    kind = RandomFeatureRegressor if task == "regression" else RandomFeatureClassifier
    settings = {"alpha": rest[0] if rest else 0.1, **settings}
    if solver == "box":
        settings["max_coefficient"] = 5.0
    return kind(
        RandomFourier(32), loss=TOYS.get(loss, loss), solver=METHODS.get(solver, solver), random_state=0, **settings
    )


def targets_of(name):
    return Y if name.startswith("regression") else LABELS


def fitted(name, rows=X, checkpoint=None, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model_of(name, **settings).fit(rows, targets_of(name), checkpoint=checkpoint)


def numbers(model):
    """All that a fit found."""
    return [model.coef_, np.asarray(model.intercept_), np.asarray(model.alpha_), np.asarray(model.solution_.iterations)]


# ---- models that sum other things than moments ----

BAGS = [spread * rng.standard_normal((rng.integers(5, 40), 3)) for spread in np.linspace(0.5, 2.0, 40)]
SPREADS = np.linspace(0.5, 2.0, 40)
OWNER = np.repeat(np.arange(40), [len(bag) for bag in BAGS])
SMALL = {"alpha": 0.1, "random_state": 0}
LEARNED = {"frequency_alpha": 1e-3, "max_iter": 5, **SMALL}
STAGES = {"basis": RandomFourier(12), "second_basis": RandomFourier(16), **SMALL}
# Model, settings, and rows with targets as `fit` takes them.
OTHERS = {
    "learned regression": (LearnedFourierRegressor, {"n_components": 9, **LEARNED}, (X, Y), {}),
    "learned classification": (LearnedFourierClassifier, {"n_components": 8, **LEARNED}, (X, LABELS), {}),
    "learned fastfood": (LearnedFourierRegressor, {"structure": "fastfood", "n_components": 8, **LEARNED}, (X, Y), {}),
    "learned adam": (LearnedFourierRegressor, {"optimizer": "adam", **LEARNED}, (X, Y), {}),
    "learned penalties": (LearnedFourierClassifier,
                          {"n_components": 8, **LEARNED, "alpha": [1e-3, 0.1], "loss": "squared"}, (X, LABELS), {}),
    "bags": (DistributionRegressor, STAGES, (BAGS, SPREADS), {}),
    "bags int8": (DistributionRegressor, {**STAGES, "basis": RandomFourier(12, precision="int8")}, (BAGS, SPREADS), {}),
    "bags in a table": (DistributionClassifier, STAGES, (np.concatenate(BAGS), SPREADS > 1), {"bag": OWNER}),
    "bags learned": (DistributionRegressor, {"learned": True, "max_iter": 3, **STAGES}, (BAGS, SPREADS), {}),
    "bags adam": (DistributionClassifier, {"learned": True, "optimizer": "adam", "max_iter": 3, **STAGES},
                  (BAGS, SPREADS > 1), {}),
}  # fmt: skip


def other_numbers(name, n_jobs=None):
    """All that such a fit found and says about its rows."""
    kind, settings, data, more = OTHERS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = kind(n_jobs=n_jobs, **settings).fit(*data, **more)
    if name.startswith("learned"):
        return [model.frequencies_, model.coef_, np.asarray(model.objective_), np.asarray(model.alpha_)]
    found = [model.second_.coef_, model.embed(data[0], **more)]
    if isinstance(model, DistributionRegressor) and not model.learned:
        found += model.predict(data[0], return_std=True, **more)
    return found

"""A user's own solver: it works with every model and every loss whose capabilities it needs."""

import pickle

import numpy as np
import pytest

import bochner
from bochner import (
    DistributionClassifier,
    DistributionRegressor,
    RandomFeatureClassifier,
    RandomFeatureRegressor,
    RandomFourier,
)
from bochner.losses import CLASSIFYING, REGRESSING
from bochner.solvers import Solution
from bochner.solvers.matching import SOLVERS, TABLE, missing
from helpers.battery import LABELS, METHODS, X, Y
from helpers.toy_loss import LogCosh, SlopesAlone
from helpers.toy_solver import GradientDescent, NewtonOfMine

BASIS = RandomFourier(32, bandwidth=2.0, random_state=0)
ALL = {**{name: METHODS.get(name, name) for name in SOLVERS if name not in ("auto", "box")}, "mine": GradientDescent()}


@pytest.mark.parametrize("loss", [*REGRESSING, LogCosh()], ids=[*REGRESSING, "log_cosh"])
def test_regression_with_every_loss(loss):
    if loss == "huber":
        with pytest.raises(ValueError, match="whose scale only Newton's method learns"):
            RandomFeatureRegressor(BASIS, loss=loss, solver=GradientDescent()).fit(X, Y)
        return
    mine, ours = (
        RandomFeatureRegressor(BASIS, loss=loss, solver=solver).fit(X, Y) for solver in (GradientDescent(), "auto")
    )
    assert mine.solution_.method == "gradient descent"
    assert mine.solution_.reason == "as asked"
    assert mine.cv_score_ is not None
    assert np.corrcoef(mine.predict(X), ours.predict(X))[0, 1] > 0.95
    assert "gradient descent (as asked): 200 steps" in mine.explain_fit()


@pytest.mark.parametrize("loss", CLASSIFYING)
def test_classification_with_every_loss(loss):
    mine, ours = (
        RandomFeatureClassifier(BASIS, loss=loss, alpha=0.1, solver=solver).fit(X, LABELS)
        for solver in (GradientDescent(), "auto")
    )
    assert np.mean(mine.predict(X) == ours.predict(X)) > 0.8
    np.testing.assert_allclose(mine.predict_proba(X).sum(axis=1), 1.0)


def test_the_optimum_does_not_depend_on_who_finds_it():
    mine = RandomFeatureRegressor(BASIS, alpha=1.0, solver=GradientDescent(5000)).fit(X, Y)
    ours = RandomFeatureRegressor(BASIS, alpha=1.0, solver="cholesky").fit(X, Y)
    np.testing.assert_allclose(mine.predict(X), ours.predict(X), atol=1e-3)


def test_distributions():
    rng = np.random.default_rng(0)
    bags = [rng.normal(mean, 1.0, (30, 2)) for mean in np.linspace(-2, 2, 60)]
    y = np.linspace(-2, 2, 60)
    model = DistributionRegressor(BASIS, solver=GradientDescent(1000), random_state=0).fit(bags, y)
    assert model.second_.solution_.method == "gradient descent"
    assert model.score(bags, y) > 0.8
    assert (
        DistributionClassifier(BASIS, solver=GradientDescent(), random_state=0).fit(bags, y > 0).score(bags, y > 0)
        > 0.9
    )


@pytest.mark.parametrize("engine", ["processes", "threads"])
def test_blocks_and_engines(engine):
    models = []
    for kind in (engine, "threads"):
        with bochner.config_context(block_rows=64, engine=kind):
            models.append(RandomFeatureRegressor(BASIS, alpha=0.1, solver=GradientDescent(20)).fit(X, Y))
    assert np.array_equal(models[0].coef_, models[1].coef_)
    again = pickle.loads(pickle.dumps(models[0]))
    assert np.array_equal(again.predict(X), models[0].predict(X))


class Returns:
    def __init__(self, found):
        self.found = found

    def solve(self, problem):
        return self.found


def returns(coefficients, intercept=None):
    return Returns(Solution(coefficients, "mine", 0.1, "done", 0.0, intercept=intercept))


ZEROS = np.zeros((32, 1))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"solver": object()}, r"an object with the method solve\(problem\)"),
        ({"solver": GradientDescent}, r"an object with the method solve\(problem\)"),
        ({"solver": "gradient"}, "solver='gradient' is not known"),
        ({"solver": Returns(3)}, "Returns.solve must return a Solution; it returned a int"),
        ({"solver": returns(ZEROS[:5])}, r"coefficients of shape \(32, 1\); got \(5, 1\)"),
        ({"solver": returns(ZEROS + np.nan)}, "not finite numbers"),
        ({"solver": returns(ZEROS, np.zeros(3))}, "one intercept for each of 1"),
        ({"solver": GradientDescent(), "max_coefficient": 1.0}, "needs solver='box'; got 'GradientDescent'"),
        ({"solver": NewtonOfMine(), "loss": SlopesAlone()}, "'NewtonOfMine' does not go with loss='SlopesAlone'"),
        ({"solver": NewtonOfMine(), "loss": "epsilon_insensitive"}, "which has kinks"),
    ],
)  # fmt: skip
def test_what_does_not_work_is_refused_in_a_sentence(arguments, message):
    with pytest.raises(ValueError, match=message) as refused:
        RandomFeatureRegressor(BASIS, alpha=0.1, scale=None, linear=False, **arguments).fit(X, Y)
    assert "\n" not in str(refused.value)


def test_what_needs_sums_is_refused(tmp_path):
    model = RandomFeatureRegressor(BASIS, alpha=0.1, solver=GradientDescent()).fit(X, Y)
    assert not hasattr(model, "partial_fit")
    with pytest.raises(ValueError, match="needs the sums of the fit"):
        model.forget(X[:5], Y[:5])
    with pytest.raises(ValueError, match=r"its solver is an object of your own class GradientDescent.*pickle"):
        model.save(tmp_path / "m.bochner")
    with pytest.raises(ValueError, match="alpha='loo' needs the squared loss and solver"):
        RandomFeatureRegressor(BASIS, alpha="loo", solver=GradientDescent()).fit(X, Y)


def test_the_table_is_whole():
    """Every loss has a solver, every solver a loss; what is missing is said in words."""
    losses = {**REGRESSING, **CLASSIFYING}
    for name, loss in losses.items():
        assert any(not missing(loss, solver) for solver in TABLE), name
    for solver in TABLE:
        assert any(not missing(loss, solver) for loss in losses.values()), solver
        assert all(missing(loss, solver).startswith("wh") for loss in losses.values() if missing(loss, solver))


@pytest.mark.parametrize("name", ALL)
def test_a_checkpoint_brings_a_fit_back(name, tmp_path):
    found = [
        RandomFeatureRegressor(BASIS, alpha=0.1, solver=ALL[name], random_state=0).fit(X, Y, checkpoint=tmp_path).coef_
        for _ in range(2)
    ]
    assert np.array_equal(*found)

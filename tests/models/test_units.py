"""What y is measured in, from and by, and what all weights are multiplied by, makes no difference to a fit."""

from dataclasses import replace

import numpy as np
import pytest

import bochner
from bochner import RandomFeatureClassifier, RandomFeatureRegressor, RandomFourier
from bochner.losses import CLASSIFYING, EpsilonInsensitive, Huber
from bochner.solvers import SGD, Adam, DoublyStochastic

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
Y = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.2 * RNG.standard_t(2, size=300)
LABELS = (np.quantile(Y, [[0.3], [0.8]]) < Y).sum(axis=0)
BASIS = RandomFourier(60, bandwidth=2.0, random_state=0)
WIDE = RandomFourier(320, bandwidth=2.0, random_state=0)
STEPS = {"sgd": SGD(epochs=15), "adam": Adam(epochs=15), "doubly_stochastic": DoublyStochastic(32, 32)}
REGRESSIONS = [
    ("squared", "cholesky"), ("squared", "dual"), ("squared", "cg"), ("squared", "newton"), ("huber", "auto"),
    ("epsilon_insensitive", "dual"), *[(loss, name) for loss in ("squared", "epsilon_insensitive") for name in STEPS],
]  # fmt: skip
CLASSIFICATIONS = [
    (loss, solver) for loss in CLASSIFYING if loss != "squared" for solver in ("auto", *STEPS)
    if (loss, solver) != ("exponential", "doubly_stochastic")
]  # fmt: skip


NEAR = {"sgd": SGD(epochs=60, validation=0), "adam": Adam(epochs=60, validation=0)}  # where an optimum is to be found


def regressor(loss, solver, **settings):
    basis = WIDE if solver == "doubly_stochastic" else BASIS
    method = STEPS.get(solver, solver) if isinstance(solver, str) else solver
    return RandomFeatureRegressor(basis, loss=loss, solver=method, **settings)


def classifier(loss, solver, **settings):
    basis = WIDE if solver == "doubly_stochastic" else BASIS
    method = STEPS.get(solver, solver) if isinstance(solver, str) else solver
    return RandomFeatureClassifier(basis, loss=loss, solver=method, **settings)


@pytest.mark.parametrize(("factor", "shift"), [(-1e5, 3e4)])
@pytest.mark.parametrize(("loss", "solver"), REGRESSIONS)
def test_targets_scaled_and_shifted(loss, solver, factor, shift):
    settings = {"alpha": 0.1} if solver in ("cholesky", "dual", "cg") and loss == "squared" else {}
    plain = regressor(loss, solver, **settings).fit(X, Y)
    other = regressor(loss, solver, **settings).fit(X, factor * Y + shift)
    assert plain.score(X, Y) > 0.3
    np.testing.assert_allclose((other.predict(X) - shift) / factor, plain.predict(X), atol=2e-3)


@pytest.mark.parametrize(("loss", "solver"), [("huber", "auto"), ("epsilon_insensitive", "dual"), ("squared", "adam")])
def test_outputs_in_units_of_their_own(loss, solver):
    both = np.column_stack([Y, X[:, 2] + 0.1 * Y])
    plain = regressor(loss, solver).fit(X, both)
    other = regressor(loss, solver).fit(X, both * [1e6, 1e-3])
    np.testing.assert_allclose(other.predict(X) / [1e6, 1e-3], plain.predict(X), atol=2e-3)


@pytest.mark.parametrize("loss", [Huber(), EpsilonInsensitive(0.2), "squared"])
def test_a_penalty_that_is_given_keeps_its_meaning(loss):
    """Y times s and alpha times s^(degree - 2), epsilon times s where it is in units of y: the same model."""
    scale = 1000.0
    model = RandomFeatureRegressor(BASIS, loss=loss, alpha=0.1, solver="newton" if loss == "squared" else "auto")
    plain, given = model.fit(X, Y).predict(X), model._parameters().loss
    larger = EpsilonInsensitive(0.2 * scale) if isinstance(given, EpsilonInsensitive) else loss
    model.set_params(loss=larger, alpha=0.1 * scale ** (given.degree - 2)).fit(X, scale * Y)
    assert model.alpha_ == 0.1 * scale ** (given.degree - 2)
    np.testing.assert_allclose(model.predict(X) / scale, plain, atol=1e-4)


def test_epsilon_is_in_spreads_by_name_and_in_units_of_y_as_an_object():
    spread = 1.4826 * np.median(np.abs(Y - np.median(Y)))
    by_name = regressor("epsilon_insensitive", "dual", alpha=0.1).fit(X, Y)
    as_object = regressor(EpsilonInsensitive(0.1 * spread), "dual", alpha=0.1).fit(X, Y)
    assert f"epsilon {0.1 * spread:.4g}" in by_name.explain_fit()
    np.testing.assert_allclose(by_name.predict(X), as_object.predict(X), atol=2e-3)


def test_a_few_far_out_targets_do_not_set_the_units():
    y = Y.copy()
    y[:3] += 1e6
    for loss in ("huber", "epsilon_insensitive"):
        model = regressor(loss, "auto").fit(X, y)
        assert 1 - np.mean((model.predict(X[3:]) - Y[3:]) ** 2) / np.var(Y) > 0.6


@pytest.mark.parametrize("solver", list(STEPS))
def test_parts_of_a_stream_share_their_units(solver, tmp_path):
    def parts(factor, through_a_file):
        model = regressor("epsilon_insensitive", solver)
        for start in range(0, 300, 100):
            model.partial_fit(X[start : start + 100], factor * Y[start : start + 100])
            if through_a_file:
                model.save(tmp_path / "m")
                model = bochner.load(tmp_path / "m")
        return model.predict(X) / factor

    plain = parts(1.0, False)
    np.testing.assert_array_equal(parts(1.0, True), plain)
    np.testing.assert_allclose(parts(1e5, False), plain, atol=1e-6)


def test_a_file_from_before_there_were_units_goes_on():
    model = regressor("squared", "sgd").fit(X, Y)
    fit = model._refresh()
    fit = replace(fit, solution=replace(fit.solution, training=replace(fit.training, units=None)))
    model._fitted = replace(model._fitted, fit=fit)
    assert np.isfinite(model.partial_fit(X, Y).predict(X)).all()


@pytest.mark.parametrize("factor", [1e-3])
@pytest.mark.parametrize(("loss", "solver"), CLASSIFICATIONS)
def test_weights_of_classes_scaled(loss, solver, factor):
    weight = RNG.uniform(0.2, 2.0, 300)
    plain = classifier(loss, solver).fit(X, LABELS, sample_weight=weight)
    other = classifier(loss, solver).fit(X, LABELS, sample_weight=factor * weight)
    np.testing.assert_allclose(other.predict_proba(X), plain.predict_proba(X), atol=2e-3)


@pytest.mark.parametrize("factor", [1e-3])
@pytest.mark.parametrize(
    ("loss", "solver"), [pair for pair in REGRESSIONS if pair[1] not in ("cholesky", "dual", "cg")]
)
def test_weights_of_numbers_scaled(loss, solver, factor):
    weight = RNG.uniform(0.2, 2.0, 300)
    plain = regressor(loss, solver).fit(X, Y, sample_weight=weight)
    other = regressor(loss, solver).fit(X, Y, sample_weight=factor * weight)
    np.testing.assert_allclose(other.predict(X), plain.predict(X), atol=2e-3)


TWICE = np.random.default_rng(5).integers(1, 4, 300)


@pytest.mark.parametrize(("loss", "solver"), [pair for pair in CLASSIFICATIONS if pair[1] != "doubly_stochastic"])
def test_weights_of_classes_are_repetitions(loss, solver):
    model = classifier(loss, NEAR.get(solver, solver), alpha=2.0)
    weighted = model.fit(X, LABELS, sample_weight=TWICE).decision_function(X)
    repeated = model.fit(X.repeat(TWICE, axis=0), LABELS.repeat(TWICE)).decision_function(X)
    compare(weighted, repeated, exact=solver == "auto")


@pytest.mark.parametrize(("loss", "solver"), [pair for pair in REGRESSIONS if pair[1] != "doubly_stochastic"])
def test_weights_of_numbers_are_repetitions(loss, solver):
    model = regressor(loss, NEAR.get(solver, solver), alpha=2.0)
    weighted = model.fit(X, Y, sample_weight=TWICE).predict(X)
    repeated = model.fit(X.repeat(TWICE, axis=0), Y.repeat(TWICE)).predict(X)
    compare(weighted, repeated, exact=solver not in STEPS)


def compare(weighted, repeated, exact):
    if exact:
        np.testing.assert_allclose(weighted, repeated, atol=1e-4)
    else:  # steps on other batches come near the same optimum
        assert np.mean((weighted - repeated) ** 2) < 0.03 * np.var(repeated)

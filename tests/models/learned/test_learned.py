"""Learned frequencies: gradients, exact coefficients, ways down, and what becomes of the result."""

import pickle
import re
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss

import bochner
from bochner import (
    Fastfood,
    FixedFourier,
    LearnedFourierClassifier,
    LearnedFourierRegressor,
    RandomFeatureClassifier,
    RandomFeatureRegressor,
    RandomFourier,
    kernels,
)
from bochner.models.learned import layer
from bochner.models.learned.directions import Calibrated, Free
from bochner.models.learned.losses import Logistic, Softmax, Squared, SquaredProbability
from bochner.models.learned.objective import Joint, Objective, Output
from bochner.models.learned.optimisers import OPTIMISERS
from bochner.models.learned.penalties import downhill, folds
from bochner.models.learned.projection import Reduced
from bochner.models.learned.spectrum import Spectral, Stage
from helpers.places import DOCS

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 3))
Y = np.sin(X[:, 0] + 0.5 * X[:, 1]) + 0.1 * rng.standard_normal(60)
LABELS = np.array(["no", "yes"])[(Y > 0).astype(int)]
FREE = {"alpha": 1e-3, "frequency_alpha": 0.0}  # penalties that hold little, where it is about the way down


def codes(kind, n, classes):
    if kind == "numbers":
        return rng.standard_normal((n, classes))
    if classes == 1:
        return rng.choice([-1.0, 1.0], (n, 1))
    return np.where(rng.integers(0, classes, n)[:, None] == np.arange(classes), 1.0, -1.0)


LOSSES = {
    "squared": (Squared(), "numbers", 1),
    "squared, two targets": (Squared(), "numbers", 2),
    "logistic": (Logistic(), "codes", 1),
    "softmax": (Softmax(), "codes", 3),
    "squared sigmoid": (SquaredProbability(), "codes", 1),
    "squared softmax": (SquaredProbability(), "codes", 3),
}


def objective_of(name, *, columns=7, structure="dense", alpha=0.03, frequency_alpha=0.02, intercept=True, rows=X):
    loss, kind, outputs = LOSSES[name]
    drawn = (Fastfood if structure == "fastfood" else RandomFourier)(columns, bandwidth=1.5, random_state=1).fit(rows)
    directions = Calibrated(drawn) if structure == "fastfood" else Free(drawn)
    shares = rng.uniform(0.5, 1.5, rows.shape[0])
    targets = codes(kind, rows.shape[0], outputs)
    return Objective(rows, targets, shares / shares.sum(), directions, loss, alpha, frequency_alpha, intercept, columns)


def some_output(objective):
    outputs = objective.targets.shape[1]
    intercept = rng.standard_normal(outputs) if objective.fit_intercept else np.zeros(outputs)
    return Output(rng.standard_normal((objective.n_columns, outputs)), intercept)


def slope(function, x):
    steps = 1e-6 * np.eye(len(x))
    return np.array([(function(x + step) - function(x - step)) / 2e-6 for step in steps])


# ---- the objective and its gradient ----


@pytest.mark.parametrize("name", LOSSES)
def test_the_objective_is_equation_4(name):
    objective = objective_of(name, columns=6)
    output, parameters = some_output(objective), objective.directions.start + 0.1
    frequencies = objective.directions.frequencies(parameters)
    total = 0.03 * np.sum(output.coefficients**2) + 0.02 * np.sum(frequencies**2)
    for x, y, share in zip(X, objective.targets, objective.shares, strict=True):
        waves = np.ravel([(np.cos(w @ x), np.sin(w @ x)) for w in frequencies]) / np.sqrt(3)
        score = waves @ output.coefficients + output.intercept
        total += share * one_loss(name, score, y)
    assert objective(parameters, output)[0] == pytest.approx(total, rel=1e-12)


def one_loss(name, score, y):
    if name.startswith("squared,") or name == "squared":
        return np.sum((score - y) ** 2)
    if len(y) == 1:
        p, hit = expit(score[0]), y[0] > 0
        return (p - hit) ** 2 if name == "squared sigmoid" else -np.log(p if hit else 1 - p)
    p, hit = softmax(score), y > 0
    return np.sum((p - hit) ** 2) if name == "squared softmax" else -np.log(p[hit][0])


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("structure", ["dense", "fastfood"])
@pytest.mark.parametrize("name", LOSSES)
def test_gradients_by_finite_differences(name, structure, intercept):
    """Every loss, both layers and both penalties; an odd number of columns has a phased cosine too."""
    for penalties in ((0.0, 0.0), (0.3, 0.0), (0.0, 0.2)):
        objective = objective_of(name, structure=structure, intercept=intercept)
        objective = replace(objective, alpha=penalties[0], frequency_alpha=penalties[1])
        joint = Joint(objective)
        start = objective.directions.start
        x = joint.join(start + 0.1 * rng.standard_normal(len(start)), some_output(objective))
        numeric = slope(lambda x, joint=joint: joint(x)[0], x)
        if not intercept:
            numeric[-objective.targets.shape[1] :] = 0.0  # an intercept that is not wanted stays where it is
        np.testing.assert_allclose(joint(x)[1], numeric, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("structure", ["dense", "fastfood"])
@pytest.mark.parametrize("name", [name for name, (loss, *_) in LOSSES.items() if loss.curvature is not None])
def test_gradient_of_the_reduced_objective(name, structure):
    reduced = Reduced(objective_of(name, structure=structure))
    x = reduced.objective.directions.start * 1.1
    np.testing.assert_allclose(reduced(x)[1], slope(lambda x: reduced(x)[0], x), rtol=1e-4, atol=1e-7)


@settings(max_examples=20, deadline=None)
@given(n=st.integers(1, 9), d=st.integers(1, 5), columns=st.integers(1, 9), rows=st.integers(1, 9))
def test_any_shape_in_any_blocks(n, d, columns, rows):
    data = np.random.default_rng(n).standard_normal((n, d))
    objective = objective_of("softmax", columns=columns, rows=data)
    parameters, output = objective.directions.start, some_output(objective)
    whole = objective(parameters, output)
    with bochner.config_context(block_rows=rows):
        parts = replace(objective, blocks=None)(parameters, output)
    sparse = replace(objective, X=scipy.sparse.csr_matrix(data), blocks=None)(parameters, output)
    for other in (parts, sparse):
        assert other[0] == pytest.approx(whole[0], rel=1e-12)
        np.testing.assert_allclose(other[1], whole[1], atol=1e-12)
        np.testing.assert_allclose(other[2].coefficients, whole[2].coefficients, atol=1e-12)


def test_features_that_do_not_fit_are_made_again():
    objective = objective_of("logistic")
    output = some_output(objective)
    whole = objective(objective.directions.start, output)
    with bochner.config_context(memory=10_000):
        small = replace(objective, blocks=None)
        assert small(small.directions.start, output)[0] == pytest.approx(whole[0], rel=1e-12)
        assert not small.stays


def test_layers_can_be_stacked():
    """Two layers with mean pooling between them, the network of the paper's section 4.4, by the same functions."""
    bags = rng.standard_normal((4, 5, 3))
    first, second = rng.standard_normal((3, 3)), rng.standard_normal((2, 5))
    target, none, phase = rng.standard_normal((4, 4)), np.zeros(0), np.array([0.4])

    def value(first, second):
        pooled = layer.features(bags.reshape(-1, 3) @ first.T, phase, 0.7).reshape(4, 5, -1).mean(axis=1)
        return np.sum(target * layer.features(pooled @ second.T, none, 1.0))

    inner = bags.reshape(-1, 3) @ first.T
    waves = layer.features(inner, phase, 0.7)
    pooled = waves.reshape(4, 5, -1).mean(axis=1)
    outer = pooled @ second.T
    back = layer.projection_gradient(target, layer.features(outer, none, 1.0), outer, none, 1.0)
    by_second = layer.frequency_gradient(back, pooled)
    spread = np.repeat(layer.input_gradient(back, second) / 5, 5, axis=0)
    by_first = layer.frequency_gradient(
        layer.projection_gradient(spread, waves, inner, phase, 0.7), bags.reshape(-1, 3)
    )
    numeric = slope(lambda w: value(w.reshape(3, 3), second), first.ravel())
    np.testing.assert_allclose(by_first.ravel(), numeric, rtol=1e-5, atol=1e-8)
    numeric = slope(lambda w: value(first, w.reshape(2, 5)), second.ravel())
    np.testing.assert_allclose(by_second.ravel(), numeric, rtol=1e-5, atol=1e-8)


# ---- exact coefficients ----


@pytest.mark.parametrize("intercept", [True, False])
def test_coefficients_are_those_of_ridge(intercept):
    model = LearnedFourierRegressor(9, alpha=1e-3, max_iter=5, fit_intercept=intercept, random_state=0)
    weight = rng.uniform(0.5, 2.0, 60)
    model.fit(X, Y, weight)
    ridge = Ridge(alpha=1e-3 * weight.sum(), fit_intercept=intercept, solver="cholesky")
    ridge.fit(model.to_basis().transform(X), Y, weight)
    np.testing.assert_allclose(model.coef_, ridge.coef_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(model.predict(X), ridge.predict(model.to_basis().transform(X)), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("labels", [LABELS, np.arange(60) % 3])
def test_coefficients_are_those_of_logistic_regression(labels):
    model = LearnedFourierClassifier(8, alpha=1e-3, max_iter=3, random_state=0).fit(X, labels)
    features = model.to_basis().transform(X)
    peer = LogisticRegression(C=1 / (2 * 60 * 1e-3), tol=1e-10, max_iter=5000).fit(features, labels)
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(features), atol=2e-5)


def test_without_steps_it_is_the_model_of_random_features():
    drawn = LearnedFourierRegressor(40, alpha=1e-3, max_iter=0, random_state=3).fit(X, Y)
    how = {"scale": None, "linear": False, "random_state": 3}
    random = RandomFeatureRegressor(RandomFourier(40), alpha=60 * 1e-3, **how).fit(X, Y)
    np.testing.assert_allclose(drawn.predict(X), random.predict(X), rtol=1e-7)
    assert drawn.status_ == "frequencies as drawn"


@pytest.mark.parametrize(
    "given",
    [
        {"kernel": "laplacian"}, {"kernel": "matern", "nu": 2.5}, {"kernel": "cauchy"}, {"sampling": "orthogonal"},
        {"sampling": "qmc"}, {"kernel": kernels.BallMatern(bandwidth=1.5, degree=3)}, {"bandwidth": 0.7},
    ],
    ids=str,
)  # fmt: skip
def test_any_draw_is_a_start(given):
    basis = RandomFourier(8, random_state=2, **given).fit(X)
    model = LearnedFourierRegressor(8, random_state=2, max_iter=10, **given).fit(X, Y)
    np.testing.assert_allclose(model.drawn_frequencies_, basis.map_.draw(0, 4)[0])
    assert model.objective_ < clone(model).set_params(max_iter=0).fit(X, Y).objective_


def test_a_penalty_of_zero_is_solved():
    model = LearnedFourierRegressor(80, alpha=0.0, max_iter=0, random_state=0).fit(X, Y)
    assert model.score(X, Y) > 0.99


# ---- ways down ----


@pytest.mark.parametrize("optimizer", OPTIMISERS)
@pytest.mark.parametrize("loss", ["logistic", "squared_probability"])
def test_every_optimiser_gains(optimizer, loss):
    how = {"optimizer": optimizer, "loss": loss, "max_iter": 30, "batch_size": 5, **FREE}
    model = LearnedFourierClassifier(4, random_state=0, **how)
    drawn = clone(model).set_params(max_iter=0).fit(X, LABELS).objective_
    assert model.fit(X, LABELS).objective_ < 0.9 * drawn
    assert model.n_iter_ > 0
    assert f"optimizer: {optimizer}" in model.explain_fit()


@pytest.mark.parametrize("optimizer", ["lbfgs", "trust_region", "gradient_descent"])
def test_one_vector_or_coefficients_solved_inside_reach_one_minimum(optimizer):
    model = LearnedFourierRegressor(4, alpha=1e-2, frequency_alpha=1e-2, optimizer=optimizer, random_state=0, tol=1e-12)
    inside = model.set_params(max_iter=300).fit(X, Y).objective_
    joint = clone(model).set_params(variable_projection=False, max_iter=3000).fit(X, Y).objective_
    assert joint == pytest.approx(inside, rel=1e-3)


def test_the_frequency_of_a_sine_is_found():
    frequency = np.array([1.5, -1.0, 0.5])
    model = LearnedFourierRegressor(2, alpha=1e-8, frequency_alpha=0.0, n_restarts=5, random_state=0, tol=1e-12)
    found = model.fit(X, np.sin(X @ frequency)).frequencies_[0]
    np.testing.assert_allclose(found * np.sign(found[0]), frequency, atol=1e-5)


def test_restarts_keep_the_best():
    values = [
        LearnedFourierRegressor(4, n_restarts=k, max_iter=10, random_state=0).fit(X, Y).objective_ for k in (1, 2, 6)
    ]
    assert values[2] <= values[1] <= values[0]
    assert values[2] < values[0]


def test_early_stopping_keeps_what_is_good_for_held_out_rows():
    noise = LABELS[rng.permutation(60)]
    free = LearnedFourierClassifier(20, alpha=1e-6, frequency_alpha=0.0, random_state=0)
    eager, careful = clone(free).fit(X, noise), clone(free).set_params(early_stopping=True).fit(X, noise)
    assert careful.n_iter_ < eager.n_iter_
    assert "held-out rows" in careful.status_
    all_rows = LogisticRegression(C=1 / (2 * 60 * 1e-6), tol=1e-10, max_iter=10_000)
    all_rows.fit(careful.to_basis().transform(X), noise)
    np.testing.assert_allclose(
        careful.predict_proba(X), all_rows.predict_proba(careful.to_basis().transform(X)), atol=1e-3
    )


def test_penalties_by_folds():
    """Pure noise asks for penalties that leave little but the mean, a clean wave for small ones."""
    model = LearnedFourierRegressor(20, alpha=[1e-6, 1e-3, 1.0], frequency_alpha="auto", max_iter=20, random_state=0)
    noise = model.fit(X, rng.standard_normal(60))
    assert np.var(noise.predict(X)) < 0.2
    wave = clone(model).fit(X, np.sin(X[:, 0]))
    assert wave.alpha_ == 1e-6
    assert "alpha = 1e-06 (by folds)" in wave.explain_fit()
    assert wave.score(X, np.sin(X[:, 0])) > 0.999


@pytest.mark.parametrize("size", [1e-6, 1e6])
def test_the_units_of_targets_do_not_matter(size):
    """All of T but the penalty on frequencies is in units of y squared."""
    model = LearnedFourierRegressor(6, alpha=1e-3, frequency_alpha=1e-3, max_iter=8, random_state=0).fit(X, Y)
    scaled = clone(model).set_params(frequency_alpha=1e-3 * size**2).fit(X, size * Y)
    np.testing.assert_allclose(scaled.predict(X), size * model.predict(X), rtol=1e-6)
    assert scaled.objective_ == pytest.approx(size**2 * model.objective_)
    errors = np.mean((Y - model.predict(X)) ** 2)
    penalty = 1e-3 * (np.sum(model.coef_**2) + np.sum(model.frequencies_**2))
    assert model.objective_ == pytest.approx(errors + penalty)
    for chosen in ("auto", [1e-4 * size**2, 1e-2 * size**2]):
        by_folds = clone(scaled).set_params(frequency_alpha=chosen).fit(X, size * Y)
        assert 1e-9 < by_folds.frequency_alpha_ / size**2 < 1e2


def test_penalties_that_leave_nothing_do_not_end_the_search():
    data = np.random.default_rng(3).standard_normal((80, 2))
    model = LearnedFourierRegressor(6, alpha=[1e6, 1e5, 1e4, 1e3, 1e-6], max_iter=0, random_state=0)
    assert model.fit(data, np.sin(data[:, 0])).alpha_ == 1e-6


# ---- rows, weights, labels ----


def test_weights_are_repetitions():
    weight = rng.integers(0, 3, 60)
    for model, y in ((LearnedFourierRegressor(6), Y), (LearnedFourierClassifier(6), LABELS)):
        model.set_params(random_state=0, max_iter=4, bandwidth=1.5)
        many, their = np.repeat(X, weight, axis=0), np.repeat(y, weight)
        order = rng.permutation(len(many))
        chosen = [
            clone(model).fit(*given)
            for given in ((many, their), (many[order], their[order]), (X, y, weight), (X, y, 7.0 * weight))
        ]
        assert len({one.alpha_ for one in chosen}) == 1
        np.testing.assert_allclose([one.frequency_alpha_ for one in chosen], chosen[0].frequency_alpha_)
        model.set_params(**FREE)
        repeated, weighted = clone(model).fit(many, their), clone(model).fit(X, y, weight)
        np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-5, atol=1e-7)


def test_copies_of_a_row_are_never_on_both_sides_of_a_fold():
    many = np.repeat(rng.standard_normal((30, 4)), rng.integers(1, 6, 30), axis=0)[rng.permutation(60)]
    many[:, 0] = np.where(many[:, 0] < 0, 0.0, many[:, 0])
    assert np.array_equal(folds(scipy.sparse.csr_matrix(many)), folds(many))
    for rows in (many, scipy.sparse.csr_matrix(many)):
        fold = folds(rows)
        for row in np.unique(many, axis=0):
            assert len(set(fold[(many == row).all(axis=1)])) == 1
        assert set(fold) == set(range(5))
    assert set(folds(np.ones((7, 2)))) == set(range(5))


def test_the_default_does_not_learn_noise_by_heart():
    """Both penalties are chosen: fixed weak ones had an R^2 of -0.06 on diabetes, and of -0.6 where all is noise."""
    data, y = load_diabetes(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))[:240]
    train, test = order[:120], order[120:]
    model = LearnedFourierRegressor(40, random_state=0).fit(data[train], y[train])
    weak = LearnedFourierRegressor(40, random_state=0, **FREE).fit(data[train], y[train])
    assert model.score(data[test], y[test]) > 0.25 > 0.1 > weak.score(data[test], y[test])
    assert "by folds" in model.explain_fit()
    noise = np.random.default_rng(1).standard_normal((200, 4))
    model = LearnedFourierRegressor(40, random_state=0).fit(noise[:100, :3], noise[:100, 3])
    assert model.score(noise[100:, :3], noise[100:, 3]) > -0.1
    rare = (noise[:, 3] > 0.8).astype(int)
    model = LearnedFourierClassifier(40, random_state=0).fit(noise[:100, :3], rare[:100])
    prior = log_loss(rare[100:], np.full(100, rare[:100].mean()))
    assert log_loss(rare[100:], model.predict_proba(noise[100:, :3])) < 1.1 * prior


def test_downhill_goes_to_the_lowest_neighbour_after_neighbour():
    table = (np.arange(7)[:, None] - 5.0) ** 2 + (np.arange(6)[None, :] - 1.0) ** 2
    tried = []

    def loss(*place):
        tried.append(place)
        return table[place]

    assert downhill(loss, (0, 4), table.shape) == (5, 1)
    assert len(set(tried)) < table.size


def test_probabilities_of_the_squared_loss_are_calibrated_on_rows_left_out():
    data, y = load_iris(return_X_y=True)
    train, test = np.arange(0, 150, 2), np.arange(1, 150, 2)
    for labels in (y, y == 1):
        model = LearnedFourierClassifier(20, loss="squared", random_state=0, **FREE).fit(data[train], labels[train])
        found = model.predict_proba(data[test])
        np.testing.assert_allclose(found.sum(axis=1), 1.0)
        assert np.array_equal(model.classes_[found.argmax(axis=1)], model.predict(data[test]))
        assert log_loss(labels[test], found) < 0.35
        assert np.array_equal(again(model).predict_proba(data), model.predict_proba(data))
    del model.temperature_
    with pytest.raises(ValueError, match="probabilities are not calibrated"):
        model.predict_proba(data)


def again(model):
    """The model as a file gives it back."""
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "m")
        return bochner.load(Path(folder) / "m")


@pytest.mark.parametrize(
    "labels", [LABELS, LABELS == "yes", LABELS.astype(object), np.arange(60) % 4 + 7, (np.arange(60) % 2) * 1.0]
)
@pytest.mark.parametrize("loss", ["logistic", "squared", "squared_probability"])
def test_labels_of_any_type(labels, loss):
    model = LearnedFourierClassifier(6, loss=loss, max_iter=3, random_state=0).fit(X, labels)
    assert np.array_equal(model.classes_, np.unique(labels))
    assert set(model.predict(X)) <= set(labels)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    of_predicted = probabilities[np.arange(60), np.searchsorted(model.classes_, model.predict(X))]
    np.testing.assert_allclose(of_predicted, probabilities.max(axis=1))  # where nothing was learned, all are alike


def test_class_weights_move_the_border():
    plain = LearnedFourierClassifier(6, max_iter=3, random_state=0).fit(X, LABELS)
    heavy = LearnedFourierClassifier(6, max_iter=3, random_state=0, class_weight={"yes": 20}).fit(X, LABELS)
    assert (heavy.predict(X) == "yes").sum() > (plain.predict(X) == "yes").sum()


def test_input_is_left_alone_and_seeds_decide():
    frozen = X.copy()
    frozen.flags.writeable = False
    first = LearnedFourierRegressor(6, max_iter=5, random_state=4).fit(frozen, Y)
    again = pickle.loads(pickle.dumps(LearnedFourierRegressor(6, max_iter=5, random_state=4))).fit(X, Y)
    assert np.array_equal(first.predict(X), again.predict(X))
    assert np.array_equal(pickle.loads(pickle.dumps(first)).predict(X), first.predict(X))
    assert first.seed_ == 4
    with bochner.config_context(block_rows=7):
        np.testing.assert_allclose(first.predict(X), again.predict(X), rtol=1e-12)
    sparse = LearnedFourierRegressor(6, max_iter=5, random_state=4).fit(scipy.sparse.csr_matrix(X), Y)
    np.testing.assert_allclose(sparse.predict(X), first.predict(X), rtol=1e-6)


# ---- what becomes of it ----


@pytest.mark.parametrize("structure", ["dense", "fastfood"])
@pytest.mark.parametrize("columns", [6, 7])
def test_the_basis_is_a_basis_of_any_model(tmp_path, structure, columns):
    model = LearnedFourierClassifier(columns, structure=structure, max_iter=10, random_state=0)
    model.set_params(alpha=1e-4, frequency_alpha=0.0).fit(X, LABELS)
    basis = model.to_basis()
    assert basis.n_components == columns
    np.testing.assert_allclose(basis.features(X) @ model.coef_.T[:, 0] + model.intercept_, model.decision_function(X))
    for precision in (None, "int8"):
        refitted = RandomFeatureClassifier(basis, alpha=1e-3, precision=precision).fit(X, LABELS)
        assert refitted.score(X, LABELS) > 0.8
        refitted.save(tmp_path / "m")
        loaded = bochner.load(tmp_path / "m")
        assert np.array_equal(loaded.predict(X), refitted.predict(X))
        assert loaded.basis_.identity() == refitted.basis_.identity()
    halves = [RandomFeatureClassifier(basis, alpha=1e-3) for _ in range(2)]
    for half, part in zip(halves, (slice(30), slice(30, 60)), strict=True):
        half.partial_fit(X[part], LABELS[part], classes=["no", "yes"])
    whole = RandomFeatureClassifier(basis, alpha=1e-3).fit(X, LABELS)
    np.testing.assert_allclose(halves[0].merge(halves[1]).coef_, whole.coef_, rtol=1e-8)
    with pytest.raises(ValueError, match=r"given frequencies|calibration must|cannot be cut to its first"):
        whole.grow(40, X, LABELS)


@pytest.mark.parametrize("structure", ["dense", "fastfood"])
def test_saved_models_predict_the_same_bits(tmp_path, structure):
    for model, y in (
        (LearnedFourierRegressor(7, structure=structure), np.column_stack([Y, -Y])),
        (LearnedFourierClassifier(7, structure=structure), np.array(["a", "b", "c"])[np.arange(60) % 3]),
    ):
        model.set_params(max_iter=3, random_state=np.random.RandomState(0)).fit(X, y)
        model.save(tmp_path / "m")
        loaded = bochner.load(tmp_path / "m")
        assert np.array_equal(loaded.predict(X), model.predict(X))
        assert loaded.explain_fit() == model.explain_fit()
        assert np.array_equal(loaded.frequency_covariance(), model.frequency_covariance())


def test_files_that_do_not_fit_together_are_refused():
    from bochner.models.learned.saving import to_state

    model = LearnedFourierClassifier(6, max_iter=1, random_state=0).fit(X, LABELS)
    for change in (
        {"_coefficients": np.zeros((5, 1))}, {"_intercept": np.zeros(2)}, {"frequencies_": np.zeros((3, 9))},
        {"basis_": "x"}, {"n_features_in_": 4}, {"classes_": np.arange(3)}, {"seed_": None}, {"unknown_": 1},
    ):  # fmt: skip
        state = to_state(model)
        state["fitted"].update(change)
        with pytest.raises((ValueError, KeyError)):
            LearnedFourierClassifier._from_state(state)
    state = to_state(model)
    del state["fitted"]["basis_"]
    with pytest.raises(ValueError, match="basis_ is missing"):
        LearnedFourierClassifier._from_state(state)


@pytest.mark.parametrize("structure", ["dense", "fastfood"])
@pytest.mark.parametrize("columns", [6, 7])
def test_learned_models_go_to_onnx_and_tell_their_slopes(tmp_path, structure, columns):
    runtime = pytest.importorskip("onnxruntime")
    how = {"structure": structure, "max_iter": 3, "alpha": 1e-2, "frequency_alpha": 0.0, "random_state": 0}
    three = np.argmax(X[:, :3], axis=1)
    for model, targets in (
        (LearnedFourierRegressor(columns, **how), Y),
        (LearnedFourierRegressor(columns, **how), np.column_stack([Y, -2 * Y])),
        (LearnedFourierClassifier(columns, **how), LABELS),
        (LearnedFourierClassifier(columns, **how), three),
    ):
        model.fit(X, targets)
        scores = model.decision_function if hasattr(model, "classes_") else model.predict
        for dtype, tolerance in (("float64", 1e-12), ("float32", 1e-6)):
            model.to_onnx(tmp_path / "m.onnx", dtype=dtype)
            rows = X.astype(dtype)
            out = runtime.InferenceSession(tmp_path / "m.onnx").run(None, {"X": rows})
            np.testing.assert_allclose(out[-1], scores(rows), atol=tolerance)
            if hasattr(model, "classes_"):
                assert np.array_equal(out[0], model.predict(rows))
        slopes, step = model.local_coefficients(X), 1e-6
        found = np.stack([(scores(X + step * e) - scores(X - step * e)) / (2 * step) for e in np.eye(X.shape[1])], -1)
        np.testing.assert_allclose(slopes, found, atol=1e-7)
        np.testing.assert_allclose(model.local_coefficients(scipy.sparse.csr_matrix(X)), slopes, atol=1e-12)


def test_columns_in_units_of_their_own(tmp_path):
    """They are scaled, in files and in ONNX too; rows that share a unit are not."""
    runtime = pytest.importorskip("onnxruntime")
    units, how = np.array([1e-3, 1.0, 1e4]), {"max_iter": 5, "alpha": 1e-2, "frequency_alpha": 0.0, "random_state": 0}
    assert LearnedFourierRegressor(7, **how).fit(X, Y).scaler_ is None
    assert LearnedFourierRegressor(7, bandwidth=1.0, **how).fit(X * units, Y).scaler_ is None
    model = LearnedFourierRegressor(7, **how).fit(X * units, Y)
    assert "scaled robustly" in model.explain_fit()
    alike = LearnedFourierRegressor(7, scale="robust", **how).fit(X, Y)
    np.testing.assert_allclose(model.predict(X * units), alike.predict(X), atol=1e-6)
    slopes, inside = model.local_coefficients(X * units) * units, alike.scaler_.is_within(X)
    np.testing.assert_allclose(slopes[inside], alike.local_coefficients(X)[inside], atol=1e-5)
    model.save(tmp_path / "m")
    assert np.array_equal(bochner.load(tmp_path / "m").predict(X), model.predict(X))
    model.to_onnx(tmp_path / "m.onnx", dtype="float64")
    out = runtime.InferenceSession(tmp_path / "m.onnx").run(None, {"X": 2 * X * units})
    np.testing.assert_allclose(out[0], model.predict(2 * X * units), atol=1e-12)
    with pytest.raises(ValueError, match="frequencies are those of scaled rows"):
        model.to_basis()


def test_a_learned_basis_goes_to_onnx(tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    basis = LearnedFourierRegressor(7, max_iter=5, random_state=0).fit(X, Y).to_basis()
    for precision in (None, "int8"):
        model = RandomFeatureRegressor(basis, alpha=1e-2, precision=precision).fit(X, Y)
        model.to_onnx(tmp_path / "m.onnx", dtype="float64")
        session = runtime.InferenceSession(tmp_path / "m.onnx")
        np.testing.assert_allclose(session.run(None, {"X": X})[0], model.predict(X), atol=1e-10)


# ---- the spectrum ----


def test_covariance_and_components():
    """Targets that depend on one direction stretch the frequencies along it."""
    data = np.random.default_rng(1).standard_normal((300, 4))
    model = LearnedFourierRegressor(20, alpha=1e-4, frequency_alpha=1e-4, random_state=0)
    model.fit(data, np.sin(3 * data[:, 2]))
    table, found = model.frequency_covariance(), model.frequency_components(2)
    np.testing.assert_allclose(table, model.frequencies_.T @ model.frequencies_ / 10)
    values, vectors = np.linalg.eigh(table)
    np.testing.assert_allclose(found.shares, values[:1:-1] / values.sum())
    np.testing.assert_allclose(np.abs(found.axes @ vectors[:, :1:-1]), np.eye(2), atol=1e-8)
    np.testing.assert_allclose(found.coordinates, model.frequencies_ @ found.axes.T)
    assert np.abs(found.axes[0]).argmax() == 2
    assert found.shares[0] > 0.5
    with pytest.raises(ValueError, match="stage must be less than the number of layers, 1; got 1"):
        model.frequency_covariance(stage=1)


def test_drawn_frequencies_have_the_covariance_of_the_kernel():
    covariances = [
        LearnedFourierRegressor(40, bandwidth=2.0, max_iter=0, random_state=seed).fit(X, Y).frequency_covariance()
        for seed in range(60)
    ]
    deviation = np.sqrt((1 + np.eye(3)) / 16 / 20 / 60)  # of the mean over seeds; 20 frequencies each
    assert np.abs((np.mean(covariances, axis=0) - np.eye(3) / 4) / deviation).max() < 4


class TwoStages(Spectral):
    def _stages(self):
        return [Stage("first", X[:10], X[10:20]), Stage("second", X[:6, :1], X[6:12, :1])]


def test_pictures_of_one_and_two_stages(tmp_path):
    pytest.importorskip("matplotlib")
    one = LearnedFourierRegressor(6, max_iter=2, random_state=0).fit(X, Y).plot_frequencies()
    two = TwoStages().plot_frequencies()
    for figure, rows in ((one, 1), (two, 2)):
        figure.savefig(tmp_path / "figure.png")
        panels = [axes for axes in figure.axes if axes.get_title()]
        assert len(panels) == 2 * rows
    np.testing.assert_allclose(TwoStages().frequency_covariance(1), [[np.mean(X[:6, 0] ** 2)]])


# ---- bases with given numbers ----


def test_fixed_frequencies():
    table, phases = rng.standard_normal((4, 3)), np.array([0.3, -1.0])
    basis = FixedFourier(table, phases=phases).fit(X)
    assert basis.n_components == 6
    expected = [np.cos(X @ table[0]), np.sin(X @ table[0]), np.cos(X @ table[1]), np.sin(X @ table[1])]
    expected += [np.cos(X @ table[2] + 0.3), np.cos(X @ table[3] - 1.0)]
    np.testing.assert_allclose(basis.transform(X), np.column_stack(expected) / np.sqrt(3), atol=1e-8)
    pairs = FixedFourier(table).fit(X)
    np.testing.assert_allclose(pairs.kernel(X), pairs.transform(X) @ pairs.transform(X).T, atol=1e-12)
    np.testing.assert_allclose(pairs.kernel(X[:2], X[3:5])[0, 1], np.mean(np.cos(table @ (X[0] - X[4]))))
    assert pairs.transform(X.astype(np.float32)).dtype == np.float32
    assert np.array_equal(pickle.loads(pickle.dumps(basis)).transform(X), basis.transform(X))
    integers = FixedFourier(table, precision="int14").fit(X)
    rounded = integers.scale_ * integers.features(X)
    np.testing.assert_allclose(rounded @ rounded.T, pairs.kernel(X), atol=0.05)


def test_a_wide_basis_comes_back_from_a_file(tmp_path):
    wide = rng.standard_normal((20, 100))
    model = RandomFeatureRegressor(FixedFourier(0.1 * rng.standard_normal((3, 100))), alpha=0.1).fit(wide, wide[:, 0])
    model.save(tmp_path / "m")
    assert np.array_equal(bochner.load(tmp_path / "m").predict(wide), model.predict(wide))
    state = model.basis_.to_state()
    state["fitted"]["n_features_in_"] = 10**9
    with pytest.raises(ValueError, match="different columns"):
        FixedFourier.from_state(state)


def test_the_calibration_of_fastfood_is_a_factor():
    factors = rng.uniform(0.5, 2.0, 5)
    drawn = Fastfood(10, bandwidth=2.0, random_state=0).fit(X)
    given = Fastfood(10, bandwidth=2.0, random_state=0, calibration=factors).fit(X)
    angles = np.arctan2(drawn.transform(0.1 * X)[:, 1::2], drawn.transform(0.1 * X)[:, 0::2])
    np.testing.assert_allclose(given.transform(0.1 * X)[:, 0::2], np.cos(angles * factors) / np.sqrt(5), atol=1e-7)
    ones = Fastfood(10, bandwidth=2.0, random_state=0, calibration=np.ones(5), precision="int8").fit(X)
    assert np.array_equal(ones.transform(X), drawn.set_params(precision="int8").fit(X).transform(X))


# ---- bad input ----

BAD = X.copy()
BAD[5, 1] = np.nan


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"optimizer": "lbgfs"}, "did you mean 'lbfgs'"),
        ({"optimizer": "nelder_mead"}, "at most 100 numbers, and here are 150: use 'lbfgs'"),
        ({"kernel": "gausian"}, "did you mean 'gaussian'"),
        ({"structure": "sparse"}, "structure='sparse' is not known"),
        ({"structure": "fastfood", "sampling": "qmc"}, "leave sampling at 'iid', not 'qmc'"),
        ({"alpha": -1.0}, "alpha must be 'auto', a number of at least 0, or a list of such"),
        ({"alpha": "loo"}, "alpha='loo' is not known"),
        ({"frequency_alpha": [np.nan]}, "frequency_alpha must be"),
        ({"max_iter": -1}, "max_iter must be an integer of at least 0"),
        ({"n_restarts": 0}, "n_restarts must be an integer of at least 1"),
        ({"batch_size": 2.5}, "batch_size must be an integer"),
        ({"learning_rate": 0.0}, "learning_rate must be a positive finite number"),
        ({"tol": 0.0}, "tol must be a positive finite number"),
        ({"n_components": 0}, "n_components must be an integer of at least 1"),
        ({"optimizer": "sgd", "learning_rate": 1e300}, "diverged: give a smaller learning_rate"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_bad_parameter(parameters, message):
    with pytest.raises(ValueError) as caught:
        LearnedFourierRegressor(**parameters).fit(X, Y)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_bad_data():
    model = LearnedFourierClassifier(4, max_iter=1, random_state=0)
    for data, labels, message in [
        (BAD, LABELS, r"X contains NaN \(first at row 5, column 1\); impute or drop such rows first\."),
        (X, np.full(60, "one"), r"y has one class only \('one'\); a classifier needs at least two classes"),
        (X, Y, "Unknown label type: continuous"),
        (X, LABELS[:50], "inconsistent numbers of samples"),
    ]:
        with pytest.raises(ValueError, match=message):
            clone(model).fit(data, labels)
    with pytest.raises(ValueError, match="X contains NaN"):
        model.fit(X, LABELS).predict(BAD)
    with pytest.raises(ValueError, match=r"has 2 features, but .* is expecting 3"):
        model.predict(X[:, :2])
    with pytest.raises(ValueError, match="give arrays or a frame, not blocks"):
        model.fit(bochner.blocks.MemoryBlocks(X, LABELS), None)
    with pytest.raises(ValueError, match="y contains NaN"):
        LearnedFourierRegressor(4).fit(X, np.where(np.arange(60) == 3, np.nan, Y))
    for frequencies, phases, message in [
        ([1.0], None, "frequencies must be a matrix"),
        ([[np.inf]], None, "frequencies contains infinity"),
        ([[1.0]], [0.0, 1.0], "at most one angle for each of 1 frequencies"),
        ([[1.0, 2.0]], None, "X has 3 columns, but the given frequencies have 2"),
    ]:
        with pytest.raises(ValueError, match=message):
            FixedFourier(frequencies, phases=phases).fit(X)
    with pytest.raises(ValueError, match="calibration must hold a finite number for each of 5 frequencies"):
        Fastfood(10, calibration=np.ones(4)).fit(X)


def test_softmax_learns_iris():
    data, labels = load_iris(return_X_y=True)
    model = LearnedFourierClassifier(6, frequency_alpha=1e-3, random_state=0).fit(data[::2], labels[::2])
    assert model.score(data[1::2], labels[1::2]) >= 0.94


def test_the_code_of_its_page_runs(tmp_path, monkeypatch):
    page = (DOCS / "learned.md").read_text()
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    names = {}
    exec(compile(block, "learned.md", "exec"), names)
    assert names["model"].score(names["X"][400:], names["y"][400:]) > 0.9
    assert names["again"].score(names["X"][400:], names["y"][400:]) > 0.9
    assert set(np.argsort(np.diag(names["model"].frequency_covariance()))[-2:]) == {0, 1}
    assert np.array_equal(bochner.load("learned.bochner").predict(names["X"]), names["model"].predict(names["X"]))

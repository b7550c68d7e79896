"""Frequencies are learned from tensors, or on a device, as from arrays: features and gradients stay where rows are."""

import numpy as np
import pytest
from sklearn.base import clone

import bochner
from bochner import LearnedFourierClassifier, LearnedFourierRegressor, arrays
from helpers.devices import DEVICE, tensor
from helpers.tensors import both, in_torch, quietly, require_close

pytestmark = pytest.mark.torch
ON_GPU = pytest.mark.skipif(not DEVICE.startswith("cuda"), reason="there is no GPU")
GIVEN = {"alpha": 1e-4, "frequency_alpha": 1e-4, "random_state": 0, "max_iter": 15}


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


def table(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    y = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1]
    return X, y, np.searchsorted(np.quantile(y, [0.3, 0.7]), y)


@pytest.mark.parametrize("structure", ["dense", "fastfood"])
@pytest.mark.parametrize("optimizer", ["lbfgs", "gradient_descent", "adam"])
def test_regression(optimizer, structure, torch):
    X, y, _ = table()
    more = {"learning_rate": 0.02} if optimizer == "adam" else {}
    model = LearnedFourierRegressor(13, optimizer=optimizer, structure=structure, **GIVEN, **more)
    theirs, mine = both(torch, model, X, np.stack([y, -y], axis=1))
    with in_torch(torch, most=0):
        found, slopes = mine.predict(tensor(X)), mine.local_coefficients(tensor(X))
        score = mine.score(tensor(X), tensor(np.stack([y, -y], axis=1)))
    np.testing.assert_allclose(mine.frequencies_, theirs.frequencies_, rtol=1e-3, atol=1e-3)
    require_close(torch, found, theirs.predict(X), 1e-3)
    require_close(torch, slopes, theirs.local_coefficients(X), 1e-2)
    assert score == pytest.approx(theirs.score(X, np.stack([y, -y], axis=1)), abs=1e-3)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("loss", ["logistic", "squared", "squared_probability"])
def test_classification(loss, classes, torch):
    X, _, labels = table()
    y, weight = labels % classes, np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    theirs, mine = both(torch, LearnedFourierClassifier(12, loss=loss, **GIVEN), X, y, weight)
    with in_torch(torch, most=0):
        scores, probabilities = mine.decision_function(tensor(X)), mine.predict_proba(tensor(X))
        labelled, accuracy = mine.predict(tensor(X)), mine.score(tensor(X), tensor(y))
    require_close(torch, scores, theirs.decision_function(X), 1e-2)
    require_close(torch, probabilities, theirs.predict_proba(X), 1e-2)
    assert labelled.dtype == tensor(y).dtype
    assert accuracy == pytest.approx(theirs.score(X, y), abs=0.02)


def test_penalties_are_chosen_by_the_same_folds(torch):
    X, y, _ = table(150)
    model = LearnedFourierRegressor(8, random_state=0, max_iter=5, alpha=[1e-4, 1e-2], frequency_alpha=[1e-5, 1e-3])
    theirs, mine = both(torch, model, X, y)
    assert (mine.alpha_, mine.frequency_alpha_) == pytest.approx((theirs.alpha_, theirs.frequency_alpha_))
    assert mine.cv_score_ == pytest.approx(theirs.cv_score_, abs=1e-3)
    held, stopped = both(torch, clone(model).set_params(early_stopping=True, alpha=1e-3, frequency_alpha=1e-5), X, y)
    require_close(torch, stopped.predict(tensor(X)), held.predict(X), 1e-2)


def test_only_few_numbers_leave_torch(torch):
    """A sample of the rows, and a number for each parameter."""
    X, y, _ = table(2000)
    with in_torch(torch, most=500):
        quietly(LearnedFourierRegressor(10, **GIVEN), tensor(X), tensor(y))


def test_predictions_are_of_the_library_of_the_rows_to_predict(torch, tmp_path):
    X, y, _ = table()
    theirs, mine = both(torch, LearnedFourierRegressor(10, scale="robust", **GIVEN), X, y)
    assert isinstance(mine.predict(X), np.ndarray)
    assert isinstance(mine.coef_, np.ndarray)
    assert isinstance(mine.frequencies_, np.ndarray)
    np.testing.assert_allclose(mine.predict(X), theirs.predict(X), rtol=1e-3, atol=1e-3)
    mine.set_params(device="cpu").save(tmp_path / "m.bochner")
    loaded = bochner.load(tmp_path / "m.bochner")
    assert loaded.device is None
    require_close(torch, loaded.predict(tensor(X)), mine.predict(X), 1e-9)


def test_what_is_refused(torch):
    X, y, labels = table(40)
    rows = tensor(X)
    for model, data, target, message in (
        (LearnedFourierRegressor(device="mps"), X, y, "device must be None"),
        (LearnedFourierRegressor(), rows.to_sparse(), tensor(y), "sparse torch tensor"),
        (LearnedFourierRegressor(), rows * float("nan"), tensor(y), "NaN"),
        (LearnedFourierClassifier(), rows, np.array(["a", "b"])[labels % 2], "y holds text"),
    ):
        with pytest.raises(ValueError, match=message), in_torch(torch):
            model.fit(data, target)
    assert arrays.FEW_ROWS > 2000


@ON_GPU
def test_a_fit_on_a_gpu_is_that_of_the_cpu(torch):
    X, y, labels = table()
    for model, target, ask in (
        (LearnedFourierRegressor(12, **GIVEN), y, "predict"),
        (LearnedFourierClassifier(12, **GIVEN), labels, "decision_function"),
        (LearnedFourierRegressor(12, structure="fastfood", **GIVEN), y, "predict"),
    ):
        theirs, mine = quietly(clone(model), X, target), quietly(clone(model).set_params(device=DEVICE), X, target)
        found = getattr(mine, ask)(X)
        assert isinstance(found, np.ndarray)
        np.testing.assert_allclose(found, getattr(theirs, ask)(X), rtol=1e-2, atol=1e-2)
        np.testing.assert_allclose(getattr(mine.set_params(device=None), ask)(X), found, rtol=1e-9, atol=1e-9)

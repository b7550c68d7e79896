"""Models of an exact kernel, fitted to tensors or sent to a device, say what numpy says and stay in torch."""

import numpy as np
import pytest
from sklearn.base import clone

import bochner
from bochner import KernelRidgeClassifier, KernelRidgeRegressor, arrays, kernels
from bochner.arrays import to_numpy
from helpers.devices import DEVICE, tensor
from helpers.tensors import both, in_torch, quietly, require_close

pytestmark = pytest.mark.torch
ON_GPU = pytest.mark.skipif(not DEVICE.startswith("cuda"), reason="there is no GPU")
KERNELS = ["gaussian", "laplacian", "matern", "cauchy", kernels.Stable(1.5, 1.0, 2.0), kernels.Maxout(3)]


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


def table(n=160, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(n)
    return X, y, np.searchsorted(np.quantile(y, [0.3, 0.7]), y)


@pytest.mark.parametrize("invariants", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_regression(kernel, intercept, invariants, torch):
    X, y, _ = table(80 if invariants else 160)
    model = KernelRidgeRegressor(kernel, fit_intercept=intercept, invariants=invariants)
    theirs, mine = both(torch, model, X, np.stack([y, -2.0 * y], axis=1))
    assert mine.kernel_ == theirs.kernel_
    assert mine.alpha_ == pytest.approx(theirs.alpha_, rel=1e-3)
    with in_torch(torch, most=0):
        found, score = mine.predict(tensor(X)), mine.score(tensor(X), tensor(np.stack([y, -2.0 * y], axis=1)))
    require_close(torch, found, theirs.predict(X), 1e-4)
    assert score == pytest.approx(theirs.score(X, np.stack([y, -2.0 * y], axis=1)), rel=1e-4)
    for name in ("X_fit_", "dual_coef_", "intercept_"):
        assert isinstance(getattr(mine, name), torch.Tensor)


@pytest.mark.parametrize("alpha", [0.3, [0.01, 0.1, 1.0], "loo", "gcv"])
@pytest.mark.parametrize("scale", ["robust", "standard", None])
def test_penalties_and_scalings(scale, alpha, torch):
    X, y, _ = table()
    theirs, mine = both(torch, KernelRidgeRegressor(alpha=alpha, scale=scale), X, y)
    assert mine.alpha_ == pytest.approx(theirs.alpha_, rel=1e-3)
    require_close(torch, mine.predict(tensor(X)), theirs.predict(X), 1e-5)
    assert mine.explain_fit().splitlines()[:4] == theirs.explain_fit().splitlines()[:4]


@pytest.mark.parametrize("kind", ["float64", "float32"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("invariants", [False, True])
def test_classification(invariants, classes, kind, torch):
    X, _, labels = table(80 if invariants else 160)
    X, y = X.astype(kind), labels % classes + 5
    weight = np.random.default_rng(1).uniform(0.0, 2.0, len(X))
    weight[:10] = 0.0
    model = KernelRidgeClassifier(invariants=invariants, class_weight="balanced")
    theirs, mine = both(torch, model, X, y, weight)
    rows = tensor(X)
    with in_torch(torch, most=0):
        found, scores, probabilities = mine.predict(rows), mine.decision_function(rows), mine.predict_proba(rows)
        accuracy = mine.score(rows, tensor(y))
    loose = 1e-6 if kind == "float64" else 1e-3
    require_close(torch, scores, theirs.decision_function(X), loose)
    require_close(torch, probabilities, theirs.predict_proba(X), 10 * loose)
    assert found.dtype == tensor(y).dtype
    assert accuracy == pytest.approx(theirs.score(X, y), abs=0.02)
    assert np.mean(to_numpy(found) == theirs.predict(X)) > 0.98
    assert np.array_equal(mine.classes_, theirs.classes_)


def test_only_samples_leave_torch(torch):
    """The scaling by a sample of 500 rows, the bandwidth by another; probabilities by scores of all rows of the fit."""
    X, y, labels = table(700)
    rows = tensor(X)
    with in_torch(torch, most=500):
        model = quietly(KernelRidgeRegressor(alpha=0.1), rows, tensor(y))
        model.predict(rows)
    with pytest.raises(AssertionError, match="left torch"), in_torch(torch, most=500):
        quietly(KernelRidgeClassifier(alpha=0.1), rows, tensor(labels))


def test_predictions_are_of_the_library_of_the_rows_to_predict(torch, tmp_path):
    X, y, labels = table()
    theirs, mine = both(torch, KernelRidgeRegressor("matern", nu=1.5, alpha=0.1), X, y)
    assert isinstance(mine.predict(X), np.ndarray)
    np.testing.assert_allclose(mine.predict(X), theirs.predict(X), rtol=1e-8, atol=1e-8)
    require_close(torch, theirs.predict(tensor(X)), theirs.predict(X), 1e-9)
    mine.save(tmp_path / "m.bochner")
    loaded = bochner.load(tmp_path / "m.bochner")
    assert isinstance(loaded.dual_coef_, np.ndarray)
    assert isinstance(loaded.solution_.coefficients, np.ndarray)
    assert np.array_equal(loaded.predict(X), mine.predict(X))
    text = quietly(KernelRidgeClassifier(alpha=0.1), X, np.array(["a", "b", "c"])[labels])
    assert set(text.predict(tensor(X))) <= {"a", "b", "c"}
    assert text.score(tensor(X), np.array(["a", "b", "c"])[labels]) > 0.8


def test_rows_are_not_changed_and_are_kept_in_a_copy(torch):
    X, y, _ = table()
    rows = tensor(X.copy())
    model = quietly(KernelRidgeRegressor(bandwidth=2.0, alpha=0.1), rows, tensor(y))
    before = model.predict(rows[:5])
    assert np.array_equal(to_numpy(rows), X)
    rows[:] = 0.0
    require_close(torch, model.predict(tensor(X[:5])), to_numpy(before), 0.0)


def test_models_of_tensors_are_exported(torch, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    X, y, _ = table()
    model = quietly(KernelRidgeRegressor(alpha=0.1), tensor(X), tensor(y))
    model.to_onnx(tmp_path / "m.onnx", dtype="float64")
    (found,) = onnxruntime.InferenceSession(tmp_path / "m.onnx").run(None, {"X": X})
    np.testing.assert_allclose(np.ravel(found), model.predict(X), rtol=1e-6, atol=1e-6)


def test_the_cpu_is_a_device_and_files_hold_none(torch, tmp_path):
    X, y, _ = table()
    model = KernelRidgeRegressor(alpha=0.1, device="cpu")
    found = quietly(clone(model), X, y)
    assert np.array_equal(found.predict(X), quietly(clone(model).set_params(device=None), X, y).predict(X))
    found.save(tmp_path / "m.bochner")
    assert bochner.load(tmp_path / "m.bochner").device is None
    assert isinstance(found.predict(tensor(X).cpu()), torch.Tensor)


@pytest.mark.parametrize("kind", [KernelRidgeRegressor, KernelRidgeClassifier])
def test_what_is_refused(kind, torch):
    X, y, labels = table(40)
    target = labels if kind is KernelRidgeClassifier else y
    rows = tensor(X)
    refused = [
        (kind(device="mps"), X, target, r"device must be None, 'cpu', 'cuda' or 'cuda:1'; got 'mps'"),
        (kind(kernels.Ridge("tanh")), rows, tensor(target), "no torch version of the kernel Ridge"),
        (kind(), rows.to_sparse(), tensor(target), "sparse torch tensor"),
        (kind(), rows * float("nan"), tensor(target), "NaN"),
        (kind(), rows, np.array(["a", "b"])[labels % 2], "y holds text|y must hold numbers"),
        (kind(), rows, tensor(target)[:10], "inconsistent numbers of samples"),
    ]
    if not DEVICE.startswith("cuda"):
        refused.append((kind(device="cuda"), X, target, "sees no GPU here"))
    for model, data, targets, message in refused:
        with pytest.raises(ValueError, match=message), in_torch(torch):
            model.fit(data, targets)
    with pytest.raises(ValueError, match="4 features"):
        quietly(kind(alpha=0.1), rows, tensor(target)).predict(rows[:, :3])
    with pytest.raises(ValueError, match="more than a sample"):
        arrays.to_host(torch.zeros(arrays.FEW_ROWS + 1))


@ON_GPU
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_a_fit_on_a_gpu_is_that_of_the_cpu(kernel, torch, tmp_path):
    """Arrays in, arrays out; the fitted model predicts on either, from a file too."""
    X, y, labels = table()
    for kind, target in ((KernelRidgeRegressor, y), (KernelRidgeClassifier, labels)):
        theirs = quietly(kind(kernel), X, target)
        mine = quietly(kind(kernel, device=DEVICE), X, target)
        assert mine.dual_coef_.device.type == "cuda"
        ask = "predict" if kind is KernelRidgeRegressor else "decision_function"
        found, expected = getattr(mine, ask)(X), getattr(theirs, ask)(X)
        assert isinstance(found, np.ndarray)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
        mine.save(tmp_path / "m.bochner")
        np.testing.assert_allclose(getattr(bochner.load(tmp_path / "m.bochner"), ask)(X), found, rtol=1e-6, atol=1e-6)
        theirs.set_params(device=DEVICE)
        np.testing.assert_allclose(getattr(theirs, ask)(X), expected, rtol=1e-8, atol=1e-8)
        mine.set_params(device=None)
        np.testing.assert_allclose(getattr(mine, ask)(X), found, rtol=1e-6, atol=1e-6)

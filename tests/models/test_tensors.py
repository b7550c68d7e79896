"""Models fitted to tensors stay in torch from end to end, and say what numpy says."""

import re

import numpy as np
import pytest
from sklearn.base import clone

from bochner import (
    MaxoutHash,
    RandomBins,
    RandomCells,
    RandomFeatureClassifier,
    RandomFeatureRegressor,
    RandomFourier,
    RandomMaxout,
    arrays,
    config_context,
)
from bochner.arrays import to_numpy
from bochner.models.parameters import ModelParameters
from helpers.cases import CASES, SPARSE
from helpers.devices import tensor
from helpers.places import ROOT
from helpers.tensors import both, in_torch, quietly, require_close

pytestmark = pytest.mark.torch
BASES = [name for name in CASES if name not in (*SPARSE, "ridge softsign")]
EXACT = ("cholesky", "dual", "cg")


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


def table(n=300, kind="float64", seed=0):
    """Rows, numbers to predict and labels of three classes."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(n)
    labels = np.searchsorted(np.quantile(y, [0.3, 0.7]), y)
    X = np.clip(np.rint(32 * X + 128), 0, 255) if kind == "uint8" else X
    return X.astype(kind), y, labels


def require_same_sums(torch, mine, theirs):
    """Integers bit for bit."""
    for name in ("sum_z", "gram", "cross", "sum_y", "square"):
        found, expected = getattr(mine, name), getattr(theirs, name)
        assert isinstance(found, torch.Tensor)
        if expected.dtype.kind == "i":
            assert found.dtype == torch.int64
            assert np.array_equal(to_numpy(found), expected)


# ---- every basis ----


@pytest.mark.parametrize("precision", [None, "int8", "int14"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8"])
@pytest.mark.parametrize("name", BASES)
def test_features_of_every_basis(name, dtype, precision, torch):
    if precision is None and dtype == "uint8":
        pytest.skip("bytes are for integers")
    if precision and "orthogonal" in name:
        pytest.skip("orthogonal directions come from a float factorisation")
    X, _, _ = table(kind=dtype)
    basis = clone(CASES[name]).set_params(n_components=24, precision=precision, random_state=0)
    rows = tensor(X)
    with in_torch(torch, most=500):
        features = basis.fit(rows).transform(rows)
        again = basis.map_(rows)
    expected = clone(basis).fit(X).transform(X)
    assert clone(basis).fit(X).identity() == basis.identity()
    assert torch.equal(features, again)
    if precision:
        assert np.array_equal(to_numpy(features), expected)
        assert to_numpy(features).dtype == expected.dtype
    else:
        assert to_numpy(features).dtype == expected.dtype
        require_close(torch, features, expected, 2e-5 if dtype == "float32" else 1e-12)


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("precision", [None, "int8"])
def test_codes_of_hashing(precision, center, torch):
    X, _, _ = table()
    hasher = MaxoutHash(24, center=center, precision=precision, random_state=0).fit(X)
    with in_torch(torch):
        codes = hasher.transform(tensor(X))
    assert np.array_equal(to_numpy(codes), hasher.transform(X))
    assert np.array_equal(hasher.encode(tensor(X)), hasher.encode(X))


@pytest.mark.parametrize("name", ["fourier", "fastfood", "maxout", "maxout structured", "gated", "ridge relu"])
def test_models_of_every_kind_of_basis(name, torch):
    X, y, labels = table()
    basis = clone(CASES[name]).set_params(n_components=40, random_state=0)
    theirs, mine = both(torch, RandomFeatureRegressor(basis, scale="robust", linear=True), X, y)
    assert mine.basis_.identity() == theirs.basis_.identity()
    assert mine.alpha_ == pytest.approx(theirs.alpha_, rel=1e-4)
    require_close(torch, mine.predict(tensor(X)), theirs.predict(X), 1e-6)
    theirs, mine = both(torch, RandomFeatureClassifier(basis), X, labels)
    require_close(torch, mine.decision_function(tensor(X)), theirs.decision_function(X), 1e-6)


# ---- every exact solver, precision and penalty ----


@pytest.mark.parametrize("alpha", ["auto", 0.3, [0.1, 1.0, 10.0], "loo", "gcv"])
@pytest.mark.parametrize("precision", [None, "int8", "int14"])
@pytest.mark.parametrize("solver", EXACT)
def test_regression(solver, precision, alpha, torch):
    if solver == "cg" and alpha == "loo":
        pytest.skip("conjugate gradients make no matrix to leave rows out of")
    X, y, _ = table()
    model = RandomFeatureRegressor(RandomFourier(60, random_state=0), solver=solver, precision=precision, alpha=alpha)
    theirs, mine = both(torch, model, X, y)
    assert mine.basis_.identity() == theirs.basis_.identity()
    assert mine.alpha_ == pytest.approx(theirs.alpha_, rel=1e-4)
    rows = tensor(X)
    with in_torch(torch):
        found = mine.predict(rows)
        score = mine.score(rows, tensor(y))
    require_close(torch, found, theirs.predict(X), 1e-5)
    assert score == pytest.approx(theirs.score(X, y), rel=1e-5)
    if solver == "cholesky":
        require_same_sums(torch, mine.moments_, theirs.moments_)
        with in_torch(torch):
            mean, deviation = mine.predict(rows, return_std=True)
        require_close(torch, deviation, theirs.predict(X, return_std=True)[1], 1e-4)
        assert torch.equal(mean, found)


@pytest.mark.parametrize("labels_as", ["int64", "uint8", "float64", "bool"])
@pytest.mark.parametrize("precision", [None, "int8", "int14"])
@pytest.mark.parametrize("solver", EXACT)
def test_classification(solver, precision, labels_as, torch):
    X, _, labels = table()
    y = (labels > 1 if labels_as == "bool" else labels).astype(labels_as)
    model = RandomFeatureClassifier(RandomFourier(60, random_state=0), solver=solver, precision=precision)
    theirs, mine = both(torch, model, X, y)
    assert np.array_equal(mine.classes_, theirs.classes_)
    rows = tensor(X)
    with in_torch(torch):
        found, scores, probabilities = mine.predict(rows), mine.decision_function(rows), mine.predict_proba(rows)
        score = mine.score(rows, tensor(y))
    assert found.dtype == tensor(y).dtype
    assert np.array_equal(to_numpy(found), theirs.predict(X))
    require_close(torch, scores, theirs.decision_function(X), 1e-5)
    require_close(torch, probabilities, theirs.predict_proba(X), 1e-3)
    assert score == pytest.approx(theirs.score(X, y))
    if solver == "cholesky":
        require_same_sums(torch, mine.moments_, theirs.moments_)
        assert mine.moments_.is_exact == (precision is not None)


@pytest.mark.parametrize("kind", ["float32", "uint8"])
@pytest.mark.parametrize("precision", [None, "int8", "int14", "auto"])
def test_other_types_of_rows(kind, precision, torch):
    X, y, labels = table(kind=kind)
    for model, target in ((RandomFeatureRegressor, y), (RandomFeatureClassifier, labels)):
        theirs, mine = both(torch, model(RandomMaxout(40, random_state=0), precision=precision), X, target)
        found = mine.predict(tensor(X))
        if model is RandomFeatureRegressor:
            require_close(torch, found, theirs.predict(X), 2e-3 if kind == "float32" else 1e-5)
        assert mine.basis_.identity() == theirs.basis_.identity()
        if precision in ("int8", "int14"):
            require_same_sums(torch, mine.moments_, theirs.moments_)


@pytest.mark.parametrize("solver", EXACT)
def test_weights_and_several_outputs(solver, torch):
    X, y, labels = table()
    weight = np.random.default_rng(1).uniform(0.0, 2.0, len(X))
    weight[:20] = 0.0
    basis = RandomFourier(40, random_state=0)
    several = np.stack([y, y**2], axis=1)
    theirs, mine = both(torch, RandomFeatureRegressor(basis, solver=solver), X, several, weight)
    require_close(torch, mine.predict(tensor(X)), theirs.predict(X), 1e-5)
    for class_weight in ("balanced", {0: 2.0, 1: 1.0, 2: 0.0}):
        model = RandomFeatureClassifier(basis, solver=solver, class_weight=class_weight)
        theirs, mine = both(torch, model, X, labels, weight)
        require_close(torch, mine.decision_function(tensor(X)), theirs.decision_function(X), 1e-5)


def test_classes_are_calibrated_by_a_second_fit_where_memory_is_scarce(torch):
    X, _, labels = table()
    model = RandomFeatureClassifier(RandomFourier(60, random_state=0), solver="cg")
    with config_context(memory=400_000):
        theirs, mine = both(torch, model, X, labels)
    require_close(torch, mine.predict_proba(tensor(X)), theirs.predict_proba(X), 1e-3)


def test_only_samples_leave_torch(torch):
    """Of many rows no more than a sample of 2000 is ever on the host; the sums are made where the rows are."""
    X, y, labels = table(n=arrays.FEW_ROWS + 1000, kind="float32")
    rows = tensor(X)
    for precision in (None, "int8"):
        basis = RandomFourier(32, precision=precision, random_state=0)
        with in_torch(torch, most=2000):
            regressor = quietly(RandomFeatureRegressor(basis), rows, tensor(y))
            classifier = quietly(RandomFeatureClassifier(basis), rows, tensor(labels))
            regressor.predict(rows)
            classifier.predict(rows)
            classifier.predict_proba(rows)
        theirs = quietly(RandomFeatureClassifier(basis), X, labels)
        require_same_sums(torch, classifier.moments_, theirs.moments_)
    with pytest.raises(ValueError, match="more than a sample"):
        arrays.to_host(rows)


def test_where_sums_find_no_room_tensors_are_solved_by_conjugate_gradients(torch):
    """Of arrays one triangle of the Gram matrix is made, which only numpy has: no block of rows leaves torch for it."""
    X, y, _ = table(n=2600)
    model = RandomFeatureRegressor(RandomFourier(1600, bandwidth=2.0, random_state=0), alpha=0.1, linear=False)
    with config_context(memory="80MB"):
        theirs, mine = quietly(clone(model), X, y), clone(model)
        with in_torch(torch, most=2000):
            quietly(mine, tensor(X), tensor(y))
    assert "triangle" in theirs.solution_.method
    assert mine.solution_.method == "conjugate gradients"
    require_close(torch, mine.predict(tensor(X)), theirs.predict(X), 1e-5)


def test_a_device_gets_no_triangle_either():
    """Not by itself, nor by name: it is refused before the device is looked for."""
    with pytest.raises(ValueError, match=r"solver='triangle': leave out device.*'cholesky', 'dual', 'cg'\.$"):
        RandomFeatureRegressor(solver="triangle", device="cuda").fit(*table(n=30)[:2])
    for device in (None, "cpu", "cuda"):
        parameters = ModelParameters.of(RandomFeatureRegressor(device=device).get_params(deep=False), False)
        solver, _ = parameters._chosen(60_000, 18_000, parameters.device == "cuda")
        assert solver.name == ("cg" if device == "cuda" else "triangle")


# ---- what a model holds, and where it goes ----


def test_what_was_learned_is_of_the_library_of_x(torch):
    X, y, labels = table()
    rows, basis = tensor(X), RandomFourier(40, random_state=0)
    regressor = quietly(RandomFeatureRegressor(basis, linear=True), rows, tensor(y))
    for name in ("coef_", "linear_coef_"):
        assert isinstance(getattr(regressor, name), torch.Tensor)
    assert isinstance(regressor.intercept_, float)
    assert isinstance(regressor.moments_.gram, torch.Tensor)
    classifier = quietly(RandomFeatureClassifier(basis), rows, tensor(labels))
    assert isinstance(classifier.intercept_, torch.Tensor)
    for value in (classifier.classes_, classifier.feature_importances_, regressor.feature_importances_):
        assert isinstance(value, np.ndarray)
    theirs = quietly(RandomFeatureRegressor(basis, linear=True), X, y)
    np.testing.assert_allclose(regressor.feature_importances_, theirs.feature_importances_, rtol=1e-4, atol=1e-6)
    require_close(torch, regressor.coef_, theirs.coef_, 1e-4)


def test_predictions_are_of_the_library_of_the_rows_to_predict(torch, tmp_path):
    """Whatever the model was fitted to; a file holds numpy's arrays."""
    import bochner

    X, y, labels = table()
    rows, basis = tensor(X), RandomFourier(40, random_state=0)
    mine = quietly(RandomFeatureRegressor(basis), rows, tensor(y))
    theirs = quietly(RandomFeatureRegressor(basis), X, y)
    assert isinstance(mine.predict(X), np.ndarray)
    assert isinstance(mine.predict(X, return_std=True)[1], np.ndarray)
    np.testing.assert_allclose(mine.predict(X), to_numpy(mine.predict(rows)), rtol=1e-9, atol=1e-9)
    require_close(torch, theirs.predict(rows), theirs.predict(X), 1e-9)
    require_close(torch, theirs.predict(rows, return_std=True)[1], theirs.predict(X, return_std=True)[1], 1e-6)
    mine.save(tmp_path / "m.bochner", sums=True)
    loaded = bochner.load(tmp_path / "m.bochner")
    assert isinstance(loaded.coef_, np.ndarray)
    assert np.array_equal(loaded.predict(X), mine.predict(X))
    text = quietly(RandomFeatureClassifier(basis), X, np.array(["a", "b", "c"])[labels])
    assert set(text.predict(rows)) <= {"a", "b", "c"}


def test_rows_are_added_and_forgotten(torch):
    X, _, labels = table()
    basis = RandomFourier(40, bandwidth=2.0, precision="int8", random_state=0)
    rows, targets = tensor(X), tensor(labels)
    model = RandomFeatureClassifier(basis, scale=None, linear=False)
    whole = quietly(clone(model), rows, targets)
    with in_torch(torch):
        parts = clone(model).partial_fit(rows, targets, classes=torch.unique(targets))
        parts.partial_fit(rows[:50] + 1.0, targets[:50]).forget(rows[:50] + 1.0, targets[:50])
        parts.predict(rows)
    assert torch.equal(parts.moments_.gram, whole.moments_.gram)
    assert torch.equal(parts.moments_.cross, whole.moments_.cross)


def test_sums_of_arrays_and_tensors_add(torch):
    """The sums stay where those of the first rows are."""
    X, _, labels = table(kind="uint8")
    basis = RandomFourier(40, bandwidth=60.0, precision="int8", random_state=0)
    model = RandomFeatureClassifier(basis)
    whole = quietly(clone(model), X, labels)
    first, second = slice(0, 150), slice(150, None)
    rows, targets = tensor(X), tensor(labels)
    mine = clone(model).partial_fit(rows[first], targets[first]).partial_fit(X[second], labels[second])
    theirs = clone(model).partial_fit(X[first], labels[first])
    theirs.merge(clone(model).partial_fit(rows[second], targets[second]))
    assert isinstance(mine.moments_.gram, torch.Tensor)
    assert isinstance(theirs.moments_.gram, np.ndarray)
    require_same_sums(torch, mine.moments_, whole.moments_)
    assert np.array_equal(theirs.moments_.gram, whole.moments_.gram)


def test_models_of_tensors_are_told_and_exported(torch, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    X, y, _ = table()
    model = quietly(RandomFeatureRegressor(RandomFourier(40, random_state=0)), tensor(X), tensor(y))
    assert "cholesky" in model.explain_fit()
    model.to_onnx(tmp_path / "m.onnx", dtype="float64")
    (found,) = onnxruntime.InferenceSession(tmp_path / "m.onnx").run(None, {"X": X})
    np.testing.assert_allclose(np.ravel(found), model.predict(X), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["maxout", "gated"])
def test_linear_functions_around_rows(name, torch):
    X, y, _ = table()
    basis = clone(CASES[name]).set_params(n_components=40, random_state=0)
    theirs, mine = both(torch, RandomFeatureRegressor(basis, linear=True, alpha=1.0), X, np.stack([y, -y], axis=1))
    with in_torch(torch):
        found = mine.local_coefficients(tensor(X))
    require_close(torch, found, theirs.local_coefficients(X), 1e-6)


def test_rows_are_not_changed_and_have_no_gradient(torch):
    X, y, _ = table()
    rows = tensor(X.copy()).requires_grad_()
    found = quietly(RandomFeatureRegressor(RandomFourier(20, random_state=0)), rows, tensor(y)).predict(rows)
    assert not found.requires_grad
    assert np.array_equal(to_numpy(rows), X)


# ---- what torch has no version of is refused by name ----


def test_what_is_refused(torch, tmp_path):
    X, y, labels = table(n=60)
    rows, targets = tensor(X), tensor(y)
    basis = RandomFourier(20, random_state=0)
    refused = [
        (RandomFeatureRegressor(basis, solver="sgd"), targets, r"no torch version of solver='sgd'"),
        (
            RandomFeatureRegressor(basis, solver="triangle"),
            targets,
            r"no torch version of solver='triangle'.* with solver 'cholesky', 'dual', 'cg'\.$",
        ),
        (RandomFeatureRegressor(basis, loss="huber"), targets, r"no torch version of loss='huber'"),
        (RandomFeatureRegressor(basis, max_coefficient=1.0), targets, r"no torch version of max_coefficient"),
        (
            RandomFeatureRegressor(RandomBins(20)),
            targets,
            r"no torch version of sparse features, which RandomBins makes",
        ),
        (RandomFeatureClassifier(basis), np.array(["a", "b"])[labels % 2], r"y holds text"),
    ]
    for model, target, message in refused:
        with pytest.raises(ValueError, match=message), in_torch(torch):
            model.fit(rows, target)
    with pytest.raises(ValueError, match="checkpoint"), in_torch(torch):
        RandomFeatureRegressor(basis).fit(rows, targets, checkpoint=tmp_path / "c")
    with pytest.raises(ValueError, match="sparse torch tensor"):
        RandomFeatureRegressor(basis).fit(rows.to_sparse(), targets)
    with pytest.raises(ValueError, match="no torch version of the kernel ObliqueCells"), in_torch(torch):
        RandomCells(20, oblique=True).fit(rows).kernel(rows)
    with pytest.raises(ValueError, match="NaN"):
        RandomFeatureRegressor(basis).fit(rows * float("nan"), targets)
    with pytest.raises(ValueError, match="4 features"):
        quietly(RandomFeatureRegressor(basis), rows, targets).predict(rows[:, :3])


def test_code_of_the_page_runs(torch):
    torch.manual_seed(0)
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "tensors.md").read_text(), flags=re.DOTALL)
    found = {}
    exec(compile(block, "tensors.md", "exec"), found)
    assert float((found["labels"] == found["y"]).double().mean()) > 0.9
    assert found["probabilities"].shape == (2000, 2)


# ---- nothing assumes the CPU ----


@pytest.mark.parametrize("precision", [None, "int8"])
@pytest.mark.parametrize("name", [name for name in BASES if "stumps" not in name])
def test_features_are_made_on_the_device_of_the_rows(name, precision, torch):
    """Tensors on "meta" have no numbers, and whatever would mix devices fails with them as it does on a GPU."""
    if precision and "orthogonal" in name:
        pytest.skip("orthogonal directions come from a float factorisation")
    X, _, _ = table()
    made = clone(CASES[name]).set_params(n_components=24, precision=precision, random_state=0).fit(X).map_
    features = made.evaluate(tensor(X).to("meta"))
    assert features.device.type == "meta"
    assert features.shape == (len(X), 24)

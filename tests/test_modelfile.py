"""Saved models: the same predictions, small files, old files for ever, and no harm from hostile ones."""

import json
import os

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import bochner
from bochner import RandomFeatureClassifier, RandomFeatureRegressor, RandomFourier, RandomMaxout, RandomRidge, storage
from bochner.models.saving import KIND, PARTS, VERSION
from helpers.cases import CASES
from helpers.places import TESTS

rng = np.random.default_rng(2)
X = rng.standard_normal((300, 5))
Y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(300)
LABELS = np.array(["a", "long name", "c"])[rng.integers(0, 3, 300)]
GOLDEN = TESTS / "golden"


def saved(model, path, **how):
    model.save(path, **how)
    return bochner.load(path)


STORABLE = [name for name, basis in CASES.items() if not callable(getattr(basis, "activation", None))]


@pytest.mark.parametrize("name", STORABLE)
@pytest.mark.parametrize("precision", [None, "float32", "int8", "int14"])
def test_loaded_models_predict_the_same_bits(tmp_path, name, precision):
    if precision in ("int8", "int14") and "orthogonal" in name:
        pytest.skip("no integer map")
    basis = clone(CASES[name]).set_params(random_state=3, precision=precision)
    model = RandomFeatureRegressor(basis, alpha=0.1).fit(X, Y)
    loaded = saved(model, tmp_path / "m")
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert loaded.basis_.identity() == model.basis_.identity()
    assert loaded.explain_fit().splitlines()[0] == model.explain_fit().splitlines()[0]


@pytest.mark.parametrize("labels", [LABELS, LABELS == "a", np.arange(300) % 4, LABELS.astype(object)])
def test_classifiers_keep_their_labels(tmp_path, labels):
    model = RandomFeatureClassifier(RandomMaxout(30), random_state=0, class_weight="balanced").fit(X, labels)
    loaded = saved(model, tmp_path / "m")
    assert loaded.classes_.dtype == model.classes_.dtype
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert np.array_equal(loaded.decision_function(X), model.decision_function(X))
    assert loaded.get_params()["class_weight"] == "balanced"


def test_files_hold_seeds_not_weights(tmp_path):
    wide = rng.standard_normal((50, 3000))
    RandomFeatureRegressor(RandomFourier(500), random_state=0).fit(wide, Y[:50]).save(tmp_path / "m")
    assert os.path.getsize(tmp_path / "m") < 500 * 8 + 5 * 3000 * 8 + 4000  # W alone would be 6 MB


def test_with_sums_a_model_goes_on(tmp_path):
    model = RandomFeatureRegressor(RandomFourier(40, bandwidth=2.0), random_state=0, alpha=0.1).fit(X, Y)
    loaded = saved(model, tmp_path / "m", sums=True)
    assert np.array_equal(loaded.predict(X, return_std=True)[1], model.predict(X, return_std=True)[1])
    for one in (model, loaded):
        one.partial_fit(X[:50], Y[:50]).grow(20)
    assert np.array_equal(loaded.coef_, model.coef_)
    again = saved(loaded, tmp_path / "m", sums=True)
    assert np.array_equal(again.predict(X), model.predict(X))
    assert np.array_equal(again.grow(40).predict(X), model.grow(40).predict(X))
    bare = saved(model, tmp_path / "m")
    assert np.array_equal(bare.predict(X), model.predict(X))
    with pytest.raises(ValueError, match=r"not kept.*save with sums=True"):
        bare.partial_fit(X, Y)
    with pytest.raises(ValueError, match="return_std needs"):
        bare.predict(X, return_std=True)


def test_models_of_partial_fits_are_saved(tmp_path):
    model = RandomFeatureRegressor(RandomFourier(40), random_state=0).partial_fit(X[:200], Y[:200])
    model.partial_fit(X[200:], Y[200:])
    for sums in (False, True):
        loaded = saved(model, tmp_path / "m", sums=sums)
        assert np.array_equal(loaded.predict(X), model.predict(X))
        assert "300 rows" in loaded.explain_fit()


def test_sums_of_a_dual_fit_can_be_saved(tmp_path):
    model = RandomFeatureRegressor(RandomFourier(40), random_state=0, alpha=0.1, solver="dual").fit(X[:30], Y[:30])
    loaded = saved(model, tmp_path / "m", sums=True)
    assert np.allclose(loaded.predict(X, return_std=True)[1], model.predict(X, return_std=True)[1])


def test_tables_keep_their_recipe(tmp_path):
    frame = pd.DataFrame({"a": X[:, 0] * 9 + 4, "t": LABELS, "y": Y})
    model = RandomFeatureRegressor(RandomFourier(40), random_state=0).fit(bochner.read(frame, target="y"))
    loaded = saved(model, tmp_path / "m")
    assert loaded.recipe_ == model.recipe_
    assert loaded.feature_names_in_.tolist() == ["a", "t"]
    assert np.array_equal(loaded.predict(frame), model.predict(frame))


def test_long_lists_of_names_and_classes_are_no_trouble(tmp_path):
    names = [f"a long name of a column, {k}, " + "x" * 500 for k in range(2500)]
    frame = pd.DataFrame(rng.standard_normal((30, 2500)), columns=names).assign(y=Y[:30])
    model = RandomFeatureRegressor(RandomFourier(10), random_state=0).fit(bochner.read(frame, target="y"))
    assert np.array_equal(saved(model, tmp_path / "m").predict(frame), model.predict(frame))
    many = np.array([f"class number {k:06} with a long name " + "x" * 700 for k in range(1500)])
    rows = rng.standard_normal((50, 1))
    model = RandomFeatureClassifier(RandomFourier(2), alpha=1.0, random_state=0, solver="cholesky")
    model.partial_fit(rows[:50], np.tile(many[:2], 25), classes=many)
    assert np.array_equal(saved(model, tmp_path / "m").predict(rows[:20]), model.predict(rows[:20]))


def test_links_stay_links_and_devices_are_refused(tmp_path):
    model = RandomFeatureRegressor(RandomFourier(5), random_state=0).fit(X, Y)
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    model.save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert np.array_equal(bochner.load(tmp_path / "real").predict(X), model.predict(X))
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="device or a pipe"):
        model.save(tmp_path / "pipe")
    model.save(tmp_path / ("n" * 250))


def test_what_cannot_be_saved(tmp_path):
    with pytest.raises(NotFittedError):
        RandomFeatureRegressor().save(tmp_path / "m")
    model = RandomFeatureRegressor(RandomRidge(10, activation=np.tanh), random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="cannot be stored"):
        model.save(tmp_path / "m")
    assert os.listdir(tmp_path) == []


def test_golden_files_load_for_ever(tmp_path):
    """One file per version of the format, with what it must predict."""
    files = sorted(GOLDEN.glob("*.bochner"))
    assert len(files) == VERSION
    for file in files:
        known = json.loads(file.with_suffix(".json").read_text())
        model = bochner.load(file)
        assert np.allclose(model.decision_function(np.array(known["X"])), known["scores"], rtol=1e-12)
        assert model.predict(np.array(known["X"])).tolist() == known["labels"]
        if "probabilities" in known:
            assert np.allclose(model.predict_proba(np.array(known["X"])), known["probabilities"], rtol=1e-12)
        if "more" in known:  # its sums are there, and go on: same integers, and a penalty chosen from the same folds
            model.partial_fit(np.array(known["more"]["X"]), known["more"]["y"])
            assert np.allclose(model.decision_function(np.array(known["X"])), known["more"]["scores"], rtol=1e-9)


def test_old_versions_are_migrated(tmp_path, monkeypatch):
    """A version in which the penalty had another name."""
    from bochner import modelfile

    model = RandomFeatureRegressor(RandomFourier(20), random_state=0, alpha=0.5).fit(X, Y)
    tree = {"model": "RandomFeatureRegressor", "state": model._to_state(False)}
    parameters = tree["state"]["parameters"]
    parameters["ridge"] = parameters.pop("alpha")
    storage.save(tmp_path / "m", KIND, VERSION, tree, PARTS)

    def renamed(tree):
        given = tree["state"]["parameters"]
        given["alpha"] = given.pop("ridge")
        return tree

    monkeypatch.setattr(modelfile, "VERSION", VERSION + 1)
    monkeypatch.setitem(modelfile.MIGRATIONS, VERSION, renamed)
    assert bochner.load(tmp_path / "m").alpha == 0.5
    monkeypatch.undo()
    with pytest.raises(storage.BadFileError, match="ridge"):
        bochner.load(tmp_path / "m")


# ---- the other models ----

EXACT = [
    {}, {"kernel": "laplacian"}, {"kernel": "matern", "nu": 2.5}, {"kernel": "cauchy", "fit_intercept": False},
    {"invariants": True, "alpha": 0.1}, {"kernel": bochner.kernels.Maxout(3)},
]  # fmt: skip


@pytest.mark.parametrize("how", EXACT)
def test_exact_kernels_are_saved_with_their_rows(tmp_path, how):
    weight = np.linspace(0.5, 2.0, 100)
    model = bochner.KernelRidgeRegressor(**how).fit(X[:100], Y[:100], weight)
    loaded = saved(model, tmp_path / "m")
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert repr(loaded) == repr(model) and loaded.alpha_ == model.alpha_
    model = bochner.KernelRidgeClassifier(**how).fit(X[:100].astype(np.float32), LABELS[:100])
    loaded = saved(model, tmp_path / "m")
    assert loaded.X_fit_.dtype == np.float32
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_a_fitted_exact_model_keeps_no_matrix_of_its_rows(tmp_path):
    model = bochner.KernelRidgeRegressor().fit(X, Y)
    model.save(tmp_path / "m")
    assert os.path.getsize(tmp_path / "m") < 300 * 9 * 8 + 4000
    assert model._dual.kernel.size == 0


def test_a_kernel_of_ones_own_cannot_be_saved(tmp_path):
    class Own(bochner.kernels.Gaussian):
        pass

    with pytest.raises(ValueError, match="cannot be stored"):
        bochner.KernelRidgeRegressor(Own(1.0)).fit(X, Y).save(tmp_path / "m")
    assert os.listdir(tmp_path) == []


DISTRIBUTIONS = [
    {}, {"second_basis": "linear"}, {"learned": True, "max_iter": 3, "basis": RandomFourier(10)},
    {"basis": RandomMaxout(20, precision="int8"), "second_basis": RandomFourier(30)},
]  # fmt: skip


@pytest.mark.parametrize("how", DISTRIBUTIONS)
@pytest.mark.parametrize("sums", [False, True])
def test_models_of_distributions_are_saved(tmp_path, how, sums):
    sizes = rng.uniform(0.5, 2.0, 40)
    bags = [size * rng.standard_normal((rng.integers(5, 20), 2)) for size in sizes]
    how = {"random_state": 0, "solver": "cholesky", **how}
    model = bochner.DistributionRegressor(**how).fit(bags, sizes)
    loaded = saved(model, tmp_path / "m", sums=sums)
    assert np.array_equal(loaded.predict(bags), model.predict(bags))
    assert repr(loaded) == repr(model)
    assert loaded.explain_fit().splitlines()[0] == model.explain_fit().splitlines()[0]
    if how.get("learned"):
        assert all(np.array_equal(a[1], b[1]) for a, b in zip(loaded._stages(), model._stages(), strict=True))
    if sums:
        assert np.array_equal(loaded.predict(bags, return_std=True)[1], model.predict(bags, return_std=True)[1])
        if not how.get("learned"):
            for one in (model, loaded):
                one.partial_fit(bags[:5], sizes[:5])
            assert np.array_equal(loaded.predict(bags), model.predict(bags))
    else:
        with pytest.raises(ValueError, match="sums=True"):
            loaded.predict(bags, return_std=True)
    labels = np.where(sizes > 1, "wide", "narrow")
    model = bochner.DistributionClassifier(**how).fit(bags, labels)
    loaded = saved(model, tmp_path / "m", sums=sums)
    assert np.array_equal(loaded.predict_proba(bags), model.predict_proba(bags))


def test_distributions_of_tables_keep_their_columns(tmp_path):
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1] * 7, "bag": np.repeat(np.arange(30), 10)})
    model = bochner.DistributionRegressor(random_state=0, alpha=0.1).fit(frame, np.arange(30.0), bag="bag")
    loaded = saved(model, tmp_path / "m")
    assert np.array_equal(loaded.predict(frame), model.predict(frame))
    assert loaded.feature_names_in_.tolist() == ["a", "b"]


def test_what_could_not_be_read_again_is_not_written(tmp_path):
    model = RandomFeatureRegressor(RandomFourier(5), random_state=0, alpha=0.1).fit(X, Y)
    model._refresh().intercept[:] = np.nan
    with pytest.raises(ValueError, match=r"could not be read again \(intercept .* nothing is written"):
        model.save(tmp_path / "m")
    assert os.listdir(tmp_path) == []


# ---- hostile files: a right checksum and a wrong content ----


def tree_of():
    model = RandomFeatureClassifier(RandomMaxout(12, precision="int8"), random_state=0).fit(X, LABELS)
    return {"model": "RandomFeatureClassifier", "state": model._to_state(True)}


def forge(path, change):
    tree = tree_of()
    change(tree["state"])
    storage.save(path, KIND, VERSION, tree, PARTS)


def set_basis(name, value):
    return lambda state: setattr(state["design"].basis, name, value)


@pytest.mark.parametrize(
    "change",
    [
        set_basis("n_components", 10**12),
        set_basis("n_components", -1),
        set_basis("n_components", "12"),
        set_basis("pool_size", 0),
        set_basis("precision", "int9"),
        set_basis("scale_", float("nan")),
        set_basis("scale_", "1.0"),
        set_basis("n_features_in_", 0),
        set_basis("multiplier_", -5),
        set_basis("multiplier_", 10**12),
        set_basis("rescale_shift_", 0),
        set_basis("rescale_shift_", 10**9),
        set_basis("pool_size", 10**9),
        set_basis("pool_size", 10**12),
        set_basis("scale_", 1e308),
        lambda state: state.update(widest=10**9),
        lambda state: state.update(widest=state["design"].enlarged(24)),
        lambda state: state.update(widest=state["design"].enlarged(24), sums=None),
        lambda state: object.__setattr__(state["design"].basis.quantizer_, "center", np.zeros(3)),
        set_basis("evil_", 1),
        set_basis("transform_", 1),
        lambda state: state.update(intercept=np.zeros(2)),
        lambda state: state.update(intercept="x"),
        lambda state: state.update(noise=np.full(3, np.inf)),
        lambda state: state.update(design=5),
        lambda state: state.update(solution=state["design"]),
        lambda state: state.update(sums=state["design"]),
        lambda state: setattr(state["sums"].folds[0], "gram", np.zeros((3, 3))),
        lambda state: setattr(state["sums"].folds[0], "rows", -3),
        lambda state: state["parameters"].update(alpha=-1.0),
        lambda state: state["parameters"].update(evil=1),
        lambda state: state["parameters"].update(solver="evil"),
        lambda state: state["fitted"].update(predict=1),
        lambda state: state["fitted"].update(__class__=1),
        lambda state: state["fitted"].update(n_features_in_="5"),
        lambda state: state["fitted"].update(classes_=np.zeros(2)),
        lambda state: state["fitted"].pop("classes_"),
        lambda state: state["fitted"].pop("temperature_"),
        lambda state: state["fitted"].pop("_calibration"),
        lambda state: state.pop("design"),
        lambda state: state.update(parameters=[]),
    ],
)  # fmt: skip
def test_hostile_content_is_refused(tmp_path, change):
    forge(tmp_path / "m", change)
    with pytest.raises(storage.BadFileError) as caught:
        bochner.load(tmp_path / "m")
    assert "\n" not in str(caught.value)


def test_other_files_are_refused(tmp_path):
    from bochner.blocks import Journal

    Journal(tmp_path / "c", {}).close()
    with pytest.raises(ValueError, match="is not a bochner model file"):
        bochner.load(tmp_path / "c" / "job.checkpoint")
    (tmp_path / "x").write_bytes(b"PK\x03\x04 a zip file or so")
    with pytest.raises(ValueError, match="truncated, corrupted or not a bochner model file"):
        bochner.load(tmp_path / "x")
    with pytest.raises(FileNotFoundError, match="there is no file"):
        bochner.load(tmp_path / "none")
    tree = tree_of()
    tree["model"] = "Basis"
    storage.save(tmp_path / "m", KIND, VERSION, tree, PARTS)
    with pytest.raises(storage.BadFileError, match="holds no valid model"):
        bochner.load(tmp_path / "m")


# ---- other people's formats ----


def test_to_onnx_is_a_method(tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    frame = pd.DataFrame(X * [1, 10, 100, 1, 1] + 3.0, columns=list("abcde")).assign(y=Y)
    model = RandomFeatureRegressor(RandomFourier(60), random_state=0).fit(bochner.read(frame, target="y"))
    model.to_onnx(tmp_path / "m.onnx", dtype="float64")
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    rows = frame[list("abcde")].to_numpy()
    (found,) = session.run(None, {"X": rows})
    assert np.allclose(found, model.predict(rows), atol=1e-9)
    holes = frame.copy()
    holes.loc[3, "b"] = np.nan
    model.fit(bochner.read(holes, target="y", missing="mean")).to_onnx(tmp_path / "m.onnx", dtype="float64")
    (found,) = onnxruntime.InferenceSession(tmp_path / "m.onnx").run(None, {"X": holes[list("abcde")].to_numpy()})
    assert np.allclose(found, model.predict(holes), atol=1e-9)
    text = RandomFeatureRegressor(RandomFourier(9)).fit(bochner.read(frame.assign(t="x"), target="y"))
    with pytest.raises(ValueError, match="'t' holds text"):
        text.to_onnx(tmp_path / "t.onnx")


OTHERS = {
    "exact": bochner.KernelRidgeRegressor(alpha=0.1),
    "exact classes": bochner.KernelRidgeClassifier(alpha=0.1),
    "learned": bochner.LearnedFourierRegressor(6, max_iter=2, alpha=0.01, frequency_alpha=0.0, random_state=0),
    "distribution": bochner.DistributionRegressor(RandomFourier(6), RandomFourier(6), random_state=0, alpha=0.1),
}


@pytest.mark.parametrize("name", OTHERS)
def test_skops_trusts_what_every_model_is_made_of(name):
    skops = pytest.importorskip("skops.io")
    bags = name == "distribution"
    rows = list(X.reshape(30, 10, 5)) if bags else X
    model = clone(OTHERS[name]).fit(rows, LABELS if "classes" in name else Y[:30] if bags else Y)
    data = skops.dumps(model)
    assert set(skops.get_untrusted_types(data=data)) <= set(bochner.modelfile.TRUSTED_TYPES)
    loaded = skops.loads(data, trusted=bochner.modelfile.TRUSTED_TYPES)
    assert np.array_equal(loaded.predict(rows), model.predict(rows))


@pytest.mark.parametrize("kind", ["regressor", "classifier"])
def test_skops_carries_pipelines(tmp_path, kind):
    skops = pytest.importorskip("skops.io")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    basis = RandomMaxout(30, precision="int8") if kind == "classifier" else RandomFourier(30)
    model = RandomFeatureClassifier(basis) if kind == "classifier" else RandomFeatureRegressor(basis)
    pipeline = make_pipeline(StandardScaler(), model.set_params(random_state=0))
    pipeline.fit(X, LABELS if kind == "classifier" else Y)
    data = skops.dumps(pipeline)
    needed = skops.get_untrusted_types(data=data)
    assert set(needed) <= set(bochner.modelfile.TRUSTED_TYPES)
    loaded = skops.loads(data, trusted=bochner.modelfile.TRUSTED_TYPES)
    assert np.array_equal(loaded.predict(X), pipeline.predict(X))

"""Exported models, run by onnxruntime: the same features, scores and labels, from files that can be trusted."""

import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from bochner import (
    DistributionClassifier,
    DistributionRegressor,
    Fastfood,
    GatedLinear,
    KernelRidgeClassifier,
    KernelRidgeRegressor,
    LearnedFourierRegressor,
    PatchFeatures,
    RandomBins,
    RandomFeatureClassifier,
    RandomFeatureRegressor,
    RandomFourier,
    RandomMaxout,
    RandomRidge,
    RandomStumps,
    kernels,
)
from bochner.bases import REGISTRY, FixedFourier
from bochner.maps import FourierMap, StumpsMap, ThresholdMap
from bochner.onnx_export import export, to_bytes
from helpers.cases import CASES, INTEGER_CASES, dense, softsign

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from bochner.onnx_export import graph as graph_room  # noqa: E402  (needs onnx)
from bochner.onnx_export.maps import EXPORTERS  # noqa: E402

TOLERANCE = 1e-5
FLOAT_CASES = [name for name in CASES if name != "ridge softsign"]  # a Python function, which no file can hold
ALL = [(name, None) for name in FLOAT_CASES] + [(n, p) for n in INTEGER_CASES for p in ("int8", "int14")]
ONE_EACH = [
    "fourier", "fourier phased", "fourier laplacian", "fastfood", "maxout", "maxout shared", "maxout structured",
    "gated", "stumps", "bins", "cells", "cells oblique", "ridge tanh",
]  # fmt: skip


def rows(n=200, d=5, seed=0, spread=1.0):
    return (spread * np.random.default_rng(seed).standard_normal((n, d))).astype(np.float32)


def targets(kind, X):
    smooth = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
    if kind == "regressor":
        return smooth
    return np.where(smooth > 0, "yes", "no") if kind == "binary" else np.digitize(smooth, [-0.7, 0.6]) * 3 - 1


def fitted(basis, kind="regressor", precision=None, X=None, **changes):
    X = rows() if X is None else X
    columns = 40 if hasattr(basis, "sparse_output") else 41
    basis = clone(basis).set_params(n_components=columns, precision=precision, random_state=3, **changes)
    model = RandomFeatureRegressor if kind == "regressor" else RandomFeatureClassifier
    return model(basis, alpha=1e-3).fit(X, targets(kind, X))


def session(data):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def run(data, X):
    """The outputs by name, and the features on the way to them."""
    opened = session(data)
    outputs = dict(zip([output.name for output in opened.get_outputs()], opened.run(None, {"X": X}), strict=True))
    shown = onnx.load_from_string(data)
    shown.graph.output.append(onnx.helper.make_tensor_value_info("features", onnx.TensorProto.DOUBLE, None))
    return outputs, session(shown.SerializeToString()).run(["features"], {"X": X})[0]


def distance(a, b):
    assert a.shape == b.shape
    return np.abs(a - b).max() / max(1.0, np.abs(b).max())


def check_same(model, X, tolerance=TOLERANCE):
    data = to_bytes(model, dtype=X.dtype.name)
    onnx.checker.check_model(data, full_check=True)
    outputs, features = run(data, X)
    expected = dense(model.design_.features(X))
    if model.basis_.precision in ("int8", "int14"):
        assert np.array_equal(features, expected)
    assert distance(features, expected) <= 10 * tolerance
    if hasattr(model, "classes_"):
        assert outputs["scores"].dtype == X.dtype
        assert distance(outputs["scores"], model.decision_function(X)) <= tolerance
        assert outputs["label"].tolist() == model.predict(X).tolist()
    else:
        assert outputs["predictions"].dtype == X.dtype
        assert distance(outputs["predictions"], model.predict(X)) <= tolerance


def test_every_registered_basis_is_exported():
    assert set(EXPORTERS) == {FixedFourier.kind, ThresholdMap, *(basis.kind for basis in CASES.values())}
    assert {type(CASES[name]) for name in ONE_EACH} == set(REGISTRY.values())


@pytest.mark.parametrize("kind", ["regressor", "binary", "multiclass"])
@pytest.mark.parametrize(("name", "precision"), ALL)
def test_onnxruntime_agrees(name, precision, kind):
    check_same(fitted(CASES[name], kind, precision), rows(seed=1, spread=1.5))


@pytest.mark.parametrize("precision", [None, "float32", "float64", "int8"])
@pytest.mark.parametrize("name", ONE_EACH)
def test_doubles_agree_to_their_own_rounding(name, precision):
    X = rows(seed=1).astype(np.float64) * 1.5 + 1e-9  # not floats: rounding them would show
    tolerance = 1e-5 if precision == "float32" else 1e-13
    check_same(fitted(CASES[name], precision=precision), X, tolerance)


@pytest.mark.parametrize("precision", [None, "int8"])
@pytest.mark.parametrize("name", ONE_EACH)
def test_every_number_in_the_file_matters(name, precision):
    """Move the entries of any constant round, and the agreement above is lost: none of it is vacuous."""
    ends = np.linspace(0.8, 1.5, rows().shape[1]).astype(np.float32)
    bounded = np.clip(rows(), -ends, ends)  # columns that end where new rows go, each elsewhere
    model, X = fitted(CASES[name], precision=precision, X=bounded), rows(seed=1, spread=1.5)
    file = onnx.load_from_string(to_bytes(model))
    idle = ["Reshape", "Pad", "Slice"] + ["Min", "Max"] * (name == "cells")  # thresholds lie where no column ends
    shapes = {i for node in file.graph.node if node.op_type in idle for i in node.input[1:]}
    changed = 0
    for k, constant in enumerate(file.graph.initializer):
        array = onnx.numpy_helper.to_array(constant)
        if constant.name in shapes or len(np.unique(array)) < 2:
            continue
        moved = np.roll(array.ravel(), array.size // 3 | 1).reshape(array.shape)
        other = onnx.load_from_string(file.SerializeToString())
        other.graph.initializer[k].CopyFrom(onnx.numpy_helper.from_array(moved, constant.name))
        predictions = session(other.SerializeToString()).run(None, {"X": X})[0]
        assert distance(predictions, model.predict(X)) > 100 * TOLERANCE, constant.name
        changed += 1
    assert changed >= 2  # the weights and the coefficients at least


@pytest.mark.parametrize("precision", ["int8", "int14"])
@pytest.mark.parametrize("basis", [Fastfood(bandwidth=60.0), RandomMaxout(structured=True, pool_size=2)])
def test_integer_hadamard_sums_that_must_be_shifted(basis, precision):
    X = rows(30, 2500)
    model = fitted(basis, precision=precision, X=X)
    assert model.basis_.shift_ >= 1
    check_same(model, rows(30, 2500, seed=1))


@pytest.mark.parametrize(
    ("basis", "precision"),
    [
        (RandomBins(bandwidth=300.0, n_grids=9), None),  # hashes whose sums pass 53 bits
        (RandomFourier(kernel="laplacian", bandwidth=60.0), "int8"),
        (RandomStumps(), "int8"),
    ],
)
def test_many_columns(basis, precision):
    check_same(fitted(basis, precision=precision, X=rows(40, 700)), rows(40, 700, seed=1))


@pytest.mark.parametrize("basis", [RandomFourier(bandwidth=400.0), Fastfood(bandwidth=400.0), RandomMaxout()])
def test_pixels(basis):
    """A model of uint8 rows takes them as floats."""
    X = np.random.default_rng(0).integers(0, 256, (60, 7)).astype(np.uint8)
    model = RandomFeatureRegressor(basis, precision="int8", alpha=1.0, random_state=0).fit(X, X[:, 0] / 255.0)
    predictions = run(to_bytes(model), X.astype(np.float32))[0]["predictions"]
    assert distance(predictions, model.predict(X)) <= TOLERANCE


def test_full_columns_of_bins_saturate():
    """More than 127 grids can meet in one column."""
    X = rows(12, 1)
    basis = RandomBins(1, n_grids=20000, bandwidth=1.0, precision="int8", random_state=0)
    model = RandomFeatureRegressor(basis, alpha=1.0, fit_intercept=False).fit(X, X[:, 0] + 3.0)
    assert np.abs(dense(model.basis_.features(X))).max() == 127
    check_same(model, X)


@pytest.mark.parametrize("n", [0, 1])
@pytest.mark.parametrize("name", ONE_EACH)
def test_few_rows(name, n):
    model = fitted(CASES[name], "multiclass", "int8")
    X = rows(200, seed=1)
    outputs = run(to_bytes(model), X[:n])[0]
    assert outputs["label"].shape == (n,)
    assert outputs["scores"].shape == (n, 3)
    assert np.allclose(outputs["scores"], model.decision_function(X)[:n], atol=1e-5)


@pytest.mark.parametrize(("outputs", "shape"), [(1, (200, 1)), (3, (200, 3))])
def test_several_targets(outputs, shape):
    X = rows()
    model = RandomFeatureRegressor(RandomMaxout(31), random_state=0).fit(X, 1e3 + X[:, :outputs])
    assert run(to_bytes(model), X)[0]["predictions"].shape == shape
    check_same(model, X)


def test_no_intercept_and_sums_that_were_added():
    X = rows()
    model = RandomFeatureClassifier(RandomFourier(33), fit_intercept=False, precision="int8", random_state=0, alpha=1.0)
    model.partial_fit(X[:90], targets("multiclass", X[:90])).partial_fit(X[90:], targets("multiclass", X[90:]))
    check_same(model, rows(seed=1))


@pytest.mark.parametrize(
    "labels",
    [np.array([7, -2]), np.array([3, 9], dtype=np.uint8), np.array(["a", "bc"]), np.array(["a", "bc"], dtype=object)],
)
def test_labels(labels):
    X = rows()
    model = RandomFeatureClassifier(RandomStumps(20), random_state=0).fit(X, labels[(X[:, 0] > 0).astype(int)])
    data = to_bytes(model)
    assert run(data, X)[0]["label"].tolist() == model.predict(X).tolist()
    kind = onnx.load_from_string(data).graph.output[0].type.tensor_type.elem_type
    assert kind == (onnx.TensorProto.STRING if labels.dtype.kind in "OU" else onnx.TensorProto.INT64)


@pytest.mark.parametrize("labels", [np.array([False, True]), np.array([0.0, 1.0])])
def test_other_labels_are_refused(labels):
    X = rows()
    model = RandomFeatureClassifier(RandomStumps(20), random_state=0).fit(X, labels[(X[:, 0] > 0).astype(int)])
    with pytest.raises(ValueError, match=r"labels are integers or text, and the classes are (bool|float64)"):
        to_bytes(model)


def test_what_is_refused():
    X = rows()
    with pytest.raises(ValueError, match="a Python function, which ONNX cannot hold"):
        to_bytes(fitted(RandomRidge(activation=softsign)))
    with pytest.raises(ValueError, match=r"to_onnx takes a model of .*got a RandomStumps"):
        to_bytes(RandomStumps().fit(X))
    with pytest.raises(NotFittedError):
        to_bytes(RandomFeatureRegressor())
    with pytest.raises(ValueError, match="dtype='float16' is not known"):
        to_bytes(fitted(RandomStumps()), dtype="float16")


def test_a_basis_that_nobody_exports():
    class OtherMap(StumpsMap):
        name = "Other"

    class Other(RandomStumps):
        kind = OtherMap

    with pytest.raises(ValueError, match="Other cannot be exported to ONNX"):
        to_bytes(fitted(Other()))


def test_two_gigabytes_are_refused_before_anything_is_drawn(monkeypatch):
    model = fitted(RandomFourier(bandwidth=1.0))

    def never(*_, **__):
        raise AssertionError("weights were drawn")

    monkeypatch.setattr(FourierMap, "weights", never)
    monkeypatch.setattr(graph_room, "LARGEST", 500)
    with pytest.raises(ValueError, match="a file of one piece holds less than 2 GiB"):
        to_bytes(model)
    with pytest.raises(ValueError, match="less than 2 GiB"):
        graph_room.Graph().constant(np.zeros(63))


def test_without_onnx_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r'to_onnx needs onnx: pip install "bochner\[onnx\]"'):
        to_bytes(fitted(RandomStumps()))


def test_nothing_imports_onnx():
    code = "import sys, bochner, bochner.onnx_export\nassert 'onnx' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_file_says_what_it_is(tmp_path):
    model = fitted(RandomFourier(bandwidth=1.0), "multiclass", "int14")
    export(model, tmp_path / "model.onnx")
    file = onnx.load(tmp_path / "model.onnx")
    assert (file.producer_name, file.ir_version, file.opset_import[0].version) == ("bochner", 8, 18)
    described = {entry.key: entry.value for entry in file.metadata_props}
    assert described == {"basis": "RandomFourier", "seed": "3", "precision": "int14", "n_components": "41"}
    assert [output.name for output in file.graph.output] == ["label", "scores"]


def test_a_file_is_whole_or_absent(tmp_path, monkeypatch):
    path = tmp_path / "model.onnx"
    path.write_bytes(b"before")
    with pytest.raises(ValueError, match="Python function"):
        export(fitted(RandomRidge(activation=softsign)), path)

    def fails(*_):
        raise OSError("disk full")

    model = fitted(RandomStumps())
    with monkeypatch.context() as context:
        context.setattr(os, "replace", fails)
        with pytest.raises(OSError, match="disk full"):
            export(model, path)
    assert path.read_bytes() == b"before"
    export(model, str(path))
    assert path.read_bytes() == to_bytes(model)
    assert os.listdir(tmp_path) == ["model.onnx"]


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(
    ("kernel", "nu"),
    [("gaussian", 1.5), ("laplacian", 1.5), ("cauchy", 1.5), ("matern", 0.5), ("matern", 1.5), ("matern", 2.5)],
)
def test_exact_kernels(kernel, nu, fit_intercept):
    X = rows(60)
    how = {"nu": nu, "alpha": 0.1, "fit_intercept": fit_intercept, "scale": None}
    regressor = KernelRidgeRegressor(kernel, **how).fit(X, targets("regressor", X), np.linspace(1, 2, 60))
    classifier = KernelRidgeClassifier(kernel, **how).fit(X, targets("binary", X))
    for dtype, tolerance in (("float32", 1e-6), ("float64", 1e-11)):
        new = rows(30, seed=1).astype(dtype)
        (found,) = onnxruntime.InferenceSession(to_bytes(regressor, dtype=dtype)).run(None, {"X": new})
        np.testing.assert_allclose(found, regressor.predict(new), atol=tolerance)
        label, scores = onnxruntime.InferenceSession(to_bytes(classifier, dtype=dtype)).run(None, {"X": new})
        np.testing.assert_allclose(scores, classifier.decision_function(new), atol=tolerance)
        assert np.array_equal(label, classifier.predict(new))


def test_what_has_no_graph_says_so(tmp_path):
    X = rows(60)
    for kernel in (kernels.Maxout(3), kernels.Matern(nu=0.7, bandwidth=1.0)):
        with pytest.raises(ValueError, match="cannot be exported to ONNX"):
            KernelRidgeRegressor(kernel, alpha=0.1).fit(X, X[:, 0]).to_onnx(tmp_path / "m")
    with pytest.raises(NotFittedError):
        KernelRidgeRegressor().to_onnx(tmp_path / "m")
    for cls in (DistributionRegressor, DistributionClassifier):
        with pytest.raises(ValueError, match=r"bags of points.*second_\.to_onnx"):
            cls().to_onnx(tmp_path / "m")
    assert os.listdir(tmp_path) == []


def test_the_second_stage_of_a_distribution_goes_to_onnx(tmp_path):
    bags = list(rows(300).reshape(30, 10, 5))
    model = DistributionRegressor(RandomFourier(8), RandomFourier(6), alpha=0.1, random_state=0)
    model.fit(bags, np.arange(30.0)).second_.to_onnx(tmp_path / "m", dtype="float64")
    (found,) = onnxruntime.InferenceSession(tmp_path / "m").run(None, {"X": model.embed(bags)})
    np.testing.assert_allclose(found, model.predict(bags), atol=1e-9)


@pytest.mark.parametrize("kind", [RandomFeatureRegressor, KernelRidgeRegressor, LearnedFourierRegressor])
def test_gaps_of_a_frame_are_filled_and_text_is_refused(kind):
    pandas = pytest.importorskip("pandas")
    X = rows(80, 3, spread=50.0)
    y = np.sin(X[:, 0] / 50.0)
    X[::7, 1] = np.nan
    model = {
        RandomFeatureRegressor: lambda: RandomFeatureRegressor(RandomFourier(30), random_state=0),
        KernelRidgeRegressor: KernelRidgeRegressor,
        LearnedFourierRegressor: lambda: LearnedFourierRegressor(
            10, alpha=1e-3, frequency_alpha=1e-4, max_iter=3, random_state=0
        ),
    }[kind]()
    frame = pandas.DataFrame(X, columns=list("abc"))
    model.fit(frame, y)
    found = session(to_bytes(model, dtype="float64")).run(["predictions"], {"X": X.astype(np.float64)})[0]
    assert np.allclose(np.ravel(found), model.predict(frame), atol=1e-9)
    with pytest.raises(ValueError, match="'d' holds text, which the ONNX file cannot encode"):
        to_bytes(model.fit(frame.assign(d=["u", "v"] * 40), y))


@pytest.mark.parametrize("precision", [None, "int8", "int14"])
@pytest.mark.parametrize("inner", [None, RandomMaxout(), RandomRidge(activation="relu"), GatedLinear(pool_size=2)])
@pytest.mark.parametrize("shape", [(9, 7), (6, 8, 3)])
def test_pictures_agree(shape, inner, precision):
    """Thresholds of floats are a convolution; integers have the same bits."""
    rng = np.random.default_rng(0)
    X = (rng.integers(0, 256, (60, int(np.prod(shape)))) * rng.random((60, 1))).astype(np.float32)
    X[0] = 7.0  # a blank picture
    basis = PatchFeatures(
        inner, image_shape=shape, patch_size=3, grid=2, n_filters=6, stride=2 if shape == (9, 7) else 1,
        precision=precision, random_state=0,
    )  # fmt: skip
    model = RandomFeatureClassifier(basis, alpha=1e-2).fit(X, np.arange(60) % 3)
    check_same(model, X, 1e-5)
    largest = basis.set_params(pooling="max")
    check_same(RandomFeatureClassifier(largest, alpha=1e-2).fit(X, np.arange(60) % 3), X, 1e-5)

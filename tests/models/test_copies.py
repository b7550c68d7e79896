"""Copies of pictures: further rows of a fit that share the fold of their picture, and predictions that are means."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

import bochner
from bochner import BasisUnion, PatchFeatures, RandomFeatureClassifier, RandomFeatureRegressor
from bochner.models.copies import copies

DIGITS, LABELS = load_digits(return_X_y=True)
X, Y, NEW = DIGITS[:300], LABELS[:300], DIGITS[300:400]


def patches(**settings):
    return PatchFeatures(image_shape=(8, 8), patch_size=4, grid=2, n_filters=20, random_state=0, **settings)


def classifier(basis, **settings):
    return RandomFeatureClassifier(basis, random_state=0, **settings)


@pytest.mark.parametrize(("kind", "count"), [("mirrored", 2), ("shifted", 5), ("both", 10)])
def test_places_are_those_of_the_moved_pictures(kind, count):
    found = [part.reshape(-1, 8, 8) for part in copies(X, patches(copies=kind).copied_places)]
    pictures = X.reshape(-1, 8, 8)
    edges = np.pad(pictures, [(0, 0), (1, 1), (1, 1)], mode="edge")
    moved = [edges[:, 1 + y : 9 + y, 1 + x : 9 + x] for y, x in ((0, 0), (0, 1), (0, -1), (1, 0), (-1, 0))]
    expected = moved if kind != "mirrored" else [pictures]
    expected = expected + [part[:, :, ::-1] for part in expected if kind != "shifted"]
    assert len(found) == count
    assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))


def test_channels_stay_with_their_pixels():
    places = PatchFeatures(image_shape=(2, 3, 2), patch_size=2, grid=1, copies="mirrored").copied_places
    assert places.tolist() == [list(range(12)), [4, 5, 2, 3, 0, 1, 10, 11, 8, 9, 6, 7]]


@pytest.mark.parametrize("precision", [None, "int8"])
@pytest.mark.parametrize("solver", ["cholesky", "dual", "cg", "triangle"])
def test_a_fit_to_copies_is_one_to_more_rows(solver, precision):
    basis = patches(copies="shifted", precision=precision)
    model = classifier(basis, alpha=0.1, solver=solver).fit(X, Y)
    # The same map, since what a basis settles on are pictures alone.
    rows = np.concatenate(list(copies(X, basis.copied_places)))
    by_hand = classifier(patches(precision=precision), alpha=0.1, solver=solver).fit(X, Y)
    features = by_hand.basis_.transform(rows) * by_hand.basis_.scale_
    codes = np.where(np.tile(Y, 5)[:, None] == np.arange(10), 1.0, -1.0)
    centred = features - features.mean(axis=0)
    gram = centred.T @ centred + 0.1 * np.eye(features.shape[1])
    expected = np.linalg.solve(gram, centred.T @ codes)
    assert np.allclose(model.coef_.T, expected, atol=1e-6 * abs(expected).max())
    scores = [
        part @ expected
        for part in (
            by_hand.basis_.transform(part) * by_hand.basis_.scale_ for part in copies(NEW, basis.copied_places)
        )
    ]
    means = np.mean(scores, axis=0) + codes.mean(axis=0) - features.mean(axis=0) @ expected
    assert np.allclose(model.decision_function(NEW), means, atol=1e-5)  # fmt: skip


@pytest.mark.parametrize("solver", ["cholesky", "dual", "triangle"])
def test_copies_are_never_parted_by_folds(solver):
    """Labels that mean nothing: a model that has seen a copy would know them, and its score would be high."""
    few, noise = X[:120], np.random.default_rng(0).integers(0, 2, 120)
    given = {"solver": solver, "alpha": np.array([1e-4, 1e-3])}
    model = classifier(patches(copies="shifted").set_params(n_filters=150), **given).fit(few, noise)
    assert model.cv_score_ < 0.65  # 0.5 but for the luck of 120 coins
    alone = np.concatenate(list(copies(few, patches(copies="shifted").copied_places)))
    parted = classifier(patches().set_params(n_filters=150), **given).fit(alone, np.tile(noise, 5))
    assert parted.cv_score_ > 0.7


@pytest.mark.parametrize("precision", [None, "int8"])
def test_copies_go_to_files_and_graphs(precision, tmp_path):
    model = classifier(patches(copies="both", precision=precision)).fit(X, Y)
    model.save(tmp_path / "m.bochner")
    assert np.array_equal(bochner.load(tmp_path / "m.bochner").decision_function(NEW), model.decision_function(NEW))
    onnxruntime = pytest.importorskip("onnxruntime")
    model.to_onnx(tmp_path / "m.onnx", dtype="float64")
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    labels = session.run(["label"], {"X": NEW})[0]
    assert np.mean(labels == model.predict(NEW)) == 1.0


def test_parts_of_a_fit_add_their_copies():
    basis = patches(copies="mirrored", precision="int8")
    first = classifier(basis).partial_fit(X[:200], Y[:200], classes=range(10))
    both = first.partial_fit(X[200:], Y[200:])
    assert both.moments_.rows == 600
    gram = both.moments_.gram
    assert np.array_equal(both.forget(X[200:], Y[200:]).partial_fit(X[200:], Y[200:]).moments_.gram, gram)


def test_blocks_are_copied_as_arrays_are():
    whole = classifier(patches(copies="both", precision="int8"), alpha=0.1, solver="cholesky").fit(X, Y)
    with bochner.config_context(block_rows=64):
        parts = classifier(patches(copies="both", precision="int8"), alpha=0.1, solver="cholesky").fit(X, Y)
    assert np.array_equal(whole.moments_.gram, parts.moments_.gram)


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="loss='squared'"):
        RandomFeatureRegressor(patches(copies="shifted"), loss="huber").fit(X, Y.astype(float))
    with pytest.raises(ValueError, match="same copies"):
        classifier(BasisUnion([patches(copies="shifted"), patches()])).fit(X, Y)
    with pytest.raises(ValueError, match="choose from"):
        patches(copies="turned").fit(X)

"""Several bases side by side: parameters, weights, precisions, prefixes, files and models."""

import pickle

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone

import bochner
from bochner import (
    BasisUnion,
    FeaturePCA,
    RandomBins,
    RandomCells,
    RandomFeatureClassifier,
    RandomFeatureRegressor,
    RandomFourier,
    RandomMaxout,
    RandomStumps,
)
from bochner.maps import Union
from helpers import contracts
from helpers.cases import dense

PRECISIONS = [None, "float32", "int8", "int14"]


def both(precision=None, **how):
    parts = [RandomFourier(14, bandwidth=1.3), RandomCells(40, depth=3)]
    return BasisUnion(parts, **{"weights": [1.0, 0.5], "precision": precision, "random_state": 0, **how})


def rows_and_targets(n=400, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, 3))
    return X, np.sin(2 * X[:, 0]) + (X[:, 1] > 0.3) * X[:, 2]


def test_plus_makes_a_flat_union():
    first, second, third = RandomFourier(10), RandomCells(16), RandomStumps(5)
    union = first + second + third
    assert isinstance(union, BasisUnion)
    assert [type(part) for part in union.bases] == [RandomFourier, RandomCells, RandomStumps]
    assert union.n_components == 31
    assert union.bases[0] is not first
    nested = BasisUnion([first, BasisUnion([second, third], weights=[2.0, 3.0])], weights=[1.0, 0.5])
    assert nested.fit(contracts.rows()).weights_.tolist() == [1.0, 1.0, 1.5]
    assert len(nested.bases_) == 3
    assert (RandomFourier(4, precision="int8") + RandomStumps(4, precision="int8")).precision == "int8"
    with pytest.raises(TypeError):
        first + 3


def test_parameters_reach_the_parts():
    union = RandomFourier(10) + RandomCells(16)
    union.set_params(basis_0__bandwidth=2.0, basis_1__depth=2, basis_1=RandomCells(8))
    assert (union.bases[0].bandwidth, union.bases[1].n_components, union.bases[1].depth) == (2.0, 8, 2)
    again = clone(union)
    assert again.get_params()["basis_1__depth"] == 2
    assert again.bases[1] is not union.bases[1]
    model = RandomFeatureRegressor(union).set_params(basis__basis_1__depth=3)
    assert model.basis.bases[1].depth == 3
    for name, message in (("basis_2__depth", "of no part"), ("basis_1__width", "Invalid parameter"), ("x", "Invalid")):
        with pytest.raises(ValueError, match=message):
            union.set_params(**{name: 1})


@pytest.mark.parametrize("precision", PRECISIONS)
def test_features_are_those_of_the_parts_and_weights_are_in_the_scale(precision):
    X = contracts.rows(30)
    union = both(precision).fit(X)
    contracts.require_map(union.map_, X)
    parts = [dense(part.transform(X)) for part in union.bases_]
    assert np.array_equal(dense(union.transform(X)), np.hstack(parts))
    scaled = [w * part.scale_ * Z for w, part, Z in zip([1.0, 0.5], union.bases_, parts, strict=True)]
    np.testing.assert_allclose(dense(union.transform(X)) * union.scale_, np.hstack(scaled), rtol=1e-6)
    exact = union.bases_[0].kernel(X) + 0.25 * union.bases_[1].kernel(X)
    np.testing.assert_allclose(union.kernel(X), exact, rtol=1e-6)
    assert len(pickle.dumps(union)) < 10_000
    assert np.array_equal(dense(pickle.loads(pickle.dumps(union)).transform(X)), dense(union.transform(X)))
    assert Union.from_state(union.map_.to_state()) == union.map_
    sparse = scipy.sparse.csr_array(X)
    np.testing.assert_allclose(dense(union.transform(sparse)), dense(union.transform(X)), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("precision", [None, "int8"])
def test_prefixes_and_growth(precision):
    X = contracts.rows(30)
    union = both(precision).fit(X)
    for columns in (10, 14, 22):
        cut = union.truncated(columns)
        assert (cut.n_components, cut.map_.columns) == (columns, columns)
        scaled = cut.map_.prefix_scale(union.map_) * dense(union.transform(X))[:, :columns]
        np.testing.assert_allclose(cut.scale_ * dense(cut.transform(X)), scaled, rtol=1e-9, atol=1e-12)
    more = union.enlarged(70)
    assert more.n_components == 70
    np.testing.assert_array_equal(dense(more.truncated(54).transform(X)), dense(union.transform(X)))
    np.testing.assert_allclose(more.truncated(54).scale_, union.scale_)


def test_parts_of_one_kind_draw_differently():
    X = contracts.rows(20)
    features = (RandomFourier(8) + RandomFourier(8)).set_params(random_state=0).fit(X).transform(X)
    assert np.abs(features[:, :8] - features[:, 8:]).min() > 0
    own = (RandomFourier(8, random_state=5) + RandomFourier(8)).fit(X)
    assert np.array_equal(own.transform(X)[:, :8], RandomFourier(8, random_state=5).fit_transform(X))


def test_sparse_beside_dense_is_csr_where_few_columns_are_filled():
    X = contracts.rows(20)
    few = (RandomFourier(10) + RandomCells(640, depth=6)).fit(X)
    many = (RandomFourier(300) + RandomCells(640, depth=6)).fit(X)
    assert scipy.sparse.issparse(few.transform(X))
    assert isinstance(many.transform(X), np.ndarray)
    assert (few.map_.entries, many.map_.entries) == (few.entries, many.entries) == (30, 940)


def test_a_weight_is_a_penalty():
    """Columns times s with penalty alpha are columns as they are with penalty alpha / s^2."""
    X, y = rows_and_targets()
    how = {"scale": None, "linear": False, "fit_intercept": False, "random_state": 0}
    union = (RandomFourier(20, bandwidth=1.0) + RandomStumps(15, radius=2.0)).set_params(weights=[1.0, 0.2])
    for solver in ("cholesky", "dual", "cg"):
        model = RandomFeatureRegressor(union, alpha=0.1, solver=solver, **how).fit(X, y)
        Z = dense(model.basis_.transform(X))
        penalty = np.repeat([0.1, 0.1 / 0.2**2], [20, 15])
        expected = Z @ np.linalg.solve(Z.T @ Z + np.diag(penalty), Z.T @ y)
        np.testing.assert_allclose(model.predict(X), expected, rtol=1e-5, atol=1e-6)


def test_the_part_that_suits_the_target_gets_the_larger_weight():
    """Jumps in each of eight columns are what stumps are made of, and not what smooth waves are."""
    X = np.random.default_rng(0).uniform(-1, 1, (500, 8))
    y = (X > 0.2).sum(axis=1) + 0.1 * X[:, 0]
    union = RandomFourier(200) + RandomStumps(400)
    model = RandomFeatureRegressor(union, random_state=0).fit(X, y)
    assert model.basis_.weights_[1] > 4
    assert "parts: 200 of RandomFourier (weight 1), 400 of RandomStumps (weight" in model.explain_fit()
    assert model.basis.weights == "auto"
    even = RandomFeatureRegressor(clone(union).set_params(weights=[1.0, 1.0]), random_state=0).fit(X, y)
    assert model.cv_score_ > even.cv_score_
    turned = RandomFeatureRegressor(BasisUnion(union.bases[::-1]), random_state=0).fit(X, y)
    assert turned.basis_.weights_[1] < 0.25


@pytest.mark.parametrize("precision", [None, "int8"])
def test_models_are_saved_and_exported(precision, tmp_path):
    pytest.importorskip("onnxruntime")
    import onnxruntime

    X, y = rows_and_targets()
    union = RandomFourier(20) + RandomCells(64, depth=3) + RandomMaxout(10)
    for model in (RandomFeatureRegressor(union, precision=precision), RandomFeatureClassifier(union)):
        model.set_params(random_state=0).fit(X, y if isinstance(model, RandomFeatureRegressor) else (y > 0).astype(int))
        model.save(tmp_path / "model", sums=model.sums_ is not None)
        again = bochner.load(tmp_path / "model")
        assert np.array_equal(again.predict(X), model.predict(X))
        assert again.basis_.identity() == model.basis_.identity()
        model.to_onnx(tmp_path / "model.onnx", dtype="float64")
        session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
        found = session.run(None, {"X": X})[0].ravel()
        np.testing.assert_allclose(found.astype(float), model.predict(X).astype(float), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("precision", ["int8", "auto"])
def test_models_are_fitted_again_after_a_file_and_after_growth(precision, tmp_path):
    """Parts have no precision of their own then: trials are made in floats."""
    X, y = rows_and_targets()
    model = RandomFeatureRegressor(RandomFourier(20) + RandomMaxout(20), precision=precision, random_state=0).fit(X, y)
    model.save(tmp_path / "model", sums=True)
    again = bochner.load(tmp_path / "model")
    grown = RandomFeatureRegressor(clone(again.grow(30).basis_), precision=precision, random_state=0)
    for one in (again, grown):
        assert one.fit(X, y).score(X, y) > 0.5
        assert one.basis_.n_components == (40 if one is again else 30)


def test_sums_of_a_union_add_and_grow():
    X, y = rows_and_targets()
    union = RandomFourier(20) + RandomCells(32, depth=2)
    how = {"solver": "cholesky", "alpha": 0.1, "random_state": 0}
    whole = RandomFeatureRegressor(union, **how).fit(X, y)
    first, second = (RandomFeatureRegressor(union, **how).fit(X, y), RandomFeatureRegressor(union, **how))
    first.partial_fit(X[:50], y[:50])
    first.forget(X[:50], y[:50])
    np.testing.assert_allclose(first.predict(X), whole.predict(X), rtol=1e-7)
    grown = second.fit(X, y).grow(60, X, y)
    assert grown.basis_.n_components == 60
    np.testing.assert_allclose(grown.grow(52).predict(X), whole.predict(X), rtol=1e-7)


@pytest.mark.parametrize(
    ("union", "message"),
    [
        (BasisUnion([]), "bases must be a list of one to 64"),
        (BasisUnion([3]), "bases must be bochner's bases"),
        (BasisUnion([RandomFourier()], weights=[1.0, 2.0]), "weights must be 1 numbers"),
        (BasisUnion([RandomFourier()], weights=[0.0]), "weights must be positive"),
        (BasisUnion([RandomFourier()], weights="equal"), "choose from 'auto'"),
        (BasisUnion([RandomFourier(precision="int8")]), "give it to the BasisUnion"),
    ],
)
def test_what_is_refused(union, message):
    with pytest.raises(ValueError, match=message):
        union.fit(contracts.rows())


def test_what_unions_are_not_for_says_so():
    union = RandomFourier(10) + RandomBins(10)
    with pytest.raises(ValueError, match="a BasisUnion is for RandomFeatureRegressor"):
        FeaturePCA(union).fit(contracts.rows())
    with pytest.raises(ValueError, match="a BasisUnion is for RandomFeatureRegressor"):
        bochner.mmd(contracts.rows(), contracts.rows(seed=1), basis=union)
    with pytest.raises(ValueError, match="no bound for a union"):
        _ = union.bounds
    fitted = union.fit(contracts.rows())
    assert not fitted.map_.has_prefixes
    with pytest.raises(ValueError, match="RandomBins of 10 columns cannot be cut"):
        fitted.truncated(15)

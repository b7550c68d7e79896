"""Principal components of tensors, or on a device, are those of arrays, and are made where the rows are."""

import numpy as np
import pytest
from sklearn.base import clone

from bochner import FeaturePCA, RandomBins, RandomFourier, RandomMaxout
from bochner.arrays import to_numpy
from helpers.devices import DEVICE, tensor
from helpers.tensors import in_torch, quietly, require_close

pytestmark = pytest.mark.torch
ON_GPU = pytest.mark.skipif(not DEVICE.startswith("cuda"), reason="there is no GPU")


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


def curve(n=1500, kind="float64"):
    t = np.random.default_rng(0).uniform(0.0, 3.0, n)
    X = np.column_stack([t, np.sin(2.0 * t), np.cos(t)]) + 0.01 * np.random.default_rng(1).standard_normal((n, 3))
    return X.astype(kind)


@pytest.mark.parametrize("scale", ["auto", "standard", None])
@pytest.mark.parametrize("precision", [None, "int8"])
@pytest.mark.parametrize("solver", ["moments", "randomized"])
@pytest.mark.parametrize("basis", [RandomFourier(60, random_state=0), RandomMaxout(60, random_state=0)], ids=str)
def test_components(basis, solver, precision, scale, torch):
    X = curve()
    basis = clone(basis).set_params(precision=precision)
    passes = 1 + (solver == "randomized")
    model = FeaturePCA(basis, n_components=3, solver=solver, n_passes=passes, n_oversamples=20, scale=scale)
    theirs, mine = clone(model).fit(X), clone(model)
    rows = tensor(X)
    with in_torch(torch, most=1000):
        images = mine.fit(rows).transform(rows)
    assert mine.basis_.identity() == theirs.basis_.identity()
    require_close(torch, images, theirs.transform(X), 1e-6)
    require_close(torch, mine.components_, theirs.components_, 1e-6)
    require_close(torch, mine.mean_, theirs.mean_, 1e-9)
    for name in ("explained_variance_", "explained_variance_ratio_", "singular_values_"):
        assert isinstance(getattr(mine, name), np.ndarray)
        np.testing.assert_allclose(getattr(mine, name), getattr(theirs, name), rtol=1e-6)
    if precision == "int8" and solver == "moments":
        assert np.array_equal(to_numpy(mine._sums.gram), theirs._sums.gram)


def test_there_and_back(torch):
    X = curve()
    theirs = FeaturePCA(RandomFourier(80, random_state=0), n_components=3).fit(X)
    mine = FeaturePCA(RandomFourier(80, random_state=0), n_components=3).fit(tensor(X))
    images = theirs.transform(X)
    with in_torch(torch):
        found = mine.inverse_transform(mine.transform(tensor(X)))
    require_close(torch, found, theirs.inverse_transform(images), 1e-4)
    assert isinstance(mine.transform(X), np.ndarray)
    assert isinstance(mine.inverse_transform(images), np.ndarray)
    require_close(torch, theirs.inverse_transform(tensor(images)), theirs.inverse_transform(images), 1e-9)
    with pytest.raises(ValueError, match="NaN"):
        mine.inverse_transform(tensor(images * np.nan))


def test_rows_may_come_in_parts_of_either_library(torch):
    X = curve()
    basis = RandomFourier(40, bandwidth=1.0, precision="int8", random_state=0)
    whole = FeaturePCA(basis, n_components=2).partial_fit(X)
    mixed = FeaturePCA(basis, n_components=2).partial_fit(tensor(X)).partial_fit(X[:90]).partial_fit(tensor(X[90:120]))
    mixed_again = FeaturePCA(basis, n_components=2).partial_fit(X).partial_fit(tensor(X[:120]))
    assert isinstance(mixed._sums.gram, torch.Tensor)
    assert isinstance(mixed_again._sums.gram, np.ndarray)
    assert np.array_equal(to_numpy(mixed._sums.gram), mixed_again._sums.gram)
    assert mixed.n_samples_seen_ == whole.n_samples_seen_ + 120
    sketch = FeaturePCA(basis, n_components=2, solver="randomized")
    parts = clone(sketch).partial_fit(tensor(X)).partial_fit(X[:50])
    again = clone(sketch).partial_fit(X).partial_fit(X[:50])
    require_close(torch, parts.components_, again.components_, 1e-6)


def test_plots_and_refusals(torch):
    X = tensor(curve())
    with pytest.raises(ValueError, match="no torch version of sparse features"), in_torch(torch):
        FeaturePCA(RandomBins(20)).fit(X)
    with pytest.raises(ValueError, match="device must be None"):
        FeaturePCA(device="tpu").fit(curve())
    fitted = FeaturePCA(RandomFourier(30, random_state=0)).fit(X)
    with pytest.raises(ValueError, match="3 features"):
        fitted.transform(X[:, :2])
    pytest.importorskip("matplotlib").use("Agg")
    axes = fitted.plot(X, labels=X[:, 0] > 1.0)
    assert sum(len(group.get_offsets()) for group in axes.collections) == len(X)


@ON_GPU
@pytest.mark.parametrize("solver", ["moments", "randomized"])
@pytest.mark.parametrize("stays", [True, False])
def test_on_a_gpu(stays, solver, torch, monkeypatch):
    """Arrays in, arrays out, wherever the rows may stay."""
    if not stays:
        monkeypatch.setattr("bochner.models.placing.fits", lambda *data: False)
    X = curve()
    model = FeaturePCA(RandomFourier(60, precision="int8", random_state=0), n_components=3, solver=solver)
    theirs, mine = clone(model).fit(X), quietly(clone(model).set_params(device=DEVICE), X)
    assert mine.components_.device.type == "cuda"
    found = mine.transform(X)
    assert isinstance(found, np.ndarray)
    np.testing.assert_allclose(found, theirs.transform(X), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(mine.inverse_transform(found), theirs.inverse_transform(found), rtol=1e-4, atol=1e-4)
    if solver == "moments":
        assert np.array_equal(to_numpy(mine._sums.gram), theirs._sums.gram)
    np.testing.assert_allclose(mine.set_params(device=None).transform(X), found, rtol=1e-9, atol=1e-9)

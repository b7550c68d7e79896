"""Bags on a device: features of points and their sums are made there, and a row for each bag comes back."""

import numpy as np
import pytest
from sklearn.base import clone

import bochner
from bochner import DistributionClassifier, DistributionRegressor, RandomFourier
from bochner.models.distribution import bag_sums, embedding
from helpers.devices import DEVICE, tensor
from helpers.tensors import in_torch, quietly

pytestmark = pytest.mark.torch
ON_GPU = pytest.mark.skipif(not DEVICE.startswith("cuda"), reason="there is no GPU")


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


def bags(count=40, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.uniform(-1.0, 1.0, count)
    return [rng.normal(mean, 1.0, (int(rng.integers(5, 30)), 2)) for mean in y], y


@pytest.mark.parametrize("kind", ["int8", "int16", "float32", "float64"])
def test_sums_of_tensors_are_those_of_arrays(kind, torch, monkeypatch):
    monkeypatch.setattr(bag_sums, "FEW_ROWS", 3)  # so that bags come to the host in lots
    rng = np.random.default_rng(0)
    features, owner = (20.0 * rng.standard_normal((200, 7))).astype(kind), rng.integers(3, 20, 200)
    expected = bag_sums.sums_per_bag(features, owner)
    with in_torch(torch, most=3):
        found = bag_sums.sums_per_bag(tensor(features), owner)
    assert np.array_equal(found.bags, expected.bags)
    assert found.tables[0].dtype == expected.tables[0].dtype
    if kind.startswith("int"):
        assert np.array_equal(found.tables[0], expected.tables[0])
    np.testing.assert_allclose(found.tables[0], expected.tables[0], rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("precision", [None, "int8"])
def test_embeddings_by_torch_are_those_of_numpy(precision, torch, monkeypatch):
    """The way that rows take on a GPU, with tensors on whatever device the tests are for."""
    X, y = bags()
    model = DistributionRegressor(RandomFourier(40, precision=precision), random_state=0)
    theirs = quietly(clone(model), X, y)
    monkeypatch.setattr(embedding, "placed", lambda points, device: tensor(points))
    with in_torch(torch):
        mine = quietly(clone(model), X, y)
        found, deviation = mine.predict(X, return_std=True)
    expected = theirs.predict(X, return_std=True)
    if precision:
        assert np.array_equal(mine.embed(X), theirs.embed(X))
    np.testing.assert_allclose(found, expected[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(deviation, expected[1], rtol=1e-4)


def test_what_is_refused(torch, tmp_path):
    X, y = bags(12)
    with pytest.raises(ValueError, match="learned on the CPU: leave out device, or learned=True"):
        DistributionRegressor(learned=True, device="cuda").fit(X, y)
    with pytest.raises(ValueError, match="device must be None"):
        DistributionClassifier(device="mps").fit(X, y > 0)
    if not DEVICE.startswith("cuda"):
        with pytest.raises(ValueError, match="sees no GPU here"):
            DistributionRegressor(device="cuda").fit(X, y)
    quietly(DistributionRegressor(device="cpu", random_state=0), X, y).save(tmp_path / "m.bochner")
    loaded = bochner.load(tmp_path / "m.bochner")
    assert loaded.device is None
    assert loaded.second_.device is None


@ON_GPU
@pytest.mark.parametrize("precision", [None, "int8"])
def test_a_fit_on_a_gpu_is_that_of_the_cpu(precision, torch, tmp_path):
    X, y = bags()
    for kind, target, ask in (
        (DistributionRegressor, y, "predict"), (DistributionClassifier, y > 0, "decision_function"),
    ):  # fmt: skip
        model = kind(RandomFourier(40, precision=precision), random_state=0)
        theirs, mine = quietly(clone(model), X, target), quietly(clone(model).set_params(device=DEVICE), X, target)
        found = getattr(mine, ask)(X)
        assert isinstance(found, np.ndarray)
        np.testing.assert_allclose(found, getattr(theirs, ask)(X), rtol=1e-4, atol=1e-4)
        mine.save(tmp_path / "m.bochner")
        np.testing.assert_allclose(getattr(bochner.load(tmp_path / "m.bochner"), ask)(X), found, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(getattr(mine.set_params(device=None), ask)(X), found, rtol=1e-6, atol=1e-6)

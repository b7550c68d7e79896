"""`device=`: rows travel to a GPU and results come back, with the bits of the CPU where these are integers."""

import warnings

import numpy as np
import pytest

import bochner
from bochner import RandomFeatureClassifier, RandomFeatureRegressor, RandomFourier, RandomMaxout
from bochner.arrays import to_numpy
from bochner.blocks import MemoryBlocks, SumOf, on_device
from bochner.ops import devices
from helpers.devices import DEVICE

ON_GPU = pytest.mark.skipif(not DEVICE.startswith("cuda"), reason="there is no GPU")


class Total(SumOf):
    """The sum of all rows, beside their targets."""

    rows = 7

    def of(self, block):
        return block.X.sum(0) + block.y.sum()


def table(n=300):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 4))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
    return X, y, np.searchsorted(np.quantile(y, [0.3, 0.7]), y)


def quietly(model, *data, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*data, **more)


@pytest.mark.parametrize("name", ["gpu", "cuda:x", "mps", 3])
def test_devices_that_there_are_not(name):
    X, y, _ = table(20)
    with pytest.raises(ValueError, match=r"device must be None, 'cpu', 'cuda' or 'cuda:1'; got"):
        RandomFeatureRegressor(device=name).fit(X, y)


def test_no_gpu_is_one_sentence():
    if DEVICE.startswith("cuda"):
        pytest.skip("there is one")
    with pytest.raises(ValueError, match=r"device='cuda'.*(is not installed|use device=None or 'cpu')"):
        devices.require_device("cuda")


def test_the_cpu_is_a_device():
    X, y, _ = table()
    expected = quietly(RandomFeatureRegressor(RandomFourier(40, random_state=0)), X, y).predict(X)
    found = quietly(RandomFeatureRegressor(RandomFourier(40, random_state=0), device="cpu"), X, y).predict(X)
    assert np.array_equal(found, expected)


@pytest.mark.torch
@pytest.mark.parametrize("stays", [True, False])
def test_blocks_travel_to_a_device(stays):
    torch = pytest.importorskip("torch")
    X, y, _ = table(100)
    blocks = on_device(MemoryBlocks(X, y), devices.Carrier(DEVICE), stays)
    total = blocks.reduce(Total())
    assert isinstance(total, torch.Tensor)
    assert total.device.type == torch.device(DEVICE).type
    np.testing.assert_allclose(to_numpy(total), MemoryBlocks(X, y).reduce(Total()), rtol=1e-12)
    some = blocks.take(np.array([3, 50, 99]))
    assert np.array_equal(to_numpy(some.X), X[[3, 50, 99]])
    assert np.array_equal(to_numpy(blocks.read(10, 20).y), y[10:20])


@pytest.mark.torch
def test_sparse_rows_are_refused():
    pytest.importorskip("torch")
    import scipy.sparse

    with pytest.raises(ValueError, match="no sparse rows"):
        devices.Carrier(DEVICE).carry([scipy.sparse.eye_array(3, format="csr")])


@ON_GPU
@pytest.mark.torch
@pytest.mark.parametrize("stays", [True, False])
@pytest.mark.parametrize("precision", ["int8", "int14", None])
@pytest.mark.parametrize("basis", [RandomFourier(60, random_state=0), RandomMaxout(60, random_state=0)])
def test_a_fit_on_a_gpu_is_that_of_the_cpu(basis, precision, stays, monkeypatch, tmp_path):
    """Arrays in, arrays out; integer sums bit for bit; the fitted model predicts on either, from a file too."""
    if not stays:
        monkeypatch.setattr("bochner.models.placing.fits", lambda *data: False)
    X, y, labels = table()
    for kind, target in ((RandomFeatureRegressor, y), (RandomFeatureClassifier, labels)):
        with bochner.config_context(block_rows=64):
            theirs = quietly(kind(basis, precision=precision, alpha=0.1), X, target)
            mine = quietly(kind(basis, precision=precision, alpha=0.1, device=DEVICE), X, target)
            found, expected = mine.predict(X), theirs.predict(X)
        assert isinstance(found, np.ndarray)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
        assert mine.basis_.identity() == theirs.basis_.identity()
        if precision:
            assert np.array_equal(to_numpy(mine.moments_.gram), theirs.moments_.gram)
        mine.save(tmp_path / "m.bochner")
        loaded = bochner.load(tmp_path / "m.bochner")
        assert loaded.device is None
        np.testing.assert_allclose(loaded.predict(X), found, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(theirs.set_params(device=DEVICE).predict(X), expected, rtol=1e-5, atol=1e-5)


@ON_GPU
@pytest.mark.torch
def test_files_stream_to_a_gpu(tmp_path):
    X, y, _ = table(500)
    np.save(tmp_path / "x.npy", np.column_stack([X, y]).astype(np.float32))
    blocks = bochner.read(tmp_path / "x.npy", target=-1)
    basis = RandomFourier(60, precision="int8", random_state=0)
    with bochner.config_context(block_rows=64):
        theirs = quietly(RandomFeatureRegressor(basis, alpha=0.1), blocks)
        mine = quietly(RandomFeatureRegressor(basis, alpha=0.1, device=DEVICE), blocks)
    assert np.array_equal(to_numpy(mine.moments_.gram), theirs.moments_.gram)
    np.testing.assert_allclose(mine.predict(blocks), theirs.predict(blocks), rtol=1e-4, atol=1e-4)


@pytest.mark.torch
def test_what_has_no_version_there_is_refused():
    pytest.importorskip("torch")
    X, y, _ = table(30)
    if not DEVICE.startswith("cuda"):
        pytest.skip("there is no GPU")
    with pytest.raises(ValueError, match=r"no torch version of loss='huber': leave out device"):
        RandomFeatureRegressor(loss="huber", device=DEVICE).fit(X, y)
    with pytest.raises(ValueError, match="checkpoint"):
        RandomFeatureRegressor(device=DEVICE).fit(X, y, checkpoint="somewhere")

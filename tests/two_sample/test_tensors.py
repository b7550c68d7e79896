"""Two samples as tensors, or on a device, are compared as arrays are, where they are."""

import numpy as np
import pytest

from bochner import RandomBins, RandomFourier, RandomMaxout, mmd, mmd_test
from bochner.blocks import MemoryBlocks
from bochner.two_sample import pooled
from helpers.devices import DEVICE, tensor
from helpers.tensors import in_torch, require_close

pytestmark = pytest.mark.torch
ON_GPU = pytest.mark.skipif(not DEVICE.startswith("cuda"), reason="there is no GPU")


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


def samples(kind="float64", shift=0.2):
    rng = np.random.default_rng(0)
    return rng.standard_normal((600, 3)).astype(kind), (rng.standard_normal((900, 3)) + shift).astype(kind)


def require_same(mine, theirs, loose=1e-9):
    assert mine.design.identity() == theirs.design.identity()
    assert mine.pvalue == pytest.approx(theirs.pvalue, rel=1e-6)
    for name in ("statistic", "unbiased", "difference", "scores", "null_statistics"):
        found, expected = getattr(mine, name), getattr(theirs, name)
        if expected is None:
            assert found is None
            continue
        assert not hasattr(found, "device") or isinstance(found, np.ndarray | np.generic | float)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=loose * np.abs(expected).max())


@pytest.mark.parametrize("kind", ["float64", "float32"])
@pytest.mark.parametrize("precision", [None, "int8"])
@pytest.mark.parametrize("null", ["permutation", "wild", "asymptotic"])
def test_what_a_test_tells(null, precision, kind, torch):
    X, Y = samples(kind)
    basis = RandomMaxout(50, precision=precision, random_state=0)
    how = {"basis": basis, "null": null, "n_resamples": 99}
    theirs = mmd_test(X, Y, **how)
    with in_torch(torch, most=900):
        mine = mmd_test(tensor(X), tensor(Y), **how)
        witness = mine.witness(tensor(X))
    require_same(mine, theirs, 1e-9 if kind == "float64" else 1e-4)
    require_close(torch, witness, theirs.witness(X), 1e-5)
    assert isinstance(mine.witness(X), np.ndarray)
    if null == "permutation" and precision == "int8":
        assert np.array_equal(mine.null_statistics, theirs.null_statistics)


@pytest.mark.parametrize("unbiased", [True, False])
def test_the_discrepancy(unbiased, torch):
    X, Y = samples()
    how = {"basis": RandomFourier(100, random_state=0), "unbiased": unbiased}
    with in_torch(torch, most=900):
        found = mmd(tensor(X), tensor(Y), **how)
    assert isinstance(found, float)
    assert found == pytest.approx(mmd(X, Y, **how), rel=1e-9)
    assert mmd(tensor(X), Y, **how) == pytest.approx(found, rel=1e-9)  # one here, one there


def test_the_sample_of_both_has_the_bits_of_arrays(torch):
    X, Y = samples("float32")
    X[5:9] = X[4]
    theirs = pooled.pooled(MemoryBlocks(X), MemoryBlocks(Y), 100)
    mine = pooled.pooled(MemoryBlocks(tensor(X)), MemoryBlocks(tensor(Y)), 100)
    assert np.array_equal(mine.rows, theirs.rows)
    assert np.array_equal(mine.hashes, theirs.hashes)
    assert mine.largest == theirs.largest


def test_what_is_refused(torch):
    X, Y = (tensor(part) for part in samples())
    for first, second, more, message in (
        (X, Y[:, :2], {}, "X has 3 columns but Y has 2"),
        (X * float("nan"), Y, {}, "NaN"),
        (X, Y, {"basis": RandomBins(10)}, "no torch version of sparse features"),
        (X, Y, {"device": "mps"}, "device must be None"),
        (X[0], Y, {}, "Expected 2D array"),
    ):
        with pytest.raises(ValueError, match=message), in_torch(torch):
            mmd_test(first, second, **more)


@ON_GPU
@pytest.mark.parametrize("stays", [True, False])
@pytest.mark.parametrize("null", ["permutation", "wild", "asymptotic"])
def test_on_a_gpu(null, stays, torch, monkeypatch):
    if not stays:
        monkeypatch.setattr("bochner.models.placing.fits", lambda *data: False)
    X, Y = samples()
    how = {"basis": RandomFourier(50, precision="int8", random_state=0), "null": null, "n_resamples": 99}
    require_same(mmd_test(X, Y, device=DEVICE, **how), mmd_test(X, Y, **how))
    require_same(mmd_test(torch.from_numpy(X), torch.from_numpy(Y), device=DEVICE, **how), mmd_test(X, Y, **how))

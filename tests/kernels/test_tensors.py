"""Exact kernels of tensors are those of arrays, made where the tensors are."""

import numpy as np
import pytest
from sklearn.base import clone

from bochner import kernels, ops
from bochner.kernels import bessel
from helpers.cases import CASES, SPARSE
from helpers.devices import tensor
from helpers.tensors import in_torch, require_close

pytestmark = pytest.mark.torch
KERNELS = [
    kernels.Gaussian(1.5), kernels.Laplacian(2.0), kernels.Cauchy(1.5), kernels.Hat(3.0), kernels.Binning(2.0),
    *(kernels.Matern(1.5, nu) for nu in (0.5, 1.5, 2.5, 0.3, 1.0, 7.0, 49.5, 60.0)),
    *(kernels.Stable(p, q, 2.0) for p, q in ((1.0, 0.5), (2.0, 2.0), (2.0, 1.0), (1.5, 1.2))),
    kernels.UniformStump(2.0), kernels.NormalStump(), *(kernels.ArcCosine(order) for order in range(3)),
    *(kernels.Maxout(q) for q in (1, 2, 4)), kernels.Maxout(4, center=False), kernels.Gated(3), kernels.Collision(8),
    kernels.Ridge("relu", 0.7, 0.4),
]  # fmt: skip
BY_ANGLES = (kernels.ArcCosine, kernels.Ridge, kernels.Maxout, kernels.Gated, kernels.Collision)
IN_NUMPY = ("fourier ball", "fastfood ball", "ridge sigmoid", "ridge tanh", "ridge softsign", "cells shallow")
NONE = [kernels.BallMatern(2.0, dimension=3), kernels.Ridge("tanh"), kernels.AxisCells(np.zeros((3, 2)))]


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


def rows():
    """Different rows, equal ones, one of zeros, and rows that are very near and very far."""
    X = np.random.default_rng(0).standard_normal((40, 3))
    X[3], X[4], X[5], X[6] = X[2], 0.0, X[2] + 1e-9, 1e3 * X[2]
    return X


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_kernels_of_tensors(kernel, torch):
    X, Z = rows(), rows()[::3] + 0.1
    with in_torch(torch, most=0):
        square, other = kernel(tensor(X)), kernel(tensor(X.astype(np.float32)), tensor(Z))
    assert square.dtype == torch.float64
    loose = 1e-7 if isinstance(kernel, BY_ANGLES) else 1e-11  # half of the digits of a small angle are lost anywhere
    require_close(torch, square, kernel(X), loose)
    require_close(torch, other, kernel(X.astype(np.float32), Z), loose)


@pytest.mark.parametrize("kernel", NONE, ids=lambda kernel: type(kernel).__name__)
def test_kernels_without_a_torch_version_are_refused(kernel, torch):
    with pytest.raises(ValueError, match=f"no torch version of the kernel {type(kernel).__name__}: give X as a numpy"):
        kernel(tensor(rows()))


def test_a_kernel_of_ones_own_is_not_given_tensors_unasked(torch):
    class Own(kernels.Kernel):
        def _evaluate(self, X, Z):
            return np.exp(-(((X[:, None] - Z[None]) ** 2).sum(axis=2)))

    with pytest.raises(ValueError, match="no torch version of the kernel Own"):
        Own()(tensor(rows()))
    assert Own()(rows()).shape == (40, 40)


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0])
def test_near_rows_are_not_lost_in_rounding(p, torch):
    X, Z = rows(), rows()[::3]
    Z[0] = X[2] + 1e-12
    found = ops.distances(tensor(X), tensor(Z), p)
    require_close(torch, found, ops.distances(X, Z, p), 1e-14)
    assert float(found[2, 0]) == pytest.approx(float(ops.distances(X, Z, p)[2, 0]), rel=1e-9)


@pytest.mark.parametrize("v", [0.1, 0.5, 1.0, 1.5, 3.3, 12.5, 30.0, 49.5, 50.0, 80.0])
def test_bessel_functions_of_tensors(v, torch):
    r = np.geomspace(1e-3, 400.0, 200)
    expected = bessel.log_bessel_k(v, r)
    there = np.isfinite(expected)
    assert there.sum() > 100
    require_close(torch, bessel.log_bessel_k(v, tensor(r[there])), expected[there], 1e-12)
    if v % 1.0 == 0.5 and v < bessel.LARGE:
        require_close(torch, bessel._log_integral(v, tensor(r[there])), expected[there], 1e-12)


@pytest.mark.parametrize("name", [name for name in CASES if name not in SPARSE])
def test_kernels_of_bases(name, torch):
    X = rows()[7:]
    basis = clone(CASES[name]).set_params(n_components=8, random_state=0).fit(X)
    if name in IN_NUMPY:
        with pytest.raises(ValueError, match="no torch version of the kernel"), in_torch(torch):
            basis.kernel(tensor(X))
        return
    with in_torch(torch, most=0):
        found = basis.map_.exact_gram(tensor(X), tensor(X[:7]))
    require_close(torch, found, basis.map_.exact_gram(X, X[:7]), 1e-7)

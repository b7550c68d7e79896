"""Factors in lots, as GPUs make them of large matrices: right to 2^-16, which refinement takes to rounding level."""

import numpy as np
import pytest

from bochner import ops
from bochner.arrays import to_numpy
from bochner.solvers import solve_quickly
from helpers.devices import KERNELS, tensor

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(not KERNELS, reason="there is no GPU, and TRITON_INTERPRET is not 1"),
]


@pytest.fixture(params=[0, 3])
def factors(request, monkeypatch):
    """The module, with small lots; a factor of float32 products, or of pairs of bfloat16 numbers."""
    pytest.importorskip("torch")
    ops.dispatch.load_torch()
    from bochner.ops.cuda import factors

    for name, value in {"LOT": 16, "LEAST": 20, "PRODUCTS": request.param}.items():
        monkeypatch.setattr(factors, name, value)
    return factors


def gram(m, seed=0):
    z = np.random.default_rng(seed).standard_normal((2 * m, m)) * np.linspace(0.5, 3.0, m)
    return z.T @ z / len(z)


def close(found, expected, factors):
    error = np.linalg.norm(to_numpy(found) - expected) / np.linalg.norm(expected)
    return error < (1e-4 if factors.PRODUCTS else 1e-5)


@pytest.mark.parametrize(("m", "shift", "scale"), [(20, 0.5, 1.0), (33, 0.1, 1e20), (64, 0.5, 3.0), (150, 0.2, 0.01)])
def test_a_factor_in_lots_solves(factors, m, shift, scale):
    A = scale * gram(m)
    B = np.random.default_rng(1).standard_normal((m, 3))
    factor = ops.cholesky(tensor(A), shift * scale, scale, "float32")
    assert isinstance(factor, factors.FactorOfLots)
    whole = A + shift * scale * np.eye(m)
    assert close(factor.solve(tensor(B)), np.linalg.solve(whole, B), factors)
    assert close(factor.solve(tensor(B[:, 0])), np.linalg.solve(whole, B[:, 0]), factors)
    half = np.linalg.solve(np.linalg.cholesky(whole), B)
    assert close((factor.half_solve(tensor(B)) ** 2).sum(dim=0), (half**2).sum(axis=0), factors)
    few = m // 2 + 3
    assert close(factor.leading(few).solve(tensor(B[:few])), np.linalg.solve(whole[:few, :few], B[:few]), factors)
    assert abs(factor.log_determinant - np.linalg.slogdet(whole)[1]) < 1e-3 * m


def test_what_is_not_positive_definite_has_no_factor(factors):
    A = gram(50)
    assert ops.cholesky(tensor(A), -2.0, 1.0, "float32") is None
    A[40, 40] = np.nan
    assert ops.cholesky(tensor(A), 1.0, 1.0, "float32") is None
    assert not isinstance(ops.cholesky(tensor(gram(50)), 0.5, 1.0, "float64"), factors.FactorOfLots)
    assert not isinstance(ops.cholesky(tensor(gram(19)), 0.5, 1.0, "float32"), factors.FactorOfLots)


def test_refinement_takes_its_solutions_to_rounding_level(factors):
    A, B = gram(120), np.random.default_rng(2).standard_normal((120, 2))
    found, factor = solve_quickly(tensor(A), tensor(B), 1e-3)
    assert isinstance(factor, factors.FactorOfLots)
    np.testing.assert_allclose(to_numpy(found.coefficients), np.linalg.solve(A + 1e-3 * np.eye(120), B), rtol=1e-10)

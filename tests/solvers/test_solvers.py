"""Solvers: three ways to one answer, recovery of singular problems, and the whole penalty path."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

from bochner.moments import Moments
from bochner.solvers import (
    DualPath,
    RidgePath,
    dual_problem,
    sampled_preconditioner,
    solve_dual,
    solve_gram,
    solve_prefixes,
    solve_products,
    solve_quickly,
    solve_several,
)
from bochner.solvers.factor import factor_gram, rough_factor


def problem(seed, n, m, k, weighted):
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, m)) * 10.0 ** rng.uniform(-1, 1, m) + rng.standard_normal(m)
    return Z, rng.standard_normal((n, k)), rng.uniform(0.1, 3, n) if weighted else None


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 30),
    m=st.integers(1, 30),
    k=st.integers(1, 3),
    log_alpha=st.floats(-3, 4),
    intercept=st.booleans(),
    weighted=st.booleans(),
)
@settings(max_examples=200, deadline=None)
def test_primal_dual_and_conjugate_gradients_agree(seed, n, m, k, log_alpha, intercept, weighted):
    Z, y, weight = problem(seed, n, m, k, weighted)
    alpha = 10.0**log_alpha
    expected = (
        Ridge(alpha=alpha, fit_intercept=intercept, solver="svd").fit(Z, y, sample_weight=weight).coef_.reshape(k, m).T
    )
    centered = Moments.of(Z, y, weight).centered(1.0, intercept)
    primal = solve_gram(centered.gram, centered.cross, alpha).coefficients
    dual = solve_dual(dual_problem(Z @ Z.T, y, weight, intercept), alpha).coefficients
    root = np.ones(n) if weight is None else np.sqrt(weight)
    rows = ((Z - centered.mean_z) * root[:, None])[: max(1, n // 2)]
    precondition = sampled_preconditioner(rows, n / len(rows), 3 * alpha)
    free = solve_products(
        lambda v: centered.gram @ v,
        centered.cross,
        alpha,
        precondition=precondition,
        tolerance=1e-12,
        max_iterations=5000,
    )
    path = RidgePath(centered.gram, centered.cross, centered.square).coefficients(alpha)
    size = np.abs(expected).max() + 1e-9
    for found in (primal, (Z - centered.mean_z).T @ dual, free.coefficients, path):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7 * size)


@pytest.mark.parametrize("intercept", [True, False])
def test_paths_know_errors_degrees_and_likelihood(intercept):
    Z, y, _ = problem(0, 25, 12, 2, False)
    centered = Moments.of(Z, y).centered(1.0, intercept)
    primal = RidgePath(centered.gram, centered.cross, centered.square)
    dual_form = dual_problem(Z @ Z.T, y, None, intercept)
    dual = DualPath(dual_form.kernel, dual_form.target)
    Zc, yc = Z - centered.mean_z, y - centered.mean_y
    for alpha in (1e-3, 0.1, 10.0):
        hat = Zc @ np.linalg.solve(Zc.T @ Zc + alpha * np.eye(12), Zc.T)
        residual = yc - hat @ yc
        covariance = np.eye(25) + Zc @ Zc.T / alpha
        rows = 25 - intercept
        noise = np.array([c @ np.linalg.solve(covariance, c) for c in yc.T]) / rows
        logdet = np.linalg.slogdet(covariance)[1]
        likelihood = -0.5 * np.sum(rows * np.log(2 * np.pi * noise) + rows + logdet)
        gcv = 25 * np.sum(residual**2) / (25 - np.trace(hat) - intercept) ** 2
        for path in (primal, dual):
            np.testing.assert_allclose(path.errors(alpha)[0], np.sum(residual**2, axis=0), rtol=1e-8)
            assert path.degrees(alpha) == pytest.approx(np.trace(hat), rel=1e-9)
            assert path.generalised_cross_validation(alpha, 25, intercept) == pytest.approx(gcv, rel=1e-8)
            found, variance = path.log_marginal_likelihood(alpha, 25, intercept)
            assert found == pytest.approx(likelihood, rel=1e-9)
            np.testing.assert_allclose(variance, noise, rtol=1e-8)


def test_a_singular_gram_is_recovered_and_reported():
    Z = np.random.default_rng(0).standard_normal((10, 4))
    Z = np.hstack([Z, Z])  # every column twice
    y = Z @ np.ones((8, 1))
    solution = solve_gram(Z.T @ Z, Z.T @ y, 0.0)
    assert "recovered" in solution.status
    assert "4 of 8 directions dropped" in solution.status
    np.testing.assert_allclose(solution.coefficients, np.linalg.pinv(Z) @ y, rtol=1e-8)
    assert solution.residual < 1e-10


def test_a_bad_condition_is_refined():
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((60, 60)))[0]
    G = (Q * np.logspace(0, -9, 60)) @ Q.T
    G = 0.5 * (G + G.T)
    c = rng.standard_normal((60, 1))
    solution = solve_gram(G, c, 1e-10)
    assert solution.residual < 1e-6
    assert np.linalg.norm(G @ solution.coefficients + 1e-10 * solution.coefficients - c) < 1e-6 * np.linalg.norm(c)


def test_preconditioner_saves_iterations():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((2000, 300)) * np.logspace(1, -3, 300)
    G, c = Z.T @ Z, Z.T @ rng.standard_normal((2000, 2))
    plain = solve_products(lambda v: G @ v, c, 1e-2, max_iterations=3000)
    helped = solve_products(lambda v: G @ v, c, 1e-2, precondition=sampled_preconditioner(Z[:500], 4.0, 1e-2))
    assert helped.iterations < plain.iterations / 5
    direct = solve_gram(G, c, 1e-2).coefficients
    np.testing.assert_allclose(helped.coefficients, direct, rtol=1e-3, atol=1e-4 * np.abs(direct).max())


def test_short_of_tolerance_is_said():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((50, 50))
    solution = solve_products(lambda v: A.T @ (A @ v), rng.standard_normal((50, 1)), 1e-9, max_iterations=2)
    assert "short of the tolerance" in solution.status
    assert solution.iterations == 2


def test_one_feature():
    path = RidgePath(np.array([[4.0]]), np.array([[2.0]]), np.array([3.0]))
    assert path.coefficients(1.0)[0, 0] == pytest.approx(0.4)
    assert path.degrees(1.0) == pytest.approx(0.8)


@pytest.mark.parametrize("rows", [30, 100])
@pytest.mark.parametrize("ratio", [10.0, 1e6])
def test_several_penalties(ratio, rows, monkeypatch):
    """By float32 factors, whole or in lots, where these serve; else by float64 ones; impossible ones not at all."""
    monkeypatch.setattr("bochner.ops.linear_algebra.ROWS", rows)
    Z = np.random.default_rng(0).standard_normal((80, 60)) * np.logspace(0, -4, 60)
    gram, cross = Z.T @ Z, Z.T @ np.random.default_rng(1).standard_normal((80, 3))
    alphas = ratio ** np.arange(-3.0, 2.0)
    for alpha, found in zip(alphas, solve_several(gram, cross, alphas), strict=True):
        np.testing.assert_allclose(found, solve_gram(gram, cross, alpha).coefficients, rtol=1e-3, atol=1e-4)
    assert solve_several(gram - np.eye(60), cross, [0.1, 0.2, 0.3, 1e3])[:3] == [None] * 3
    assert solve_several(gram, cross, []) == []
    huge = solve_several(1e50 * gram, 1e50 * cross, [1e49])[0]
    np.testing.assert_allclose(huge, solve_gram(gram, cross, 0.1).coefficients, rtol=1e-3, atol=1e-4)
    sizes = np.array([1e-50, 1.0, 1e50])  # which float32 does not hold
    for alpha in (0.1, 1e50):
        exact = solve_gram(gram, cross, alpha).coefficients
        np.testing.assert_allclose(solve_several(gram, sizes * cross, [alpha])[0], sizes * exact, rtol=1e-3)


@pytest.mark.parametrize("size", [1e-50, 1.0, 1e50])
@pytest.mark.parametrize(("least", "is_rough"), [(-2, True), (-5, False)])
def test_a_quick_solution_is_as_exact(least, is_rough, size):
    """By a float32 factor and refinement where that leads there; where it does not, by a float64 factor."""
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((80, 60)) * np.logspace(0, least, 60) @ np.linalg.qr(rng.standard_normal((60, 60)))[0]
    gram, cross = size * Z.T @ Z, size * Z.T @ np.random.default_rng(1).standard_normal((80, 3))
    alpha = 1e-10 * size
    found, factor = solve_quickly(gram, cross, alpha)
    assert (factor.lots[0].dtype == np.float32) == is_rough
    exact = solve_gram(gram, cross, alpha)
    assert found.residual < max(1e-15, 2 * exact.residual)
    np.testing.assert_allclose(found.coefficients, exact.coefficients, rtol=1e-9 if is_rough else 1e-6)
    inverse = np.linalg.inv(gram / size + 1e-10 * np.eye(60)) / size
    tolerance = 1e-3 if is_rough else 1e-5
    energies = np.sum(factor.half_solve(cross) ** 2, axis=0)
    np.testing.assert_allclose(energies, np.sum(cross * (inverse @ cross), axis=0), rtol=tolerance)
    np.testing.assert_allclose(factor.log_determinant, -np.linalg.slogdet(inverse)[1], rtol=tolerance)


@pytest.mark.parametrize(("least", "alpha"), [(0, 1.0), (-5, 1e-10)])
def test_one_factor_solves_for_the_first_features_too(least, alpha):
    """By the leading blocks of a float32 factor, as exactly as by factors of their own; where it is noise, by those."""
    rng = np.random.default_rng(2)
    Z = rng.standard_normal((70, 50)) * np.logspace(0, least, 50)
    gram, cross = Z.T @ Z, Z.T @ rng.standard_normal((70, 3))
    sizes = (1, 7, 50, 20)
    for m, found in zip(sizes, solve_prefixes(gram, cross, alpha, sizes), strict=True):
        exact = solve_gram(gram[:m, :m], cross[:m], alpha)
        assert found.coefficients.shape == (m, 3) and found.residual < 1e-12
        np.testing.assert_allclose(found.coefficients, exact.coefficients, rtol=1e-6)


def test_a_quick_solution_of_a_singular_matrix_is_recovered():
    """The float32 factor is noise in the direction that is missing, which no residual shows."""
    Q = np.linalg.qr(np.random.default_rng(5).standard_normal((6, 6)))[0][:, :5]
    cross = Q @ np.ones((5, 1))
    found, factor = solve_quickly(Q @ Q.T, cross, 0.0)
    assert factor is None
    assert "1 of 6 directions dropped" in found.status
    np.testing.assert_allclose(found.coefficients, cross, atol=1e-12)


def test_a_factor_of_what_is_not_finite_is_none():
    for bad in (np.nan, np.inf):
        gram = np.eye(5)
        gram[2, 2] = bad
        assert factor_gram(gram, 0.1) is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "rows"), [(1, 4), (5, 2), (64, 16), (100, 30), (50, 768)])
def test_a_factor_in_lots_of_rows(n, rows, dtype, monkeypatch):
    """scale R'R is the matrix; leading rows and columns have the leading part; what is not positive has none."""
    monkeypatch.setattr("bochner.ops.linear_algebra.ROWS", rows)
    Z = np.random.default_rng(0).standard_normal((n + 5, n))
    gram = Z.T @ Z + 0.5 * np.eye(n)
    make = rough_factor if dtype == np.float32 else factor_gram
    factor = make(gram - 0.25 * np.eye(n), 0.25)
    assert all(lot.dtype == dtype for lot in factor.lots)
    tolerance = 1e4 * np.finfo(dtype).eps
    for leading in {0, 1, n // 2, n}:
        part = factor.leading(leading)
        square, columns = gram[:leading, :leading], Z.T[:leading]
        for c in (columns, columns[:, 0]):
            np.testing.assert_allclose(square @ part.solve(c), c, atol=tolerance)
            assert part.half_solve(c).dtype == part.solve(c).dtype == np.float64
        energies = np.sum(columns * np.linalg.solve(square, columns), axis=0)
        np.testing.assert_allclose(np.sum(part.half_solve(columns) ** 2, axis=0), energies, rtol=tolerance)
        np.testing.assert_allclose(part.log_determinant, np.linalg.slogdet(square)[1], rtol=tolerance, atol=tolerance)
    assert make(gram, -float(np.trace(gram))) is None

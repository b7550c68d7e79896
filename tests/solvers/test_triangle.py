"""One triangle of the Gram matrix and one factor: the solution of Cholesky's method, in half a matrix."""

import numpy as np
import pytest
from scipy.special import expit

from bochner import RandomFeatureClassifier, RandomFeatureRegressor, RandomFourier, RandomMaxout, config_context
from bochner.costs import choose_exact
from bochner.ops.reference_sums import LOT, triangle_lots, triangle_size
from bochner.solvers.triangle import TriangleSums, TriangleSystem

COLUMNS = (5, LOT, LOT + 1, 2 * LOT + 50)  # less than a lot, one, one and a bit, three


def task(n=400, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("kind", [np.int8, np.float64])
def test_lots_and_products_are_those_of_the_whole_matrix(columns, kind):
    rng = np.random.default_rng(0)
    Z, y = rng.integers(-99, 99, (70, columns)).astype(kind), rng.standard_normal((70, 2))
    sums = TriangleSums.empty(columns, 70, kind == np.int8)
    for part in (slice(0, 30), slice(30, 70)):
        sums.add(Z[part], y[part], None)
    wide = Z.astype(np.float64)
    assert sums.triangle.size == triangle_size(columns)
    for k, lot in enumerate(triangle_lots(sums.triangle, columns)):
        whole = (wide.T @ wide)[k * LOT :, k * LOT : (k + 1) * LOT]
        assert np.array_equal(np.tril(lot), np.tril(whole))
    scale = rng.uniform(0.5, 2.0, columns)
    system, v = TriangleSystem(sums, scale, intercept=True), rng.standard_normal((columns, 3))
    centred = scale * (wide - wide.mean(axis=0))
    np.testing.assert_allclose(system.product(v), centred.T @ (centred @ v), rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(system.cross, centred.T @ y, rtol=1e-9, atol=1e-8)
    assert system.trace == pytest.approx((centred**2).sum())
    expected = np.linalg.solve(centred.T @ centred + 3e3 * np.eye(columns), centred.T @ y)
    np.testing.assert_allclose(system.solve(3e3, 1e-9).coefficients, expected, rtol=1e-6, atol=1e-9)
    # The factor made for one penalty serves another, and a matrix with more rows.
    expected = np.linalg.solve(centred.T @ centred + 1e3 * np.eye(columns), centred.T @ y)
    np.testing.assert_allclose(system.solve(1e3, 1e-9).coefficients, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("precision", [None, "float32", "int8", "int14"])
@pytest.mark.parametrize("weighted", [False, True])
def test_predictions_are_those_of_cholesky(precision, weighted):
    X, y = task()
    weight = np.arange(len(X)) % 4 + 0.5 if weighted else None
    models = [
        RandomFeatureRegressor(RandomMaxout(500), alpha=0.3, solver=solver, precision=precision, random_state=0)
        for solver in ("cholesky", "triangle")
    ]
    one, other = (model.fit(X, y, sample_weight=weight) for model in models)
    np.testing.assert_allclose(other.predict(X), one.predict(X), rtol=1e-4, atol=1e-5)
    assert "one triangle" in other.explain_fit()


def test_the_penalty_is_chosen_at_full_size_with_one_factor(monkeypatch):
    X, y = task(700)
    made = []
    factorise = TriangleSystem.factorise
    monkeypatch.setattr(TriangleSystem, "factorise", lambda self, alpha: made.append(alpha) or factorise(self, alpha))
    model = RandomFeatureRegressor(RandomFourier(600), solver="triangle", random_state=0).fit(X[:500], y[:500])
    assert len(made) == 1
    told = model.score(X[500:], y[500:])
    candidates = [
        RandomFeatureRegressor(RandomFourier(600), solver="triangle", alpha=a, random_state=0).fit(X[:500], y[:500])
        for a in np.logspace(-4, 2, 7)
    ]
    assert told > max(other.score(X[500:], y[500:]) for other in candidates) - 0.02
    assert model.cv_score_ == pytest.approx(told, abs=0.1)


def test_probabilities_come_from_rows_left_out():
    X, signal = task(1500)
    rng = np.random.default_rng(1)
    y = rng.uniform(size=len(X)) < expit(2.0 * signal)
    model = RandomFeatureClassifier(RandomFourier(500), solver="triangle", precision="int8", random_state=0)
    p = model.fit(X[:1000], y[:1000]).predict_proba(X[1000:])[:, 1]
    whole = RandomFeatureClassifier(RandomFourier(500), solver="cholesky", precision="int8", random_state=0)
    q = whole.fit(X[:1000], y[:1000]).predict_proba(X[1000:])[:, 1]
    loss = [-np.mean(np.log(np.where(y[1000:], a, 1.0 - a))) for a in (p, q)]
    assert loss[0] < loss[1] + 0.05
    assert "a held-out fifth, at full size" in model.explain_fit()


def test_it_is_chosen_where_a_whole_matrix_has_no_room():
    assert choose_exact(60_000, 9_000)[0] == "cholesky"
    assert choose_exact(60_000, 18_000)[0] == "triangle"
    assert choose_exact(60_000, 90_000)[0] == "cg"
    with config_context(memory="20GB"):
        assert choose_exact(60_000, 18_000)[0] == "cholesky"

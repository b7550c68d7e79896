"""The columns themselves beside the features: as floats, as 16-bit codes, and as units and parts of 8 bits."""

import numpy as np
import pytest
from sklearn.linear_model import RidgeCV

from bochner import RandomFeatureRegressor, RandomFourier
from bochner.maps.linear import LARGEST, PARTS, REACH, LinearPart
from bochner.solvers import DoublyStochastic


def tails(rows, rng):
    """Columns from tame to wild, one of rare counts and one that does not vary."""
    normal, student, cauchy = rng.normal(size=rows), rng.standard_t(2, rows), rng.standard_cauchy(rows)
    return np.column_stack([normal, student, cauchy, rng.poisson(0.05, rows), np.full(rows, 3.0)]).astype(float)


@pytest.mark.parametrize("dtype", [np.int8, np.int16])
def test_codes_are_the_values_to_half_a_step(dtype):
    X = tails(2000, np.random.default_rng(0))
    part = LinearPart.of(X, 1.0)
    codes, scale, d = part.codes(X, np.dtype(dtype)), part.code_scale(np.dtype(dtype)), X.shape[1]
    assert codes.dtype == dtype
    told = codes * scale
    told = told[:, :d] + told[:, d:] if dtype == np.int8 else told
    step = part.weight * (part.unit / PARTS if dtype == np.int8 else 1.0 / 16.0)
    near = np.abs(X - part.center) / part.spread <= REACH
    error = np.abs(told - part.values(X))
    assert (error <= step / 2 * (1 + 1e-9) + 1e-12)[near].all()
    assert (codes[:, d - 1] == 0).all()


def test_units_reach_beyond_the_sample_and_no_further():
    X = tails(2000, np.random.default_rng(1))
    part = LinearPart.of(X, 1.0)
    largest = np.abs((X - part.center) / part.spread).max(axis=0)
    reach = part.unit * LARGEST
    assert (reach >= np.minimum(2.0 * largest, REACH) * (1 - 1e-6))[:-1].all()
    far = part.codes(part.center + part.spread * 10 * REACH * np.ones((1, X.shape[1])), np.dtype(np.int8))
    assert (far[0, : X.shape[1]] == LARGEST).all()
    assert (far[0, X.shape[1] :] == 0).all()


@pytest.mark.parametrize("precision", ["int8", "int14"])
@pytest.mark.parametrize("seed", range(3))
def test_a_line_goes_on_where_few_rows_are(precision, seed):
    """Counts of which hardly one row in a hundred has two: what two is worth follows from what one is."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.05, size=(2900, 30)).astype(float)
    y = X @ rng.normal(size=30) + 0.1 * rng.normal(size=2900)
    model = RandomFeatureRegressor(RandomFourier(100), precision=precision, random_state=0).fit(X[:900], y[:900])
    ridge = RidgeCV(np.logspace(-3, 5, 17)).fit(X[:900], y[:900])
    ours, theirs = (np.mean((m.predict(X[900:]) - y[900:]) ** 2) for m in (model, ridge))
    assert ours <= 1.05 * theirs


@pytest.mark.parametrize("solver", ["cholesky", "dual", "cg", "sgd", "adam", DoublyStochastic()], ids=str)
@pytest.mark.parametrize("precision", [None, "int8"])
def test_every_solver_learns_the_columns_beside_the_features(solver, precision):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 4))
    y = X @ [1.0, 2.0, 0.0, -1.0] + np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=1500)
    basis = RandomFourier(300)
    model = RandomFeatureRegressor(basis, linear=True, solver=solver, precision=precision, alpha=1.0, random_state=0)
    model.fit(X[:1000], y[:1000])
    assert model.score(X[1000:], y[1000:]) > 0.9
    np.testing.assert_allclose(model.linear_coef_[1:], [2.0, 0.0, -1.0], atol=0.4)

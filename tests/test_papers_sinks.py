"""Kitchen sinks and random bases: the race is timed rightly, coefficients are the paper's, settings see no test row.

And what forest needs of the library: least squares on sparse features of very many columns.
"""

import numpy as np
import pytest
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeClassifier

import bochner
from bochner import (
    GatedLinear,
    RandomBins,
    RandomFeatureClassifier,
    RandomFeatureRegressor,
    RandomFourier,
    RandomStumps,
)
from bochner.data import Split
from bochner.maps import BinsMap
from bochner.models.ways import feature_cache
from bochner.moments import Moments
from bochner.papers.kitchen_sinks import coefficient_decay, racing
from bochner.papers.random_bases import fitting, kernels, tasks

RNG = np.random.default_rng(0)
X = RNG.standard_normal((400, 5))
Y = np.sin(3 * X[:, 0]) + X[:, 1]


# ---- the race ----


def test_one_boosting_run_gives_every_number_of_stumps():
    """The K-th stage is the run of K stumps, and its time is below that of later stages."""
    split = racing.breast_cancer()
    points = racing.boosted_stumps(split, (3, 10))
    for point in points:
        alone = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=point.terms, random_state=0)
        assert point.error == pytest.approx(100 * (1 - alone.fit(split.X, split.y).score(split.X_test, split.y_test)))
    assert 0 < points[0].seconds < points[1].seconds


def test_speedups_are_taken_at_errors_that_both_reach():
    ours = [racing.Point(100, 20.0, 1.0), racing.Point(1000, 15.0, 2.0)]
    theirs = [racing.Point(1, 20.0, 10.0), racing.Point(10, 15.5, 30.0), racing.Point(20, 14.0, 60.0)]
    assert racing.speedups_at_equal_error(ours, theirs) == [10.0, 15.0]
    assert racing.soonest(ours, 14.0) is None
    assert racing.best(theirs).terms == 20


# ---- coefficients ----


def test_coefficients_are_those_of_plus_and_minus_one():
    """As scikit-learn finds them on sgn(x_k - t); a shorter list of stumps is the beginning of a longer one."""
    y = np.where(Y > 0, 1, -1)
    found = coefficient_decay.largest_coefficients(X, y[:, None], (10, 30), seed=3)
    for count, largest in zip((10, 30), found, strict=True):
        signs = RandomStumps(count, thresholds="normal", precision="int8", random_state=3).fit_transform(X)
        assert set(np.unique(signs)) == {-1, 1}
        ridge = Ridge(alpha=coefficient_decay.PENALTY * len(y)).fit(signs.astype(float), y)
        assert largest == pytest.approx(np.abs(ridge.coef_).max(), rel=1e-6)


def test_repeated_features_share_their_weight():
    """Twice the same stumps halve the largest coefficient: the 1/K of the figure's far end."""
    y = np.where(Y > 0, 1, -1)[:, None]
    signs = RandomStumps(20, thresholds="normal", precision="int8", random_state=0).fit_transform(X)
    once, twice = (Moments.of(np.tile(signs, k), y).centered() for k in (1, 2))
    ratio = coefficient_decay.largest_of(twice) / coefficient_decay.largest_of(once)
    assert ratio == pytest.approx(0.5, rel=1e-3)


# ---- kernels and tasks ----


def test_a_wrong_kernel_is_found_out():
    points = RNG.uniform(-1, 1, (5, 4))
    for row in kernels.ROWS:
        sample = kernels.products(row, points, 32, 200)
        assert kernels.largest_z(sample, row.right(points)) < kernels.LIMIT
        assert kernels.largest_z(sample, 0.9 * row.right(points)) > kernels.LIMIT


def test_regression_error_is_relative_to_the_targets():
    cpu, adult = tasks.TASKS[0], tasks.TASKS[2]
    assert cpu.error(np.array([3.0, 0.0]), np.array([3.0, 4.0])) == pytest.approx(80.0)
    assert adult.error(np.array([1.0, -1.0]), np.array([1.0, 1.0])) == 50.0


def test_forest_columns_keep_one_unit():
    """Ratios between the numbers stay, indicators stay, and test rows follow the training rows."""
    rows = np.column_stack([RNG.uniform(0, 1000, (50, 10)), RNG.integers(0, 2, (50, 44))]).astype(np.float32)
    split = tasks.forest_columns(Split(rows, np.ones(50), rows[:5], np.ones(5)))
    np.testing.assert_allclose(split.X[:, 3] / split.X[:, 0], rows[:, 3] / rows[:, 0], rtol=1e-5)
    np.testing.assert_array_equal(split.X[:, 10:], rows[:, 10:])
    assert split.X[:, 0].std() == pytest.approx(1.0, rel=1e-5)
    np.testing.assert_array_equal(split.X_test, split.X[:5])


@pytest.mark.parametrize("choose", [fitting.choose_fourier, fitting.choose_bins])
def test_settings_are_chosen_without_the_test_rows(choose):
    """Whatever the test rows and their targets are, the choice is the same."""
    task = tasks.quick_tasks()[0]
    split = task.load()
    spoiled = split._replace(X_test=np.zeros_like(split.X_test), y_test=1 - split.y_test)
    first, second = choose(task, split), choose(task, spoiled)
    assert first.basis.bandwidth == second.basis.bandwidth
    assert first.alpha == second.alpha


# ---- sparse features of many columns ----


def test_sparse_bases_say_how_little_a_row_takes():
    assert RandomBins(1 << 20, n_grids=50).entries == 100
    assert RandomFourier(300).entries == 300
    assert GatedLinear(64, pool_size=4, sparse_output=True).entries == 32
    assert GatedLinear(64, pool_size=4).entries == 64


@pytest.mark.parametrize("memory", ["4GB", "100KB"], ids=["kept", "made again"])
def test_many_sparse_columns_by_conjugate_gradients(memory, monkeypatch):
    """Equal to Ridge on the same features; made once where they fit in memory, and again in every pass where not."""
    made = []
    whole = BinsMap.evaluate
    monkeypatch.setattr(BinsMap, "evaluate", lambda self, X: made.append(len(X)) or whole(self, X))
    basis = RandomBins(1 << 14, n_grids=20, bandwidth=8.0, random_state=0)
    with bochner.config_context(memory=memory):
        model = RandomFeatureRegressor(basis, alpha=0.3, solver="cg").fit(X, Y)
    passes = sum(made) / len(X)
    ridge = Ridge(alpha=0.3, tol=1e-10).fit(basis.fit_transform(X).toarray(), Y)
    np.testing.assert_allclose(model.predict(X), ridge.predict(basis.transform(X).toarray()), atol=1e-5)
    assert passes < 4 if memory == "4GB" else passes > 10


def test_blocks_of_sparse_features_are_not_those_of_dense_ones():
    """A row of a million columns that fills a hundred must not be counted as a million numbers."""
    from bochner.blocks import MemoryBlocks
    from bochner.models.ways.problem import Problem

    def rows_of(basis):
        return feature_cache.kept_features(Problem(basis.fit(X), MemoryBlocks(X, Y[:, None]), 1.0, True, False)).rows

    assert rows_of(RandomBins(1 << 20, n_grids=50)) > 100 * rows_of(RandomFourier(1 << 20))


def test_probabilities_where_leverages_are_too_many_to_ask_for(monkeypatch):
    """With very many columns the temperature comes from rows left out of a second fit."""
    y = Y > 0
    monkeypatch.setattr(bochner.models.ways.matrix_free, "LEVERAGES", 10**9)
    basis = RandomBins(1 << 12, n_grids=20, bandwidth=8.0, random_state=0)
    model = RandomFeatureClassifier(basis, alpha=0.3, solver="cg").fit(X, y)
    assert "left out" in model.explain_fit()
    assert model.temperature_ > 0
    alike = RandomFeatureClassifier(basis, alpha=0.3, solver="cholesky").fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), alike.decision_function(X), atol=1e-5)

"""Kitchen sinks and random bases: the race is timed rightly, coefficients are the paper's, settings see no test row."""

import numpy as np
import pytest
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeClassifier

from bochner import (
    RandomStumps,
)
from bochner.data import Split
from bochner.moments import Moments
from bochner_papers.kitchen_sinks import coefficient_decay, racing
from bochner_papers.random_bases import fitting, kernels, tasks

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

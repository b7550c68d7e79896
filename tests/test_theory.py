"""Bounds hold where they can be checked, counts of features suffice, and measured errors behave."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from bochner import Fastfood, GatedLinear, RandomBins, RandomFourier, RandomMaxout, RandomRidge, RandomStumps, theory
from helpers.cases import CASES, dense

X = np.random.default_rng(0).standard_normal((20, 4))
X /= np.linalg.norm(X, axis=1, keepdims=True)  # the unbounded bases promise for |x| <= 1


def test_kitchen_sinks_bound_by_hand():
    bound = theory.kitchen_sinks_bound(10_000, 400, max_coefficient=2.0, lipschitz=3.0, loss_at_zero=1.0, delta=0.1)
    root = np.sqrt(2 * np.log(10))
    assert bound.estimation == pytest.approx((24 + 2 + 6 * root) / 100)
    assert bound.approximation == pytest.approx(6 * (1 + root) / 20)
    assert bound.total == pytest.approx(2 * bound.estimation + bound.approximation)


def test_l2_bound_holds_for_a_function_of_the_class():
    """Averages of beta cos(w'x + b) with |beta| <= 1: the bound fails in at most delta of the runs."""
    grid, m, delta = np.linspace(-2, 2, 60), 30, 0.2
    rng = np.random.default_rng(0)

    def average(count):
        w, b = rng.standard_normal(count), rng.uniform(-np.pi, np.pi, count)
        return np.sign(np.cos(b)) @ np.cos(np.outer(w, grid) + b[:, None]) / count

    target = average(400_000)
    failures = sum(
        np.sqrt(np.mean((average(m) - target) ** 2)) >= theory.l2_approximation(m, delta=delta) for _ in range(300)
    )
    assert failures <= 300 * delta


def test_bounds_shrink_with_m():
    small, large = (
        theory.uniform_approximation(m, lipschitz=1.0, radius=2.0, weight_moment=3.0) for m in (100, 10_000)
    )
    assert small == pytest.approx(10 * large)
    rate = theory.maxout_rate(1000, 5000, pool_size=4, intrinsic_dimension=5.0, dimension=100)
    assert rate["estimation"] == pytest.approx(np.sqrt(1.5513 / 1000), rel=1e-4)
    assert (
        rate["approximation"]
        < theory.maxout_rate(1000, 500, pool_size=4, intrinsic_dimension=5.0, dimension=100)["approximation"]
    )


def circle(dimension, rows=200):
    """The unit circle in the first two of some columns: a ball of it is covered by 2^2 of half the radius."""
    angle = np.linspace(0, 2 * np.pi, rows, endpoint=False)
    return np.column_stack([np.cos(angle), np.sin(angle), np.zeros((rows, dimension - 2))])


@pytest.mark.parametrize("q", [1, 4, 16])
def test_the_largest_maxout_feature_is_below_its_bound(q):
    """Over a circle, in all but delta of the draws; and the bound is no more than some times what is seen."""
    rows, delta, rng = circle(50), 0.2, np.random.default_rng(0)
    drawn = rng.standard_normal((300, q, 50)) @ rows.T
    largest = np.abs(drawn.max(axis=1)).max(axis=1)
    bound = theory.maxout_supremum(pool_size=q, intrinsic_dimension=2.0, dimension=50, delta=delta)
    assert np.mean(largest > bound) <= delta
    assert bound < 6 * np.quantile(largest, 1 - delta)
    longer = theory.maxout_supremum(pool_size=q, intrinsic_dimension=2.0, dimension=50, delta=delta, radius=3.0)
    assert longer == pytest.approx(3 * bound)


def test_maxout_bound_by_hand():
    setting = {"pool_size": 4, "intrinsic_dimension": 3.0, "dimension": 20}
    largest = theory.maxout_supremum(**setting, units=400, delta=0.1)
    bound = theory.maxout_bound(10_000, 400, **setting, max_coefficient=2.0, lipschitz=3.0, delta=0.1)
    assert bound.estimation == pytest.approx((12 * np.sqrt(1.5513) + 1 + np.sqrt(2 * np.log(20))) / 100, rel=1e-4)
    assert bound.approximation == pytest.approx(6 * largest * (1 + np.sqrt(2 * np.log(10))) / 20)
    named = theory.maxout_bound(10_000, 400, **setting, max_coefficient=2.0, loss="hinge")
    assert named.total == theory.maxout_bound(10_000, 400, **setting, max_coefficient=2.0, lipschitz=1.0).total
    with pytest.raises(ValueError, match="either a loss or its Lipschitz constant"):
        theory.maxout_bound(10, 10, **setting, max_coefficient=1.0)


def test_so_many_maxout_features_cost_no_more_than_rows():
    setting = {"pool_size": 4, "intrinsic_dimension": 3.0, "dimension": 20}
    m = theory.maxout_features(1000, **setting)
    assert m >= 1000 * theory.maxout_supremum(**setting, units=m) ** 2
    assert m - 1 < 1000 * theory.maxout_supremum(**setting, units=m - 1) ** 2 + 1
    assert 9 < theory.maxout_features(10_000, **setting) / m < 12  # n, and the logarithm of m


PROMISES = [
    RandomFourier(bandwidth=1.0),
    RandomFourier(bandwidth=1.0, pairs=False),
    RandomFourier(bandwidth=1.0, sampling="orthogonal"),
    Fastfood(bandwidth=1.0),
    RandomMaxout(),
    RandomMaxout(structured=True, center=False),
    GatedLinear(),
    RandomStumps(radius=1.0),
    RandomRidge(activation="relu"),
    RandomRidge(),
    RandomBins(200, bandwidth=3.0),
]


@pytest.mark.parametrize("basis", PROMISES, ids=lambda b: repr(b)[:50])
def test_as_many_features_as_promised_are_enough(basis):
    """For each pair, the error exceeds the asked one in at most delta of the seeds (and z-score slack of none)."""
    error, delta, seeds = 0.6, 0.2, 60
    fitted = clone(basis).fit(X)
    m = theory.features_needed(fitted, error, delta)
    exact = fitted.kernel(X)
    misses = np.zeros_like(exact)
    for seed in range(seeds):
        size = {"n_grids" if isinstance(basis, RandomBins) else "n_components": m}
        Z = dense(clone(basis).set_params(**size, random_state=seed).fit_transform(X))
        misses += np.abs(Z @ Z.T - exact) > error
    assert misses.max() / seeds <= delta


def test_features_needed_grows_as_it_should():
    basis = RandomFourier().fit(X)
    assert theory.features_needed(basis, 0.01) == pytest.approx(100 * theory.features_needed(basis, 0.1), rel=1e-3)
    assert theory.features_needed(RandomBins(20_000).fit(X), 0.1) == np.ceil(0.25 / (0.01 * 0.05 - 1 / 20_000))
    with pytest.raises(ValueError, match="hash collisions alone may exceed this error: use over 2000 columns"):
        theory.features_needed(RandomBins(64).fit(X), 0.1)
    with pytest.raises(NotFittedError):
        theory.features_needed(Fastfood(), 0.1)
    for refused in (RandomFourier(sampling="qmc"), RandomMaxout(shared_projections=9), RandomRidge(activation=np.sin)):
        with pytest.raises(ValueError, match="bound"):
            theory.features_needed(refused.fit(X), 0.1)


@pytest.mark.parametrize("name", ["fourier", "bins", "maxout"])
def test_kernel_error_is_covered_and_falls(name):
    few = theory.kernel_error(clone(CASES[name]), X, repeats=10)
    if name == "bins":
        many = theory.kernel_error(clone(CASES[name]).set_params(n_grids=700, n_components=60_000), X, repeats=10)
    else:
        many = theory.kernel_error(clone(CASES[name]).set_params(n_components=10_000), X, repeats=10)
    assert few.rms == pytest.approx(10 * many.rms, rel=0.35)
    assert few.rms_interval[0] < few.rms < few.rms_interval[1]
    assert few.rms < few.largest
    assert few.pairs == 400


def test_kernel_error_interval_covers():
    """The mean of a 10-seed run lies within its own interval of the mean of a 200-seed run."""
    basis = RandomFourier(50, bandwidth=1.0)
    from bochner.theory import kernel_error

    long = kernel_error(basis, X, repeats=200).rms
    short = kernel_error(basis, X, repeats=10)
    assert short.rms_interval[0] < long < short.rms_interval[1]


@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_intrinsic_dimension(dimension):
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, (3000, dimension)) @ np.linalg.qr(rng.standard_normal((20, dimension)))[0].T
    assert theory.intrinsic_dimension(rows) == pytest.approx(dimension, rel=0.12)
    angle = rng.uniform(0, 2 * np.pi, 6000)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    assert theory.intrinsic_dimension(circle, neighbors=3) == pytest.approx(1.0, rel=0.03)
    with pytest.raises(ValueError, match="at least 4 different rows"):
        theory.intrinsic_dimension(np.ones((10, 2)))


def test_kernel_error_takes_what_a_basis_takes():
    pandas = pytest.importorskip("pandas")
    expected = theory.kernel_error(RandomFourier(50, bandwidth=1.0), X, repeats=3)
    for rows in (pandas.DataFrame(X, columns=list("abcd")), scipy.sparse.csr_matrix(X), X.tolist()):
        assert theory.kernel_error(RandomFourier(50, bandwidth=1.0), rows, repeats=3).rms == pytest.approx(expected.rms)


def test_bad_arguments():
    with pytest.raises(ValueError, match="confidence must be between 0 and 1"):
        theory.kernel_error(RandomFourier(), X, confidence=2)
    with pytest.raises(ValueError, match="delta must be between 0 and 1"):
        theory.l2_approximation(10, delta=1.5)
    with pytest.raises(ValueError, match="error must be a positive"):
        theory.features_needed(RandomFourier().fit(X), 0.0)

"""Models: equality with scikit-learn on the same features, exact streaming, posteriors, and hard data."""

import pickle

import numpy as np
import pytest
import scipy.sparse
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge, RidgeClassifier, RidgeCV

import bochner
from bochner import (
    Fastfood,
    GatedLinear,
    KernelRidgeClassifier,
    KernelRidgeRegressor,
    RandomBins,
    RandomFeatureClassifier,
    RandomFeatureRegressor,
    RandomFourier,
    RandomMaxout,
    RandomStumps,
    kernels,
)
from bochner.penalties.search import candidates
from bochner.solvers.matrix_free import TOLERANCE
from bochner.streams import row_hashes

RNG = np.random.default_rng(0)
X = RNG.standard_normal((300, 4))
Y = np.column_stack([np.sin(2 * X[:, 0]) + X[:, 1], X[:, 2] ** 2]) + 0.1 * RNG.standard_normal((300, 2))
LABELS = np.array(["a", "b", "c"])[(X[:, 0] > 0).astype(int) + (X[:, 0] + X[:, 1] > 1)]
WEIGHT = RNG.uniform(0.2, 2, 300)
SOLVERS = ("cholesky", "dual", "triangle", "cg")


def fourier(m=80, **more):
    return RandomFourier(m, bandwidth=2.0, random_state=0, **more)


# ---- equality with scikit-learn ----


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("y", [Y[:, 0], Y], ids=["one output", "two outputs"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_equals_ridge(solver, y, intercept, weight):
    basis = fourier()
    model = RandomFeatureRegressor(basis, alpha=0.3, solver=solver, fit_intercept=intercept).fit(X, y, weight)
    Z = basis.fit_transform(X)
    ridge = Ridge(alpha=0.3, fit_intercept=intercept).fit(Z, y, sample_weight=weight)
    tolerance = 1e-4 if solver == "cg" else 1e-8
    assert model.coef_.shape == ridge.coef_.shape
    np.testing.assert_allclose(model.coef_, ridge.coef_, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(model.intercept_, ridge.intercept_, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(model.predict(X), ridge.predict(Z), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("labels", [LABELS, LABELS == "a"], ids=["three classes", "two classes"])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_equals_ridge_classifier(solver, labels, class_weight):
    basis = fourier()
    model = RandomFeatureClassifier(basis, alpha=0.3, solver=solver, class_weight=class_weight).fit(X, labels)
    ridge = RidgeClassifier(alpha=0.3, class_weight=class_weight).fit(basis.fit_transform(X), labels)
    tolerance = 1e-4 if solver == "cg" else 1e-8
    np.testing.assert_allclose(model.decision_function(X), ridge.decision_function(basis.transform(X)), atol=tolerance)
    assert np.array_equal(model.predict(X), ridge.predict(basis.transform(X)))
    assert model.coef_.shape == (1 if labels.dtype == bool else 3, 80)


@pytest.mark.parametrize("solver", ["cholesky", "dual"])
@pytest.mark.parametrize("intercept", [True, False])
def test_leave_one_out_equals_ridge_cv_and_brute_force(solver, intercept):
    basis = fourier(40)
    model = RandomFeatureRegressor(basis, alpha="loo", solver=solver, fit_intercept=intercept).fit(X[:60], Y[:60, 0])
    Z = basis.fit_transform(X[:60])
    centered = Z - Z.mean(axis=0) if intercept else Z
    alphas = candidates("auto", np.sum(centered**2), per_decade=2)
    ridge = RidgeCV(alphas, fit_intercept=intercept).fit(Z, Y[:60, 0])
    assert model.alpha_ == pytest.approx(ridge.alpha_, rel=1e-9)

    def left_out(alpha):
        errors = []
        for i in range(60):
            rest = np.arange(60) != i
            fit = Ridge(alpha=alpha, fit_intercept=intercept, solver="svd").fit(Z[rest], Y[:60, 0][rest])
            errors.append((fit.predict(Z[i : i + 1])[0] - Y[i, 0]) ** 2)
        return np.mean(errors)

    around = alphas[np.abs(np.log10(alphas / model.alpha_)) < 0.8]
    assert around[np.argmin([left_out(a) for a in around])] == pytest.approx(model.alpha_)


@pytest.mark.parametrize("solver", ["cholesky", "dual"])
def test_generalised_cross_validation_is_minimised_where_it_is_asked_for(solver):
    basis = fourier(50)
    model = RandomFeatureRegressor(basis, alpha="gcv", solver=solver).fit(X, Y[:, 0])
    Z = basis.fit_transform(X)
    Zc, yc = Z - Z.mean(axis=0), Y[:, 0] - Y[:, 0].mean()

    def gcv(alpha):
        hat = Zc @ np.linalg.solve(Zc.T @ Zc + alpha * np.eye(50), Zc.T)
        return 300 * np.sum((yc - hat @ yc) ** 2) / (299 - np.trace(hat)) ** 2

    best = gcv(model.alpha_)
    assert all(best <= gcv(model.alpha_ * factor) * (1 + 1e-6) for factor in (0.01, 0.5, 0.9, 1.1, 2.0, 100.0))
    assert "generalised cross-validation" in model.explain_fit()


@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("solver", ["cholesky", "dual"])
def test_auto_minimises_the_squared_error_of_folds(solver, weight):
    basis = fourier(50)
    Z, weights = basis.fit_transform(X), np.ones(300) if weight is None else weight
    folds = row_hashes(X) % np.uint64(5)

    def error(alpha):
        total = np.zeros(2)
        for fold in range(5):
            rest, out = folds != fold, folds == fold
            ridge = Ridge(alpha=alpha, solver="svd").fit(Z[rest], Y[rest], weights[rest])
            total += weights[out] @ (ridge.predict(Z[out]) - Y[out]) ** 2
        return np.sum(total / (weights @ (Y - np.average(Y, axis=0, weights=weights)) ** 2))

    model = RandomFeatureRegressor(basis, solver=solver).fit(X, Y, weight)
    assert error(model.alpha_) <= 1.005 * min(error(model.alpha_ * factor) for factor in (0.1, 0.3, 3.0, 10.0))
    assert "squared error of 5 folds" in model.explain_fit()
    listed = RandomFeatureRegressor(basis, alpha=[1e-4, 1e-2, 1.0], solver=solver).fit(X, Y, weight)
    assert error(listed.alpha_) <= 1.005 * min(map(error, [1e-4, 1e-2, 1.0]))
    deviations = weights @ (Y - np.average(Y, axis=0, weights=weights)) ** 2
    shown = RandomFeatureRegressor(basis, alpha=[1e-2, 1e-2 * (1 + 1e-9)], solver=solver).fit(X, Y, weight)
    assert shown.cv_score_ == pytest.approx(1.0 - error(1e-2) / len(deviations), rel=1e-6)


def test_folds_are_those_of_a_direct_computation():
    from bochner.blocks import Block
    from bochner.solvers.problem import fold_of

    basis = fourier(60)
    alphas = [1e-5, 1e-3, 1e-1, 10.0]
    models = [RandomFeatureClassifier(basis, alpha=alphas, solver=s).fit(X, LABELS) for s in ("cholesky", "dual")]
    Z, folds = basis.fit_transform(X), fold_of(Block(X, None, None, 0), 5)
    errors = []
    for alpha in alphas:
        wrong = 0
        for fold in range(5):
            fit = RidgeClassifier(alpha=alpha).fit(Z[folds != fold], LABELS[folds != fold])
            wrong += np.sum(fit.predict(Z[folds == fold]) != LABELS[folds == fold])
        errors.append(wrong)
    best = max(a for a, e in zip(alphas, errors, strict=True) if e == min(errors))
    assert [m.alpha_ for m in models] == [best, best]


def test_many_features_hold_out_one_fold(monkeypatch):
    from bochner import costs

    monkeypatch.setattr(costs, "MANY_FEATURES", 10)
    model = RandomFeatureClassifier(fourier(), solver="cholesky").fit(X, LABELS)
    assert "held-out fifth" in model.explain_fit()
    assert model.score(X, LABELS) > 0.9


def test_the_search_for_a_penalty_ends_at_the_best_of_its_neighbours(monkeypatch):
    from bochner import costs
    from bochner.penalties import kfold, labels

    counted: dict[int, float] = {}
    count_errors = labels.count_errors

    def counting(problem, left, alphas, tried):
        found = count_errors(problem, left, alphas, tried)
        counted.update(zip(tried, found[0], strict=True))
        return found

    monkeypatch.setattr(costs, "MANY_FEATURES", 10)
    monkeypatch.setattr(labels, "count_errors", counting)
    for start in (None, 5, 20):
        counted.clear()
        if start is not None:
            monkeypatch.setattr(kfold.LeftOut, "start", lambda self, alphas, start=start: start)
        RandomFeatureClassifier(fourier(), solver="cholesky").fit(X, LABELS)
        best = max(k for k, count in counted.items() if count == min(counted.values()))
        around = [counted.get(k) for k in (best - 1, best + 1)]
        assert None not in around or counted[best] in around  # no better, or a level
        assert len(counted) < 23
    counted.clear()
    RandomFeatureClassifier(fourier(), alpha=[1e-9, 1e-3, 1.0, 1e3], solver="cholesky").fit(X, LABELS)
    assert sorted(counted) == [0, 1, 2, 3]  # whoever gives candidates has all of them tried


def test_exact_kernels_equal_kernel_ridge():
    kernel = kernels.Gaussian(1.5)
    model = KernelRidgeRegressor(kernel, alpha=0.2, fit_intercept=False).fit(X, Y)
    expected = KernelRidge(kernel="rbf", gamma=1 / (2 * 1.5**2), alpha=0.2).fit(X, Y)
    np.testing.assert_allclose(model.predict(X[:50]), expected.predict(X[:50]), rtol=1e-8)
    np.testing.assert_allclose(model.dual_coef_, expected.dual_coef_, rtol=1e-7)
    assert KernelRidgeClassifier("laplacian").fit(X, LABELS).score(X, LABELS) > 0.9


def test_many_features_approach_the_exact_kernel():
    exact = KernelRidgeRegressor(bandwidth=2.0, alpha=0.1).fit(X, Y[:, 0])
    random = RandomFeatureRegressor(RandomFourier(20_000, bandwidth=2.0, random_state=0), alpha=0.1).fit(X, Y[:, 0])
    assert np.abs(random.predict(X) - exact.predict(X)).max() < 0.1
    assert "fewer than" in str(random.solution_)


# ---- exact streaming ----


@pytest.mark.parametrize("precision", [None, "int8", "int14"])
def test_merge_of_halves_equals_one_fit(precision):
    def model():
        basis = RandomStumps(60, radius=3.0, random_state=0)
        return RandomFeatureClassifier(basis, alpha=0.1, solver="cholesky", precision=precision)

    whole = model().fit(X, LABELS)
    merged = model().fit(X[:100], LABELS[:100]).merge(model().fit(X[100:], LABELS[100:]))
    if precision:
        assert np.array_equal(merged.moments_.gram, whole.moments_.gram)
        assert np.array_equal(merged.coef_, whole.coef_)
    np.testing.assert_allclose(merged.coef_, whole.coef_, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(merged.predict(X) == LABELS, whole.predict(X) == LABELS)


def test_merge_of_float_halves_with_a_given_bandwidth():
    def model(rows):
        return RandomFeatureRegressor(fourier(), alpha=0.1, solver="cholesky").fit(X[rows], Y[rows])

    whole, merged = model(slice(None)), model(slice(0, 120)).merge(model(slice(120, None)))
    np.testing.assert_allclose(merged.coef_, whole.coef_, rtol=1e-10, atol=1e-12)
    assert merged.moments_.rows == 300


def test_partial_fit_equals_fit_and_forget_undoes_it():
    basis = fourier(precision="int8")
    streamed = RandomFeatureClassifier(basis, alpha=0.1)
    streamed.partial_fit(X[:50], LABELS[:50], classes=["a", "b", "c"])
    before = streamed.moments_
    for rows in (slice(50, 51), slice(51, 200), slice(200, 300)):
        streamed.partial_fit(X[rows], LABELS[rows])
    assert streamed.moments_.rows == 300
    streamed.forget(X[50:300], LABELS[50:300])
    for name, value in vars(before).items():
        assert np.array_equal(getattr(streamed.moments_, name), value), name


def test_sums_after_a_dual_fit_are_made_when_needed():
    few = RandomFeatureRegressor(fourier(), alpha=0.1).fit(X[:40], Y[:40])
    assert few.moments_ is None
    whole = RandomFeatureRegressor(fourier(), alpha=0.1, solver="cholesky").fit(X, Y)
    np.testing.assert_allclose(few.partial_fit(X[40:], Y[40:]).coef_, whole.coef_, rtol=1e-7, atol=1e-8)


def test_partial_fit_of_floats_equals_fit():
    streamed = RandomFeatureRegressor(fourier(), alpha=0.1)
    for rows in np.array_split(np.arange(300), 7):
        streamed.partial_fit(X[rows], Y[rows], sample_weight=WEIGHT[rows])
    whole = RandomFeatureRegressor(fourier(), alpha=0.1, solver="cholesky").fit(X, Y, WEIGHT)
    np.testing.assert_allclose(streamed.coef_, whole.coef_, rtol=1e-9, atol=1e-10)
    assert "from sums at hand" in str(streamed.solution_)


def test_a_class_may_be_missing_from_a_block():
    order = np.argsort(LABELS)
    whole = RandomFeatureClassifier(fourier(), alpha=0.1, solver="cholesky").fit(X, LABELS)
    streamed = RandomFeatureClassifier(fourier(), alpha=0.1)
    for rows in np.array_split(order, 6):
        streamed.partial_fit(X[rows], LABELS[rows], classes=["a", "b", "c"])
    np.testing.assert_allclose(streamed.coef_, whole.coef_, rtol=1e-8, atol=1e-10)
    with pytest.raises(ValueError, match="label 'z', which is not among the classes"):
        streamed.partial_fit(X[:1], ["z"])


BASES = [
    fourier(64),
    fourier(64, precision="int8"),
    fourier(64, pairs=False),
    RandomMaxout(64, random_state=0),
    RandomMaxout(64, random_state=0, precision="int14"),
    GatedLinear(64, random_state=0),
    Fastfood(64, bandwidth=2.0, random_state=0),
    RandomStumps(64, radius=3.0, random_state=0, precision="int8"),
]


@pytest.mark.parametrize("how", [{"scale": None, "linear": False}, {"scale": "robust", "linear": True}])
@pytest.mark.parametrize("basis", BASES, ids=lambda b: repr(b)[:60])
def test_grow_gives_the_learning_curve_of_one_gram(basis, how):
    from sklearn.base import clone

    how = {"alpha": 0.1, "solver": "cholesky", **how}
    model = RandomFeatureRegressor(basis, **how).fit(X, Y)
    wide = model.predict(X)
    for m in (8, 32, 64, 16):
        alone = RandomFeatureRegressor(clone(basis).set_params(n_components=m), **how).fit(X, Y)
        np.testing.assert_allclose(model.grow(m).predict(X), alone.predict(X), rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(model.grow(64).predict(X), wide, rtol=1e-9)
    with pytest.raises(ValueError, match="needs the rows again"):
        model.grow(128)
    larger = RandomFeatureRegressor(clone(basis).set_params(n_components=128), **how).fit(X, Y)
    np.testing.assert_allclose(model.grow(128, X, Y).predict(X), larger.predict(X), rtol=1e-7, atol=1e-8)


def test_what_cannot_be_merged_says_why():
    model = RandomFeatureRegressor(fourier(), alpha=0.1, solver="cholesky").fit(X, Y)
    other = RandomFeatureRegressor(RandomFourier(80, bandwidth=2.1, random_state=0), alpha=0.1, solver="cholesky").fit(
        X, Y
    )
    with pytest.raises(ValueError, match="identical fitted bases"):
        model.merge(other)
    with pytest.raises(ValueError, match="this was conjugate gradients"):
        model.merge(RandomFeatureRegressor(fourier(), alpha=0.1, solver="cg").fit(X, Y))
    with pytest.raises(ValueError, match="needs a second pass"):
        RandomFeatureRegressor(fourier(), alpha="loo").partial_fit(X, Y)
    with pytest.raises(ValueError, match="some must be left"):
        model.forget(X, Y)
    with pytest.raises(ValueError, match="cannot be cut to its first"):
        model.grow(33)
    bins = RandomFeatureRegressor(RandomBins(50, bandwidth=2.0), alpha=0.1, solver="cholesky").fit(X, Y)
    with pytest.raises(ValueError, match="cannot be cut to its first"):
        bins.grow(20)


# ---- posterior ----


def simulated(seed, n=400):
    """A draw from the model itself: features of a fixed basis, normal coefficients, normal noise."""
    rng = np.random.default_rng(seed)
    rows = rng.uniform(-2, 2, (n, 2))
    basis = RandomFourier(60, bandwidth=1.0, random_state=1).fit(rows)
    return rows, basis.transform(rows) @ rng.standard_normal(60) + 0.2 * rng.standard_normal(n), basis


@pytest.mark.parametrize("solver", ["cholesky", "dual"])
def test_95_percent_intervals_cover(solver):
    inside = []
    for seed in range(40):
        rows, y, basis = simulated(seed)
        model = RandomFeatureRegressor(basis, alpha=0.04, solver=solver).fit(rows[:200], y[:200])
        mean, deviation = model.predict(rows[200:], return_std=True)
        inside.append(np.mean(np.abs(mean - y[200:]) < 1.96 * deviation))
    z = (np.mean(inside) - 0.95) / (np.std(inside, ddof=1) / np.sqrt(len(inside)))
    assert abs(z) < 4.5
    assert abs(np.mean(inside) - 0.95) < 0.015


def test_posterior_equals_a_gaussian_process():
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import DotProduct, WhiteKernel

    rows, y, basis = simulated(0, 80)
    Z = basis.transform(rows)
    for solver in ("cholesky", "dual"):
        model = RandomFeatureRegressor(basis, alpha=0.04, solver=solver, fit_intercept=False).fit(rows, y)
        noise = model.noise_variance_
        # Coefficients N(0, noise/alpha) and noise: DotProduct on features scaled by sqrt(noise/alpha).
        process = GaussianProcessRegressor(DotProduct(1e-9, "fixed") + WhiteKernel(noise, "fixed"), optimizer=None)
        scaled = Z * np.sqrt(noise / 0.04)
        process.fit(scaled, y)
        mean, deviation = model.predict(rows[:9], return_std=True)
        expected = process.predict(scaled[:9], return_std=True)
        np.testing.assert_allclose(mean, expected[0], rtol=1e-5, atol=1e-6)
        # Deviations are widened or narrowed so that rows left out lie within them as often as they should.
        np.testing.assert_allclose(deviation / model._widening, expected[1], rtol=1e-5)
        assert model.log_marginal_likelihood_ == pytest.approx(process.log_marginal_likelihood_value_, rel=1e-6)


def test_marginal_likelihood_finds_the_bandwidth():
    rng = np.random.default_rng(0)
    rows = rng.uniform(-3, 3, (300, 1))
    truth = RandomFourier(400, bandwidth=0.7, random_state=5).fit(rows)
    y = truth.transform(rows) @ rng.standard_normal(400) + 0.1 * rng.standard_normal(300)
    scores = {}
    for bandwidth in (0.1, 0.7, 5.0):
        model = RandomFeatureRegressor(RandomFourier(400, bandwidth=bandwidth, random_state=0), alpha=0.01).fit(rows, y)
        scores[bandwidth] = model.log_marginal_likelihood_
    assert max(scores, key=scores.get) == 0.7


def test_uncertainty_grows_away_from_the_data():
    model = RandomFeatureRegressor(fourier(200), alpha=0.01).fit(X, Y)
    _, near = model.predict(X, return_std=True)
    _, far = model.predict(X + 20.0, return_std=True)
    assert near.shape == (300, 2)
    assert near.mean() < 0.7 * far.mean()
    with pytest.raises(ValueError, match="return_std needs the Gram or the kernel matrix"):
        RandomFeatureRegressor(fourier(), solver="cg", alpha=0.1).fit(X, Y).predict(X, return_std=True)


# ---- locally linear ----


@pytest.mark.parametrize("basis", [RandomMaxout(120), RandomMaxout(120, center=False, pool_size=3), GatedLinear(120)])
@pytest.mark.parametrize("y", [Y[:, 0], Y], ids=["one", "two"])
@pytest.mark.parametrize(("scale", "linear"), [(None, False), ("robust", True), ("standard", False)])
def test_local_coefficients_are_the_model_and_its_gradient(basis, y, scale, linear):
    model = RandomFeatureRegressor(basis, alpha=0.1, scale=scale, linear=linear, random_state=0).fit(X, y)
    local = model.local_coefficients(X[:20])
    predictions = model.predict(X[:20])
    assert local.shape == ((20, 4) if y.ndim == 1 else (20, 2, 4))
    if scale is None and not linear:
        along = np.einsum("n...d,nd->n...", local, X[:20])
        np.testing.assert_allclose(along + model.intercept_, predictions, rtol=1e-8, atol=1e-9)
    step = 1e-7 * np.eye(4)[1]
    numeric = (model.predict(X[:20] + step) - predictions) / 1e-7
    np.testing.assert_allclose(local[..., 1], numeric, rtol=1e-3, atol=1e-3)


def test_other_bases_are_not_locally_linear():
    with pytest.raises(ValueError, match="RandomFourier is not locally linear; RandomMaxout and GatedLinear are"):
        RandomFeatureRegressor(fourier(), alpha=0.1).fit(X, Y).local_coefficients(X)


# ---- precision and advice ----


def test_auto_precision_takes_int8_where_nothing_is_lost():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((2000, 30))
    labels = rows[:, 0] * rows[:, 1] > 0
    model = RandomFeatureClassifier(RandomFourier(200, bandwidth=5.0), precision="auto", random_state=0).fit(
        rows, labels
    )
    assert model.basis_.precision == "int8"
    assert model.moments_.is_exact
    assert "of rows left out" in model.precision_reason_


def test_auto_precision_climbs_where_eight_bits_are_too_few():
    """A wide bandwidth and no noise: features vary by less than a step, and the penalty is tiny."""
    rows = np.random.default_rng(0).uniform(-1, 1, (400, 2))
    y = np.exp(rows[:, 0]) * rows[:, 1]
    errors = {}
    for precision in ("int8", "int14", "auto", None):
        model = RandomFeatureRegressor(RandomFourier(200, bandwidth=3.0, random_state=0), precision=precision).fit(
            rows[:300], y[:300]
        )
        errors[precision] = np.sqrt(np.mean((model.predict(rows[300:]) - y[300:]) ** 2))
        if precision == "auto":
            assert model.basis_.precision is None
            assert "int8 is too coarse" in model.explain_fit()
    assert errors["int14"] < errors["int8"] / 3
    assert errors["auto"] == pytest.approx(errors[None])
    assert errors["auto"] < errors["int14"] / 10


@pytest.mark.parametrize("precision", ["int8", "int14"])
@pytest.mark.parametrize(
    "basis",
    [RandomFourier(300, bandwidth=2.0), RandomMaxout(300), Fastfood(300, bandwidth=2.0), RandomBins(300, n_grids=30)],
)
def test_integer_models_are_as_accurate_as_float_ones(basis, precision):
    rows, labels = X[::2], LABELS[::2]
    scores = []
    for chosen in (None, precision):
        accuracies = [
            RandomFeatureClassifier(basis, alpha=0.1, precision=chosen, random_state=s)
            .fit(rows, labels)
            .score(X[1::2], LABELS[1::2])
            for s in range(8)
        ]
        scores.append(np.mean(accuracies))
    assert abs(scores[0] - scores[1]) < 0.02


def test_advice_is_usable():
    advice = bochner.advise(X, Y[:, 0])
    assert 0 < advice.seconds < 60
    assert advice.memory <= 4e9
    basis = RandomFourier(advice.n_components, bandwidth=advice.bandwidth, random_state=0)
    model = RandomFeatureRegressor(basis, precision=advice.precision).fit(X[::2], Y[::2, 0])
    assert model.score(X[1::2], Y[1::2, 0]) > RandomFeatureRegressor(RandomFourier(20, random_state=0)).fit(
        X[::2], Y[::2, 0]
    ).score(X[1::2], Y[1::2, 0])
    assert "features: " in str(advice)
    assert bochner.advise(X, LABELS).n_components >= 256


# ---- inputs ----


def test_every_kind_of_input_gives_the_same_model(tmp_path):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    expected = RandomFeatureRegressor(fourier(), alpha=0.1).fit(X, Y[:, 0]).predict(X)
    np.save(tmp_path / "x.npy", X)
    columns = [f"c{k}" for k in range(4)]
    for rows in (
        np.load(tmp_path / "x.npy", mmap_mode="r"),
        scipy.sparse.csr_matrix(X),
        pandas.DataFrame(X, columns=columns),
        polars.DataFrame(X, schema=columns),
        X.tolist(),
    ):
        np.testing.assert_allclose(
            RandomFeatureRegressor(fourier(), alpha=0.1).fit(rows, Y[:, 0]).predict(rows), expected, rtol=1e-6
        )


def test_blocks_of_memory_are_rows_with_targets():
    blocks = bochner.blocks.MemoryBlocks(X, Y[:, 0], WEIGHT)
    expected = RandomFeatureRegressor(fourier(), alpha=0.1).fit(X, Y[:, 0], WEIGHT)
    assert np.array_equal(RandomFeatureRegressor(fourier(), alpha=0.1).fit(blocks).coef_, expected.coef_)


def test_class_weights_in_a_stream():
    weights = {"a": 1.0, "b": 2.0, "c": 0.5}
    whole = RandomFeatureClassifier(fourier(), alpha=0.1, class_weight=weights, solver="cholesky").fit(X, LABELS)
    streamed = RandomFeatureClassifier(fourier(), alpha=0.1, class_weight=weights)
    for rows in np.array_split(np.arange(300), 3):
        streamed.partial_fit(X[rows], LABELS[rows], classes=["a", "b", "c"])
    np.testing.assert_allclose(streamed.coef_, whole.coef_, rtol=1e-8, atol=1e-10)
    with pytest.raises(ValueError, match="needs all rows at once"):
        RandomFeatureClassifier(class_weight="balanced").partial_fit(X, LABELS)


def test_target_column_of_a_frame():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd")).assign(y=Y[:, 0])
    model = RandomFeatureRegressor(fourier(), alpha=0.1).fit(frame, target="y")
    np.testing.assert_allclose(
        model.predict(frame[list("abcd")]), RandomFeatureRegressor(fourier(), alpha=0.1).fit(X, Y[:, 0]).predict(X)
    )
    with pytest.raises(ValueError, match="no column 'z'"):
        RandomFeatureRegressor().fit(frame, target="z")


@pytest.mark.parametrize("block_rows", [1, 7, "auto"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_block_size_does_not_matter(block_rows, solver):
    expected = RandomFeatureClassifier(fourier(precision="int8"), alpha=0.1, solver=solver).fit(X, LABELS)
    with bochner.config_context(block_rows=block_rows):
        model = RandomFeatureClassifier(fourier(precision="int8"), alpha=0.1, solver=solver).fit(X, LABELS)
        np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X), rtol=1e-4, atol=1e-5)
    if solver == "cholesky":
        assert np.array_equal(model.moments_.gram, expected.moments_.gram)


def test_pickle_and_repeat():
    model = RandomFeatureRegressor(fourier(), alpha=0.1, solver="cholesky").fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(X), model.predict(X))
    mean, deviation = again.predict(X[:3], return_std=True)
    assert mean.shape == deviation.shape


def test_random_state_of_a_model_seeds_a_basis_without_one():
    assert RandomFeatureRegressor(RandomFourier(10), alpha=1.0, random_state=5).fit(X, Y).basis_.seed_ == 5
    assert (
        RandomFeatureRegressor(RandomFourier(10, random_state=3), alpha=1.0, random_state=5).fit(X, Y).basis_.seed_ == 3
    )


def test_verbose_shows_progress(capsys):
    RandomFeatureRegressor(fourier(), alpha=0.1, solver="cholesky", verbose=1, n_jobs=1).fit(X, Y)
    assert "rows/s" in capsys.readouterr().err


# ---- hard data ----


@pytest.mark.parametrize("alpha", [0.0, 1e-12, 1.0, 1e12])
@pytest.mark.parametrize("solver", SOLVERS)
def test_penalties_from_nothing_to_everything(alpha, solver):
    model = RandomFeatureRegressor(fourier(), alpha=alpha, solver=solver).fit(X, Y)
    assert np.isfinite(model.predict(X)).all()
    if alpha == 1e12:
        np.testing.assert_allclose(model.predict(X), np.broadcast_to(Y.mean(axis=0), Y.shape), atol=1e-6)


def test_no_penalty_on_a_singular_problem_is_recovered():
    for solver in ("cholesky", "dual"):
        model = RandomFeatureRegressor(RandomStumps(400, radius=3.0, random_state=0), alpha=0.0, solver=solver).fit(
            X, Y
        )
        assert "recovered" in model.explain_fit()
        assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("solver", SOLVERS)
def test_constant_columns_and_duplicated_rows(solver):
    rows = np.column_stack([np.repeat(X[:30], 5, axis=0), np.ones(150)])
    model = RandomFeatureRegressor(fourier(), alpha=0.1, solver=solver).fit(rows, np.repeat(Y[:30], 5, axis=0))
    assert np.isfinite(model.predict(rows)).all()
    constant = RandomFeatureRegressor(fourier(), alpha=0.1, solver=solver).fit(np.ones((20, 3)), np.arange(20.0))
    np.testing.assert_allclose(constant.predict(np.ones((2, 3))), 9.5)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    "basis", [RandomFourier(20, random_state=0), RandomMaxout(20, random_state=0), RandomStumps(20, random_state=0)]
)
def test_huge_values(basis, solver):
    model = RandomFeatureRegressor(basis, solver=solver).fit(1e30 * X, 1e30 * Y)
    assert np.isfinite(model.predict(1e30 * X)).all()


@pytest.mark.parametrize("alpha", ["auto", "loo", 1.0])
def test_one_row(alpha):
    model = RandomFeatureRegressor(alpha=alpha, random_state=0).fit(X[:1], Y[:1, 0])
    assert model.predict(X[:1])[0] == pytest.approx(Y[0, 0])


def test_bad_input_gets_a_sentence():
    for arguments, message in [
        ({"loss": "hinge"}, "use a classifier"),
        ({"solver": "magic"}, "solver='magic' is not known"),
        ({"alpha": -1.0}, "alpha must be a positive finite number"),
        ({"alpha": "best"}, "alpha='best' is not known"),
        ({"alpha": [1.0, -1.0]}, "alpha, if it is a list, must hold positive finite numbers"),
        ({"precision": "int7"}, "precision='int7' is not known"),
        ({"device": "gpu"}, "device must be None, 'cpu', 'cuda' or 'cuda:1'; got 'gpu'"),
        ({"max_coefficient": 0.0}, "max_coefficient must be a positive finite number"),
        ({"basis": "fourrier"}, "did you mean 'fourier'"),
        ({"basis": 3}, "basis must be one of bochner's bases"),
        ({"scale": "robusst"}, "did you mean 'robust'"),
        ({"linear": "yes"}, "linear='yes' is not known"),
    ]:
        with pytest.raises(ValueError, match=message):
            RandomFeatureRegressor(**arguments).fit(X, Y)
    with pytest.raises(ValueError, match="one class only"):
        RandomFeatureClassifier().fit(X, np.zeros(300, int))
    with pytest.raises(ValueError, match="sample_weight must have one number for each of 300 rows"):
        RandomFeatureRegressor().fit(X, Y, [1.0, 2.0])
    with pytest.raises(ValueError, match="must not be negative"):
        RandomFeatureRegressor().fit(X, Y, -WEIGHT)
    with pytest.raises(ValueError, match="needs the Gram or the kernel matrix"):
        RandomFeatureRegressor(fourier(), alpha="loo", solver="cg").fit(X, Y)


def test_auto_solver_explains_its_choice():
    for memory, n, m, words in [
        ("4GB", 300, 80, "the Gram matrix fits in memory"),
        ("4GB", 60, 80, "60 rows are fewer than 80 features"),
        ("60KB", 300, 200, "neither fits"),
    ]:
        with bochner.config_context(memory=memory):
            model = RandomFeatureRegressor(fourier(m), alpha=0.1).fit(X[:n], Y[:n])
            assert words in model.explain_fit()
            reference = Ridge(alpha=0.1).fit(fourier(m).fit_transform(X[:n]), Y[:n])
            np.testing.assert_allclose(model.predict(X), reference.predict(fourier(m).fit(X).transform(X)), atol=1e-4)


def test_labels_keep_their_type():
    labels = X[:, 0] > 0.5
    assert RandomFeatureClassifier(fourier(), alpha=1.0).fit(X, labels).predict(X).dtype == bool


# ---- what a hostile reader found, and must stay mended ----


def ridge_model(m=80, **more):
    return RandomFeatureRegressor(fourier(m), **{"alpha": 0.1, "solver": "cholesky", **more})


def test_a_dual_fit_keeps_its_own_rows():
    buffer, targets = X[:60].copy(), Y[:60].copy()
    model = RandomFeatureRegressor(fourier(), alpha=0.1).fit(buffer, targets)
    expected = model.predict(X[60:70], return_std=True)
    buffer[:], targets[:] = 0.0, 0.0
    np.testing.assert_array_equal(model.predict(X[60:70], return_std=True), expected)
    whole = ridge_model().fit(X, Y)
    np.testing.assert_allclose(model.partial_fit(X[60:], Y[60:]).coef_, whole.coef_, rtol=1e-7, atol=1e-8)


def test_growing_never_changes_precision_or_bandwidth():
    basis = RandomFourier(10, random_state=0, bandwidth=2.0)
    model = RandomFeatureRegressor(basis, precision="auto", solver="cholesky").fit(X, Y)
    before = model.basis_.precision
    score = model.grow(300, X, Y).score(X, Y)
    assert model.basis_.precision == before
    assert model.grow(300).score(X, Y) == pytest.approx(score)


def test_verbs_after_growing_smaller():
    expected = ridge_model(40).fit(X, Y).predict(X)
    grown = ridge_model().fit(X[:200], Y[:200]).grow(40)
    np.testing.assert_allclose(grown.partial_fit(X[200:], Y[200:]).predict(X), expected, rtol=1e-7, atol=1e-8)
    later = ridge_model(40).fit(X[100:], Y[100:])
    np.testing.assert_allclose(grown.forget(X[:100], Y[:100]).predict(X), later.predict(X), rtol=1e-6, atol=1e-7)
    deviations = [m.predict(X, return_std=True)[1] / m._widening for m in (grown, later)]
    np.testing.assert_allclose(*deviations, rtol=1e-6)
    merged = ridge_model().fit(X[:200], Y[:200]).grow(40).merge(ridge_model().fit(X[200:], Y[200:]))
    np.testing.assert_allclose(merged.predict(X), expected, rtol=1e-7, atol=1e-8)
    with pytest.raises(ValueError, match=r"y has 1 output\(s\); the model was fitted with 2"):
        grown.grow(160, X, Y[:, 0])
    assert np.isfinite(grown.predict(X)).all()  # a failed growth leaves the model as it was


@pytest.mark.parametrize("solver", SOLVERS)
def test_weights_that_sum_to_one_choose_a_sensible_penalty(solver):
    plain = RandomFeatureRegressor(fourier(), solver=solver).fit(X, Y[:, 0])
    shares = RandomFeatureRegressor(fourier(), solver=solver).fit(X, Y[:, 0], np.full(300, 1 / 300))
    assert shares.alpha_ * 300 == pytest.approx(plain.alpha_, rel=1e-3)
    assert shares.noise_variance_ == pytest.approx(plain.noise_variance_, rel=1e-3)
    np.testing.assert_allclose(shares.predict(X), plain.predict(X), atol=1e-3)
    if solver not in ("cg", "triangle"):
        deviations = [m.predict(X, return_std=True)[1] for m in (shares, plain)]
        np.testing.assert_allclose(*deviations, rtol=1e-3)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_large_mean_of_the_targets_does_no_harm(solver):
    plain = RandomFeatureRegressor(fourier(), solver=solver).fit(X, Y[:, 0])
    lifted = RandomFeatureRegressor(fourier(), solver=solver).fit(X, Y[:, 0] + 1e8)
    assert lifted.noise_variance_ == pytest.approx(plain.noise_variance_, rel=1e-3)
    np.testing.assert_allclose(lifted.predict(X) - 1e8, plain.predict(X), atol=1e-3)


def test_merging_models_that_measure_targets_from_different_means():
    first, second = (ridge_model().fit(X[r], Y[r] + 1e6) for r in (slice(0, 90), slice(90, None)))
    whole = ridge_model().fit(X, Y)
    np.testing.assert_allclose(first.merge(second).predict(X) - 1e6, whole.predict(X), atol=1e-6)
    assert first.noise_variance_ == pytest.approx(whole.noise_variance_, rel=1e-5)


def test_conjugate_gradients_without_a_penalty_tell_the_truth():
    for m in (40, 400):
        model = RandomFeatureRegressor(fourier(m), alpha=0.0, solver="cg").fit(X, Y)
        assert np.isfinite(model.predict(X)).all()
        short = "short of the tolerance" in model.solution_.status
        assert short == (not model.solution_.residual <= 10 * TOLERANCE)


def test_weighted_noise_agrees_between_solvers():
    found = [ridge_model(solver=s).fit(X, Y[:, 0], WEIGHT).noise_variance_ for s in SOLVERS]
    np.testing.assert_allclose(found, found[0], rtol=1e-4)


def test_leave_one_out_is_refused_where_rows_cannot_be_read_again():
    model = ridge_model(alpha="loo").fit(X, Y)
    verbs = [lambda: model.forget(X[:5], Y[:5]), lambda: model.grow(40), lambda: model.merge(model)]
    for verb in [*verbs, lambda: model.partial_fit(X, Y)]:
        with pytest.raises(ValueError, match="needs a second pass over all rows"):
            verb()


def test_forgetting_what_was_never_there_is_refused():
    model = ridge_model().fit(X, Y, np.full(300, 0.01))
    with pytest.raises(ValueError, match="were not all added before"):
        model.forget(X[:100], Y[:100])


@pytest.mark.parametrize("verb", ["fit", "partial_fit"])
def test_rows_of_weight_zero_are_not_there(verb):
    rows, targets = np.vstack([X, 1e3 * np.ones((2, 4))]), np.vstack([Y, np.zeros((2, 2))])
    models = [RandomFeatureRegressor(RandomFourier(50, random_state=0), alpha=0.1) for _ in range(2)]
    getattr(models[0], verb)(rows, targets, np.r_[np.ones(300), 0.0, 0.0])
    getattr(models[1], verb)(X, Y, np.ones(300))
    np.testing.assert_allclose(models[0].predict(X), models[1].predict(X), rtol=1e-9)


def test_automatic_precision_with_leave_one_out():
    assert RandomFeatureRegressor(fourier(), alpha="loo", precision="auto").fit(X, Y).score(X, Y) > 0.9


def test_dual_leave_one_out_keeps_its_digits():
    from bochner.penalties.leave_one_out import errors_of_kernel
    from bochner.solvers import dual_problem

    Z, y, alphas = RandomMaxout(300, random_state=0).fit_transform(X[:40]), Y[:40, :1], np.array([1e-9, 1e-6, 1e-3])
    found = errors_of_kernel(dual_problem(Z @ Z.T, y, None, True), alphas, True)
    for alpha, total in zip(alphas, found, strict=True):
        brute = 0.0
        for i in range(40):
            rest = np.arange(40) != i
            part = dual_problem(Z[rest] @ Z[rest].T, y[rest], None, True)
            a = np.linalg.solve(part.kernel + alpha * np.eye(39), part.target)
            brute += ((part.center_new(Z[i : i + 1] @ Z[rest].T) @ a + part.mean_y - y[i]) ** 2).sum()
        assert total == pytest.approx(brute, rel=1e-3)


def test_more_bad_input():
    with pytest.raises(ValueError, match="only models of one kind merge"):
        ridge_model().fit(X, Y).merge(3)
    with pytest.raises(ValueError, match="labels of mixed types"):
        RandomFeatureClassifier().fit(X[:4], np.array([1, "a", 1, "a"], dtype=object))
    with pytest.raises(ValueError, match="must not be negative"):
        RandomFeatureClassifier(class_weight={"a": -1.0, "b": 1.0, "c": 1.0}).fit(X, LABELS)
    with pytest.raises(ValueError, match="their own targets and weights"):
        RandomFeatureRegressor().fit(bochner.blocks.MemoryBlocks(X, Y), Y)
    model = RandomFeatureClassifier(fourier(), alpha=0.1).partial_fit(X, LABELS)
    with pytest.raises(ValueError, match="classes differ from those of the first call"):
        model.partial_fit(X, LABELS, classes=["a", "b"])
    with bochner.config_context(memory="10KB"), pytest.raises(ValueError, match="over the budget"):
        ridge_model().partial_fit(X, Y)
    assert bochner.advise(scipy.sparse.csr_matrix(X), Y[:, 0]).n_components >= 256


@pytest.mark.parametrize("solver", ["cholesky", "dual"])
@pytest.mark.parametrize("alpha", ["auto", "loo"])
@pytest.mark.parametrize("n", [1, 2])
def test_one_and_two_rows_take_the_largest_candidate(n, alpha, solver):
    model = ridge_model(alpha=alpha, solver=solver, fit_intercept=False).fit(X[:n], Y[:n])
    assert "too few rows" in model.explain_fit()

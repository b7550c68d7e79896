"""Cases in which a solver could stop early, take nothing for something, or lose a file, and say that all is well."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import make_blobs
from sklearn.preprocessing import StandardScaler
from sklearn.utils import shuffle

import bochner
from bochner import FeaturePCA, MaxoutIndex, RandomFeatureClassifier, RandomFeatureRegressor, RandomFourier
from bochner.losses import CLASSIFYING
from bochner.solvers import SGD, Adam, DoublyStochastic
from bochner.streams import sample_rows

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 3))
NOISY = X[:, 0] + 0.5 * RNG.normal(size=600)
RARE = (np.quantile(NOISY, 0.9) < NOISY).astype(int)
BASIS = RandomFourier(40, bandwidth=2.0, random_state=0)


@pytest.mark.parametrize("weight", [1.0, 0.5, 1e-3])
def test_small_weights_do_not_jam_the_hinge(weight):
    """Weights w and penalty w alpha are the problem of weights 1 and alpha."""
    plain = RandomFeatureClassifier(BASIS, loss="hinge", alpha=0.1).fit(X, RARE)
    model = RandomFeatureClassifier(BASIS, loss="hinge", alpha=0.1 * weight)
    model.fit(X, RARE, sample_weight=np.full(600, weight))
    assert np.abs(plain.coef_).max() > 0.1
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X), atol=1e-4)


def test_small_weights_do_not_jam_absolute_errors():
    settings = {"loss": "epsilon_insensitive"}
    plain = RandomFeatureRegressor(BASIS, alpha=0.1, **settings).fit(X, NOISY)
    light = RandomFeatureRegressor(BASIS, alpha=1e-4, **settings).fit(X, NOISY, sample_weight=np.full(600, 1e-3))
    np.testing.assert_allclose(light.predict(X), plain.predict(X), atol=1e-3)


@pytest.mark.parametrize("solver", [SGD(validation=0), Adam(validation=0), DoublyStochastic(features=8)])
def test_rows_of_weight_zero_bear_no_penalty(solver):
    """Nine times as many rows that weigh nothing: coefficients are of the same size."""
    absent = np.tile(1 - RARE, 9)
    weight = np.concatenate([np.ones(600), np.zeros(len(absent))])
    sizes = []
    for rows, labels, weights in (X, RARE, None), (np.vstack([X] * 10), np.concatenate([RARE, absent]), weight):
        model = RandomFeatureClassifier(BASIS, loss="logistic", alpha=20.0, solver=solver)
        sizes.append(np.linalg.norm(model.fit(rows, labels, sample_weight=weights).coef_))
    assert sizes[1] == pytest.approx(sizes[0], rel=0.3)


@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge", "exponential"])
@pytest.mark.parametrize("bound", [1.0, 30.0, 1000.0])
def test_bounds_without_a_penalty(loss, bound):
    """As low as L-BFGS-B gets, where the optimum without bounds is far outside of them."""
    rows = X[:150]
    labels = (rows[:, 0] + np.random.default_rng(1).normal(size=150) > 0).astype(int)
    basis = RandomFourier(60, bandwidth=1.0, random_state=0)
    model = RandomFeatureClassifier(basis, loss=loss, alpha=0.0, max_coefficient=bound, fit_intercept=False)
    coefficients = model.fit(rows, labels).coef_.ravel()
    Z, codes, kind = model.basis_.transform(rows), (2.0 * labels - 1)[:, None], CLASSIFYING[loss]

    def risk(b):
        f = Z @ b[:, None]
        return kind.value(f, codes).sum(), (Z.T @ kind.gradient(f, codes)).ravel()

    limits = [(-bound / 60, bound / 60)] * 60
    peer = minimize(risk, np.zeros(60), jac=True, method="L-BFGS-B", bounds=limits, options={"maxiter": 5000})
    assert np.abs(coefficients).max() <= bound / 60
    assert risk(coefficients)[0] <= peer.fun * (1 + 1e-6)
    assert model.solution_.status.startswith("converged")


def test_the_scale_of_huber_does_not_collapse():
    """Without an intercept the targets are far from zero, not from their mean; and units make no difference."""
    y = 1000.0 + X[:, 0]
    model = RandomFeatureRegressor(BASIS, loss="huber", alpha=1.0, fit_intercept=False).fit(X, y)
    assert float(model.solution_.status.split("scale ")[1]) > 1.0
    target = NOISY.copy()
    target[::10] += 50.0
    plain = RandomFeatureRegressor(BASIS, loss="huber", alpha=1.0).fit(X, target)
    tiny = RandomFeatureRegressor(BASIS, loss="huber", alpha=1e12).fit(X, 1e-12 * target)
    np.testing.assert_allclose(1e12 * tiny.predict(X), plain.predict(X), atol=0.02)


def test_a_stream_of_rows_lowers_the_error():
    """partial_fit of doubly stochastic steps: the rate falls, so that the noise of the rows is averaged out."""
    rng = np.random.default_rng(1)
    test = rng.normal(size=(300, 1))
    model = RandomFeatureRegressor(
        RandomFourier(8, bandwidth=1.0, random_state=1), solver=DoublyStochastic(batch_size=8, features=8), alpha=1.0
    )
    errors = []
    for _ in range(30):
        rows = rng.normal(size=(400, 1))
        model.partial_fit(rows, np.sin(2 * rows[:, 0]) + rng.normal(size=400))
        errors.append(np.mean((model.predict(test) - np.sin(2 * test[:, 0])) ** 2))
    assert np.mean(errors[-5:]) < 0.6 * np.mean(errors[3:8])


@pytest.mark.parametrize("solver", [SGD(learning_rate=10.0), SGD(learning_rate=3.0, validation=0),
                                    DoublyStochastic(learning_rate=1e3, features=2)])  # fmt: skip
def test_divergence_is_refused(solver):
    model = RandomFeatureClassifier(RandomFourier(20, bandwidth=2.0, random_state=0), alpha=0.1, solver=solver)
    with pytest.raises(ValueError, match="diverged"):
        model.fit(X[:300], (X[:300, 0] > 0).astype(int))


def test_a_rate_that_was_found_and_diverges_gives_way_to_a_smaller_one():
    rows, labels = shuffle(*make_blobs(300, random_state=0), random_state=7)
    rows, labels = StandardScaler().fit_transform(rows)[labels < 2], labels[labels < 2]
    basis = RandomFourier(60, bandwidth=4.0, random_state=0)
    model = RandomFeatureClassifier(basis, loss="exponential", alpha=0.1, solver=Adam(batch_size=10)).fit(rows, labels)
    assert "smaller, since" in model.solution_.status
    assert model.score(rows, labels) > 0.95


def test_an_index_is_what_was_fitted(tmp_path):
    index = MaxoutIndex(random_state=0).fit(X)
    before = index.query(X[:5], k=3)
    index.set_params(pool_size=4, n_tables=3)
    np.testing.assert_array_equal(index.query(X[:5], k=3)[1], before[1])
    index.save(tmp_path / "index")
    np.testing.assert_array_equal(bochner.load(tmp_path / "index").query(X[:5], k=3)[1], before[1])
    with pytest.raises(ValueError, match="metric"):
        index.set_params(metric="far").query(X[:5], k=3)


def test_equal_rows_have_no_principal_components():
    found = FeaturePCA(BASIS).fit(np.ones((5, 3)))
    assert found.explained_variance_ratio_.tolist() == [0.0, 0.0]


def test_the_penalty_follows_the_size_of_weights():
    labels = (NOISY > 0).astype(int)
    model = RandomFeatureClassifier(BASIS, loss="logistic").fit(X, labels, sample_weight=np.full(600, 1e-9))
    assert model.score(X, labels) > 0.8


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "exponential"])
def test_calibration_leaves_every_class_to_learn_from(loss):
    """All rows of one class are those that would be left out."""
    chosen = sample_rows(60, 12, seed=9)
    labels = np.zeros(60, int)
    labels[chosen] = 1
    rows = np.random.default_rng(0).normal(size=(60, 2))
    rows[chosen] += 3.0
    model = RandomFeatureClassifier(BASIS, loss=loss, alpha=0.1).fit(rows, labels)
    assert np.ptp(model.predict_proba(rows)[:, 1]) > 0.3


@pytest.mark.parametrize("loss", ["logistic", "hinge", "exponential"])
@pytest.mark.parametrize("rows", [2, 4, 8])
def test_few_rows(loss, rows):
    assert RandomFeatureClassifier(loss=loss).fit(X[:rows], [0, 1] * (rows // 2)).predict(X[:rows]).shape == (rows,)


def test_hardly_any_row_has_weight():
    weight = np.zeros(100)
    weight[[3, 40]] = 1.0
    labels = np.arange(100) % 2
    for solver in ("sgd", "adam"):
        model = RandomFeatureClassifier(BASIS, loss="logistic", alpha=0.1, solver=solver)
        assert np.isfinite(model.fit(X[:100], labels, sample_weight=weight).coef_).all()


def test_a_class_of_no_weight_is_balanced_by_nothing():
    labels = np.arange(600) % 3
    weight = (labels < 2).astype(float)
    model = RandomFeatureClassifier(BASIS, alpha=0.1, class_weight="balanced").fit(X, labels, sample_weight=weight)
    assert np.isfinite(model.coef_).all()


def test_a_first_call_that_fails_leaves_nothing_behind():
    model = RandomFeatureClassifier(RandomFourier(2000, bandwidth=1.0), alpha=0.1)
    with bochner.config_context(memory="10MB"), pytest.raises(ValueError, match="need"):
        model.partial_fit(X, RARE)
    assert model.partial_fit(X, RARE).score(X, RARE) > 0.9


def test_another_solver_goes_on_from_the_sums():
    model = RandomFeatureClassifier(BASIS, alpha=0.1).partial_fit(X, RARE).set_params(solver="sgd")
    assert model.partial_fit(X, RARE).score(X, RARE) > 0.9


def test_bounds_and_sums_do_not_go_together():
    model = RandomFeatureClassifier(BASIS, alpha=0.1).fit(X, RARE).set_params(max_coefficient=0.01)
    with pytest.raises(ValueError, match="without max_coefficient"):
        _ = model.forget(X[:5], RARE[:5]).coef_


def test_settings_are_checked():
    for make, message in [
        (lambda: Adam(first_decay=1.5), "first_decay"),
        (lambda: SGD(validation="x"), "validation"),
        (lambda: RandomFeatureClassifier(loss="huber").fit(X, RARE), "use a regressor"),
        (lambda: RandomFeatureRegressor(loss="hinge").fit(X, NOISY), "use a classifier"),
    ]:
        with pytest.raises(ValueError, match=message):
            make()


def test_calibrate_is_for_the_logistic_loss_too():
    model = RandomFeatureClassifier(BASIS, loss="logistic", alpha=1e-6).fit(X[:100], RARE[:100])
    assert model.calibrate(X[100:], RARE[100:]).temperature_ < 0.9

"""predict_proba of every classifier: sums, order, log-loss and calibration; and the V-matrix ridge."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import brier_score_loss, log_loss

import bochner
from bochner import KernelRidgeClassifier, KernelRidgeRegressor, RandomFeatureClassifier, RandomFourier
from bochner.kernels import Gaussian
from bochner.losses import CLASSIFYING
from bochner.models.calibration import temperature
from bochner.solvers import SGD, v_matrix


def noisy_classes(n, seed, k=2):
    """Labels whose probabilities are known: a softmax of smooth functions."""
    rng = np.random.default_rng(seed)
    rows = rng.uniform(-2, 2, (n, 2))
    scores = np.column_stack(
        [2.0 * np.sin((j + 1) * rows[:, 0] + j) * (rows[:, 1] if j % 2 else 1.0) for j in range(k)]
    )
    true = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    return rows, (true.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1), true


def calibration_error(labels, probabilities, bins=10):
    """Expected calibration error: how far the share of right answers is from the confidence, in bins of equal size."""
    sure, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == labels
    parts = np.array_split(np.argsort(sure), bins)
    return sum(len(part) * abs(right[part].mean() - sure[part].mean()) for part in parts) / len(labels)


TRAIN, TRAIN_LABELS, _ = noisy_classes(2000, 0)
TEST, TEST_LABELS, TRUE = noisy_classes(4000, 1)
BASIS = RandomFourier(100, bandwidth=1.0, random_state=0)
CLASSIFIERS = {loss: RandomFeatureClassifier(BASIS, loss=loss) for loss in CLASSIFYING} | {
    "squared dual": RandomFeatureClassifier(BASIS, solver="dual"),
    "squared cg": RandomFeatureClassifier(BASIS, solver="cg"),
    "squared sgd": RandomFeatureClassifier(BASIS, solver="sgd"),
    "hinge adam": RandomFeatureClassifier(BASIS, loss="hinge", solver="adam"),
    "squared box": RandomFeatureClassifier(BASIS, max_coefficient=1e7),
    "hinge doubly": RandomFeatureClassifier(RandomFourier(4000, bandwidth=1.0, random_state=0), loss="hinge", alpha=0.3,
                                            solver="doubly_stochastic"),
    "kernel ridge": KernelRidgeClassifier(bandwidth=1.0),
    "kernel ridge, V": KernelRidgeClassifier(bandwidth=1.0, invariants=True, alpha=0.03),
}  # fmt: skip


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_two_classes(name):
    """Near the log-loss of the true probabilities, and calibrated to a few percent."""
    rows = slice(0, 600) if "kernel" in name else slice(None)
    model = CLASSIFIERS[name].fit(TRAIN[rows], TRAIN_LABELS[rows])
    probabilities = model.predict_proba(TEST)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert (model.classes_[probabilities.argmax(axis=1)] == model.predict(TEST)).all()
    # Noisy labels weigh heavily in one, a walk is short, and the V-matrix weighs rows by their place.
    slack = 2.0 if name in ("exponential", "hinge doubly", "kernel ridge, V") else 1.0
    assert log_loss(TEST_LABELS, probabilities) < log_loss(TEST_LABELS, TRUE) + 0.05 * slack
    assert brier_score_loss(TEST_LABELS, probabilities[:, 1]) < brier_score_loss(TEST_LABELS, TRUE[:, 1]) + 0.02 * slack
    assert calibration_error(TEST_LABELS, probabilities) < 0.05


@pytest.mark.parametrize("loss", CLASSIFYING)
def test_four_classes(loss):
    rows, labels, _ = noisy_classes(2000, 2, k=4)
    others, truth, true = noisy_classes(3000, 3, k=4)
    probabilities = RandomFeatureClassifier(BASIS, loss=loss, alpha=0.1).fit(rows, labels).predict_proba(others)
    # Each class against the rest: a hinge says nothing where no class has half of the probability.
    assert log_loss(truth, probabilities) < log_loss(truth, true) + (0.3 if loss == "hinge" else 0.15)
    assert calibration_error(truth, probabilities) < 0.08


@pytest.mark.parametrize("solver", ["cholesky", "dual", "cg"])
@pytest.mark.parametrize("intercept", [True, False])
def test_left_out_scores_are_those_of_refits(solver, intercept, monkeypatch):
    """What calibrates least squares is exactly what fits without each row would score."""
    seen = []
    monkeypatch.setattr("bochner.models.calibration.temperature", lambda *judged: seen.append(judged) or 1.0)
    rows, labels, weight = TRAIN[:40], TRAIN_LABELS[:40], np.random.default_rng(0).uniform(1, 3, 40)
    model = RandomFeatureClassifier(BASIS, solver=solver, alpha=0.5, fit_intercept=intercept).fit(rows, labels, weight)
    features = model.basis_.transform(rows)
    for i in range(40):
        less = weight - (np.arange(40) == i)  # a weight is a number of rows, of which one is left out
        refit = RidgeClassifier(alpha=0.5, fit_intercept=intercept, solver="svd").fit(features, labels, less)
        expected = refit.decision_function(features[i : i + 1])[0]
        assert seen[0][0][i, 0] == pytest.approx(expected, abs=2e-3 if solver == "cg" else 1e-8)


def test_temperature_is_the_likeliest():
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((20_000, 1))
    codes = np.where(rng.random((20_000, 1)) < expit(2.5 * scores), 1, -1)
    assert temperature(scores, codes) == pytest.approx(2.5, rel=0.05)
    assert np.isfinite(temperature(np.where(codes > 0, 3.0, -3.0), codes))  # perfect scores
    assert temperature(np.zeros_like(scores), codes) == 1.0


def test_after_sums_changed_rows_are_asked_for():
    model = RandomFeatureClassifier(BASIS, alpha=1.0).fit(TRAIN[:500], TRAIN_LABELS[:500])
    before = model.temperature_
    model.partial_fit(TRAIN[500:1000], TRAIN_LABELS[500:1000])
    with pytest.raises(ValueError, match="call calibrate"):
        model.predict_proba(TEST)
    model.calibrate(TRAIN[1000:], TRAIN_LABELS[1000:])
    assert log_loss(TEST_LABELS, model.predict_proba(TEST)) < log_loss(TEST_LABELS, TRUE) + 0.05
    assert model.temperature_ != before
    with pytest.raises(ValueError, match="X has 10 rows but y has 9"):
        model.calibrate(TRAIN[:10], TRAIN_LABELS[:9])


def test_a_file_keeps_the_temperature(tmp_path):
    model = RandomFeatureClassifier(BASIS, loss="hinge", alpha=1.0, solver=SGD(epochs=2)).fit(TRAIN, TRAIN_LABELS)
    model.save(tmp_path / "m")
    loaded = bochner.load(tmp_path / "m")
    assert np.array_equal(loaded.predict_proba(TEST), model.predict_proba(TEST))
    assert loaded.solver == SGD(epochs=2)
    assert loaded.explain_fit() == model.explain_fit()


# ---- statistical invariants ----


def test_v_matrix_ridge_solves_its_equation():
    """(n gamma I + V K) a = V y, directly; and with an intercept, the gradient of what it minimises."""
    rng = np.random.default_rng(0)
    rows, y = rng.uniform(-1, 2, (40, 3)), rng.standard_normal(40)
    moved = rows - rows.min(axis=0)
    V = sum((moved[:, k].max() - np.maximum.outer(moved[:, k], moved[:, k])) for k in range(3))
    np.testing.assert_allclose(v_matrix(rows), V)
    K = Gaussian(1.0)(rows)
    model = KernelRidgeRegressor(Gaussian(1.0), alpha=0.3, invariants=True, fit_intercept=False).fit(rows, y)
    np.testing.assert_allclose(model.dual_coef_[:, 0], np.linalg.solve(0.3 * np.eye(40) + V @ K, V @ y), atol=1e-10)
    np.testing.assert_allclose(model.predict(rows), K @ model.dual_coef_[:, 0])
    model = KernelRidgeRegressor(Gaussian(1.0), alpha=0.3, invariants=True).fit(rows, y)
    residual = y - model.predict(rows)
    np.testing.assert_allclose(V @ residual, 0.3 * model.dual_coef_[:, 0], atol=1e-10)
    assert abs(np.ones(40) @ V @ residual) < 1e-9


def test_v_matrix_chooses_its_penalty():
    model = KernelRidgeRegressor(bandwidth=1.0, invariants=True).fit(TRAIN[:200], np.sin(TRAIN[:200, 0]))
    assert model.score(TEST, np.sin(TEST[:, 0])) > 0.999
    with pytest.raises(ValueError, match="alpha='loo' has no formula for the V-matrix"):
        KernelRidgeRegressor(alpha="loo", invariants=True).fit(TRAIN[:50], TRAIN[:50, 0])

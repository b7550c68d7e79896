"""Losses other than the squared one, to their optimum: beside scikit-learn's solvers on the same features."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.linear_model import HuberRegressor, LogisticRegression
from sklearn.metrics import log_loss
from sklearn.svm import SVC, SVR, LinearSVC

import bochner
from bochner import RandomBins, RandomFeatureClassifier, RandomFeatureRegressor, RandomFourier, RandomRidge
from bochner.blocks import MemoryBlocks
from bochner.losses import CLASSIFYING, LOSSES, REGRESSING, EpsilonInsensitive
from bochner.solvers.matching import SOLVERS, solvers_for

X, LABELS = load_digits(return_X_y=True)
X, LABELS = X[:600] / 16.0, LABELS[:600]
EVEN = LABELS % 2
NUMBERS = LABELS + np.sin(5 * X[:, 20])
ALPHA = 0.05
BASIS = RandomFourier(80, bandwidth=2.0, random_state=3)
Z = BASIS.fit(X).transform(X)
WEIGHT = np.random.default_rng(0).uniform(0.2, 3.0, len(X))


def objective(model, y, weight=None):
    """sum w loss + alpha |b|^2 of a fitted classifier, in plain numpy."""
    scores = Z @ np.atleast_2d(model.coef_).T + model.intercept_
    codes = np.where(y[:, None] == model.classes_, 1, -1)[:, -scores.shape[1] :]
    losses = LOSSES[model.loss].value(scores, codes)
    return (losses if weight is None else weight * losses).sum() + ALPHA * np.sum(np.square(model.coef_))


@pytest.mark.parametrize("y", [EVEN, LABELS], ids=["two", "ten"])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["", "weighted"])
def test_logistic_agrees_with_scikit_learn(y, weight):
    ours = RandomFeatureClassifier(BASIS, loss="logistic", alpha=ALPHA).fit(X, y, weight)
    theirs = LogisticRegression(C=0.5 / ALPHA, tol=1e-9, max_iter=10_000, solver="newton-cg").fit(Z, y, weight)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(Z), atol=1e-6)
    assert ours.solution_.status.startswith("converged")


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["", "weighted"])
def test_hinge_agrees_with_libsvm(weight):
    """An intercept without penalty, which liblinear does not have."""
    ours = RandomFeatureClassifier(BASIS, loss="hinge", alpha=ALPHA).fit(X, EVEN, weight)
    theirs = SVC(kernel="linear", C=0.5 / ALPHA, tol=1e-8).fit(Z, EVEN, weight)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-3)
    assert ours.solution_.residual < 1e-9  # the duality gap


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_hinges_reach_the_optimum_of_liblinear(loss):
    ours = RandomFeatureClassifier(BASIS, loss=loss, alpha=ALPHA, fit_intercept=False).fit(X, LABELS)
    theirs = LinearSVC(C=0.5 / ALPHA, loss=loss, tol=1e-10, max_iter=1_000_000, fit_intercept=False, random_state=0)
    np.testing.assert_allclose(ours.coef_, theirs.fit(Z, LABELS).coef_, atol=2e-3)


def test_epsilon_insensitive_agrees_with_libsvm():
    ours = RandomFeatureRegressor(BASIS, loss=EpsilonInsensitive(0.3), alpha=ALPHA).fit(X, NUMBERS)
    theirs = SVR(kernel="linear", C=0.5 / ALPHA, epsilon=0.3, tol=1e-9).fit(Z, NUMBERS)
    np.testing.assert_allclose(ours.coef_, theirs.coef_[0], atol=2e-3)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(Z), atol=2e-3)


def test_huber_agrees_with_scikit_learn():
    """scikit-learn's optimiser stops early; ours is at least as low, and predicts the same."""
    y = NUMBERS + np.where(np.arange(len(X)) % 17 == 0, 50.0, 0.0)
    ours = RandomFeatureRegressor(BASIS, loss="huber", alpha=ALPHA).fit(X, y)
    theirs = HuberRegressor(alpha=ALPHA, tol=1e-9, max_iter=100_000).fit(Z, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(Z), atol=0.02)
    scale = float(ours.solution_.status.split("scale ")[1])
    assert scale == pytest.approx(theirs.scale_, rel=2e-3)

    def total(coefficients, intercept):
        huber = type(LOSSES["huber"])(scale=scale)
        return (
            huber.value((Z @ coefficients + intercept)[:, None], y[:, None]).sum() + ALPHA * coefficients @ coefficients
        )

    assert total(ours.coef_, ours.intercept_) <= total(theirs.coef_, theirs.intercept_) * (1 + 1e-9)


def test_several_targets_are_several_problems():
    rows, both = X[:200], np.column_stack([NUMBERS, -3.0 * NUMBERS + X[:, 30]])[:200]
    for loss in ("huber", "epsilon_insensitive"):
        together = RandomFeatureRegressor(BASIS, loss=loss, alpha=ALPHA).fit(rows, both)
        for k in range(2):
            alone = RandomFeatureRegressor(BASIS, loss=loss, alpha=ALPHA).fit(rows, both[:, k])
            np.testing.assert_allclose(together.predict(rows)[:, k], alone.predict(rows), atol=1e-3)


@pytest.mark.parametrize("loss", [name for name in CLASSIFYING if name != "squared"])
def test_no_step_lowers_the_optimum(loss):
    """The optimum of each loss, against random changes of the coefficients."""
    model = RandomFeatureClassifier(BASIS, loss=loss, alpha=ALPHA).fit(X, LABELS, WEIGHT)
    best = objective(model, LABELS, WEIGHT)
    rng = np.random.default_rng(1)
    fit = model._refresh()
    for size in (1e-1, 1e-2, 1e-3):
        change = rng.standard_normal(fit.solution.coefficients.shape)
        fit.solution.coefficients[:] += size * change
        assert objective(model, LABELS, WEIGHT) > best
        fit.solution.coefficients[:] -= size * change


# ---- bounded coefficients ----


def slopes(model, y):
    """The gradient of the objective by the coefficients (classes, m), of a loss with a score per class."""
    scores = Z @ model.coef_.T + model.intercept_
    codes = np.where(y[:, None] == model.classes_, 1, -1)
    return LOSSES[model.loss].gradient(scores, codes).T @ Z + 2 * ALPHA * model.coef_


@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge", "exponential"])
def test_box_satisfies_its_conditions(loss):
    """|b| <= C/K; inside the gradient is zero, at a bound it pushes outward (Karush, Kuhn and Tucker)."""
    free = RandomFeatureClassifier(BASIS, loss=loss, alpha=ALPHA).fit(X, LABELS)
    limit = 0.5 * float(np.abs(free.coef_).max())
    boxed = RandomFeatureClassifier(BASIS, loss=loss, alpha=ALPHA, max_coefficient=limit * 80).fit(X, LABELS)
    assert np.abs(boxed.coef_).max() == limit
    at_bound, gradient = np.abs(boxed.coef_) == limit, slopes(boxed, LABELS)
    assert 5 < at_bound.sum() < at_bound.size
    scale = np.abs(slopes(free, EVEN)).max()
    assert np.abs(gradient[~at_bound]).max() < 1e-6 * scale
    assert (gradient * np.sign(boxed.coef_))[at_bound].max() < 1e-6 * scale
    loose = RandomFeatureClassifier(BASIS, loss=loss, alpha=ALPHA, max_coefficient=1e6).fit(X, LABELS)
    np.testing.assert_allclose(loose.coef_, free.coef_, atol=1e-6 * np.abs(free.coef_).max())


# ---- data that make trouble ----


@pytest.mark.parametrize("alpha", [0.0, 1e-8, "auto"])
@pytest.mark.parametrize("loss", ["exponential", "logistic", "squared_hinge"])
def test_separable_data(loss, alpha):
    rows = np.vstack([np.linspace(-2, -1, 30), np.linspace(1, 2, 30)]).reshape(-1, 1)
    y = np.repeat(["no", "yes"], 30)
    model = RandomFeatureClassifier(RandomFourier(20, random_state=0), loss=loss, alpha=alpha).fit(rows, y)
    assert np.isfinite(model.coef_).all()
    assert model.score(rows, y) == 1.0
    probabilities = model.predict_proba(rows)
    assert np.isfinite(probabilities).all()
    assert (probabilities.max(axis=1) > 0.6).all()


@pytest.mark.parametrize("loss", CLASSIFYING)
def test_inputs_of_a_million(loss):
    """Features as large as the inputs: nothing overflows, and the labels are learned."""
    rng = np.random.default_rng(0)
    rows = 1e6 * rng.standard_normal((300, 3))
    y = np.where(rows[:, 0] + rows[:, 1] > 0, 1, 0)
    model = RandomFeatureClassifier(RandomRidge(50, activation="relu", random_state=0), loss=loss).fit(rows, y)
    assert np.isfinite(model.predict_proba(rows)).all()
    assert model.score(rows, y) > 0.95


@pytest.mark.parametrize("loss", CLASSIFYING)
def test_one_class_gets_a_sentence(loss):
    with pytest.raises(ValueError, match="y has one class only"):
        RandomFeatureClassifier(loss=loss).fit(X, np.zeros(len(X)))


def test_what_does_not_go_together_is_refused():
    """Every pair of loss and solver works or names what is missing."""
    for model, losses in ((RandomFeatureClassifier, CLASSIFYING), (RandomFeatureRegressor, REGRESSING)):
        for name, loss in losses.items():
            for solver in set(SOLVERS) - {"auto", "box", *solvers_for(loss)}:
                with pytest.raises(ValueError, match=f"solver='{solver}' does not go with loss='{name}', wh"):
                    model(BASIS, loss=name, solver=solver).fit(X, EVEN)
    for arguments, message in [
        ({"max_coefficient": 1.0, "solver": "newton"}, "max_coefficient needs solver='box'"),
        ({"solver": "box"}, "solver='box' needs max_coefficient"),
        ({"max_coefficient": 1.0, "loss": "hinge"}, "which has kinks"),
        ({"max_coefficient": -1.0}, "max_coefficient must be a positive finite number"),
        ({"loss": "logistic", "alpha": "loo"}, "alpha='loo' needs the squared loss"),
        ({"loss": "huber"}, "use a regressor"),
    ]:
        with pytest.raises(ValueError, match=message):
            RandomFeatureClassifier(BASIS, **arguments).fit(X, EVEN)


def test_verbs_of_sums_are_refused():
    model = RandomFeatureClassifier(BASIS, loss="logistic", alpha=ALPHA).fit(X, EVEN)
    assert not hasattr(model, "partial_fit")
    with pytest.raises(ValueError, match="needs the sums of the fit"):
        model.forget(X[:10], EVEN[:10])


# ---- invariance ----


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_blocks_and_kept_features_make_no_difference(loss):
    """Features made in every pass, from blocks of any size, lead to the same optimum as features kept."""
    rows, y = X[:300], EVEN[:300]
    kept = RandomFeatureClassifier(BASIS, loss=loss, alpha=1.0).fit(rows, y)
    with bochner.config_context(memory="0.5MB", block_rows=130):
        made = RandomFeatureClassifier(BASIS, loss=loss, alpha=1.0).fit(MemoryBlocks(rows, y))
    np.testing.assert_allclose(made.coef_, kept.coef_, atol=2e-4 * np.abs(kept.coef_).max())


@pytest.mark.parametrize("precision", ["int8", "int14", "float32"])
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_precisions(loss, precision):
    reference = RandomFeatureClassifier(BASIS, loss=loss, alpha=ALPHA).fit(X, EVEN)
    model = RandomFeatureClassifier(BASIS, loss=loss, alpha=ALPHA, precision=precision).fit(X, EVEN)
    assert model.solution_.status.startswith("converged")
    assert model.score(X, EVEN) == pytest.approx(reference.score(X, EVEN), abs=0.03)


def test_fewer_rows_than_features_and_sparse_features():
    for basis in (RandomFourier(300, random_state=0), RandomBins(256, random_state=0)):
        for loss in ("logistic", "hinge"):
            model = RandomFeatureClassifier(basis, loss=loss, alpha=0.01).fit(X[:150], EVEN[:150])
            assert model.solution_.status.startswith("converged")
            assert model.score(X[:150], EVEN[:150]) > 0.97


def test_class_weights_act_as_sample_weights():
    weights = np.where(EVEN == 1, 4.0, 1.0)
    by_class = RandomFeatureClassifier(BASIS, loss="hinge", alpha=ALPHA, class_weight={0: 1.0, 1: 4.0}).fit(X, EVEN)
    by_sample = RandomFeatureClassifier(BASIS, loss="hinge", alpha=ALPHA).fit(X, EVEN, weights)
    np.testing.assert_allclose(by_class.coef_, by_sample.coef_, atol=1e-8)


def test_the_penalty_is_chosen_by_held_out_loss():
    model = RandomFeatureClassifier(BASIS, loss="logistic").fit(X[:400], LABELS[:400])
    assert "loss of 5 folds of 400 rows" in model.explain_fit()
    others = [RandomFeatureClassifier(BASIS, loss="logistic", alpha=a).fit(X[:400], LABELS[:400]) for a in (1e-7, 1e4)]
    best = max(other.score(X[400:], LABELS[400:]) for other in others)
    assert model.score(X[400:], LABELS[400:]) >= best - 0.01


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "exponential", "hinge"])
@pytest.mark.parametrize("data", ["iris", pytest.param("wine", marks=pytest.mark.slow)])
def test_the_chosen_penalty_is_near_the_best(loss, data):
    """By held-out loss; one held-out fifth chose penalties a thousand times too small."""
    rows, labels = {"iris": load_iris, "wine": load_wine}[data](return_X_y=True)
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    train = np.random.default_rng(0).permutation(len(rows)) < 0.7 * len(rows)

    def risk(alpha):
        model = RandomFeatureClassifier(RandomFourier(200, random_state=0), loss=loss, alpha=alpha)
        model.fit(rows[train], labels[train])
        return log_loss(labels[~train], model.predict_proba(rows[~train])), model

    best = min(risk(alpha)[0] for alpha in 10.0 ** np.arange(-6, 3))
    chosen, model = risk("auto")
    assert chosen < best + 0.12
    promise = model._refresh().validated
    assert promise.rows == train.sum()
    assert promise.score > 0.85 and 0 < promise.standard_error < 0.05


def test_a_penalty_at_the_edge_is_mentioned():
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 2, 200)
    model = RandomFeatureClassifier(RandomFourier(50, random_state=0), loss="logistic", alpha=[1e-3, 1e-2])
    assert "at the upper end of the candidates" in model.fit(rng.normal(size=(200, 3)), noise).explain_fit()


def test_huber_takes_few_steps():
    """The scale is found with the coefficients; in turns they took 60 steps and more."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1000, 5))
    y = np.sin(2 * rows[:, 0]) + rows[:, 1] * rows[:, 2] + np.exp(1.5 * rng.normal(size=1000))
    model = RandomFeatureRegressor(RandomFourier(400, random_state=0), loss="huber", alpha=1e-2).fit(rows, y)
    assert model.solution_.iterations <= 25
    assert model.solution_.status.startswith("converged")


def test_checkpoint_and_files(tmp_path):
    plain = RandomFeatureClassifier(BASIS, loss="logistic", alpha=ALPHA, random_state=0).fit(X, LABELS)
    kept = RandomFeatureClassifier(BASIS, loss="logistic", alpha=ALPHA, random_state=0)
    kept.fit(X, LABELS, checkpoint=tmp_path / "c")
    assert np.array_equal(kept.coef_, plain.coef_)
    model = RandomFeatureRegressor(BASIS, loss=EpsilonInsensitive(0.3), alpha=ALPHA).fit(X, NUMBERS)
    model.save(tmp_path / "m")
    loaded = bochner.load(tmp_path / "m")
    assert loaded.loss == EpsilonInsensitive(0.3)
    assert np.array_equal(loaded.predict(X), model.predict(X))


def test_a_killed_fit_of_a_kinked_loss_goes_on(tmp_path):
    """Multipliers are no sum: they must be made again even where the sums are read back."""
    rows, y = X[:200], EVEN[:200]
    with bochner.config_context(memory="0.5MB", block_rows=130):
        model = RandomFeatureClassifier(BASIS, loss="hinge", alpha=5.0, random_state=0)
        plain = model.fit(rows, y).coef_
        model.fit(rows, y, checkpoint=tmp_path / "c")
        steps = sorted((tmp_path / "c").glob("step-*"))
        for step in steps[len(steps) // 2 :]:
            step.unlink()
        assert np.array_equal(model.fit(rows, y, checkpoint=tmp_path / "c").coef_, plain)

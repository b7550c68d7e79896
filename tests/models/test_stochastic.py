"""Training by steps: near the optimum, the same whatever the blocks, resumed where it stopped; features without end."""

import pickle
import tracemalloc

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import r2_score

import bochner
from bochner import (
    Fastfood,
    GatedLinear,
    KernelRidgeRegressor,
    RandomFeatureClassifier,
    RandomFeatureRegressor,
    RandomFourier,
    RandomMaxout,
)
from bochner.blocks import MemoryBlocks
from bochner.losses import CLASSIFYING, LOSSES, REGRESSING
from bochner.models.explaining import learned_numbers
from bochner.solvers import SGD, Adam, DoublyStochastic

X, LABELS = load_digits(return_X_y=True)
X, LABELS = X[:1000] / 16.0, LABELS[:1000]
EVEN, THREE = LABELS % 2, LABELS % 3
BASIS = RandomFourier(100, bandwidth=2.0, random_state=3)
Z = BASIS.fit(X).transform(X)
ALPHA = 1.0


def objective(loss, coefficients, intercept, y):
    scores = Z @ np.atleast_2d(coefficients).T + intercept
    codes = np.where(y[:, None] == np.unique(y), 1, -1)[:, -scores.shape[1] :]
    return LOSSES[loss].value(scores, codes).sum() + ALPHA * np.sum(np.square(coefficients))


@pytest.mark.parametrize("solver", [SGD(validation=0, epochs=50), Adam(validation=0, epochs=50)], ids=["sgd", "adam"])
@pytest.mark.parametrize("loss", CLASSIFYING)
def test_steps_come_near_the_optimum(loss, solver):
    """Within one percent of the optimum, and at least as near as scikit-learn's SGD where it has the loss."""
    best = RandomFeatureClassifier(BASIS, loss=loss, alpha=ALPHA).fit(X, THREE)
    model = RandomFeatureClassifier(BASIS, loss=loss, alpha=ALPHA, solver=solver).fit(X, THREE)
    optimum, reached = (objective(loss, m.coef_, m.intercept_, THREE) for m in (best, model))
    assert optimum <= reached * (1 + 1e-9)
    assert reached < 1.01 * optimum


@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared_hinge"])
def test_beside_scikit_learn(loss):
    names = {"logistic": "log_loss"}
    theirs = SGDClassifier(names.get(loss, loss), alpha=2 * ALPHA / len(X), max_iter=50, tol=None, random_state=0)
    theirs.fit(Z, EVEN)
    ours = RandomFeatureClassifier(BASIS, loss=loss, alpha=ALPHA, solver=SGD(validation=0, epochs=50)).fit(X, EVEN)
    assert objective(loss, ours.coef_, ours.intercept_, EVEN) <= 1.01 * objective(
        loss, theirs.coef_, theirs.intercept_, EVEN
    )


@pytest.mark.parametrize("solver", ["sgd", "adam"])
@pytest.mark.parametrize("loss", ["squared", "epsilon_insensitive"])
def test_regression(loss, solver):
    assert loss in REGRESSING
    y = np.sin(3 * X[:, 20]) + X[:, 30]
    model = RandomFeatureRegressor(RandomFourier(200, random_state=0), loss=loss, solver=solver, random_state=0)
    exact = RandomFeatureRegressor(RandomFourier(200, random_state=0)).fit(X, y)
    assert model.fit(X, y).score(X, y) > 0.75 * exact.score(X, y)


def test_early_stopping_keeps_the_best_epoch():
    noise = np.random.default_rng(0).integers(0, 2, len(X))
    model = RandomFeatureClassifier(
        BASIS, loss="logistic", alpha=1e-9, solver=SGD(epochs=60, patience=3, schedule="constant")
    )
    model.fit(X, noise)
    assert model.solution_.iterations < 60
    assert "rows held out" in model.solution_.status


@pytest.mark.parametrize("schedule", ["constant", "inverse", "cosine"])
def test_schedules(schedule):
    method = SGD(schedule=schedule, epochs=10)
    rates = [method.rate(2.0, done) for done in range(11)]
    assert rates[0] == 2.0
    assert (np.diff(rates) <= 0).all()
    assert (rates[-1] == 2.0) == (schedule == "constant")


def test_blocks_threads_and_the_journal_make_no_difference(tmp_path):
    plain = RandomFeatureClassifier(BASIS, loss="logistic", alpha=ALPHA, solver=SGD(epochs=3)).fit(X, EVEN)
    with bochner.config_context(block_rows=200):
        again = RandomFeatureClassifier(BASIS, loss="logistic", alpha=ALPHA, solver=SGD(epochs=3), n_jobs=1).fit(
            X, EVEN
        )
    np.testing.assert_allclose(again.coef_, plain.coef_, rtol=1e-9)
    kept = RandomFeatureClassifier(BASIS, loss="logistic", alpha=ALPHA, solver=SGD(epochs=3))
    kept.fit(X, EVEN, checkpoint=tmp_path / "c")
    assert np.array_equal(kept.coef_, plain.coef_)
    last = max((tmp_path / "c").glob("step-*"))
    last.unlink()  # as if it had been killed in its last epoch
    kept.fit(X, EVEN, checkpoint=tmp_path / "c")
    assert np.array_equal(kept.coef_, plain.coef_)


def test_rows_of_a_stream_are_shuffled_within_blocks(tmp_path):
    np.savetxt(tmp_path / "t.csv", np.column_stack([X[:400], EVEN[:400]]), delimiter=",",
               header=",".join([*(f"x{k}" for k in range(64)), "y"]), comments="")  # fmt: skip
    blocks = bochner.read(tmp_path / "t.csv", target="y")
    model = RandomFeatureClassifier(BASIS, loss="logistic", alpha=ALPHA, solver="sgd").fit(blocks)
    assert model.score(blocks) > 0.75


def test_partial_fit_goes_on():
    model = RandomFeatureClassifier(BASIS, loss="logistic", alpha=ALPHA, solver="sgd", random_state=0)
    scores = []
    for start in range(0, 800, 200):
        model.partial_fit(X[start : start + 200], EVEN[start : start + 200], classes=[0, 1])
        scores.append(model.score(X[800:], EVEN[800:]))
    assert scores[-1] > 0.75
    assert model.solution_.iterations == 4
    assert scores[-1] >= scores[0]


def test_bad_settings_get_a_sentence():
    for make, message in [
        (lambda: SGD(epochs=0), "epochs must be an integer"),
        (lambda: SGD(momentum=1.0), "momentum must be"),
        (lambda: Adam(learning_rate=-1.0), "learning_rate must be"),
        (lambda: Adam(schedule="linear"), "schedule='linear' is not known"),
        (lambda: SGD(validation=1.0), "validation must be"),
        (lambda: DoublyStochastic(features=0), "features must be"),
    ]:
        with pytest.raises(ValueError, match=message):
            make()
    with pytest.raises(ValueError, match="training diverged"), np.errstate(all="ignore"):
        RandomFeatureRegressor(BASIS, alpha=1.0, solver=SGD(learning_rate=1e6)).fit(X, EVEN)


def test_the_regime_of_mckernel():
    """Softmax, batches of ten, features of growing expansions on the fly; equation 22 counts what is learned."""
    padded, classes, scores = 64, 10, []
    for expansions in (1, 4):
        m = 2 * padded * expansions
        basis = Fastfood(m, kernel="ball_matern", degree=40, bandwidth=1.5, random_state=1398239763)
        # Raw cosines and sines at the rate 0.001 are features of length 1 at the rate 0.001 m / 2.
        method = SGD(
            batch_size=10, learning_rate=0.001 * m / 2, epochs=20, momentum=0.0, schedule="constant", validation=0
        )
        model = RandomFeatureClassifier(basis, loss="logistic", alpha=1e-6, solver=method).fit(X[:700], LABELS[:700])
        assert learned_numbers(model.solution_, True) == classes * (2 * padded * expansions + 1)
        assert f"learned: {learned_numbers(model.solution_, True):,} numbers" in model.explain_fit()
        scores.append(model.score(X[700:], LABELS[700:]))
    assert scores[1] > scores[0]
    assert scores[1] > 0.88


# ---- doubly stochastic ----


def smooth_problem(n, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.uniform(-2, 2, (n, 2))
    return rows, np.sin(2 * rows[:, 0]) * rows[:, 1] + 0.1 * rng.standard_normal(n)


def test_the_error_falls_like_one_over_the_steps():
    """Mean squared distance from the exact kernel ridge, on three seeds: its logarithm falls with slope -1."""
    rows, y = smooth_problem(400)
    alpha = 40.0  # nu = 0.2: rates 1/(nu t) soon
    target = KernelRidgeRegressor(bandwidth=1.0, alpha=alpha).fit(rows, y).predict(rows)
    steps = np.array([40, 160, 640])
    errors = np.zeros((3, len(steps)))
    for seed in range(3):
        for k, count in enumerate(steps):
            basis = RandomFourier(16 * count, bandwidth=1.0, random_state=seed)
            method = DoublyStochastic(batch_size=32, features=16)
            model = RandomFeatureRegressor(basis, alpha=alpha, solver=method).fit(rows, y)
            assert model.solution_.iterations == count
            errors[seed, k] = np.mean((model.predict(rows) - target) ** 2)
    slope = np.polyfit(np.log(steps), np.log(errors.mean(axis=0)), 1)[0]
    assert -1.5 < slope < -0.75
    assert errors.mean(axis=0)[-1] < 0.01 * np.var(target)


def test_it_resumes_from_its_seed(tmp_path):
    """A run that goes on, from memory, a pickle or a file, is the run that never stopped."""
    rows, y = smooth_problem(600)
    method = DoublyStochastic(batch_size=50, features=20)

    def parts(between):
        model = RandomFeatureRegressor(RandomFourier(20, bandwidth=1.0, random_state=0), alpha=1.0, solver=method)
        for start in range(0, 600, 200):
            model = between(model.partial_fit(rows[start : start + 200], y[start : start + 200]))
        return model

    def through_a_file(model):
        model.save(tmp_path / "m")
        return bochner.load(tmp_path / "m")

    whole = parts(lambda model: model)
    assert whole.basis_.n_components == 240  # twenty for each of twelve batches
    assert r2_score(y, whole.predict(rows)) > 0.1
    for between in (lambda model: pickle.loads(pickle.dumps(model)), through_a_file):
        np.testing.assert_array_equal(parts(between).coef_, whole.coef_)


def test_a_killed_run_goes_on(tmp_path):
    rows, y = smooth_problem(300)
    model = RandomFeatureRegressor(RandomFourier(800, random_state=0), alpha=1.0, solver=DoublyStochastic(32, 16))
    plain = model.fit(rows, y).coef_
    model.fit(rows, y, checkpoint=tmp_path / "c")
    for name in sorted((tmp_path / "c").glob("step-*"))[10:]:
        name.unlink()
    assert np.array_equal(model.fit(rows, y, checkpoint=tmp_path / "c").coef_, plain)


def test_memory_does_not_grow_with_features():
    """No more than a tile of features and the coefficients themselves."""
    rows, y = smooth_problem(500)

    def peak(m):
        model = RandomFeatureRegressor(RandomFourier(m, bandwidth=1.0, random_state=0), alpha=1.0,
                                       solver=DoublyStochastic(batch_size=64, features=256))  # fmt: skip
        tracemalloc.start()
        model.fit(rows, y)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(1024)
    half, whole = peak(8 * 1024), peak(16 * 1024)
    assert whole - half < 8 * 8 * 8 * 1024 + 300_000  # coefficients and frequencies, some copies of each
    assert whole < 0.1 * 8 * 500 * 16 * 1024  # a tenth of the features of all rows


def test_steps_are_as_long_as_a_batch_allows():
    """26 classes of 3 clouds each: steps by the mean of k(x, x), far too short, ended at 48 % errors."""
    rng = np.random.default_rng(0)
    clouds = rng.integers(0, 78, 8000)
    rows = 1.3 * rng.normal(size=(78, 16))[clouds] + rng.normal(size=(8000, 16))
    model = RandomFeatureClassifier(RandomFourier(4096, random_state=0), alpha=0.01, solver="doubly_stochastic")
    model.fit(rows[:6000], clouds[:6000] % 26)
    assert model.score(rows[6000:], clouds[6000:] % 26) > 0.75


def test_it_classifies_blocks():
    model = RandomFeatureClassifier(RandomFourier(4096, bandwidth=2.0, random_state=0), loss="logistic", alpha=0.1,
                                    solver="doubly_stochastic").fit(MemoryBlocks(X[:700], LABELS[:700]))  # fmt: skip
    assert model.score(X[700:], LABELS[700:]) > 0.8


@pytest.mark.parametrize("basis", [RandomFourier(6), GatedLinear(8), RandomMaxout(6)])
@pytest.mark.parametrize("features", [1, 2, 3])
def test_doubly_stochastic_steps_of_less_than_a_unit_find_features(basis, features):
    """A pair of waves, or the gates of a unit, come together: partial_fit must add whole ones."""
    rows = np.random.default_rng(0).standard_normal((40, 3))
    how = {"solver": DoublyStochastic(batch_size=20, features=features), "alpha": 0.1, "random_state": 0}
    model = RandomFeatureRegressor(clone(basis), **how).fit(rows, rows[:, 0])
    for _ in range(3):
        model.partial_fit(rows, rows[:, 0])
    assert np.isfinite(model.predict(rows)).all()


def test_a_step_without_penalty_or_intercept():
    """Leaving out what is zero changes nothing: a tiny penalty and none end in the same place."""
    rows = np.random.default_rng(0).standard_normal((60, 4))
    labels = (np.sin(rows[:, 0]) * rows[:, 1] > 0).astype(int)
    free, bound = (
        RandomFeatureClassifier(
            RandomFourier(20, bandwidth=2.0, random_state=0), loss="logistic", alpha=alpha, fit_intercept=False,
            solver=SGD(learning_rate=1.0, validation=0, epochs=3),
        ).fit(rows, labels)
        for alpha in (0.0, 1e-12)
    )  # fmt: skip
    np.testing.assert_allclose(free.coef_, bound.coef_, rtol=1e-8)

"""Advice: what it says is what its model does, and on bad-tempered data it is no worse than the default or the mean."""

import numpy as np
import pytest
import scipy.sparse

import bochner
from bochner import RandomFeatureClassifier, RandomFeatureRegressor, RandomFourier, advise, tune
from bochner.blocks import MemoryBlocks
from bochner.costs import gram_bytes

RNG = np.random.default_rng(0)
ROWS = 600
Z = RNG.standard_normal((ROWS, 4))
SMOOTH = np.sin(2 * Z[:, 0]) + Z[:, 1] * Z[:, 2] + 0.2 * RNG.standard_normal(ROWS)
TAILS = RNG.standard_t(1.5, (ROWS, 4))
LABELS = np.where(SMOOTH > 0.3, "high", "low")

DATA = {
    "normal": (Z, SMOOTH),
    "scales": (Z * [1e9, 1e-6, 1.0, 1e3], SMOOTH),
    "lognormal": (np.exp(1.5 * Z), SMOOTH),
    "heavy tails": (TAILS, TAILS[:, 0] + np.sin(TAILS[:, 1]) + 0.3 * RNG.standard_normal(ROWS)),
    "noise": (Z, RNG.standard_normal(ROWS)),
    "copies": (np.repeat(Z[:200], 3, axis=0), np.repeat(SMOOTH[:200], 3)),
    "labels": (Z * [1e9, 1e-6, 1.0, 1e3], LABELS),
    "labels with heavy tails": (TAILS, np.where(TAILS[:, 0] + np.sin(3 * TAILS[:, 1]) > 0.5, "high", "low")),
    "rare labels": (Z, RNG.permutation(np.repeat(["a", "b", "c"], [540, 48, 12]))),
}
QUICK = {"heavy tails", "rare labels"}


def split(name):
    X, y = DATA[name]
    half = 2 * len(y) // 3
    return X[:half], y[:half], X[half:], y[half:]


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in DATA])
def test_no_worse_than_the_default_model_or_the_mean(name):
    X, y, new, truth = split(name)
    labels = y.dtype.kind == "U"
    usual = RandomFeatureClassifier(random_state=0) if labels else RandomFeatureRegressor(random_state=0)
    simple = 1 - np.mean(truth == max(set(y), key=list(y).count)) if labels else 1.0
    bound = min(1.1 * (1 - usual.fit(X, y).score(new, truth)) + 0.015, 1.02 * simple + 0.01)
    advice = advise(X, y)
    assert 1 - advice.model().fit(X, y).score(new, truth) <= bound
    assert advice.n_components <= len(X)
    assert advice.classification == labels
    tuned = tune(X, y, basis=RandomFourier(300))
    assert 1 - tuned.model().fit(X, y).score(new, truth) <= bound


def test_the_model_is_what_was_advised():
    rows, y = Z[:300] * [1e9, 1e-6, 1.0, 1e3], SMOOTH[:300]
    advice = advise(rows, y, random_state=3)
    model = advice.model()
    assert isinstance(model, RandomFeatureRegressor)
    assert not hasattr(model, "design_")
    assert model.scale == advice.scale in ("robust", "standard")
    assert model.basis.get_params()["bandwidth"] == advice.bandwidth
    model.fit(rows, y)
    assert model.basis_.n_components == advice.n_components
    assert 1 - model.cv_score_ == pytest.approx(advice.error, abs=0.05)
    assert model.basis_.seed_ == 3
    assert advice.model(alpha=2.0, precision="float32").get_params()["precision"] == "float32"
    for word in ("rows: ", "bandwidth: ", "features: ", "precision: ", "solver: ", advice.bandwidth):
        assert word in str(advice)
    labels = LABELS[:300]
    classifier = advise(Z[:300], labels)
    assert isinstance(classifier.model(), RandomFeatureClassifier)
    assert 1 - classifier.model().fit(Z[:300], labels).cv_score_ == pytest.approx(classifier.wrong, abs=0.04)
    assert isinstance(advise(Z[:300], labels == "high", classification=False).model(), RandomFeatureRegressor)


def test_units_of_columns_do_not_matter():
    """Folds are others, so of bandwidths that do equally well another may be taken."""
    alike, unlike = (advise(Z * by, SMOOTH) for by in (1.0, np.array([1e9, 1e-6, 1.0, 1e3])))
    assert alike.scale == unlike.scale
    assert max(alike.error, unlike.error) < 0.05


@pytest.mark.parametrize("rows", [12, 40, 150, 400])
def test_never_more_features_than_rows(rows):
    advice = advise(Z[:rows], SMOOTH[:rows])
    assert 2 <= advice.n_components <= rows
    advice.model().fit(Z[:rows], SMOOTH[:rows])


def test_few_rows_are_not_led_astray():
    """The mean over draws of 40 rows: no worse than the default model by more than a few per cent."""
    errors = []
    for seed in range(5):
        random = np.random.default_rng(seed)
        rows = random.standard_normal((540, 4))
        y = np.sin(2 * rows[:, 0]) + rows[:, 1]
        usual, advised = RandomFeatureRegressor(random_state=0), advise(rows[:40], y[:40]).model()
        errors.append([1 - model.fit(rows[:40], y[:40]).score(rows[40:], y[40:]) for model in (usual, advised)])
    usual, advised = np.mean(errors, axis=0)
    assert advised < 1.1 * usual


@pytest.mark.slow
def test_more_rows_and_a_harder_target_warrant_more_features():
    rows = np.random.default_rng(1).uniform(-3, 3, (3000, 2))
    noise = 0.1 * np.random.default_rng(2).standard_normal(3000)
    easy, hard = rows[:, 0] ** 2, np.sin(4 * rows[:, 0]) * np.cos(4 * rows[:, 1])
    few, many = advise(rows, easy + noise), advise(rows, hard + noise)
    assert few.n_components < many.n_components <= 3000
    assert many.memory >= gram_bytes(many.n_components)


def test_sparse_rows_blocks_and_a_small_budget():
    expected = advise(Z[:200], SMOOTH[:200])
    assert advise(MemoryBlocks(Z[:200], SMOOTH[:200]).map(lambda block: block)).bandwidth == expected.bandwidth
    sparse = scipy.sparse.csr_matrix((Z * (np.abs(Z) > 0.7))[:200])
    assert advise(sparse, SMOOTH[:200]).model().fit(sparse, SMOOTH[:200]).n_features_in_ == 4
    with bochner.config_context(memory="16MB"):
        small = advise(Z[:200], SMOOTH[:200])
    assert gram_bytes(small.n_components) <= 16e6


def test_too_few_rows_are_refused_in_one_sentence():
    with pytest.raises(ValueError, match="too few rows to hold some of them out: 10 or more are needed"):
        advise(Z[:5], SMOOTH[:5])


def test_multiples_of_the_median():
    basis = RandomFourier(4, bandwidth="0.5*median").fit(Z)
    assert basis.bandwidth_ == pytest.approx(0.5 * RandomFourier(4).fit(Z).bandwidth_, rel=1e-5)
    for wrong, message in (
        ("0.5*medain", "bandwidth='0.5\\*medain' is not known"),
        ("half*median", "not a multiple such as '0.5\\*median'"),
        ("-1*median", "not a multiple such as"),
        ("nan*median", "not a multiple such as"),
    ):
        with pytest.raises(ValueError, match=message):
            RandomFourier(4, bandwidth=wrong).fit(Z)
    model = RandomFeatureRegressor(RandomFourier(20, bandwidth="0.5*median"), random_state=0).fit(Z, SMOOTH)
    assert "(0.5*median)" in model.explain_fit()

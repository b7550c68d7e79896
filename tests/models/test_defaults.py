"""No fit without settings is ever absurd: bad-tempered data, every basis, beside plain ridge and the mean."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import RidgeClassifierCV, RidgeCV
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bochner
from bochner import (
    DistributionClassifier,
    DistributionRegressor,
    Fastfood,
    FixedFourier,
    KernelRidgeClassifier,
    KernelRidgeRegressor,
    LearnedFourierClassifier,
    LearnedFourierRegressor,
    RandomFeatureClassifier,
    RandomFeatureRegressor,
    RandomFourier,
    RandomMaxout,
    advise,
    mmd,
    tune,
)
from bochner.bases import REGISTRY
from bochner.bench.defaults import judge, some_rows
from bochner.data.tables import REAL
from bochner.penalties.search import above_humps, smallest
from bochner.validation import FitWarning
from helpers.bad_tempered import KINDS, Data, made

FEATURES = 100
PENALTIES = np.logspace(-3, 5, 17)
# Where the rule does not hold on these draws: what was found, and what the draw is like.
SHORT = {
    ("stumps", precision, *case): reason
    for precision in (None, "int8", "auto")
    for case, reason in {
        ("skewed targets", False): "1.13 times the mean; two of 400 rows hold three fifths of all squares",
        ("wild weights", False): "0.97 where ridge has 0.72; the weights are worth 58 rows",
        ("few rows", False): "1.10 to 1.46 where the mean has 1.00; 20 rows, of whose folds one says .84",
    }.items()
} | {("fastfood", "int8", "few rows", False): "1.30 where the mean has 1.00; the folds of 20 rows say .81"}
QUICK = {("fourier", None), ("fourier", "int8"), ("maxout", "auto"), ("bins", None)}  # the others take minutes


def error(model, data):
    """Squared error relative to the variance of the test targets, or the share of wrong labels."""
    if hasattr(model, "classes_"):
        return np.mean(model.predict(data.X_test) != data.y_test)
    return np.mean((model.predict(data.X_test) - data.y_test) ** 2) / np.var(data.y_test)


def plain_error(data, labels):
    """The better of ridge on standardised columns and of what needs no columns."""
    ridge = RidgeClassifierCV(PENALTIES) if labels else RidgeCV(PENALTIES)
    pipeline = make_pipeline(StandardScaler(), ridge)
    pipeline.fit(data.X, data.y, **{f"{pipeline.steps[-1][0]}__sample_weight": data.weight})
    if labels:
        nothing = np.mean(data.y_test != np.bincount(data.y, data.weight).argmax())
    else:
        nothing = np.mean((data.y_test - np.average(data.y, weights=data.weight)) ** 2) / np.var(data.y_test)
    return min(error(pipeline, data), nothing)


def slack(limit, labels, rows):
    """A twentieth; for labels also what counting so many rows leaves open, two standard errors of a difference."""
    return 1.05 * limit + (2.0 * np.sqrt(0.25 * limit / rows) if labels else 0.0)


@pytest.mark.parametrize("labels", [False, True], ids=["numbers", "labels"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("name", "precision"),
    [
        pytest.param(name, precision, marks=() if (name, precision) in QUICK else pytest.mark.slow)
        for name in REGISTRY
        for precision in (None, "int8", "auto")
    ],
)
def test_never_worse_than_plain_ridge_or_the_mean(name, precision, kind, labels):
    data = made(kind, labels)
    limit = plain_error(data, labels)
    kind_of_model = RandomFeatureClassifier if labels else RandomFeatureRegressor
    model = kind_of_model(REGISTRY[name](FEATURES), precision=precision, random_state=0)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", FitWarning)
        model.fit(data.X, data.y, data.weight)
    found, allowed = error(model, data), slack(limit, labels, len(data.y_test))
    if (name, precision, kind, labels) in SHORT:
        assert found > allowed, "it holds here now: take it off the list"
        pytest.xfail(SHORT[name, precision, kind, labels])
    assert found <= allowed, model.explain_fit()
    if model._refresh().end == "upper":  # never a silent edge
        assert told


@pytest.mark.parametrize("labels", [False, True], ids=["numbers", "labels"])
@pytest.mark.parametrize("name", ["fourier", "maxout", "stumps"])
def test_twenty_rows(name, labels):
    """Folds of so few rows say little: judged by the mean over draws."""
    kind_of_model = RandomFeatureClassifier if labels else RandomFeatureRegressor
    found, limits = [], []
    for seed in range(12):
        data = made("few rows", labels, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FitWarning)
            found.append(error(kind_of_model(REGISTRY[name](FEATURES), random_state=0).fit(data.X, data.y), data))
        limits.append(plain_error(data, labels))
    assert np.mean(found) <= 1.05 * np.mean(limits)


@pytest.mark.parametrize("seed", [17, 36])
@pytest.mark.parametrize("features", [100, 1000])  # by sums, and by the kernel matrix
def test_one_far_out_target_is_not_singled_out(seed, features):
    """One target of 400 is 50 times the others: the smallest penalties fit it alone, and erred 66 times as much."""
    data = made("skewed targets", False, seed)
    model = RandomFeatureRegressor(REGISTRY["stumps"](features), random_state=0).fit(data.X, data.y)
    assert error(model, data) <= 1.2 * plain_error(data, False)


def test_penalties_below_a_hump_do_not_count():
    errors = np.array([0.95, 0.94, 1.10, 0.99, 0.97, 1.0])
    assert smallest(above_humps(errors, errors.__getitem__, 400)) == 4
    assert smallest(above_humps(errors, errors.__getitem__, 40)) == 1  # noise, with so few rows
    for low in (np.array([0.3, 0.2, 1.1, 0.9, 0.97, 1.0]), np.array([1.3, 0.9, 0.95, 1.01, 1.0, 1.0])):
        assert smallest(above_humps(low, low.__getitem__, 400)) == 1  # a good model; no hump on the way
    tried = np.array([0.95, 0.94, np.nan, np.nan, np.nan, np.nan])
    assert smallest(above_humps(tried, errors.__getitem__, 400)) == 4


@pytest.mark.slow
def test_on_twenty_rows_the_rule_is_kept_more_often_than_by_folds_of_ridge_and_the_mean():
    """No procedure keeps it on every draw: a choice between ridge and the mean by folds breaks it on a third of them.

    Cells are left out: of 100 columns they make six trees, which break it on 28 of 60 draws.
    """
    ridge, folds = make_pipeline(StandardScaler(), RidgeCV(PENALTIES)), KFold(5, shuffle=True, random_state=0)
    names = [name for name in REGISTRY if name != "cells"]
    broken = dict.fromkeys(("chosen", *names), 0)
    for seed in range(60):
        data = made("few rows", False, seed)
        limit = 1.05 * plain_error(data, False)
        candidates = [ridge, DummyRegressor()]
        judged = [np.mean((cross_val_predict(one, data.X, data.y, cv=folds) - data.y) ** 2) for one in candidates]
        broken["chosen"] += error(candidates[int(np.argmin(judged))].fit(data.X, data.y), data) > limit
        for name in names:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FitWarning)
                model = RandomFeatureRegressor(REGISTRY[name](FEATURES), random_state=0).fit(data.X, data.y)
            broken[name] += error(model, data) > limit
    assert max(broken.values()) == broken["chosen"], broken


def test_a_few_far_out_rows_do_not_blunt_integers():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 5))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(3000)
    X[:15] += 1e4 * rng.standard_normal((15, 5))
    scores = {
        precision: RandomFeatureRegressor(RandomFourier(600), precision=precision, random_state=0)
        .fit(X[:2000], y[:2000])
        .score(X[2000:], y[2000:])
        for precision in (None, "int8", "auto")
    }
    assert min(scores.values()) > 0.8  # without those rows 0.96
    given = {
        precision: RandomFeatureRegressor(RandomFourier(600, bandwidth=2.0), precision=precision, random_state=0)
        .fit(X[:2000], y[:2000])
        .score(X[2000:], y[2000:])
        for precision in (None, "int8")
    }
    assert given["int8"] > given[None] - 0.05  # the step of integers is not taken from the extremes either


@pytest.mark.parametrize("law", ["normal", "t 3", "t 5", "laplace", "exponential"])
@pytest.mark.parametrize("noise", [0.3, 0.01])
def test_a_line_is_followed_as_far_as_ridge_follows_it(law, noise):
    """Columns end near the range of the training rows, and new rows go beyond it."""
    rng = np.random.default_rng(0)
    draws = {
        "normal": rng.standard_normal, "t 3": lambda shape: rng.standard_t(3, shape),
        "t 5": lambda shape: rng.standard_t(5, shape), "laplace": lambda shape: rng.laplace(size=shape),
        "exponential": lambda shape: rng.exponential(size=shape),
    }  # fmt: skip
    X = draws[law]((1900, 5))
    y = X @ [1.0, 0.5, 0.2, 0.0, 0.0] + noise * rng.standard_normal(1900)
    data = Data(X[:400], y[:400], X[400:], y[400:])
    for name in ("fourier", "stumps"):
        model = RandomFeatureRegressor(REGISTRY[name](FEATURES), random_state=0).fit(data.X, data.y)
        assert error(model, data) <= 1.1 * plain_error(data, False)


@pytest.mark.parametrize("labels", [False, True], ids=["numbers", "labels"])
def test_where_ridge_is_right_it_is_ridge(labels):
    """Features that fit the codes of two classes better may part them worse; then the columns stand alone."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2500, 10))
    y = X @ np.linspace(1, -1, 10) + 1e-3 * rng.standard_normal(2500)
    y = (y > 0).astype(int) if labels else y
    data = Data(X[:800], y[:800], X[800:], y[800:])
    kind_of_model = RandomFeatureClassifier if labels else RandomFeatureRegressor
    model = kind_of_model(RandomFourier(FEATURES), random_state=0).fit(data.X, data.y)
    assert error(model, data) <= 1.05 * plain_error(data, labels) + 1e-9
    assert labels or "linear alone" in model.explain_fit()


@pytest.mark.parametrize("factor", [1e3, 1e4])
def test_rows_far_out_on_a_line(factor):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1900, 5))
    X[rng.random(1900) < 0.005] *= factor
    y = X @ [1.0, 2.0, 0.0, 0.0, -1.0] + rng.standard_normal(1900)
    data = Data(X[:400], y[:400], X[400:], y[400:])
    model = RandomFeatureRegressor(RandomFourier(FEATURES), random_state=0).fit(data.X, data.y)
    assert error(model, data) <= 1.05 * plain_error(data, False)


@pytest.mark.parametrize("loss", ["huber", "epsilon_insensitive"])
@pytest.mark.parametrize("seed", range(3))
def test_losses_below_zero_have_a_best_penalty_too(loss, seed):
    """Losses with a scale of their own may be negative: the least of them is still the least."""
    rng = np.random.default_rng(seed)
    X = rng.standard_t(1.5, (300, 3))
    y = X[:, 0] - 2 * X[:, 1] + 0.1 * rng.standard_normal(300)
    model = RandomFeatureRegressor(RandomFourier(30), loss=loss, random_state=0).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.9


@pytest.mark.parametrize("name", REGISTRY)
@pytest.mark.parametrize("rows", [2, 9, 11, 13])
def test_any_number_of_rows_will_do(rows, name):
    """A trial has no more features than rows, and a basis may not have any number of them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, 3))
    how = {"pool_size": 3} if name in ("maxout", "gated") else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        model = RandomFeatureRegressor(REGISTRY[name](60, **how), random_state=0).fit(X, X[:, 0])
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("linear", ["auto", True])
def test_bases_of_given_frequencies_too(linear):
    """Trials have other numbers of features, and of these there are only those that were given."""
    data = made("lognormal", False)
    for basis in (
        Fastfood(6, calibration=np.ones(3)),
        Fastfood(600, calibration=np.ones(300)),
        FixedFourier(np.random.default_rng(0).standard_normal((3, 5))),
    ):
        model = RandomFeatureRegressor(basis, scale="robust", linear=linear, random_state=0).fit(data.X, data.y)
        assert model.basis_.n_components == basis.n_components


def test_plain_normal_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 5))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(4000)
    assert RandomFeatureRegressor(random_state=0).fit(X[:3000], y[:3000]).score(X[3000:], y[3000:]) > 0.9


# ---- what a fit says about itself ----


@pytest.mark.parametrize("precision", [None, "int8"])
@pytest.mark.parametrize("features", [80, 600])  # by sums, and by the kernel matrix
def test_the_expected_score_is_what_new_rows_give(features, precision):
    gaps = []
    for seed in range(8):
        data = made("lognormal", False, seed)
        model = RandomFeatureRegressor(RandomFourier(features), precision=precision, random_state=seed)
        model.fit(data.X, data.y)
        found = 1.0 - np.mean((model.predict(data.X_test) - data.y_test) ** 2) / np.var(data.y_test)
        gaps.append(model.cv_score_ - found)
        assert 0.0 < model.cv_standard_error_ < 0.2
    # Folds learn from four fifths of the rows, so they expect a little less.
    assert -0.15 < np.mean(gaps) < 3 * np.std(gaps) / np.sqrt(8)


def test_labels_too():
    data = made("student 2", True)
    model = RandomFeatureClassifier(RandomFourier(80), random_state=0).fit(data.X, data.y)
    assert abs(model.cv_score_ - model.score(data.X_test, data.y_test)) < 4 * model.cv_standard_error_
    assert "of labels wrong" in model.explain_fit()
    assert "of labels wrong" in str(model)
    assert "of labels wrong" not in repr(model)


def test_a_model_that_explains_nothing_says_so():
    rng = np.random.default_rng(0)
    with pytest.warns(FitWarning, match="explains nothing"):
        RandomFeatureRegressor(random_state=0).fit(rng.standard_normal((200, 3)), rng.standard_normal(200))


def test_predictions_far_beyond_the_targets_are_told():
    X = np.random.default_rng(0).standard_t(1.5, (200, 1))
    model = RandomFeatureRegressor(linear=True, scale="robust", random_state=0).fit(X, 3 * X[:, 0])
    with pytest.warns(FitWarning, match="leave the range of y"):
        model.predict(X + 400)


def test_what_was_never_seen_is_taken_for_the_last_that_was():
    """Identifiers that go on counting must not lead the model astray; heavy tails do go on."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal(300), rng.permutation(300)])
    model = RandomFeatureRegressor(RandomFourier(100), scale="robust", linear=True, random_state=0).fit(X, X[:, 0])
    far, farther = (X + np.array([0, by]) for by in (1e4, 1e6))
    assert np.array_equal(model.predict(far), model.predict(farther))
    assert 1 - model.score(far, X[:, 0]) < 0.05


def test_uneven_leverage_is_told():
    from bochner.models.calibration import Widening, leverage_share
    from bochner.solvers import OUT, HeldOutScores

    scores = np.zeros((200, 1))
    leverage = np.r_[np.full(2, 0.9), np.full(198, 0.002)]
    assert leverage_share(HeldOutScores(scores, scores, None, OUT, leverage)) > 0.5
    assert leverage_share(HeldOutScores(scores, scores, None, OUT, np.full(200, 0.1))) < 0.02
    X = np.linspace(0, 1, 200)[:, None]
    model = RandomFeatureRegressor(random_state=0).fit(X, np.sin(9 * X[:, 0]))
    found = replace(model._fitted, calibration=Widening(np.ones(1), leverage=0.8))
    assert any("of all leverage" in sentence for sentence in found.doubts())


@pytest.mark.parametrize("solver", ["cholesky", "dual"])
def test_intervals_hold_what_they_promise(solver):
    shares = []
    for seed, kind in enumerate(["lognormal", "student 2", "wild scales", "far-out rows", "copies"]):
        data = made(kind, False, seed)
        model = RandomFeatureRegressor(RandomFourier(120), solver=solver, random_state=0).fit(data.X, data.y)
        mean, deviation = model.predict(data.X_test, return_std=True)
        shares.append(np.mean(np.abs(mean - data.y_test) <= 1.96 * deviation))
    assert 0.92 <= np.mean(shares) <= 0.98


# ---- equivariance ----


@pytest.mark.parametrize("solver", ["cholesky", "dual", "triangle", "cg"])
def test_shifting_and_scaling_y_shifts_and_scales_predictions(solver):
    data = made("lognormal", False)
    predictions = [
        RandomFeatureRegressor(RandomFourier(80), solver=solver, random_state=0).fit(data.X, y).predict(data.X_test)
        for y in (data.y, 1e5 * data.y - 7e5)
    ]
    np.testing.assert_allclose(predictions[1], 1e5 * predictions[0] - 7e5, rtol=1e-6, atol=1e5 * 1e-5)


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("precision", [None, "int8"])
def test_the_units_of_columns_do_not_matter(precision, labels):
    data = made("lognormal", labels)
    units = np.array([1e-6, 1e-2, 1.0, 1e3, 1e9])
    kind_of_model = RandomFeatureClassifier if labels else RandomFeatureRegressor
    scores = [
        kind_of_model(RandomFourier(80), alpha=0.1, scale="robust", linear=False, precision=precision, random_state=0)
        .fit(data.X * by, data.y)
        ._scores(data.X_test * by)
        for by in (np.ones(5), units)
    ]
    np.testing.assert_allclose(*scores, rtol=1e-3, atol=1e-3 * np.abs(scores[0]).max())


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("solver", ["cholesky", "dual", "triangle", "cg"])
def test_a_constant_factor_of_weights_changes_nothing(solver, labels):
    data = made("wild weights", labels)
    kind_of_model = RandomFeatureClassifier if labels else RandomFeatureRegressor
    scores = [
        kind_of_model(RandomFourier(80), solver=solver, random_state=0)
        .fit(data.X, data.y, factor * np.sqrt(data.weight))
        ._scores(data.X_test)
        for factor in (1.0, 2.0, 1e-3, 1e3)
    ]
    for other in scores[1:]:
        np.testing.assert_allclose(other, scores[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("solver", ["cholesky", "dual", "triangle", "cg"])
def test_nor_does_it_change_what_they_are_worth(solver):
    """Deviations, probabilities and exact kernels: a mean weight is one row where the penalty is chosen."""
    numbers, labels = made("wild scales", False), made("wild scales", True)
    many = np.full(len(labels.y), 1e3)
    for weight in (None, many):
        classifier = RandomFeatureClassifier(RandomFourier(80), solver=solver, random_state=0)
        found = [classifier.fit(labels.X, labels.y, weight).predict_proba(labels.X_test)]
        if solver == "dual":
            found.append(KernelRidgeClassifier().fit(labels.X, labels.y, weight).predict_proba(labels.X_test))
            found.append(KernelRidgeRegressor().fit(numbers.X, numbers.y, weight).predict(numbers.X_test))
        if solver not in ("triangle", "cg"):  # which have no matrix to take deviations from
            model = RandomFeatureRegressor(RandomFourier(80), solver=solver, random_state=0)
            found.append(model.fit(numbers.X, numbers.y, weight).predict(numbers.X_test, return_std=True)[1])
        if weight is None:
            expected = found
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("solver", ["cholesky", "dual", "triangle"])
def test_rows_repeated_or_weighted_or_in_another_order(solver, labels):
    """Also with the penalty chosen: folds go by what a row holds, candidates by all squares."""
    data, rng = made("student 2", labels), np.random.default_rng(1)
    times = rng.integers(1, 4, len(data.y))
    order = rng.permutation(times.sum())
    kind_of_model = RandomFeatureClassifier if labels else RandomFeatureRegressor
    how = {"solver": solver, "scale": None, "linear": False, "random_state": 0}
    weighted = kind_of_model(RandomFourier(80, bandwidth=2.0), **how).fit(data.X, data.y, times)
    again = np.repeat(np.arange(len(data.y)), times)[order]
    repeated = kind_of_model(RandomFourier(80, bandwidth=2.0), **how).fit(data.X[again], data.y[again])
    assert repeated.alpha_ == pytest.approx(weighted.alpha_, rel=1e-6)


@pytest.mark.parametrize("precision", [None, "int8", "int14"])
@pytest.mark.parametrize("solver", ["cholesky", "dual", "triangle", "cg"])
def test_weights_are_repetitions_where_nothing_is_learned_from_a_sample(solver, precision):
    """The step of integers is learned from 500 rows: with more of them, repeated rows have another sample."""
    random = np.random.default_rng(0)
    X = random.standard_normal((120, 3))
    y, times = np.sin(X[:, 0]), random.integers(1, 4, 120)
    how = {"alpha": 0.01, "scale": None, "solver": solver, "precision": precision, "random_state": 0}
    weighted = RandomFeatureRegressor(RandomFourier(200, bandwidth=2.0), **how).fit(X, y, times)
    repeated = RandomFeatureRegressor(RandomFourier(200, bandwidth=2.0), **how)
    repeated.fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-6)


@pytest.mark.parametrize("name", ["random", "kernel", "learned", "bags", "tune", "advise", "mmd"])
def test_numbers_whose_squares_overflow_are_refused_without_warnings(name):
    random = np.random.default_rng(0)
    X, y = random.standard_normal((60, 3)), random.standard_normal(60)
    calls = {
        "random": lambda X, y: RandomFeatureRegressor(RandomFourier(20)).fit(X, y),
        "kernel": lambda X, y: KernelRidgeRegressor().fit(X, y),
        "learned": lambda X, y: LearnedFourierRegressor(10).fit(X, y),
        "bags": lambda X, y: DistributionRegressor().fit(list(X.reshape(20, 3, 3)), y[:20]),
        "tune": lambda X, y: tune(X, y, basis=RandomFourier(20)),
        "advise": lambda X, y: advise(X, y),
        "mmd": lambda X, y: mmd(X, X + 1.0),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(
            ValueError, match=r"^X has numbers as large as .*e\+300, whose squares overflow: rescale X\.$"
        ):
            calls[name](X * 1e300, y)
        if name != "mmd":
            with pytest.raises(ValueError, match=r"^y has numbers as large as .*e\+300, whose squares overflow: resc"):
                calls[name](X, y * 1e300)


def test_candidates_that_differ_by_the_weight_of_the_line_are_told_apart():
    random = np.random.default_rng(0)
    X = random.standard_normal((300, 3))
    model = RandomFeatureRegressor(RandomFourier(100), random_state=0).fit(X, X[:, 0] + 0.3 * np.sin(3 * X[:, 1]))
    line = next(line for line in model.explain_fit().splitlines() if line.startswith("rows: "))
    told = [part.rsplit(" ", 1)[0] for part in line.split("of the mean: ")[1].rstrip(")").split(", ")]
    assert len(told) == len(set(told)) == 3
    assert any("linear of weight" in part for part in told)


@pytest.mark.parametrize("labels", [False, True])
def test_every_model_says_what_to_expect(labels, tmp_path):
    random = np.random.default_rng(0)
    X = random.standard_normal((400, 2))
    y = np.sin(2 * X[:, 0]) + 0.3 * random.standard_normal(400)
    y = y > 0 if labels else y
    learned = (LearnedFourierRegressor, LearnedFourierClassifier)[labels]
    model = learned(10, alpha=[1e-3, 1e-2], frequency_alpha=1e-4, max_iter=10, random_state=0).fit(X[:200], y[:200])
    assert abs(model.cv_score_ - model.score(X[200:], y[200:])) < 0.1
    assert 0 < model.cv_standard_error_ < 0.1
    words = "of labels wrong (folds that chose the penalties, 200 rows)" if labels else "R^2 "
    assert words in model.explain_fit()
    model.save(tmp_path / "m.bochner")
    again = bochner.load(tmp_path / "m.bochner")
    assert (again.cv_score_, again.explain_fit()) == (model.cv_score_, model.explain_fit())
    model.set_params(alpha=1e-3).fit(X[:200], y[:200])
    assert model.cv_score_ is model.cv_standard_error_ is None
    assert "expected: not known: both penalties were given" in model.explain_fit()

    kernel = (KernelRidgeRegressor, KernelRidgeClassifier)[labels]().fit(X[:200], y[:200])
    told = kernel.explain_fit()
    assert ("of labels wrong" if labels else f"R^2 {kernel.cv_score_:.4g}") in told
    assert f"alpha = {kernel.alpha_:.4g} ({kernel.penalty_})" in told
    assert "expected: not known: the penalty was given" in kernel.set_params(alpha=1.0).fit(X, y).explain_fit()

    bags, values = list(X.reshape(80, 5, 2)), y.reshape(80, 5).mean(axis=1)
    means = values > 0.5 if labels else values
    bagged = (DistributionRegressor, DistributionClassifier)[labels](RandomFourier(50), random_state=0).fit(bags, means)
    assert bagged.cv_score_ == bagged.second_.cv_score_ is not None
    assert bagged.cv_standard_error_ == bagged.second_.cv_standard_error_
    assert "not known" not in bagged.explain_fit()


def test_copies_of_rows_share_a_fold():
    """A bootstrap has copies of a third of its rows: on both sides of a fold they would tell each other's noise."""
    from sklearn.ensemble import BaggingRegressor

    data = made("wild scales", False)
    bagged = BaggingRegressor(RandomFeatureRegressor(RandomFourier(200)), 5, random_state=0).fit(data.X, data.y)
    alone = RandomFeatureRegressor(RandomFourier(200), random_state=0).fit(data.X, data.y)
    assert error(bagged, data) < 1.2 * error(alone, data)
    copied = RandomFeatureRegressor(RandomFourier(200), random_state=0).fit(np.tile(data.X, (5, 1)), np.tile(data.y, 5))
    assert error(copied, data) < 1.1 * error(alone, data)


# ---- how rows are scaled ----


def test_pixels_are_left_as_they_are_and_tables_are_scaled():
    from sklearn.datasets import load_diabetes, load_digits

    X, y = load_digits(return_X_y=True)
    table, target = load_diabetes(return_X_y=True)
    eight_bits = RandomFeatureClassifier(RandomFourier(200), precision="int8", random_state=0).fit(
        X.astype(np.uint8), y
    )
    assert eight_bits.design_.scaler is None
    assert "share a unit" in eight_bits.explain_fit()
    assert RandomFeatureClassifier(RandomFourier(200), random_state=0).fit(X, y).cv_score_ > 0.96
    scaled = RandomFeatureRegressor(RandomFourier(200), random_state=0).fit(table * np.logspace(-6, 9, 10), target)
    assert scaled.design_.scaler is not None
    assert scaled.cv_score_ > 0.35
    given = RandomFeatureRegressor(RandomFourier(200, bandwidth=0.3), random_state=0).fit(table, target)
    assert given.design_.scaler is None
    assert "in their units" in given.explain_fit()


def test_sparse_rows_are_scaled_without_centring():
    import scipy.sparse

    rng = np.random.default_rng(0)
    dense = (rng.random((300, 6)) < 0.3) * rng.lognormal(size=(300, 6)) * [1, 1e3, 1e-3, 1, 1, 1]
    X, y = scipy.sparse.csr_matrix(dense), np.log1p(dense[:, 1] / 1e3) + 0.1 * rng.standard_normal(300)
    for scale in ("robust", "standard"):
        model = RandomFeatureRegressor(RandomFourier(100), scale=scale, random_state=0).fit(X, y)
        assert not model.design_.scaler.center.any()
        assert model.cv_score_ > {"robust": 0.8, "standard": 0.75}[scale]
        assert (model.design_.scaler(X) != 0).nnz == X.nnz  # zeros stay zeros


@pytest.mark.parametrize("precision", [None, "float32", "int8", "int14"])
def test_a_linear_part_in_every_precision(precision, tmp_path):
    data = made("heavy line", False)
    model = RandomFeatureRegressor(RandomMaxout(60), precision=precision, random_state=0).fit(data.X, data.y)
    assert model.design_.linear is not None
    assert model.coef_.shape == (60,)
    np.testing.assert_allclose(model.linear_coef_[:2], [1.0, 0.5], atol=0.2)
    model.save(tmp_path / "m", sums=True)
    loaded = bochner.load(tmp_path / "m")
    assert np.array_equal(loaded.predict(data.X_test), model.predict(data.X_test))
    half = RandomFeatureRegressor(RandomMaxout(60), precision=precision, random_state=0)
    half.partial_fit(data.X, data.y).partial_fit(data.X_test[:500], data.y_test[:500]).forget(
        data.X_test[:500], data.y_test[:500]
    )
    np.testing.assert_allclose(half.predict(data.X_test), model.predict(data.X_test), rtol=1e-3, atol=1e-3)


def test_forgetting_rows_that_were_never_fitted_is_refused():
    data = made("lognormal", False)
    for precision in (None, "int8"):
        model = RandomFeatureRegressor(RandomFourier(60), precision=precision, solver="cholesky", random_state=0)
        model.fit(data.X[:100], data.y[:100])
        with pytest.raises(ValueError, match="were not all added before"):
            model.forget(data.X_test[:90] * 3, data.y_test[:90])


# ---- parameters of the basis ----


def test_parameters_of_the_default_basis_are_reached():
    model = RandomFeatureRegressor()
    assert model.get_params()["basis__n_components"] == 1000
    assert model.set_params(basis__n_components=50, basis__kernel="laplacian") is model
    assert (model.basis.n_components, model.basis.kernel) == (50, "laplacian")
    assert RandomFeatureRegressor().basis is None  # and no other model is changed
    by_name = RandomFeatureRegressor("maxout", random_state=0).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    assert isinstance(by_name.basis_, RandomMaxout)


def test_columns_that_matter_are_found():
    from sklearn.datasets import make_friedman1
    from sklearn.feature_selection import RFE, SelectFromModel

    X, y = make_friedman1(800, 12, noise=0.5, random_state=0)
    for basis in ("fourier", "maxout", "stumps"):
        model = RandomFeatureRegressor(REGISTRY[basis](300), random_state=0).fit(X, y)
        assert model.feature_importances_.shape == (12,)
        assert model.feature_importances_.sum() == pytest.approx(1.0)
        assert set(np.argsort(model.feature_importances_)[-4:]) <= set(range(5))
    assert SelectFromModel(model, prefit=True).transform(X).shape[1] < 12
    chosen = RFE(RandomFeatureRegressor(RandomFourier(100), random_state=0), n_features_to_select=5, step=4)
    assert chosen.fit(X, y).support_[:5].sum() >= 4
    assert model.coef_.shape == (300,)  # which stay those of features
    learned = RFE(LearnedFourierRegressor(10, alpha=1e-3, frequency_alpha=1e-4, max_iter=3), n_features_to_select=5)
    with pytest.raises(ValueError, match="should have `coef_` or `feature_importances_`"):
        learned.fit(X, y)
    model.partial_fit(X, y)
    with pytest.raises(AttributeError, match="known after fit"):
        model.feature_importances_  # noqa: B018


# 500 stumps or bins for 784 pixels, which have no linear part; eight of 139 test rows.
WORSE = {"mnist": {"stumps", "bins"}, "fashion": {"stumps", "bins"}, "heart": {"fourier"}, "skillcraft": {"bins"}}


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_real_sets(name):
    """Every set and basis; labels of few test rows within what counting them leaves open."""
    try:
        split = some_rows(REAL[name](), 3000, 10_000)
    except FileNotFoundError as error:
        pytest.skip(str(error))
    worse = {}
    for basis in REGISTRY:
        found = judge(split, REGISTRY[basis](500))
        limit = min(found["ridge"], found["nothing"])
        if found["error"] > slack(limit, found["labels"], len(split.y_test)):
            worse[basis] = found["error"], limit
        if "covered" in found:
            assert 0.9 <= found["covered"] <= 0.99, (basis, found)
    assert set(worse) == WORSE.get(name, set()), worse

"""Models without settings: better than what they start from, honest about it, the same again, and back from a file."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_friedman1
from sklearn.linear_model import RidgeCV

import bochner
from bochner import AutoClassifier, AutoRegressor
from bochner.models.auto import base, search
from bochner.models.auto.chains import Chain
from bochner.models.auto.deviations import learned_deviations
from bochner.models.auto.encoding import Tables
from bochner.models.auto.expansion import Expansion, Setting, with_metric
from bochner.models.auto.fits import Rows, exact_fit
from bochner.models.auto.linear_fits import LandmarkFits
from bochner.models.auto.local import LocalExpansion, grown, local_fit
from bochner.models.auto.probabilities import Sharpness, likeliest
from bochner.models.auto.search import Clock, distinct_first
from bochner.models.auto.stacking import stack_weights
from bochner.models.calibration import probabilities, temperature

pandas = pytest.importorskip("pandas")


def relevant_few(n: int, columns: int = 12, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Friedman's function of five columns among others that say nothing."""
    return make_friedman1(n, columns, noise=0.3, random_state=seed)


@pytest.fixture(scope="module")
def fitted() -> AutoRegressor:
    return AutoRegressor(max_trials=6, random_state=0).fit(*relevant_few(400))


def test_a_learned_metric_beats_ridge_and_finds_the_columns(fitted: AutoRegressor) -> None:
    X, y = relevant_few(1000, seed=1)
    Xf, yf = relevant_few(400)
    assert 1 - fitted.score(X, y) < 0.25 * (1 - RidgeCV(np.logspace(-3, 3, 7)).fit(Xf, yf).score(X, y))
    assert set(np.argsort(-fitted.feature_importances_)[:5]) == {0, 1, 2, 3, 4}
    assert fitted.feature_importances_.sum() == pytest.approx(1.0)


def test_the_expected_error_and_deviations_are_honest(fitted: AutoRegressor) -> None:
    X, y = relevant_few(2000, seed=2)
    assert abs(fitted.score(X, y) - fitted.cv_score_) < 5 * fitted.cv_standard_error_
    mean, deviation = fitted.predict(X, return_std=True)
    assert 0.9 < np.mean(np.abs(mean - y) < 1.96 * deviation) < 0.99


def uneven(n: int, seed: int, quiet: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Noise that a column with no part in the mean makes small."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    is_loud = X[:, 0] > 0
    return X, np.sin(X[:, 1]) + X[:, 2] + np.where(is_loud, 1.0, quiet) * rng.normal(size=n), is_loud


def test_deviations_are_larger_where_errors_are(tmp_path: Path) -> None:
    X, y, _ = uneven(400, 0, 0.2)
    model = AutoRegressor(max_trials=3, random_state=0).fit(X, y)
    new, truth, is_loud = uneven(4000, 1, 0.2)
    mean, deviation = model.predict(new, return_std=True)
    inside = np.abs(mean - truth) < 1.96 * deviation
    assert 0.92 < inside.mean() < 0.98
    assert inside[is_loud].mean() > 0.85  # one deviation for all would be too small for these
    assert np.median(deviation[is_loud]) > 2.0 * np.median(deviation[~is_loud])
    model.save(tmp_path / "m.bochner")
    assert (bochner.load(tmp_path / "m.bochner").predict(new, return_std=True)[1] == deviation).all()


def test_deviations_of_even_noise_are_one_number() -> None:
    """In nearly all draws; what is clear by two standard errors is so by chance in one of forty."""
    rng = np.random.default_rng(0)
    even = [learned_deviations(rng.normal(size=(300, 4)), np.abs(rng.normal(size=(300, 1)))) for _ in range(8)]
    assert sum(one.logarithm is None for one in even) >= 7
    np.testing.assert_allclose([one(np.zeros((2, 4))) for one in even if one.logarithm is None], 1.0, atol=0.15)


def test_the_stack_is_about_as_good_as_its_best_member(fitted: AutoRegressor) -> None:
    errors = fitted.leaderboard_["error"]
    assert "ridge" in set(fitted.leaderboard_["model"])
    assert fitted.cv_error_ <= 1.1 * errors.min()


def test_noise_is_not_fitted() -> None:
    """No signal: as good as the mean, and no claim to be better; metrics that saw their own judges would claim it."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 10)), rng.normal(size=200)
    model = AutoRegressor(max_trials=8, random_state=0).fit(X, y)
    new = rng.normal(size=(2000, 10))
    assert np.mean((model.predict(new) - rng.normal(size=2000)) ** 2) < 1.1
    assert model.cv_score_ < 0.05


def test_the_same_trials_give_the_same_bits() -> None:
    X, y = relevant_few(150)
    first, second = (AutoRegressor(max_trials=4, random_state=3).fit(X, y) for _ in range(2))
    assert first.predict(X).tobytes() == second.predict(X).tobytes()
    assert len(first.leaderboard_) == len(second.leaderboard_)


def test_targets_in_other_units() -> None:
    X, y = relevant_few(150)
    plain, scaled = (AutoRegressor(max_trials=3, random_state=0).fit(X, t) for t in (y, 1e6 * y - 1e7))
    np.testing.assert_allclose(scaled.predict(X), 1e6 * plain.predict(X) - 1e7, rtol=1e-6)


def mixed_frame(n: int, seed: int = 0) -> tuple[object, np.ndarray]:
    rng = np.random.default_rng(seed)
    frame = pandas.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.normal(40, 10, n)),
            "city": rng.choice(["Oslo", "Rome", "Lima"], n),
            "income": rng.lognormal(10, 2, n),
            "same": "x",
        }
    )
    rich = (np.log(frame["income"]) + 2.0 * (frame["city"] == "Rome") + 0.3 * rng.normal(size=n)) > 10.5
    return frame, np.where(rich, "rich", "poor")


@pytest.mark.parametrize("kind", ["labels", "numbers"])
def test_files_hold_all_of_a_model(kind: str, tmp_path: Path) -> None:
    frame, labels = mixed_frame(300)
    if kind == "labels":
        model = AutoClassifier(max_trials=4, random_state=0).fit(frame, labels)
    else:
        model = AutoRegressor(max_trials=4, random_state=0).fit(frame, np.log(frame["income"]))
    path = tmp_path / "auto.bochner"
    model.save(path)
    same, new = bochner.load(path), mixed_frame(50, seed=1)[0]
    assert (same.predict(new) == model.predict(new)).all()
    assert same.explain_fit() == model.explain_fit()
    pandas.testing.assert_frame_equal(same.leaderboard_, model.leaderboard_)
    if kind == "labels":
        assert (same.predict_proba(new) == model.predict_proba(new)).all()


def test_a_frame_of_mixed_columns() -> None:
    frame, y = mixed_frame(500)
    model = AutoClassifier(max_trials=5, random_state=0).fit(frame.assign(label=y), target="label")
    new, truth = mixed_frame(1000, seed=1)
    assert model.score(new, truth) > 0.88
    assert model.predict_proba(new).sum(axis=1) == pytest.approx(np.ones(1000))
    assert model.feature_names_in_[np.argmax(model.feature_importances_)] == "income"
    assert model.feature_importances_[3] == 0.0


def many_towns(n: int, seed: int) -> tuple[object, np.ndarray]:
    """Fifty categories that say much, among columns of noise; a number that says something in steps."""
    rng = np.random.default_rng(seed)
    town, age = rng.integers(0, 50, n), rng.integers(18, 90, n)
    frame = pandas.DataFrame(
        {"town": [f"t{k}" for k in town], "age": age, **{f"x{k}": rng.normal(size=n) for k in "abc"}}
    )
    return frame, 2.0 * np.sin(9.0 * town) + (age % 7 == 3) + 0.3 * rng.normal(size=n)


@pytest.mark.parametrize("n", [500, 1700])
def test_effects_of_columns_are_learned_and_judged_honestly(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "CHAINS", (Chain("effects", 1.0, 1.0, "diagonal"),))
    frame, y = many_towns(n, 0)
    model = AutoRegressor(max_trials=4, random_state=0).fit(frame, y)
    new, truth = many_towns(3000, 1)
    assert any(member.setting.numbers == "effects" for member in model._stack.members)
    assert abs(model.score(new, truth) - model.cv_score_) < 5 * model.cv_standard_error_
    assert model.score(new, truth) > 0.8


def test_effects_of_noise_promise_nothing() -> None:
    """Three hundred categories of two rows: whoever saw their targets would predict them."""
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"town": [f"t{k}" for k in rng.integers(0, 300, 600)], "x": rng.normal(size=600)})
    model = AutoRegressor(max_trials=4, random_state=0).fit(frame, rng.normal(size=600))
    assert model.cv_score_ < 0.05


def test_effects_that_do_not_help_get_one_round(monkeypatch: pytest.MonkeyPatch) -> None:
    chains = tuple(Chain(numbers, 2.0, 2.0, "diagonal") for numbers in ("robust", "effects"))
    monkeypatch.setattr(base, "CHAINS", chains)
    X, y = relevant_few(200, columns=6)
    model = AutoRegressor(max_trials=12, random_state=0).fit(X, np.sin(3.0 * X[:, 0] * X[:, 1]))
    rows = model.leaderboard_["model"]
    assert rows.str.contains("with effects").sum() == 1 < rows.str.contains("robust").sum()
    frame, y = many_towns(300, 0)
    rows = AutoRegressor(max_trials=12, random_state=0).fit(frame, y).leaderboard_["model"]
    assert rows.str.contains("with effects").sum() > 1


def test_a_version_of_rows_knows_no_target_of_its_fold() -> None:
    frame, y = many_towns(300, 0)
    rows = np.arange(300)

    def versions(y: np.ndarray) -> list[np.ndarray]:
        tables = Tables(frame, y, y[:, None] - 1.0)
        found = tables.versions("effects", rows, rows, np.arange(300) % 5)
        names = tables.encoders["effects"].get_feature_names_out().tolist()
        return [version[:, [names.index("town effect"), names.index("age effect")]] for version in found]

    first, second = versions(y), versions(np.where(rows % 5 == 2, y + 0.5 * (rows % 3), y))
    assert (first[2] == second[2]).all()
    assert (first[1] != second[1]).any()


@pytest.mark.parametrize("classes", [2, 5])
def test_probabilities_of_scores_that_estimate_them(classes: int) -> None:
    """Nearer to the truth than by one temperature for all scores; and they sum to 1."""
    rng = np.random.default_rng(0)
    logits = 3.0 * rng.normal(size=(4000, classes))
    truth = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = (rng.random((4000, 1)) > np.cumsum(truth, axis=1)).sum(axis=1).clip(max=classes - 1)
    scores = 2.0 * truth - 1.0 + 0.05 * rng.normal(size=truth.shape)
    scores = scores[:, 1] if classes == 2 else scores
    found = likeliest(scores[:2000], labels[:2000]).probabilities(scores[2000:])
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    winners = scores[2000:] > 0 if classes == 2 else scores[2000:].argmax(axis=1)
    assert (found.argmax(axis=1) == winners).all()

    def loss(shares: np.ndarray) -> float:
        return -float(np.mean(np.log(shares[np.arange(2000), labels[2000:]])))

    codes = 2.0 * (labels[:2000, None] == np.arange(classes)) - 1.0
    one = temperature(scores[:2000].reshape(2000, -1), codes[:, -1:] if classes == 2 else codes)
    least = loss(truth[2000:])
    assert loss(found) - least < 0.6 * (loss(probabilities(scores[2000:], one)) - least)


def test_scores_far_out_have_probabilities() -> None:
    found = Sharpness(1e-3, 1e4).probabilities(np.array([-1e3, -2.0, 0.0, 2.0, 1e3]))
    assert np.isfinite(found).all() and (np.diff(found[:, 1]) >= 0).all()
    assert (Sharpness(0.02, 1.0).probabilities(np.array([[-5.0, -1.0, 0.9]])).argmax(axis=1) == 2).all()


def test_several_outputs() -> None:
    X, y = relevant_few(120)
    Y = np.stack([y, X[:, 0]], axis=1)
    model = AutoRegressor(max_trials=3, random_state=0).fit(X, Y)
    mean, deviation = model.predict(X, return_std=True)
    assert mean.shape == deviation.shape == Y.shape
    assert model.score(X, Y) > 0.5


def test_more_rows_than_the_search_takes_have_a_fold_that_judges() -> None:
    X, y = relevant_few(1800)
    model = AutoRegressor(max_trials=5, random_state=0).fit(X, y)
    board = model.leaderboard_
    assert set(board["rows"]) == {1000, 1800}
    new, truth = relevant_few(1000, seed=5)
    assert abs(model.score(new, truth) - model.cv_score_) < 5 * model.cv_standard_error_


def test_equal_rows_are_observations_where_their_targets_differ() -> None:
    """A table of a few categories is judged by rows like those it has seen; copies of a row share a fold still."""
    rng = np.random.default_rng(0)
    few = rng.integers(0, 2, (900, 3)).astype(float)
    y = few @ [1.0, -1.0, 0.5]
    observed = Tables(few, y, (y + rng.standard_normal(900))[:, None]).folds
    assert all(len(set(observed[(few == row).all(axis=1)])) == 5 for row in np.unique(few, axis=0))
    twenty_times = np.repeat(rng.standard_normal((45, 3)), 20, axis=0)
    copied = Tables(twenty_times, twenty_times[:, 0], twenty_times[:, :1]).folds
    assert (copied.reshape(45, 20) == copied[::20, None]).all()


def test_repeated_rows_are_centres_last() -> None:
    """Nine tenths of the rows are one row: of 60 centres, the 50 others are there."""
    rng = np.random.default_rng(0)
    rows = np.vstack([np.zeros((450, 2)), rng.standard_normal((50, 2))])
    order = distinct_first(rows, rng.permutation(500))
    assert sorted(order) == list(range(500))
    assert len(np.unique(rows[order[:51]], axis=0)) == 51


def test_an_interruption_keeps_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = load_iris(return_X_y=True)
    checked = Clock.has

    def interrupted(clock: Clock, share: float, seconds: float = 0.0) -> bool:
        if clock.done >= 4:
            raise KeyboardInterrupt
        return checked(clock, share, seconds)

    monkeypatch.setattr(Clock, "has", interrupted)
    with pytest.warns(bochner.validation.FitWarning, match="interrupted"):
        model = AutoClassifier(random_state=0).fit(X, y)
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize("metric", ["none", "diagonal", "full"])
@pytest.mark.parametrize(("p", "q"), [(2.0, 2.0), (2.0, 1.0)])
def test_gradients_are_those_of_the_function(p: float, q: float, metric: str) -> None:
    rng = np.random.default_rng(0)
    X, c, h = rng.normal(size=(30, 3)), rng.normal(size=(30, 2)), 1e-6
    setting = Setting("robust", p, q)
    if metric != "none":
        root = rng.normal(size=(3, 3))
        setting = with_metric(setting, root @ root.T, metric == "full")
    Z = setting.metric(X)
    f = Expansion(setting, setting.kernel(Z), Z, c, rng.normal(size=(3, 2)), X.mean(axis=0), np.zeros(2))
    at = rng.normal(size=(7, 3))
    for j in range(3):
        step = h * np.eye(3)[j]
        np.testing.assert_allclose(f.gradients(at)[:, j], (f(at + step) - f(at - step)) / (2 * h), atol=1e-6)


def test_all_rows_as_landmarks_are_the_exact_fit() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    rows = Rows(X, np.sin(2 * X[:, :1]), np.arange(120) % 5, True)
    setting = Setting("robust", 1.0, 1.0)
    exact, landmarks = exact_fit(rows, setting), LandmarkFits(rows, setting, np.arange(120)).best(setting)
    assert exact is not None and landmarks is not None
    assert landmarks[0].error == pytest.approx(exact[0].error, rel=0.05)  # the bandwidths are of other samples


def test_leaves_of_a_tree_are_local_fits() -> None:
    """One leaf is a plain fit; many leaves learn a function that one kernel for all rows would need them all for."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(3000, 2))
    y = np.sin(4 * X[:, :1]) * np.cos(3 * X[:, 1:])
    rows, setting = Rows(X, y - y.mean(axis=0), np.arange(3000) % 5, True), Setting("robust", 2.0, 2.0, factor=0.25)
    found = local_fit(rows, setting, 200)
    assert found is not None
    member, function = found
    assert len(function.leaves) == 16 and member.error < 0.01
    leaves = function.tree.leaf_of(X)
    assert np.bincount(leaves, minlength=16).min() > 100
    at = rng.uniform(-2, 2, size=(20, 2))
    step = np.array([1e-6, 0.0])
    slopes = (function(at + step) - function(at - step)) / 2e-6
    np.testing.assert_allclose(function.gradients(at)[:, 0], slopes, atol=1e-4)


def test_columns_that_cannot_be_cut_leave_one_leaf_full() -> None:
    Z = np.repeat([[0.0, 1.0]], 50, axis=0)
    tree = grown(Z, 10)
    assert (tree.leaf_of(Z) == tree.leaf_of(Z)[0]).all()


def test_files_hold_local_fits(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "SPEED", 2e8)  # a machine so slow that these rows are many
    X, y = relevant_few(2500)
    model = AutoRegressor(max_trials=4, random_state=0).fit(X, y)
    assert any(isinstance(member, LocalExpansion) for member in model._stack.members)
    path = tmp_path / "auto.bochner"  # type: ignore[operator]
    model.save(path)
    assert (bochner.load(path).predict(X[:50]) == model.predict(X[:50])).all()


def test_few_rows_give_little_reason_to_part_from_equal_weights() -> None:
    rng = np.random.default_rng(0)
    for n, near in ((8, True), (4000, False)):
        y = rng.normal(size=(n, 1))
        good, poor = y + 0.5 * rng.normal(size=(n, 1)), y + 0.52 * rng.normal(size=(n, 1))
        bad = rng.normal(size=(n, 1))
        weights = stack_weights([good, poor, bad], y, np.array([0.25, 0.27, 1.0]))
        assert (weights >= 0).all() and weights[2] < 0.2
        assert (abs(weights[:2] - 0.5) < (0.3 if near else 0.1)).all()


def test_what_cannot_be_fitted_is_refused() -> None:
    X, y = relevant_few(30)
    with pytest.raises(ValueError, match="requires y"):
        AutoRegressor().fit(X)
    with pytest.raises(ValueError, match="constant"):
        AutoRegressor().fit(np.ones((30, 2)), y)
    with pytest.raises(ValueError, match="budget"):
        AutoRegressor(budget=-1.0).fit(X, y)
    with pytest.raises(ValueError, match="device must be None, 'cpu'"):
        AutoRegressor(device="gpu").fit(X, y)


def test_rows_of_files_are_a_frame_of_the_same_rows(tmp_path: Path) -> None:
    """The same bits as of the frame; predictions of a frame, of blocks and of a loaded model are the same."""
    frame, labels = mixed_frame(300)
    frame = frame.assign(day=pandas.date_range("2024-01-01", periods=300))
    frame.assign(label=labels).to_parquet(tmp_path / "rows.parquet")
    blocks = bochner.read(tmp_path / "rows.parquet", target="label", missing="mean")
    model = AutoClassifier(max_trials=3, random_state=0).fit(blocks)
    expected = AutoClassifier(max_trials=3, random_state=0).fit(frame, labels).predict_proba(frame)
    assert model.recipe_.names == tuple(frame.columns)
    assert model.explain_fit().splitlines()[-1].startswith("columns: income")
    model.save(tmp_path / "m.bochner")
    loaded = bochner.load(tmp_path / "m.bochner")
    again = bochner.read(tmp_path / "rows.parquet", recipe=loaded.recipe_)
    with bochner.config_context(block_rows=64):
        for made, rows in ((model, frame), (model, blocks), (loaded, frame), (loaded, again)):
            np.testing.assert_allclose(made.predict_proba(rows), expected, rtol=1e-12)
        assert model.score(blocks) == model.score(frame, labels)


def test_rows_beyond_memory_are_sampled(tmp_path: Path) -> None:
    X, y = relevant_few(400)
    frame = pandas.DataFrame(X).rename(columns=str)
    frame.assign(y=y).to_parquet(tmp_path / "rows.parquet")
    blocks = bochner.read(tmp_path / "rows.parquet", target="y")
    with bochner.config_context(memory=300_000), pytest.warns(bochner.validation.FitWarning, match=r"195 of 400 rows"):
        model = AutoRegressor(max_trials=2, random_state=0).fit(blocks)
    assert model.explain_fit().startswith("AutoRegressor: 195 rows")
    assert model.score(frame, y) > 0.7


def test_blocks_that_cannot_be_taken_are_refused(tmp_path: Path) -> None:
    frame, labels = mixed_frame(60)
    frame = frame.drop(columns="same").assign(label=labels, w=1.0)
    with pytest.raises(ValueError, match="weights"):
        AutoClassifier().fit(bochner.read(frame, target="label", weight="w", missing="mean"))
    with pytest.raises(ValueError, match=r"'age' has .* missing values"):
        AutoClassifier().fit(bochner.read(frame, target="label", missing="refuse"))
    with pytest.raises(ValueError, match="their own targets"):
        AutoClassifier().fit(bochner.read(frame, target="label", missing="mean"), labels)
    with pytest.raises(ValueError, match="requires y"):
        AutoClassifier().fit(bochner.read(frame, missing="mean"))
    (tmp_path / "rows.svm").write_text("1 1:2.0\n0 2:1.0\n")
    with pytest.raises(ValueError, match="sparse rows"):
        AutoClassifier().fit(bochner.read(tmp_path / "rows.svm"))
    model = AutoClassifier(max_trials=2, random_state=0).fit(frame.drop(columns="label"), labels)
    with pytest.raises(ValueError, match="other columns"):
        model.predict(bochner.read(frame[["age", "city"]], missing="mean"))


def test_the_leaderboard_as_a_chart(fitted: AutoRegressor, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("altair")
    chart = fitted.plot_leaderboard(most=3).to_dict()
    board = fitted.leaderboard_
    assert [line["error"] for line in chart["data"]["values"]] == board["error"].tolist()[:3]
    assert chart["encoding"]["x"]["field"] == "error"
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(ImportError, match="needs altair"):
        fitted.plot_leaderboard()


def test_a_graph_is_refused_in_a_sentence(fitted: AutoRegressor, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="ONNX graph has no operations"):
        fitted.to_onnx(tmp_path / "m.onnx")


def test_where_nothing_helps_predictions_are_the_mean() -> None:
    """Even if no member gets any weight."""
    X = np.arange(40.0)[:, None]
    y = np.tile([0.0, 1.0], 20)
    model = AutoRegressor(max_trials=2, random_state=0).fit(X, y)
    assert model.predict(X[:7]).shape == (7,)

"""Models without settings on a device say what they say on the host: the same choices, and numbers to rounding."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

import bochner
from bochner import AutoClassifier, AutoRegressor
from bochner.models.auto import base, batched, chains, encoding, estimators, expansion, search
from bochner.models.auto.batched import BatchedFolds
from bochner.models.auto.chains import Chain, rounds
from bochner.models.auto.expansion import Expansion, Setting, with_metric
from bochner.models.auto.fits import FoldFits, Member, Rows, exact_fit
from bochner.models.auto.linear_fits import LandmarkFits
from bochner.models.auto.local import LocalExpansion, local_fit
from bochner.models.auto.placing import HOST, Device, device_named
from helpers.devices import DEVICE

pytestmark = pytest.mark.torch
CHAINS = [
    Chain("robust", 1.0, 1.0, "diagonal"),
    Chain("robust", 2.0, 2.0, "full"),
    Chain("robust", 2.0, 1.0, "none"),
    chains.MORE_CHAINS[0],
]


@pytest.fixture
def place() -> Device:
    """Tensors of the CPU stand in for those of a GPU."""
    pytest.importorskip("torch")
    return device_named(DEVICE)


@pytest.fixture
def on_device(place: Device, monkeypatch: pytest.MonkeyPatch) -> Device:
    """What asks for a device gets that one, whatever its name."""
    for module in (base, estimators):
        monkeypatch.setattr(module, "place_of", lambda device: HOST if device is None else place)
    return place


def table(n: int, folds: int = 4, one_fold: bool = False, outputs: int = 1) -> Rows:
    """Friedman's rows in folds of unequal sizes."""
    X, y = make_friedman1(n, 7, noise=0.3, random_state=0)
    Y = np.stack([y, X[:, 0] * X[:, 5]], axis=1)[:, :outputs]
    which = np.random.default_rng(1).integers(0, folds, n)
    return Rows(X - 0.5, Y - Y.mean(axis=0), which, one_fold)


def require_same(found: Member, expected: Member, place: Device, X: np.ndarray, close: float = 1e-7) -> None:
    """The same setting, errors and predictions."""
    mine, right = place.home(found.expansion), expected.expansion
    for name in ("p", "q", "factor", "linear", "alpha"):
        assert getattr(mine.setting, name) == pytest.approx(getattr(right.setting, name), rel=1e-9)
    if right.setting.root is not None:
        np.testing.assert_allclose(mine.setting.root, right.setting.root, atol=close)
    assert found.error == pytest.approx(expected.error, rel=close)
    np.testing.assert_allclose(found.held_out, expected.held_out, atol=close * np.abs(expected.held_out).max())
    scores = right(X)
    np.testing.assert_allclose(mine(X), scores, atol=close * np.abs(scores).max())
    np.testing.assert_allclose(place.scores(mine, X), scores, atol=close * np.abs(scores).max())
    slopes = right.gradients(X)
    np.testing.assert_allclose(place.gradients(mine, X), slopes, atol=close * np.abs(slopes).max())


@pytest.mark.parametrize("chain", CHAINS)
def test_a_chain_makes_the_same_choices(chain: Chain, place: Device) -> None:
    rows = table(130, outputs=2)
    pairs = list(zip(rounds(place.rows(rows), chain), rounds(rows, chain), strict=True))
    assert len(pairs) > (chain.metric != "none")
    for found, expected in pairs[:3]:
        require_same(found, expected, place, rows.X[:20], close=1e-5)


@pytest.mark.parametrize("linear", [0.0, 0.05])
@pytest.mark.parametrize("metric", ["none", "diagonal", "full"])
def test_folds_side_by_side_are_folds_one_by_one(metric: str, linear: float, place: Device) -> None:
    """Each in a metric of its own, folds of unequal sizes, versions of rows that differ; and functions
    without folds."""
    rng, rows = np.random.default_rng(0), table(90)
    rows = rows._replace(versions=[rows.X + 0.01 * fold * rng.normal(size=rows.X.shape) for fold in range(4)])
    settings = [Setting("robust", 2.0, 1.0) for _ in range(5)]
    if metric != "none":
        roots = rng.normal(size=(5, 7, 7))
        settings = [with_metric(s, R @ R.T, metric == "full") for s, R in zip(settings, roots, strict=True)]
    asked = replace(settings[-1], factor=2.0, linear=linear)
    found = BatchedFolds(place.rows(rows), settings).best(asked)
    expected = FoldFits(rows, settings).best(asked)
    assert found is not None and expected is not None
    require_same(found[0], expected[0], place, rows.X[:10])
    for mine, right in zip(found[1], expected[1], strict=True):
        np.testing.assert_allclose(place.home(mine)(rows.X), right(rows.X), atol=1e-7)
        assert mine.kernel.scale == right.kernel.scale
        np.testing.assert_allclose(mine.metric(place.placed(rows.X)), right.metric(rows.X), atol=1e-7)


def test_bandwidths_of_many_rows_are_those_of_the_same_sample(place: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies of rows have no distance, and do not count."""
    monkeypatch.setattr(expansion, "MEASURED", 20)
    X = np.random.default_rng(0).normal(size=(61, 3))
    X[5:9] = X[4]
    right = [Setting("robust", 1.0, 1.0).kernel(X[:n]).scale for n in (61, 15, 1)]
    distances = place.placed(np.abs(X[:, None] - X).sum(axis=2))
    found = batched.medians(distances.expand(3, -1, -1), [61, 15, 1])
    assert found.tolist() == right


def test_penalties_without_a_solution_have_no_error(place: Device) -> None:
    """A kernel of one number for all rows is not positive definite without a penalty of some size."""
    rows = table(60)
    rows = rows._replace(X=np.vstack([rows.X[:2]] * 30))
    settings = [Setting("robust", 2.0, 2.0, factor=1e3, alpha=1e-7)] * 5
    expected = FoldFits(rows, settings).best(settings[0])
    found = BatchedFolds(place.rows(rows), settings).best(settings[0])
    assert found is not None and expected is not None
    assert found[0].error == pytest.approx(expected[0].error, rel=1e-6)
    hopeless = rows._replace(X=np.where(np.arange(60)[:, None] == 3, np.nan, rows.X))
    assert BatchedFolds(place.rows(hopeless), settings).best(settings[0]) is None


@pytest.mark.parametrize("linear", [0.0, 0.05])
def test_an_exact_fit(linear: float, place: Device) -> None:
    rows, setting = table(120, one_fold=True), Setting("robust", 1.0, 1.0, linear=linear)
    found, expected = exact_fit(place.rows(rows), setting), exact_fit(rows, setting)
    assert found is not None and expected is not None
    require_same(found[0], expected[0], place, rows.X[:20])
    np.testing.assert_allclose(place.home(found[1])(rows.X), expected[1](rows.X), atol=1e-7)


@pytest.mark.parametrize("linear", [0.0, 0.05])
def test_a_fit_with_landmarks(linear: float, place: Device) -> None:
    rows, setting = table(200, one_fold=True), Setting("robust", 2.0, 1.0, factor=0.5, linear=linear)
    centres = np.arange(0, 200, 3)
    fits = [LandmarkFits(where.rows(rows), setting, centres).best(setting) for where in (place, HOST)]
    assert fits[0] is not None and fits[1] is not None
    require_same(fits[0][0], fits[1][0], place, rows.X[:20], close=1e-6)


def test_a_fit_in_leaves(place: Device) -> None:
    rows, setting = table(300, one_fold=True), Setting("robust", 1.0, 1.0)
    found, expected = local_fit(place.rows(rows), setting, 40), local_fit(rows, setting, 40)
    assert found is not None and expected is not None
    assert isinstance(found[1], LocalExpansion) and len(found[1].leaves) == len(expected[1].leaves) > 4
    require_same(found[0], expected[0], place, rows.X[:50])


def test_gradients_of_more_columns_than_find_room_at_once(place: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expansion, "TILE_OF_TENSORS", 1)
    rows, setting = table(40), Setting("robust", 1.0, 1.0)
    function = Expansion(
        setting, setting.kernel(rows.X), rows.X, rows.Y, np.zeros((7, 1)), np.zeros(7), np.zeros(1)
    )  # fmt: skip
    np.testing.assert_allclose(place.gradients(function, rows.X), function.gradients(rows.X), atol=1e-9)
    np.testing.assert_allclose(place.scores(function, rows.X), function(rows.X), atol=1e-9)


def same_sizes(monkeypatch: pytest.MonkeyPatch, speed: float) -> None:
    """The device plans with the speed and the sample of the host, to which 400 rows are many."""
    for owner in (search, encoding.Tables):
        monkeypatch.setattr(owner, "WHOLE" if owner is search else "whole", 400)
    monkeypatch.setattr(search, "ITERATIVE", 0.0)  # which the host has alone, and stops early
    monkeypatch.setattr(search, "SAMPLE", 250)
    monkeypatch.setattr(search, "SPEED", speed)
    monkeypatch.setattr(chains, "SLOPES_OF_TENSORS", chains.SLOPES)
    monkeypatch.setattr(Device, "speed", lambda place, is_planned: speed)
    for name in ("members", "leaders", "largest_leaf"):
        monkeypatch.setattr(Device, name, getattr(HOST, name))
    monkeypatch.setattr(Device, "sample", lambda place, seconds, speed: search.SAMPLE)


def frames(n: int) -> tuple[object, np.ndarray]:
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"town": rng.choice(["Oslo", "Rome", "Lima"], n), "x": rng.normal(size=n)})
    return frame, np.where(frame["x"] + (frame["town"] == "Rome") > 0.4, "rich", "poor")


def test_a_classifier_is_that_of_the_host(on_device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    same_sizes(monkeypatch, 6e10)
    frame, labels = frames(160)
    host, there = (AutoClassifier(max_trials=4, random_state=0, device=d) for d in (None, "cuda"))
    monkeypatch.setattr(base, "require_device", lambda device: device)
    host.fit(frame, labels)
    there.fit(frame, labels)
    np.testing.assert_allclose(there.predict_proba(frame), host.predict_proba(frame), atol=1e-5)
    np.testing.assert_allclose(there.feature_importances_, host.feature_importances_, atol=1e-5)


@pytest.mark.parametrize("speed", [6e10, 2e7])
def test_a_fit_predicts_anywhere_and_its_file_knows_no_device(
    speed: float, on_device: Device, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Exact fits, and fits in leaves; nothing of them is a tensor, and without the device they say the same."""
    same_sizes(monkeypatch, speed)
    monkeypatch.setattr(base, "require_device", lambda device: device)
    X, y = make_friedman1(640, 6, noise=0.3, random_state=0)
    model = AutoRegressor(max_trials=3, random_state=0, device="cuda").fit(X, y)
    host = AutoRegressor(max_trials=3, random_state=0).fit(X, y)
    assert any(isinstance(member, LocalExpansion) for member in model._stack.members) == (speed < 1e9)
    mean, deviation = model.predict(X[:40], return_std=True)
    np.testing.assert_allclose(mean, host.predict(X[:40]), atol=1e-4)
    assert b"torch" not in pickle.dumps(model)
    model.save(tmp_path / "m.bochner")
    loaded = bochner.load(tmp_path / "m.bochner")
    assert loaded.device is None
    model.set_params(device=None)
    for same in (loaded, model):
        found = same.predict(X[:40], return_std=True)
        np.testing.assert_allclose(found, (mean, deviation), rtol=1e-9)


def test_trials_that_are_counted_plan_with_a_speed_that_is_known(place: Device) -> None:
    assert place.speed(True) == place.speed(True) > 0
    assert place.sample(10.0, place.speed(True)) > search.SAMPLE
    assert place.exact(1e12) == pytest.approx(10_000, abs=1)


def test_a_device_that_is_not_there_is_refused() -> None:
    torch = pytest.importorskip("torch")
    X, y = make_friedman1(30, 6, random_state=0)
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match="sees no GPU here"):
            AutoRegressor(device="cuda").fit(X, y)
    with pytest.raises(ValueError, match="must be None, 'cpu', 'cuda'"):
        AutoClassifier(device="tpu").fit(X, y > 12)


def test_more_rows_have_all_their_folds_judged(on_device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as a sample may have there; effects of columns are learned from all of them then."""
    monkeypatch.setattr(base, "require_device", lambda device: device)
    monkeypatch.setattr(base, "CHAINS", (Chain("effects", 1.0, 1.0, "diagonal"),))
    monkeypatch.setattr(chains, "ROUNDS", 1)
    for owner in (search, encoding.Tables):
        monkeypatch.setattr(owner, "WHOLE" if owner is search else "whole", 100)
    monkeypatch.setattr(Device, "sample", lambda place, seconds, speed: 200)
    frame, labels = frames(200)
    model = AutoClassifier(max_trials=2, random_state=0, device="cuda").fit(frame, labels)
    assert model._judged == 200 and set(model.leaderboard_["rows"]) == {200}
    assert model.score(frame, labels) > 0.9


def test_the_search_goes_on_from_the_next_best(place: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where leaders are several, a step of each kind is tried from every one of them, while trials are left."""
    monkeypatch.setattr(search, "WHOLE", 50)
    monkeypatch.setattr(Device, "sample", lambda place, seconds, speed: 60)
    monkeypatch.setattr(chains, "ROUNDS", 2)
    X, y = make_friedman1(150, 6, noise=0.3, random_state=0)
    trials = {}
    for leaders in (1, 3):
        monkeypatch.setattr(Device, "leaders", leaders)
        tables = encoding.Tables(X, y, (y - y.mean())[:, None])
        monkeypatch.setattr(encoding.Tables, "whole", 50)
        found = search.Search(tables, search.Clock(1.0, 60), lambda trial: None, place=place)
        found.run(chains.CHAINS[:3])
        assert found.exact and all(isinstance(member.expansion.centres, np.ndarray) for member in found.members)
        trials[leaders] = found.clock.done
    assert 60 > trials[3] > trials[1]

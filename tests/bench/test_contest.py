"""The contest: who takes too long is killed, what is done stays done, ties are ties, the page says what was found."""

import json
import runpy
import time
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, rankdata

import bochner
from bochner.bench import contest
from bochner.bench.contest import CONTESTANTS, Record, page, running, scored
from bochner.bench.contest.encoding import Encoding, scalings
from bochner.bench.contest.entrant import Clock
from bochner.bench.contest.process import OVERTIME, Result, encoded, enter
from bochner.bench.contest.record import packed, read, unpacked
from bochner.bench.contest.scoring import difference, mean_ranks
from bochner.bench.contest.search import folds_of
from bochner.cli import main
from bochner.data.frames import FRAMES, FrameSplit, frame_sets
from helpers.places import DOCS, ROOT
from helpers.toy_contestants import Clumsy, Mean, Sleeper

ROWS = 400


def toy(labels: bool) -> FrameSplit:
    """Two numbers, one of them with gaps, and a category; noise is a tenth of what there is to find."""
    rng = np.random.default_rng(5)
    a, b, c = rng.standard_normal(ROWS), rng.standard_normal(ROWS), rng.integers(3, size=ROWS)
    y = np.sin(2 * a) + np.array([-1.0, 0.0, 1.5])[c] + 0.1 * rng.standard_normal(ROWS)
    kinds = pd.Categorical.from_codes(np.where(rng.uniform(size=ROWS) < 0.05, -1, c), categories=["x", "y", "z"])
    X = pd.DataFrame({"a": a, "b": np.where(b > 1.5, np.nan, b), "c": kinds})
    y = np.digitize(y, [-0.5, 0.5]).astype(str) if labels else y
    return FrameSplit(X[:300], y[:300], X[300:].reset_index(drop=True), y[300:])


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A folder with two small tables under names of real ones."""
    rng = np.random.default_rng(0)
    folder = tmp_path / "data" / "tabular"
    folder.mkdir(parents=True)
    X = rng.standard_normal((120, 3))
    tests = np.packbits(rng.uniform(size=(120, 10)) < 0.2, axis=0)
    np.savez(folder / "airfoil.npz", X=X, y=X[:, 0], test_mask=tests)
    X[:, 2] = rng.integers(2, size=120)
    X[3, 2] = np.nan
    facts = {"names": ["a", "b", "c"], "kinds": ["number", "number", "category"], "categories": '{"c": ["no", "yes"]}'}
    np.savez(folder / "german.npz", X=X, y=np.where(X[:, 0] > 0, "up", "down"), **facts)
    monkeypatch.setenv("BOCHNER_DATA", str(tmp_path / "data"))
    return tmp_path


def run(capsys, *words):
    """(exit code, standard output, error output) of a contest."""
    try:
        main(["contest", *map(str, words)])
        code = 0
    except SystemExit as stop:
        code = stop.code or 0
    out, err = capsys.readouterr()
    return code, out, err


# ---- sets ----


def test_sets_are_frames_with_categories_and_gaps(data):
    numbers, labels = FRAMES["airfoil"].load(3), FRAMES["german"].load(0)
    assert not numbers.has_labels
    assert len(numbers.y) + len(numbers.y_test) == 120
    assert not FRAMES["airfoil"].load(4).X.equals(numbers.X)
    assert labels.has_labels
    assert len(labels.y) == 84
    together = pd.concat([labels.X, labels.X_test])
    assert list(together["c"].cat.categories) == ["no", "yes"]
    assert together["c"].isna().sum() == 1
    assert len(frame_sets(["all"])) == 33
    with pytest.raises(ValueError, match="did you mean 'german'"):
        frame_sets(["germany"])


def test_labels_that_nobody_learned_from_are_nobody_s():
    frame = pd.DataFrame({"a": [0.0, 1.0, 2.0]})
    rows, y_test = encoded(FrameSplit(frame, np.array(["b", "d", "b"]), frame, np.array(["d", "a", "e"])))
    assert rows.classes == 2
    assert rows.y.tolist() == [0, 1, 0]
    assert y_test.tolist() == [1, -1, -1]


def test_arrays_of_frames():
    X = toy(False).X
    encode = Encoding(X, "standardised")
    found = encode(X)
    assert scalings(X) == ("standardised", "normal scores")
    assert found.shape == (300, 2 + 1 + 4)  # numbers, a gap, three categories and their absence
    np.testing.assert_allclose(found[:, :2].mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_array_equal(found[:, 2], X["b"].isna())
    np.testing.assert_array_equal(found[:, 3:].sum(axis=1), 1.0)
    ranks = norm.ppf((rankdata(X["a"]) - 0.5) / len(X))
    np.testing.assert_allclose(Encoding(X, "normal scores")(X)[:, 0], ranks, atol=0.15)
    pixels = pd.DataFrame(np.array([[0, 255]], dtype=np.uint8))
    assert Encoding(pixels, *scalings(pixels))(pixels).tolist() == [[0.0, 1.0]]


# ---- contestants ----


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("name", ["mlp", "svm", "forest", "defaults"])
def test_those_of_scikit_learn_learn(name, labels):
    rows, y_test = encoded(toy(labels))
    clock = Clock(0.5)
    model = CONTESTANTS[name]().fit(rows, clock, 1, 0)
    assert clock.spent < 5  # the machine may be busy; nothing here takes as long
    found = model.predict(toy(labels).X_test)
    if labels:
        assert np.mean(found != y_test) < 0.5 * np.mean(y_test != np.bincount(rows.y).argmax())
    else:
        assert np.mean((found - y_test) ** 2) < 0.4 * np.var(y_test)
    assert model.tried >= 1
    assert model.note


def test_ours_is_the_automatic_model_where_there_is_one(monkeypatch):
    asked = {}

    class Toy:
        def __init__(self, *, budget, random_state):
            asked.update(budget=budget, seed=random_state)

        def fit(self, X, y):
            asked.update(kinds=list(X.dtypes.astype(str)))
            return self

        def predict(self, X):
            return np.ones(len(X), dtype=int)

    for name in ("AutoRegressor", "AutoClassifier"):
        monkeypatch.delattr(bochner, name, raising=False)
    assert "AutoRegressor" in CONTESTANTS["ours"]().missing()
    for name in ("AutoRegressor", "AutoClassifier"):
        monkeypatch.setattr(bochner, name, Toy, raising=False)
    assert not CONTESTANTS["ours"]().missing()
    rows, _ = encoded(toy(True))
    model = CONTESTANTS["ours"]().fit(rows, Clock(5.0), 1, 7)
    assert 4.0 < asked["budget"] <= 5.0
    assert asked["seed"] == 7
    assert asked["kinds"] == ["float64", "float64", "category"]
    assert model.predict(toy(True).X_test).tolist() == [1] * 100


def test_folds_have_the_same_share_of_each_label():
    y = np.random.default_rng(0).permutation(np.repeat([0, 1, 2], [50, 20, 5]))
    for k in range(5):
        assert np.bincount(y[folds_of(y) == k]).tolist() == [10, 4, 1]


def test_who_takes_too_long_is_killed_and_counted_as_such():
    begun = time.perf_counter()
    found = enter(Sleeper(), toy(False), 0.2, 1, 0)
    assert time.perf_counter() - begun < 60
    assert found == Result("killed", OVERTIME * 0.2, note="no model after 0.3 s")
    assert found.error is None


def test_others_end_with_an_error_or_a_reason():
    assert enter(Clumsy(), toy(False), 0.2, 1, 0) == Result("failed", 0.0, note="ArithmeticError: cannot divide")
    split = toy(False)
    found = enter(Mean(), split, 5.0, 2, 0)
    assert found.status == "done"
    assert found.note == "2"
    assert found.error == pytest.approx(np.mean((split.y_test - split.y.mean()) ** 2) / np.var(split.y_test))


def test_who_cannot_enter_is_refused(monkeypatch):
    monkeypatch.setattr(CONTESTANTS["xrfm"], "needs", ("no_such_module",))
    assert "xrfm" not in {one.name for one in running.chosen()}
    with pytest.raises(ImportError, match=r"xrfm cannot enter: no_such_module is not installed.*bochner\[contest\]"):
        running.chosen(["xrfm"])
    with pytest.raises(ValueError, match="did you mean 'forest'"):
        running.chosen(["forests"])


# ---- the record ----


def result(error: float, rows: int = 24, seconds: float = 1.0) -> Result:
    return Result("done", seconds, losses=np.full(rows, error))


def test_a_contest_goes_on_where_it_stopped(data, capsys, monkeypatch):
    entered = []

    def quick(contestant, split, seconds, cores, seed):
        entered.append((contestant.name, seed))
        if len(entered) == 3:
            raise KeyboardInterrupt
        return Result("killed", 3.0) if contestant.name == "svm" else result(0.5, len(split.y_test))

    monkeypatch.setattr(running, "enter", quick)
    how = ("airfoil", "--seconds", 2, "--splits", 2, "--contestants", "forest,svm", "--out", data / "c.json")
    assert run(capsys, *how)[0] == 130
    assert entered == [("forest", 0), ("svm", 0), ("forest", 1)]
    assert len(read(data / "c.json").entries) == 2
    assert run(capsys, *how)[0] == 0
    assert entered[3:] == [("forest", 1), ("svm", 1)]
    assert run(capsys, *how)[0] == 0
    assert len(entered) == 5
    assert run(capsys, *how[:-4], "--contestants", "svm", "--out", data / "c.json", "--redo")[0] == 0
    assert entered[5:] == [("svm", 0), ("svm", 1)]
    assert len(read(data / "c.json").entries) == 4
    code, _, error = run(capsys, "airfoil", "--seconds", 3, "--contestants", "svm", "--out", data / "c.json")
    assert code == 1
    assert "with 2 seconds for each, not 3" in error
    (data / "c.json").write_text("{}")
    assert "is not the record of a contest" in run(capsys, *how)[2]


def test_what_failed_is_tried_again():
    record = Record(1.0, datasets={"wine": {"labels": 0, "test_rows": 24}})
    record.add("wine", 1, "svm", Result("failed", 0.0, note="no memory"))
    assert not record.has("wine", 1, "svm")
    record.add("wine", 1, "svm", result(0.5))
    assert record.has("wine", 1, "svm")
    assert len(record.entries) == 1


def test_losses_are_kept_in_few_bytes():
    rng = np.random.default_rng(0)
    wrong = (rng.uniform(size=1001) < 0.1).astype(float)
    np.testing.assert_array_equal(unpacked(packed(wrong, True), 1001, True), wrong)
    assert len(packed(wrong, True)) < 200
    squares = rng.chisquare(1, size=500)
    np.testing.assert_allclose(unpacked(packed(squares, False), 500, False), squares, rtol=2e-3)


# ---- the score ----


def record_of(**errors):
    """A record with one set per number of each contestant, losses and splits as given."""
    record = Record(1.0)
    for name, found in errors.items():
        for dataset, splits in found.items():
            for split, losses in enumerate(splits, 1):
                size = {"labels": 2, "rows": 50, "columns": 3, "test_rows": len(losses) if losses is not None else 10}
                record.datasets.setdefault(dataset, size)
                one = Result("killed", 1.5) if losses is None else Result("done", 1.0, losses=np.array(losses, float))
                record.add(dataset, split, name, one)
    return record


def test_ties_by_rows_of_one_split():
    few, more, other = [1, 0, 0, 0, 0, 0, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0, 0, 0, 0, 0], [0, 1, 1, 1, 1, 1, 1, 0, 0, 0]
    record = record_of(ours={"a": [few], "b": [few], "c": [other]}, svm={"a": [more], "b": [other], "c": [few]})
    apart, spread = difference(record, "a", "ours", "svm")
    assert apart == pytest.approx(-0.1)
    assert spread == pytest.approx(np.std([1] + 9 * [0], ddof=1) / np.sqrt(10))  # one of ten rows differs
    (duel,) = scored(record, ("ours", "svm")).duels
    assert (duel.wins, duel.ties, duel.losses) == (("b",), ("a",), ("c",))
    assert duel.ratio == pytest.approx((1 / 2 * 1 / 6 * 6) ** (1 / 3))


def test_ties_by_splits():
    def splits(*wrong):
        return [[1] * k + [0] * (10 - k) for k in wrong]

    record = record_of(
        ours={"a": splits(3, 5, 4), "b": splits(3, 4, 5)}, svm={"a": splits(4, 4, 4), "b": splits(5, 6, 8)}
    )
    (duel,) = scored(record, ("ours", "svm")).duels
    assert duel.ties == ("a",)  # differences -1, 1, 0
    assert duel.wins == ("b",)  # differences -2, -2, -3
    found = scored(record, ("ours", "svm")).standings["b"]["ours"]
    assert found.error == pytest.approx(0.4)
    assert found.standard_error == pytest.approx(0.1 / np.sqrt(3))


def test_the_killed_lose_and_have_no_ratio():
    none, some = [0] * 10, [1] * 5 + [0] * 5
    record = record_of(ours={"a": [some], "b": [None], "c": [None], "d": [none]},
                       svm={"a": [None], "b": [some], "c": [None], "d": [none]})  # fmt: skip
    score = scored(record, ("ours", "svm"))
    (duel,) = score.duels
    assert (duel.wins, duel.ties, duel.losses) == (("a",), ("c", "d"), ("b",))
    assert duel.ratio == 1.0  # nothing wrong in both, on the one set that counts
    assert score.standings["b"]["ours"].status == "killed"
    assert mean_ranks(score.standings) == {"ours": 1.5, "svm": 1.5}


def test_defaults_stand_for_ours_where_there_is_nothing_else():
    some = [1] * 5 + [0] * 5
    assert scored(record_of(defaults={"a": [some]}, svm={"a": [some]}), ()).ours == "defaults"
    assert scored(record_of(defaults={"a": [some]}, ours={"a": [some]}), ()).ours == "ours"


# ---- command and page ----


def test_a_contest_from_the_command_line(data, capsys):
    how = ("german", "--seconds", 1, "--contestants", "forest", "--out", data / "c.json")
    code, out, error = run(capsys, *how)
    assert code == 0, error
    assert "german, split 1, random forest: done" in error
    assert "Over all sets of the record" in out
    record = read(data / "c.json")
    assert record.machine["cores"] >= 1
    (entry,) = record.entries
    assert entry["status"] == "done"
    assert entry["error"] < 0.2  # half of the rows are up
    code, out, _ = run(capsys, *how, "--json")
    assert code == 0
    told = json.loads(out)
    assert told["standings"]["german"]["forest"]["error"] == entry["error"]
    assert told["mean_ranks"] == {"forest": 1.0}


def test_the_command_says_what_there_is(capsys):
    out = run(capsys, "--list")[1]
    assert "random forest" in out
    assert "wisdm" in out
    assert "name data sets" in run(capsys)[2]


def test_the_page_says_what_its_record_says():
    some, more = [1] * 2 + [0] * 8, [1] * 5 + [0] * 5
    record = record_of(ours={"a": [some], "b": [more]}, svm={"a": [more], "b": [some]}, mlp={"a": [None]})
    text = page(record, {"ours": "ours", "svm": "SVM", "mlp": "network"}, {"b": "it is made up."})
    assert "| SVM | 1 | 0 | 1 | 1.000 | 1.50 |" in text
    assert "| network | 1 | 0 | 0 |  | 3.00 |" in text
    assert "| a | 50 | 3 | 1 | **0.2000 ±0.1333** | 0.5000 ±0.1667 | killed | 0.40 |" in text
    assert "More than 1.3 times the best peer:\n\n- b, 2.50 times SVM: it is made up." in text


@pytest.mark.skipif(not (DOCS / "contest.json").exists(), reason="no contest was kept")
def test_the_page_in_docs_is_up_to_date(tmp_path):
    """And every set that is lost by far has its reason."""
    copy = tmp_path / "contest.json"
    copy.write_text((DOCS / "contest.json").read_text())
    runpy.run_path(str(DOCS / "contest.py"))["main"](copy)
    assert (DOCS / "contest.md").read_text() == copy.with_suffix(".md").read_text()
    assert "the reason is not known" not in copy.with_suffix(".md").read_text()


def test_the_extra_is_no_dependency():
    text = (ROOT / "pyproject.toml").read_text()
    dependencies = text[text.index("dependencies = [") : text.index("[project.optional-dependencies]")]
    assert not any(name in dependencies for name in ("lightgbm", "xgboost", "catboost", "xrfm"))
    assert contest.__all__


@pytest.mark.slow
@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("name", ["lightgbm", "xgboost", "catboost", "xrfm"])
def test_those_of_the_extra_learn(name, labels):
    if any(find_spec(module) is None for module in CONTESTANTS[name].needs):
        pytest.skip("the extra is not installed")
    split = toy(labels)
    found = enter(CONTESTANTS[name](), split, 4.0, 1, 0)
    assert found.status == "done", found.note
    assert found.tried >= 1
    nothing = np.mean(split.y_test != "0") if labels else 1.0
    assert found.error < 0.5 * nothing

"""The command line as a new user would try it: it works, and what goes wrong ends with one helpful sentence."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bochner
from bochner.cli import main

rng = np.random.default_rng(3)
N = 800
FRAME = pd.DataFrame(rng.standard_normal((N, 3)), columns=["a", "b", "c"])
FRAME["city"] = rng.choice(["Rome", "Oslo"], N)
FRAME["y"] = np.sin(FRAME.a) + (FRAME.city == "Rome")
FRAME["label"] = np.where(FRAME.y > 0.5, "high", "low")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    FRAME.drop(columns="label").to_parquet("train.parquet")
    FRAME.drop(columns="y").to_csv("labelled.csv", index=False)
    FRAME.drop(columns=["y", "label"]).to_csv("new.csv", index=False)
    return tmp_path


def run(capsys, *words):
    """(exit code, standard output, error output) of a command."""
    try:
        main([str(word) for word in words])
        code = 0
    except SystemExit as stop:
        code = stop.code or 0
    out, err = capsys.readouterr()
    return code, out, err


def succeed(capsys, *words):
    code, out, err = run(capsys, *words)
    assert code == 0, err
    return out


def test_fit_info_predict(capsys):
    out = succeed(capsys, "fit", "train.parquet", "--target", "y", "--basis", "maxout", "--components", 200,
                  "--out", "m.bochner")  # fmt: skip
    assert "RandomMaxout" in out
    assert "alpha = " in out
    out = succeed(capsys, "info", "m.bochner")
    assert "a, b, c, city" in out
    succeed(capsys, "predict", "m.bochner", "new.csv", "--out", "p.csv")
    model = bochner.load("m.bochner")
    assert np.allclose(pd.read_csv("p.csv").prediction, model.predict(FRAME), atol=1e-12)
    out = succeed(capsys, "predict", "m.bochner", "train.parquet", "--target", "y", "--out", "p.parquet", "--json")
    assert json.loads(out)["r2"] == pytest.approx(model.score(FRAME, FRAME.y))
    assert len(os.listdir()) == 6


def test_classification(capsys):
    out = succeed(capsys, "fit", "labelled.csv", "--target", "label", "--components", 100, "--precision", "int8",
                  "--out", "m.bochner", "--json")  # fmt: skip
    assert json.loads(out)["classes"] == ["high", "low"]
    out = succeed(capsys, "predict", "m.bochner", "labelled.csv", "--target", "label", "--scores", "--out", "p.parquet",
                  "--json")  # fmt: skip
    table = pd.read_parquet("p.parquet")
    assert list(table) == ["prediction", "score high", "score low"]
    assert json.loads(out)["error"] == np.mean(table.prediction != FRAME.label)
    assert json.loads(out)["error"] < 0.1


@pytest.mark.parametrize("name", ["p.csv", "p.parquet", "p.arrow", "p.npy"])
def test_predictions_in_every_format(capsys, name):
    succeed(capsys, "fit", "train.parquet", "--target", "y", "--components", 50, "--sums", "--out", "m.bochner")
    with bochner.config_context(block_rows=100):
        succeed(capsys, "predict", "m.bochner", "new.csv", "--std", "--out", name)
    if name == "p.npy":
        found = np.load(name)
    else:
        reader = {"p.csv": pd.read_csv, "p.parquet": pd.read_parquet, "p.arrow": pd.read_feather}[name]
        found = reader(name).to_numpy()
    mean, deviation = bochner.load("m.bochner").predict(FRAME, return_std=True)
    assert np.allclose(found, np.column_stack([mean, deviation]), atol=1e-12)


def test_matrices_and_svmlight(capsys):
    from sklearn.datasets import dump_svmlight_file

    np.save("t.npy", FRAME[["a", "b", "c", "y"]].to_numpy())
    succeed(capsys, "fit", "t.npy", "--target", "-1", "--components", 50, "--out", "m.bochner")
    np.save("x.npy", FRAME[["a", "b", "c"]].to_numpy())
    succeed(capsys, "predict", "m.bochner", "x.npy", "--out", "p.npy")
    assert np.corrcoef(np.load("p.npy"), FRAME.y)[0, 1] > 0.6
    dump_svmlight_file(FRAME[["a", "b", "c"]].to_numpy(), FRAME.label == "high", "t.svm")
    succeed(capsys, "fit", "t.svm", "--components", 50, "--out", "s.bochner")
    out = succeed(capsys, "predict", "s.bochner", "t.svm", "--out", "p.csv", "--json")
    assert json.loads(out)["error"] < 0.4


def test_models_of_frames_and_arrays_fitted_in_python(capsys):
    X = FRAME[["a", "b", "c"]]
    model = bochner.RandomFeatureRegressor(bochner.RandomFourier(30), random_state=0).fit(X, FRAME.y)
    model.save("frame.bochner")
    succeed(capsys, "predict", "frame.bochner", "new.csv", "--out", "p.csv")
    assert np.allclose(pd.read_csv("p.csv").prediction, model.predict(X))
    np.save("x.npy", X.to_numpy())
    model.fit(X.to_numpy(), FRAME.y).save("array.bochner")
    succeed(capsys, "predict", "array.bochner", "x.npy", "--out", "p.npy")
    assert np.allclose(np.load("p.npy"), model.predict(X.to_numpy()))


def test_tune_finds_a_good_setting_and_says_how_to_use_it(capsys):
    out = json.loads(succeed(capsys, "tune", "train.parquet", "--target", "y", "--components", 100, "--json",
                             "--out", "best.bochner"))  # fmt: skip
    errors = [trial["error"] for trial in out["trials"]]
    assert errors[0] == min(errors)
    assert errors[0] < 0.2
    assert bochner.load("best.bochner").score(FRAME, FRAME.y) > 0.8
    shown = succeed(capsys, "tune", "train.parquet", "--target", "y", "--basis", "maxout", "--components", 60)
    command = shlex.split(shown.split("to fit the best: bochner ")[1])
    succeed(capsys, *command)
    assert Path("m.bochner").exists()


def test_a_checkpoint_is_used_and_removed(capsys):
    succeed(
        capsys, "fit", "train.parquet", "--target", "y", "--components", 50, "--checkpoint", "c", "--out", "m.bochner"
    )
    assert not Path("c").exists()


def test_a_checkpoint_never_takes_other_files_with_it(capsys):
    Path("precious").mkdir()
    Path("precious/thesis.txt").write_text("years of work")
    code, _, err = run(capsys, *FIT[:-1], "precious/m.bochner", "--checkpoint", "precious")
    assert code == 1
    assert "holds other files" in err
    assert Path("precious/thesis.txt").exists()


def test_errors_of_text_labels_are_not_cut_short(capsys):
    FRAME.assign(pet=np.where(FRAME.a > 0, "cat", "dog"))[["a", "b", "pet"]].to_csv("pets.csv", index=False)
    FRAME.assign(pet=np.where(FRAME.a > 0, "category", "dogma"))[["a", "b", "pet"]].to_csv("other.csv", index=False)
    succeed(capsys, "fit", "pets.csv", "--target", "pet", "--components", 30, "--out", "m.bochner")
    out = succeed(capsys, "predict", "m.bochner", "other.csv", "--target", "pet", "--out", "p.csv", "--json")
    assert json.loads(out)["error"] == 1.0


def test_models_of_several_outputs(capsys):
    both = np.column_stack([FRAME.y, -FRAME.y])
    bochner.RandomFeatureRegressor(bochner.RandomFourier(9)).fit(FRAME[["a", "b", "c"]], both).save("m.bochner")
    succeed(capsys, "predict", "m.bochner", "new.csv", "--out", "p.csv")
    assert list(pd.read_csv("p.csv")) == ["prediction 0", "prediction 1"]
    code, _, err = run(capsys, "predict", "m.bochner", "train.parquet", "--target", "y", "--out", "p.csv")
    assert code == 1
    assert "predicts several" in err


def test_the_command_that_tune_prints_is_what_was_tuned(capsys):
    words = ["tune", "train.parquet", "--target", "y", "--components", 64, "--precision", "int8", "--drop", "b",
             "--seed", 3, "--no-standardize", "--json"]  # fmt: skip
    command = shlex.split(json.loads(succeed(capsys, *words))["command"])
    for word in ("--precision int8", "--drop b", "--seed 3", "--no-standardize", "--bandwidth"):
        assert word in " ".join(command)
    succeed(capsys, *command[1:])


def test_info_without_a_file_says_which_instructions_are_used(capsys):
    out = json.loads(succeed(capsys, "info", "--json"))
    assert out["version"] == bochner.__version__
    assert out["instruction_set"] in ("amx", "vnni", "avx512", "avx2", "baseline")


def test_reproduce_says_how_to_install_the_papers(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "bochner_papers", None)
    code, out, err = run(capsys, "reproduce", "--list")
    assert code == 1
    assert not out
    assert "which is not installed: in a clone of bochner, run `pip install ./papers`." in err
    assert len(err.splitlines()) == 1


def test_columns_are_kept_beside_predictions(capsys):
    new = FRAME.drop(columns=["y", "label"]).assign(id=[f"{k:05}" for k in range(N)], when="2020-01-31")
    new.loc[3, "when"] = None
    new.to_csv("new.csv", index=False)
    new.to_parquet("new.parquet", row_group_size=300)
    succeed(capsys, "fit", "train.parquet", "--target", "y", "--components", 50, "--out", "m.bochner")
    expected = bochner.load("m.bochner").predict(FRAME)
    for source in ("new.csv", "new.parquet"):
        for out in ("p.csv", "p.parquet"):
            with bochner.config_context(block_rows=70):
                succeed(capsys, "predict", "m.bochner", source, "--keep", "id", "--keep", "a", "--keep", "when",
                        "--out", out)  # fmt: skip
            table = pd.read_parquet(out) if out == "p.parquet" else pd.read_csv(out, dtype={"id": str})
            assert list(table) == ["id", "a", "when", "prediction"]
            assert list(table.id) == list(new.id)
            assert np.allclose(table.a.astype(float), FRAME.a)
            assert np.allclose(table.prediction, expected, atol=1e-12)
    np.save("x.npy", FRAME[["a", "b", "c"]].to_numpy())
    bochner.RandomFeatureRegressor(random_state=0).fit(FRAME[["a", "b", "c"]].to_numpy(), FRAME.y).save("n.bochner")
    succeed(capsys, "predict", "n.bochner", "x.npy", "--keep", "1", "--out", "p.npy")
    assert np.array_equal(np.load("p.npy")[:, 0], FRAME.b)


def test_probabilities(capsys):
    succeed(capsys, "fit", "labelled.csv", "--target", "label", "--components", 50, "--out", "m.bochner")
    succeed(capsys, "predict", "m.bochner", "labelled.csv", "--proba", "--out", "p.csv")
    table = pd.read_csv("p.csv")
    assert list(table) == ["prediction", "probability high", "probability low"]
    model = bochner.load("m.bochner")
    assert np.allclose(table[["probability high", "probability low"]], model.predict_proba(FRAME), atol=1e-12)
    assert list(table.prediction) == list(model.predict(FRAME))


def test_missing_values_at_predict(capsys):
    succeed(capsys, "fit", "train.parquet", "--target", "y", "--components", 50, "--out", "m.bochner")
    holes = FRAME.drop(columns=["y", "label"]).astype({"a": object})
    holes.loc[5, "a"], holes.loc[7, "a"] = "?", None
    holes.to_csv("holes.csv", index=False)
    code, _, err = run(capsys, "predict", "m.bochner", "holes.csv", "--out", "p.csv")
    assert code == 1
    assert "give --missing mean" in err
    code, out, err = run(capsys, "predict", "m.bochner", "holes.csv", "--missing", "mean", "--out", "p.csv", "--json")
    assert code == 0
    assert "bochner: note: column 'a' holds numbers, but 2 of its values are empty or say something else ('?')" in err
    assert json.loads(out)["notes"] == [err.strip().removeprefix("bochner: note: ")]
    assert np.isfinite(pd.read_csv("p.csv").prediction).all()


def test_predict_speaks_of_its_own_options_only(capsys):
    succeed(capsys, "fit", "train.parquet", "--target", "y", "--components", 50, "--out", "m.bochner")
    bochner.RandomFeatureRegressor(bochner.RandomFourier(5)).fit(FRAME[["a"]], FRAME.y).save("plain.bochner")
    holes = FRAME.drop(columns=["y", "label"])
    holes.loc[[5, 6], "a"] = np.nan
    holes.to_csv("holes.csv", index=False)
    for model, advice in (("m.bochner", "give --missing mean to impute."), ("plain.bochner", "clean it first.")):
        code, _, err = run(capsys, "predict", model, "holes.csv", "--missing", "refuse", "--out", "p.csv")
        assert code == 1
        assert err == f"bochner: column 'a' has 2 missing values (first at row 5): {advice}\n"


def test_the_penalty_by_generalised_cross_validation(capsys):
    words = ["fit", "train.parquet", "--target", "y", "--components", 50, "--out", "m.bochner", "--json"]
    found = json.loads(succeed(capsys, *words, "--alpha", "gcv"))
    assert any("generalised" in line for line in found["explanation"])


def test_dates_that_became_text_are_told(capsys):
    days = [f"{k % 12 + 1}/{k % 28 + 1}/2021" for k in range(N)]
    FRAME[["a", "y"]].assign(when=days).to_csv("dated.csv", index=False)
    code, _, err = run(capsys, "fit", "dated.csv", "--target", "y", "--components", 20, "--out", "m.bochner")
    assert code == 0
    assert "note: 1 of 2 columns hold dates whose day and month cannot be told apart" in err
    assert "became text: 'when' (64 columns)" in err
    assert "--drop when" in err
    assert "--categories 16" in err


@pytest.mark.parametrize("name", ["KernelRidgeRegressor", "LearnedFourierRegressor"])
def test_models_of_frames_whose_rows_are_encoded(capsys, name):
    inputs = FRAME.drop(columns=["y", "label"])[:200]
    more = {"n_components": 10, "max_iter": 3, "random_state": 0} if "Learned" in name else {}
    model = getattr(bochner, name)(alpha=1e-3, **more, **({"frequency_alpha": 1e-4} if more else {}))
    model.fit(inputs, FRAME.y[:200]).save("m.bochner")
    out = json.loads(succeed(capsys, "info", "m.bochner", "--json"))
    assert out["columns"] == ["a", "b", "c", "city"]
    assert any(line.startswith("expected: not known: ") for line in out["explanation"])
    succeed(capsys, "predict", "m.bochner", "new.csv", "--out", "p.csv")
    assert np.allclose(pd.read_csv("p.csv").prediction, model.predict(FRAME))


def test_decimal_commas_and_dates(capsys):
    table = FRAME[["a", "y"]].assign(day=pd.date_range("2020-01-01", periods=N).strftime("%Y-%m-%d"))
    table.to_csv("comma.csv", sep=";", decimal=",", index=False)
    words = ["--components", 50, "--delimiter", ";", "--decimal", ","]
    succeed(capsys, "fit", "comma.csv", "--target", "y", *words, "--out", "m.bochner")
    words = ["--delimiter", ";", "--json", "--target", "y"]
    out = succeed(capsys, "predict", "m.bochner", "comma.csv", *words, "--decimal", ",", "--out", "p.csv")
    assert json.loads(out)["r2"] > 0.5
    assert np.allclose(pd.read_csv("p.csv").prediction, bochner.load("m.bochner").predict(table))


def test_json_has_numbers_for_numbers(capsys):
    out = json.loads(succeed(capsys, "fit", "train.parquet", "--target", "y", "--components", 50, "--bandwidth", 2.5,
                             "--out", "m.bochner", "--json"))  # fmt: skip
    assert out["parameters"]["n_components"] == 50
    assert out["parameters"]["bandwidth"] == 2.5
    assert out["parameters"]["precision"] is None
    assert isinstance(out["alpha"], float)


def test_fit_says_how_good_the_model_is(capsys, monkeypatch):
    monkeypatch.setattr(bochner.RandomFeatureRegressor, "cv_score_", 0.875, raising=False)
    monkeypatch.setattr(bochner.RandomFeatureClassifier, "cv_score_", 0.9375, raising=False)
    monkeypatch.setattr(bochner.RandomFeatureClassifier, "cv_standard_error_", 0.0125, raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    words = ["--components", 30, "--out", "m.bochner"]
    monkeypatch.setattr(bochner.RandomFeatureRegressor, "cv_standard_error_", None)
    assert "R² = 0.875, cross-validated" in succeed(capsys, "fit", "train.parquet", "--target", "y", *words)
    out = json.loads(succeed(capsys, "fit", "train.parquet", "--target", "y", *words, "--json"))
    assert out["cross_validated_r2"] == 0.875
    shown = succeed(capsys, "fit", "labelled.csv", "--target", "label", *words)
    assert "error rate = 6.25% ± 1.25%, cross-validated" in shown
    out = json.loads(succeed(capsys, "fit", "labelled.csv", "--target", "label", *words, "--json"))
    assert (out["cross_validated_error"], out["cross_validated_standard_error"]) == (0.0625, 0.0125)


def test_predict_walks_the_rows_once(capsys, monkeypatch):
    from bochner.blocks import Blocks, MemoryBlocks, Recipe

    succeed(capsys, "fit", "train.parquet", "--target", "y", "--components", 50, "--sums", "--out", "m.bochner")
    walks, digests, inside = [], [], []
    walk, digest = Blocks.walk, Recipe.digest
    monkeypatch.setattr(Blocks, "walk", lambda self, *how, **more: walks.append(self) or walk(self, *how, **more))
    monkeypatch.setattr(Recipe, "digest", lambda self: digests.append(self) or digest(self))
    monkeypatch.setattr(MemoryBlocks, "__init__", lambda *parts, **more: inside.append(1))
    with bochner.config_context(block_rows=50):
        succeed(capsys, "predict", "m.bochner", "new.csv", "--std", "--out", "p.csv")
    assert len(walks) == 1
    assert len(digests) <= 2
    assert not inside


def test_models_of_learned_frequencies(capsys):
    X = FRAME[["a", "b", "c"]]
    model = bochner.LearnedFourierRegressor(20, max_iter=5, random_state=0).fit(X, FRAME.y)
    model.save("m.bochner")
    out = json.loads(succeed(capsys, "info", "m.bochner", "--json"))
    assert out["learned_numbers"] == 21
    succeed(capsys, "predict", "m.bochner", "new.csv", "--out", "p.csv")
    assert np.allclose(pd.read_csv("p.csv").prediction, model.predict(X))


# ---- what goes wrong ----

FIT = ["fit", "train.parquet", "--target", "y", "--out", "m.bochner"]


def test_models_without_settings(capsys):
    few = FRAME.head(200)
    few.drop(columns="y").to_csv("labelled.csv", index=False)
    few.drop(columns="label").assign(a=few.a.where(few.index % 50 > 0)).to_parquet("gaps.parquet")
    how = ("--auto", "--trials", 2, "--out", "m.bochner")
    out = succeed(capsys, "fit", "gaps.parquet", "--target", "y", *how)
    assert "expected" in out and "leaderboard" in out and "a 9" in out
    succeed(capsys, "predict", "m.bochner", "new.csv", "--std", "--keep", "city", "--out", "p.csv")
    mean, deviation = bochner.load("m.bochner").predict(FRAME[["a", "b", "c", "city"]], return_std=True)
    found = pd.read_csv("p.csv")
    assert list(found) == ["city", "prediction", "std"]
    assert np.allclose(found["prediction"], mean, atol=1e-12) and np.allclose(found["std"], deviation)
    said = json.loads(succeed(capsys, "fit", "labelled.csv", "--target", "label", *how, "--json"))
    assert said["model"] == "AutoClassifier"
    assert max(said["importances"], key=said["importances"].get) == "a"
    assert {"model", "rows", "error", "weight"} <= set(said["leaderboard"][0])
    out = succeed(capsys, "predict", "m.bochner", "labelled.csv", "--target", "label", "--proba", "--out", "q.csv",
                  "--json")  # fmt: skip
    assert json.loads(out)["error"] < 0.1
    assert list(pd.read_csv("q.csv")) == ["prediction", "probability high", "probability low"]
    assert "AutoClassifier" in succeed(capsys, "info", "m.bochner")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """Files that something is wrong with, and two models, made once for all mistakes."""
    here = tmp_path_factory.mktemp("prepared")
    (here / "empty.csv").write_bytes(b"")
    FRAME[["b", "c"]].to_csv(here / "other.csv", index=False)
    FRAME.assign(a="x").to_csv(here / "text.csv", index=False)
    FRAME.assign(b=[np.nan] + [0.0] * (N - 1)).to_csv(here / "holes.csv", index=False)
    FRAME[:5].assign(a="Orléans").to_csv(here / "latin.csv", index=False, encoding="latin-1")
    bochner.RandomFeatureRegressor(bochner.RandomFourier(5)).fit(FRAME[["a"]], FRAME.y).save(here / "plain.bochner")
    FRAME[:5].assign(t="10:20:30").to_csv(here / "times.csv", index=False)
    FRAME.assign(name=[f"row {k}" for k in range(N)]).to_csv(here / "names.csv", index=False)
    bochner.storage.save(here / "job.checkpoint", "bochner checkpoint", 1, {})
    FRAME.drop(columns="label").to_parquet(here / "train.parquet")
    model = bochner.RandomFeatureRegressor(bochner.RandomFourier(10), random_state=0)
    model.fit(bochner.read(here / "train.parquet", target="y")).save(here / "ok.bochner")
    return here


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "Usage"),
        (["fit"], "requires an argument"),
        (["fit", "train.parquet"], "--out"),
        (["predict"], "requires an argument"),
        (["tune"], "requires an argument"),
        (["fitt"], "Unknown command"),
        (["fit", "none.parquet", "--target", "y", "--out", "m"], "there is no file 'none.parquet'"),
        (["fit", "train.parquet", "--target", "y", "--auto", "--basis", "maxout", "--out", "m"], "--basis does not go"),
        (["fit", "train.parquet", "--target", "y", "--auto", "--sums", "--out", "m"], "--sums does not go with --auto"),
        (["fit", "train.parquet", "--target", "y", "--auto", "--weight", "a", "--out", "m"], "--weight does not go"),
        (["fit", "train.parquet", "--target", "y", "--auto", "--budget", "-1", "--out", "m"], "budget must be"),
        (["fit", "train.parquet", "--target", "y", "--budget", "9", "--out", "m"], "--budget is for --auto"),
        (["fit", "*.xyz", "--target", "y", "--out", "m"], "no file matches '*.xyz'"),
        (["fit", "train.parquet", "--target", "z", "--out", "m"], "has no column 'z'; it has 'a', 'b'"),
        (["fit", "train.parquet", "--out", "m"], "Give --target"),
        (["fit", "empty.csv", "--target", "y", "--out", "m"], "'empty.csv' is empty"),
        (["fit", "train.parquet", "--target", "y", "--out", "no/m"], "there is no folder 'no'"),
        (["fit", "train.parquet", "--target", "y", "--out", "."], "is a folder"),
        ([*FIT, "--basis", "maxot"], "did you mean 'maxout'"),
        ([*FIT, "--components", "many"], "many"),
        ([*FIT, "--components", "0"], "n_components must be an integer of at least 1"),
        ([*FIT, "--alpha", "x"], "alpha must be a number, 'auto', 'loo' or 'gcv'"),
        ([*FIT, "--alpha", "-1"], "alpha must be a positive"),
        ([*FIT, "--solver", "cheat"], "--solver cheat is not known"),
        ([*FIT, "--memory", "lots"], "memory must be a size"),
        ([*FIT, "--pool-size", "3"], "the basis 'fourier' has no pool size"),
        ([*FIT, "--task", "guess"], "guess"),
        (["fit", "train.parquet", "--target", "y", "--task", "classification", "--out", "m"], "which are no labels"),
        (["fit", "train.parquet", "--target", "city", "--task", "regression", "--out", "m"], "y must hold numbers"),
        (["predict", "none.bochner", "new.csv", "--out", "p.csv"], "there is no file 'none.bochner'"),
        (["predict", "train.parquet", "new.csv", "--out", "p.csv"], "not a bochner model file"),
        (["predict", "ok.bochner", "none.csv", "--out", "p.csv"], "there is no file 'none.csv'"),
        (["predict", "ok.bochner", "other.csv", "--out", "p.csv"], "has no column 'a'"),
        (["predict", "ok.bochner", "new.csv", "--out", "p.xls"], "can be written to .csv"),
        (["predict", "ok.bochner", "new.csv", "--out", "no/p.csv"], "cannot write 'no/p.csv'"),
        (["predict", "ok.bochner", "new.csv", "--scores", "--out", "p.csv"], "--scores is for classification"),
        (["predict", "ok.bochner", "new.csv", "--std", "--out", "p.csv"], "or 'dual', and save with --sums"),
        (["predict", "ok.bochner", "new.csv", "--proba", "--out", "p.csv"], "--proba is for classification"),
        (["predict", "ok.bochner", "new.csv", "--keep", "id", "--out", "p.csv"], "has no column 'id'; it has 'a', 'b'"),
        (["predict", "ok.bochner", "new.csv", "--keep", "prediction", "--out", "p.csv"], "have a column of that name"),
        (["predict", "ok.bochner", "new.csv", "--keep", "city", "--out", "p.npy"], "cannot hold columns of several"),
        (["predict", "plain.bochner", "new.csv", "--missing", "mean", "--out", "p.csv"], "--missing mean is not possi"),
        (["predict", "ok.bochner", "new.csv", "--missing", "drop", "--out", "p.csv"], "--missing drop is not known"),
        (["fit", "holes.csv", "--target", "y", "--out", "m"], "give --missing mean to impute, or leave"),
        (["fit", "holes.csv", "--target", "y", "--out", "m"], "the column out with --drop b."),
        (["fit", "latin.csv", "--target", "y", "--out", "m"], "or the like: give --encoding latin-1"),
        (["fit", "times.csv", "--target", "y", "--out", "m"], "leave it out with --drop t, or make it a number"),
        (["fit", "names.csv", "--target", "name", "--out", "m"], "800 different labels in 800 rows"),
        (["fit", "new.csv", "--target", "a", "--drop", "z", "--out", "m"], "has no column 'z'"),
        ([*FIT, "--loss", "huber", "--solver", "cholesky"], "--solver cholesky does not go with --loss huber"),
        ([*FIT, "--loss", "huber", "--sums"], "save with --sums"),
        ([*FIT, "--solver", "cg", "--sums"], "save with --sums"),
        ([*FIT, "--alpha", "loo", "--sums"], "leave out --sums"),
        (["predict", "ok.bochner", "text.csv", "--out", "p.csv"], "column 'a' holds text here, and numbers in the fit"),
        (["predict", "ok.bochner", "holes.csv", "--out", "p.csv"], "column 'b' has a missing value"),
        (["info", "none"], "there is no file 'none'"),
        (["info", "empty.csv"], "not a bochner model file"),
        (["info", "job.checkpoint"], "is not a bochner model file"),
        (["demo", "--components", "1"], "components must be an integer of at least 4"),
        (["data", "fetch"], "requires an argument"),
        (["tune", "train.parquet", "--target", "y", "--basis", "maxout", "--bandwidths", "1"], "has no bandwidth"),
        (["tune", "train.parquet", "--target", "y", "--components", "100000"], "try fewer features"),
    ],
)  # fmt: skip
def test_mistakes_end_with_a_sentence_and_a_nonzero_exit(capsys, prepared, words, message):
    shutil.copytree(prepared, ".", dirs_exist_ok=True)
    before = sorted(os.listdir())
    code, out, err = run(capsys, *words)
    assert code not in (0, None)
    said = " ".join((out + err).replace("│", " ").split())
    assert message in said
    assert "Traceback" not in said
    assert sorted(os.listdir()) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_refused_before_the_work(capsys, tmp_path):
    (tmp_path / "locked").mkdir(mode=0o500)
    code, _, err = run(capsys, *FIT[:-1], "locked/m.bochner")
    assert code == 1
    assert "cannot be written to" in err


def test_every_command_explains_itself(capsys):
    for command in (["fit"], ["predict"], ["tune"], ["info"], ["demo"], ["data"], ["data", "list"], ["data", "check"],
                    ["data", "fetch"], ["reproduce"]):  # fmt: skip
        out = succeed(capsys, *command, "--help")
        assert "Usage" in out
        assert len(out.splitlines()) > 5
    for option in ("--target", "--basis", "--checkpoint", "--memory", "--missing", "--json"):
        assert option in succeed(capsys, "fit", "--help")


def test_interrupting_leaves_no_half_written_file(tmp_path):
    """Ctrl-C during a long prediction and during a long fit."""
    big = pd.concat([FRAME] * 400, ignore_index=True).drop(columns="label")
    big.to_parquet("big.parquet")
    model = bochner.RandomFeatureRegressor(bochner.RandomFourier(3000), random_state=0, alpha=1.0)
    model.fit(bochner.read("train.parquet", target="y")).save("m.bochner")
    program = [sys.executable, "-c", "from bochner.cli import main; print('ready', flush=True); main()"]
    for words in (
        ["predict", "m.bochner", "big.parquet", "--out", "p.csv"],
        ["fit", "big.parquet", "--target", "y", "--components", "3000", "--out", "n.bochner"],
    ):
        process = subprocess.Popen([*program, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "ready\n"  # importing takes long on a busy machine
        time.sleep(2.0)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 130, err
        assert "interrupted" in err
        assert "Traceback" not in err
    assert sorted(os.listdir()) == ["big.parquet", "labelled.csv", "m.bochner", "new.csv", "train.parquet"]

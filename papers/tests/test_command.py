"""`bochner reproduce`, from the command line: records, the page, and one sentence for what goes wrong."""

import json
import os
from pathlib import Path

import pytest

from bochner.cli import main
from bochner_papers import Experiment, command
from records import FINDINGS, HOSTILE


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


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


def test_reproduce_one_experiment(capsys):
    out = succeed(capsys, "reproduce", "maxout-distances", "--quick")
    assert "Figure 1: distances before and after the maxout map (quick)" in out
    assert "holds: " in out
    assert sorted(os.listdir("reproduction")) == ["maxout-distances.quick.json", "report.html"]
    assert "saturate" in Path("reproduction/report.html").read_text()
    Path("reproduction/report.html").unlink()
    out = json.loads(succeed(capsys, "reproduce", "--report-only", "--json"))
    assert Path(out["report"]).read_text().startswith("<!doctype html>")
    out = json.loads(succeed(capsys, "reproduce", "maxout-distances", "--quick", "--out", "other", "--json"))
    assert out["records"][0]["claims"][0]["holds"]
    assert Path("other/maxout-distances.quick.json").exists()


def test_reproduce_shows_numbers_and_never_takes_text_for_markup(capsys, monkeypatch):
    trial = Experiment("trial", "some_paper", "Table 9", lambda job: FINDINGS)
    monkeypatch.setattr(command, "EXPERIMENTS", {"trial": trial})
    monkeypatch.setenv("COLUMNS", "400")
    out = succeed(capsys, "reproduce", "trial", "--out", "here").replace("\N{NO-BREAK SPACE}", " ")
    assert "5.20 ± 0.09 %" in out
    assert "worse: a finer grid of penalties" in out
    assert f"does not hold: {HOSTILE} ({HOSTILE})" in out
    assert "<img src=x" not in Path("here/report.html").read_text()


def test_reproduce_goes_on_without_a_data_set_and_says_so(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("BOCHNER_DATA", str(tmp_path / "none"))
    trials = {
        "first": Experiment("first", "some_paper", "Table 8", lambda job: FINDINGS, needs=("gold",)),
        "second": Experiment("second", "some_paper", "Table 9", lambda job: FINDINGS),
    }
    monkeypatch.setattr(command, "EXPERIMENTS", trials)
    code, out, err = run(capsys, "reproduce", "all", "--json")
    assert code == 1
    assert "skipped, for want of data: first" in err
    found = json.loads(out)
    assert [record["name"] for record in found["records"]] == ["second"]
    assert "needs the data sets gold" in found["skipped"]["first"]
    assert Path(found["report"]).exists()
    code, out, err = run(capsys, "reproduce", "first", "--out", "new")
    assert code == 1
    assert "first needs the data sets gold" in err
    assert not Path("new").exists()
    listed = json.loads(succeed(capsys, "reproduce", "--list", "--json"))
    assert [(row["name"], row["missing"]) for row in listed] == [("first", ["gold"]), ("second", [])]
    assert "gold (missing)" in succeed(capsys, "reproduce", "--list")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["reproduce"], "say which experiment to run"),
        (["reproduce", "maxout-distance"], "did you mean 'maxout-distances'?"),
        (["reproduce", "nothing"], "there is no experiment 'nothing'"),
        (["reproduce", "all", "--quick", "--out", "new.csv"], "'new.csv' is no folder"),
        (["reproduce", "--report-only"], "there is no folder 'reproduction'"),
    ],
)
def test_mistakes_end_with_a_sentence_and_a_nonzero_exit(capsys, words, message):
    Path("new.csv").write_text("a,b\n1,2\n")
    code, out, err = run(capsys, *words)
    assert code not in (0, None)
    said = " ".join((out + err).replace("│", " ").split())
    assert message in said
    assert "Traceback" not in said
    assert os.listdir() == ["new.csv"]

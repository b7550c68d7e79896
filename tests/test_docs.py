"""What the documents say is true: docstring examples, README's code, the command line, names of files."""

import contextlib
import doctest
import importlib
import json
import pkgutil
import re
import subprocess
import sys

import pandas
import pytest

import bochner
from bochner import demo
from bochner.cli import main
from helpers.places import ROOT

MODULES = [
    m.name
    for m in pkgutil.walk_packages(bochner.__path__, "bochner.")
    if not m.name.endswith(("_native", "cli", ".nn", ".torch_reference", ".torch_linear_algebra"))
    and ".cuda" not in m.name
]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_every_public_name_has_a_docstring_with_an_example():
    for name in bochner.__all__:
        thing = getattr(bochner, name)
        assert thing.__doc__, name
        if isinstance(thing, type):
            assert ">>>" in thing.__doc__, name


def test_readme_code_runs():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})


@pytest.mark.parametrize("page", ["auto", "embedding", "metric", "pictures", "tables", "two_sample"])
def test_code_of_the_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pytest.importorskip("matplotlib").use("agg")
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / f"{page}.md").read_text(), flags=re.DOTALL)
    exec(compile(block, f"{page}.md", "exec"), {})


def test_code_of_the_files_page_runs(tmp_path, monkeypatch):
    frame = pandas.DataFrame({"a": range(100), "t": ["x", "y"] * 50, "y": range(100)})
    frame.to_parquet(tmp_path / "part-0.parquet")
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "files.md").read_text(), flags=re.DOTALL)
    exec(compile(block, "files.md", "exec"), {})
    assert bochner.load("m.bochner").predict(frame).shape == (100,)


def test_demo_prints_a_table_and_json(capsys, monkeypatch):
    """The work is done once, in a process of its own; the table is made of the same rows."""
    command = [sys.executable, "-c", "from bochner.cli import main; main()", "demo", "--components", "200", "--json"]
    rows = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    errors = {row["model"]: row["error"] for row in rows}
    assert errors["RandomFourier"] < errors["plain ridge"]
    assert errors["AutoClassifier, told of pictures"] < errors["plain ridge"]
    assert all(row["seconds"] > 0 for row in rows)
    asked = []
    monkeypatch.setattr(demo, "run", lambda *settings: asked.append(settings) or rows)
    with contextlib.suppress(SystemExit):
        main(["demo", "--components", "200"])
    table = capsys.readouterr().out
    assert "exact RBF SVM" in table
    assert "RandomFourier" in table
    assert asked == [(200, 0)]


def test_bad_command_ends_with_a_sentence():
    command = [sys.executable, "-c", "from bochner.cli import main; main()", "demo", "--components", "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "components must be an integer of at least 4" in done.stderr
    assert "Traceback" not in done.stderr


def test_local_links_lead_somewhere():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for link in re.findall(r"\]\(([^)#]+)", page.read_text()):
            if "://" not in link:
                assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_version_is_the_same_everywhere():
    assert f'version = "{bochner.__version__}"' in (ROOT / "pyproject.toml").read_text()
    assert f"## {bochner.__version__}" in (ROOT / "CHANGELOG.md").read_text()

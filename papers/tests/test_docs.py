"""What the documents of the papers say is true: docstring examples, links, the version."""

import doctest
import importlib
import pkgutil
import re
import tomllib
from pathlib import Path

import pytest

import bochner
import bochner_papers

PAPERS = Path(__file__).parents[1]
MODULES = [module.name for module in pkgutil.walk_packages(bochner_papers.__path__, "bochner_papers.")]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_local_links_lead_somewhere():
    for link in re.findall(r"\]\(([^)#]+)", (PAPERS / "README.md").read_text()):
        assert (PAPERS / link).exists(), link


def test_the_papers_have_the_version_of_the_library():
    project = tomllib.loads((PAPERS / "pyproject.toml").read_text())["project"]
    assert project["version"] == bochner.__version__

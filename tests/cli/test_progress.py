"""Every block of a command passes once, through one bar: no bar within a bar, no row counted twice."""

import numpy as np
import pandas as pd
import pytest

import bochner
from bochner.blocks.files import TableBlocks
from bochner.blocks.progress import Progress
from bochner.cli import main

N = 3000


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((N, 3)), columns=list("abc")).assign(number=np.arange(N))
    frame.assign(y=np.sin(frame.a), label=np.where(frame.a > 0, "high", "low")).to_parquet(tmp_path / "rows.parquet")
    monkeypatch.chdir(tmp_path)
    with bochner.config_context(block_rows=500):
        yield tmp_path


@pytest.fixture
def bars(monkeypatch):
    """The bars that were shown: [title, rows of all, rows that passed]; none begins before the last one has ended."""
    shown, open_bars = [], []
    enter, leave, advance = Progress.__enter__, Progress.__exit__, Progress.advance

    def begin(self):
        assert not open_bars, f"{self.title} within {open_bars[0].title}"
        open_bars.append(self)
        shown.append([self.title, self.rows, 0])
        return enter(self)

    def count(self, rows):
        shown[-1][2] += rows
        advance(self, rows)

    def end(self, *details):
        open_bars.remove(self)
        leave(self, *details)

    monkeypatch.setattr(Progress, "__enter__", begin)
    monkeypatch.setattr(Progress, "advance", count)
    monkeypatch.setattr(Progress, "__exit__", end)
    return shown


@pytest.fixture
def read(monkeypatch):
    """The numbers of rows that were read as blocks, one for each block."""
    counts, stream = [], TableBlocks.stream

    def counted(self, start, rows):
        for block in stream(self, start, rows):
            counts.append(block.X.shape[0])
            yield block

    monkeypatch.setattr(TableBlocks, "stream", counted)
    return counts


def run(*words):
    try:
        main([str(word) for word in words])
    except SystemExit as stop:
        assert not stop.code


def test_predictions_pass_once_through_one_bar(folder, bars, read):
    fit = ["fit", "rows.parquet", "--components", 20, "--drop", "number", "--out", "m"]
    run(*fit, "--target", "y", "--drop", "label", "--sums")
    for more in ([], ["--std"], ["--keep", "number", "--target", "y"]):
        bars.clear()
        read.clear()
        run("predict", "m", "rows.parquet", "--out", "p.csv", *more)
        assert bars == [["predictions", N, N]]
        assert read == [500] * (N // 500)
    run(*fit, "--target", "label", "--drop", "y")
    bars.clear()
    read.clear()
    run("predict", "m", "rows.parquet", "--out", "p.csv", "--proba", "--scores")
    assert bars == [["predictions", N, N]]
    assert sum(read) == N


def test_a_fit_shows_one_bar_for_each_pass(folder, bars, read):
    run("fit", "rows.parquet", "--target", "y", "--drop", "label", "--components", 20, "--out", "m")
    assert [bar[0] for bar in bars] == ["survey", "survey", "moments"]  # of the columns, of the rows, of the features
    assert all(passed == rows == N for _, rows, passed in bars)
    assert sum(read) <= 3 * N + 1  # the two passes, the rows that tell whether targets are labels, and a first look

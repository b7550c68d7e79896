"""Blocks: every row once, in order, whatever their size; read ahead; progress when asked."""

import numpy as np
import pytest
import scipy.sparse

import bochner
from bochner.blocks import MemoryBlocks, SumOf, rows_per_block
from bochner.ops import threads

X = np.arange(70.0).reshape(35, 2)


class ColumnSums(SumOf):
    def of(self, block):
        return np.asarray(block.X.sum(axis=0)).ravel()


@pytest.mark.parametrize("size", [1, 4, 35, 100, "auto"])
def test_every_row_once_in_order(size):
    with bochner.config_context(block_rows=size):
        blocks = list(MemoryBlocks(X, X[:, 0], np.ones(35)).walk(rows_per_block(2)))
    assert np.array_equal(np.vstack([b.X for b in blocks]), X)
    assert np.array_equal(np.concatenate([b.y for b in blocks]), X[:, 0])
    starts = np.cumsum([0] + [len(b.X) for b in blocks])[:-1]
    assert [b.start for b in blocks] == list(starts)


def test_reduce_adds():
    with bochner.config_context(block_rows=4):
        assert np.array_equal(MemoryBlocks(X).reduce(ColumnSums()), X.sum(axis=0))


def test_workers_do_not_change_a_bit():
    rows = np.random.default_rng(0).standard_normal((500, 3))
    with bochner.config_context(block_rows=7):
        sums = []
        for workers in (1, 2, 5):
            with threads.limited(workers):
                sums.append(MemoryBlocks(rows).reduce(ColumnSums()))
    assert np.array_equal(sums[0], sums[1])
    assert np.array_equal(sums[0], sums[2])


def test_sparse_and_memory_mapped_rows(tmp_path):
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    with bochner.config_context(block_rows=6):
        for rows in (scipy.sparse.csr_matrix(X), mapped):
            total = MemoryBlocks(rows).reduce(ColumnSums())
            assert np.array_equal(total, X.sum(axis=0))


def test_size_follows_the_memory_budget():
    with bochner.config_context(memory="16MB"):
        assert rows_per_block(1000) == 16_000_000 // (16 * 8 * 1000)
    with bochner.config_context(memory="1KB"):
        assert rows_per_block(10**9) == 1


def test_an_error_while_reading_is_raised():
    class Broken(MemoryBlocks):
        def read(self, start, stop):
            if start >= 8:
                raise OSError("the disk is gone")
            return super().read(start, stop)

    with bochner.config_context(block_rows=4), pytest.raises(OSError, match="the disk is gone"):
        Broken(X).reduce(ColumnSums())


def test_next_block_is_read_while_this_one_is_worked_on():
    import threading

    second_read = threading.Event()

    class Watched(MemoryBlocks):
        def read(self, start, stop):
            if start > 0:
                second_read.set()
            return super().read(start, stop)

    with bochner.config_context(block_rows=20):
        walk = Watched(X).walk(rows_per_block(2))
        next(walk)
        assert second_read.wait(timeout=10)


def test_progress_is_shown_when_asked(capsys):
    with bochner.config_context(block_rows=4, progress=True):
        MemoryBlocks(X).reduce(ColumnSums(), title="moments")
    shown = capsys.readouterr().err
    assert "100%" in shown
    assert "rows/s" in shown
    with bochner.config_context(block_rows=4):
        MemoryBlocks(X).reduce(ColumnSums(), title="moments")
    assert capsys.readouterr().err == ""


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="X has 35 rows but y has 3"):
        MemoryBlocks(X, np.ones(3))

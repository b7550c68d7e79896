"""The seam of engines: threads, processes and a toy give the same bits, for every loss and solver."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from functools import cache

import numpy as np
import pandas as pd
import pytest

import bochner
from bochner import ops
from bochner.blocks import MemoryBlocks, processes
from bochner.blocks.engine import reduce
from bochner.blocks.partitions import Plan, Tree
from bochner.blocks.threads import ThreadEngine
from helpers.aggregates import Columns, Failing, Heavy, Threads
from helpers.battery import (
    BAGS,
    BATTERY,
    LABELS,
    OTHERS,
    OWNER,
    SPREADS,
    X,
    Y,
    fitted,
    model_of,
    numbers,
    other_numbers,
)
from helpers.toy_engine import BackwardEngine


def same(some, others):
    return all(np.array_equal(a, b) for a, b in zip(some, others, strict=True))


@pytest.mark.parametrize("name", BATTERY)
def test_any_number_of_threads_processes_and_a_toy_give_the_same_bits(name, monkeypatch):
    """What the toy is given is small: 32 features are all but nothing, and the rest is a map and settings."""
    monkeypatch.setenv("BOCHNER_NUM_THREADS", "3")
    toy, fits = BackwardEngine(), []
    for engine, jobs in (("threads", 1), ("threads", 3), ("processes", 2), (toy, 1)):
        with bochner.config_context(block_rows=64, engine=engine):
            fits.append(numbers(fitted(name, n_jobs=jobs)))
    assert all(same(fit, fits[0]) for fit in fits[1:])
    assert max(toy.sizes.values()) < 1 << 18


def test_steps_that_are_sooner_done_than_handed_over_are_taken_here():
    blocks, here = MemoryBlocks(np.random.default_rng(0).standard_normal((1000, 3))), threading.current_thread()
    passes = [Threads(slow_from) for slow_from in (1000, 1000, 500, 1000)]
    with bochner.config_context(block_rows=100, engine=ThreadEngine()), ops.threads.limited(2):
        sums = [reduce(blocks, aggregate) for aggregate in passes]
    at_home = [[thread is here for thread in aggregate.seen] for aggregate in passes]
    assert not any(at_home[0])  # nothing is known of them
    assert all(at_home[1])
    assert sum(at_home[2]) == 6  # the first slow one was met here
    assert not any(at_home[3])
    assert all(np.array_equal(found, sums[0]) for found in sums)


@cache
def other_with_threads(name):
    with bochner.config_context(block_rows=64):
        return other_numbers(name, n_jobs=1)


@pytest.mark.parametrize("name", OTHERS)
def test_learned_and_distribution_models_have_the_same_bits_with_any_workers(name):
    expected = other_with_threads(name)
    with bochner.config_context(block_rows=64):
        for count in (2, 8):
            assert same(other_numbers(name, count), expected)
        with bochner.config_context(engine="processes"):
            assert same(other_numbers(name, 2), expected)


@pytest.mark.parametrize("name", OTHERS)
def test_what_learned_and_distribution_models_send_is_small(name):
    engine, expected = BackwardEngine(), other_with_threads(name)
    with bochner.config_context(block_rows=64, engine=engine):
        assert same(other_numbers(name), expected)
    assert engine.sizes
    assert max(engine.sizes.values()) < 1 << 16


@pytest.mark.parametrize("source", ["array", "parquet"])
def test_bags_in_blocks_are_read_where_they_are_worked_on(source, tmp_path):
    """One table of points whose bags are no neighbours: names and targets come with the rows."""
    order = np.random.default_rng(0).permutation(len(OWNER))
    points, owner = np.concatenate(BAGS)[order], OWNER[order]
    frame = pd.DataFrame(points, columns=list("abc")).assign(bag=[f"bag {k}" for k in owner], y=SPREADS[owner])
    frame.to_parquet(tmp_path / "x.parquet", row_group_size=100)
    found, settings = [], OTHERS["bags"][1]
    for engine, workers in (("threads", 1), ("threads", 8), ("processes", 2), (BackwardEngine(), 1)):
        with bochner.config_context(block_rows=64, engine=engine):
            model = bochner.DistributionRegressor(n_jobs=workers, **settings)
            if source == "array":
                model.fit(MemoryBlocks(points, SPREADS[owner]), bag=owner)
                found.append([model.second_.coef_, model.embed(MemoryBlocks(points), bag=owner)])
            else:
                blocks = bochner.read(tmp_path / "x.parquet", target="y", drop=["bag"])
                model.fit(blocks, bag="bag")
                found.append([model.second_.coef_, model.embed(blocks, bag="bag")])
    assert all(same(some, found[0]) for some in found[1:])


@pytest.mark.parametrize("format", ["npy", "parquet", "csv", "feather", "json", "hdf5", "svmlight", "frame"])
def test_workers_read_files_of_every_format(format, tmp_path):
    frame = pd.DataFrame(X, columns=list("abcd")).assign(t=np.where(X[:, 0] > 0, "p", "q"), y=Y)
    path, target = tmp_path / f"x.{'jsonl' if format == 'json' else format}", "y"
    if format == "npy":
        np.save(path, np.column_stack([X, Y]))
        target = -1
    elif format == "hdf5":
        h5py = pytest.importorskip("h5py")
        with h5py.File(path, "w") as file:
            file["x"], file["y"] = X, Y
    elif format == "svmlight":
        from sklearn.datasets import dump_svmlight_file

        dump_svmlight_file(X, Y, str(path))
        target = None
    elif format == "json":
        frame.to_json(path, orient="records", lines=True)
    elif format != "frame":
        getattr(frame, f"to_{format}")(path, **({"index": False} if format == "csv" else {}))
    found = []
    for engine in ("threads", "processes"):
        with bochner.config_context(block_rows=64, engine=engine):
            blocks = bochner.read(frame if format == "frame" else path, target=target)
            if format not in ("frame", "hdf5"):  # whose rows are sent
                assert len(pickle.dumps(blocks)) < 1 << 16
            found.append(numbers(model_of("regression squared cholesky auto", n_jobs=2).fit(blocks)))
    assert same(*found)


def test_errors_of_workers_come_back_as_they_are_and_none_is_left():
    with bochner.config_context(block_rows=50, engine="processes"):
        with pytest.raises(ArithmeticError, match="row 2"):
            MemoryBlocks(X).reduce(Failing())
        assert not processes.engine.workers
        assert np.allclose(MemoryBlocks(X).reduce(Columns()), X.sum(axis=0))  # and others take their place


def test_what_cannot_be_sent_is_refused_in_one_sentence():
    blocks = MemoryBlocks(X).map(lambda block: block)
    context = bochner.config_context(block_rows=50, engine="processes")
    with context, pytest.raises(ValueError, match="cannot be sent to worker processes"):
        blocks.reduce(Columns())


def test_an_interrupt_ends_the_workers(tmp_path):
    code = (
        "import time, sys, numpy as np, bochner\n"
        "from bochner.blocks import MemoryBlocks, SumOf, processes\n"
        "class Slow(SumOf):\n"
        "    def of(self, block):\n"
        "        time.sleep(60); return 0\n"
        "if __name__ == '__main__':\n"
        "    with bochner.config_context(block_rows=1, engine='processes'):\n"
        "        try:\n"
        "            processes.engine._start(2)\n"
        "            print(*[w.process.pid for w in processes.engine.workers], flush=True)\n"
        "            MemoryBlocks(np.zeros((9, 1))).reduce(Slow())\n"
        "        except KeyboardInterrupt:\n"
        "            print('interrupted', flush=True)\n"
    )
    (tmp_path / "slow.py").write_text(code)
    environment = {**os.environ, "BOCHNER_NUM_THREADS": "2"}
    child = subprocess.Popen([sys.executable, tmp_path / "slow.py"], stdout=subprocess.PIPE, text=True, env=environment)
    workers = [int(number) for number in child.stdout.readline().split()]
    time.sleep(1.0)
    child.send_signal(signal.SIGINT)
    assert child.communicate(timeout=60)[0] == "interrupted\n"
    for worker in workers:
        with pytest.raises(ProcessLookupError):
            os.kill(worker, 0)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 100])
def test_the_tree_is_the_same_in_every_order(count):
    parts = [f"{k}" for k in range(count)]
    trees = [Tree(count, lambda a, b: f"({a}{b})") for _ in range(2)]
    for k in range(count):
        trees[0].add(k, parts[k])
    for k in np.random.default_rng(count).permutation(count).tolist():
        assert k in trees[1].missing()
        trees[1].add(k, parts[k])
    assert trees[0].root == trees[1].root
    assert trees[0].is_complete
    assert not trees[0].missing()
    assert trees[0].root.replace("(", "").replace(")", "") == "".join(parts)


def test_partitions_follow_from_the_data_and_the_settings_alone():
    with bochner.config_context(memory="64MB"):
        plan = Plan.of(Columns(), 10**6)
        assert sum(part.stop - part.start for part in plan) == 10**6
        assert plan.blocks == 1
        assert len(Plan.of(Heavy(1 << 30), 10**6)) == 1  # there is room for one alone
        assert 1 < len(Plan.of(Heavy(1 << 20), 10**6)) <= 64
        few = Plan.of(Heavy(1 << 22), 10**6)
        assert 1 < len(few) <= 8


def test_sums_of_partitions_are_the_same_for_any_number_of_workers():
    rows = np.random.default_rng(0).standard_normal((1000, 3))
    found = []
    for engine in ("threads", "processes", BackwardEngine()):
        with bochner.config_context(block_rows=7, engine=engine):
            found += [MemoryBlocks(rows).reduce(sums) for sums in (Columns(), Heavy(8))]
    assert same(found[:2] * 2, found[2:])


def test_engines_are_named():
    with pytest.raises(ValueError, match="engine must be one of 'threads', 'processes', 'dask'"):
        bochner.set_config(engine="ray")


def test_labels_and_weights_go_to_workers():
    weight = np.where(np.arange(300) % 7 == 0, 0.0, 1.5)
    weight[64:128] = 0.0  # a block of which no row is left
    found = []
    for engine in ("threads", "processes"):
        with bochner.config_context(block_rows=64, engine=engine):
            model = model_of("classification logistic newton", class_weight="balanced", n_jobs=2)
            found.append(numbers(model.fit(X, LABELS, weight)))
    assert same(*found)

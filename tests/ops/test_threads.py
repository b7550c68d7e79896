"""Threads: every row once, errors come out, no waiting for oneself, none lost after a fork, many callers at once."""

import importlib.util
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import bochner
from bochner import RandomFeatureRegressor, RandomFourier, RandomMaxout, ops
from bochner.maps import FourierMap
from bochner.ops import threads
from bochner.validation import require_finite

rng = np.random.default_rng(0)
X = rng.integers(0, 256, (3000, 40), dtype=np.uint8)


@pytest.mark.parametrize(("rows", "least"), [(0, 1), (1, 1), (7, 1), (7, 100), (1000, 3)])
def test_every_row_is_in_one_slice(rows, least):
    seen = []
    threads.over_rows(lambda part: seen.extend(range(rows)[part]), rows, least)
    assert sorted(seen) == list(range(rows))


def test_an_error_in_a_thread_is_raised():
    def fail(part):
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        threads.over_rows(fail, 100, 1)


def test_a_limit_holds_for_the_thread_that_sets_it():
    with threads.limited(1):
        assert threads.count() == 1
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(threads.count).result() == threads.available()
    assert threads.count() == threads.available()


def test_no_more_tasks_run_at_once_than_the_limit_allows(monkeypatch):
    monkeypatch.setattr(threads, "_pool", ThreadPoolExecutor(8))
    running, most = [], []

    def task():
        running.append(1)
        most.append(len(running))
        time.sleep(0.002)
        running.pop()

    with threads.limited(3):
        threads.run([task] * 40)
    assert len(most) == 40
    assert 1 < max(most) <= 3


def test_the_sum_by_all_threads():
    numbers = np.random.default_rng(0).integers(0, 9, (70_000, 3)).astype(np.float32)
    for some in (numbers, numbers[:, 0], numbers[:0], numbers[:, :0], numbers[::7]):
        assert threads.total(some) == some.sum()


def test_large_and_infinite_numbers_are_summed_without_a_warning():
    """Settings of numpy hold for a thread, not for those that work for it; warnings are errors here."""
    numbers = np.full((100_000, 4), 1e38, dtype=np.float32)
    require_finite(numbers, total=threads.total)
    numbers[5], numbers[-5] = np.inf, -np.inf
    with pytest.raises(ValueError, match="first at row 5"):
        require_finite(numbers, total=threads.total)


def test_tasks_within_tasks_do_not_wait_for_each_other():
    done = []
    inner = [lambda: done.append(1)] * 5
    threads.run([lambda: threads.run(inner)] * 20)
    assert len(done) == 100


def test_the_number_of_threads_can_be_set_and_must_be_a_number():
    code = "from bochner.ops import threads; print(threads.count())"
    for value, expected in (("3", "3\n"), ("0", ""), ("many", "")):
        done = subprocess.run([sys.executable, "-c", code], env={"BOCHNER_NUM_THREADS": value, "PATH": ""},
                              capture_output=True, text=True, check=False)  # fmt: skip
        assert done.stdout == expected
        assert expected or "BOCHNER_NUM_THREADS must be a positive integer" in done.stderr


@pytest.mark.parametrize("count", [1, 2, 5])
def test_any_number_of_threads_gives_the_same_bits(count):
    basis = RandomMaxout(200, precision="int8", random_state=0).fit(X)
    whole = basis.features(X)
    with threads.limited(count):
        assert np.array_equal(basis.features(X), whole)
        assert np.array_equal(ops.gram(whole), whole.astype(np.int64).T @ whole)


def test_many_callers_at_once():
    bases = [RandomFourier(100, precision="int8", random_state=k).fit(X) for k in range(8)]
    alone = [basis.features(X) for basis in bases]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda basis: basis.features(X), bases * 4))
    assert all(np.array_equal(together[k], alone[k % 8]) for k in range(32))


def child(queue):
    basis = RandomFourier(64, precision="int8", random_state=0).fit(X)
    queue.put(int(basis.features(X).astype(np.int64).sum()))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_has_threads_of_its_own():
    expected = int(RandomFourier(64, precision="int8", random_state=0).fit(X).features(X).astype(np.int64).sum())
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    assert queue.get(timeout=60) == expected
    process.join(timeout=60)
    assert process.exitcode == 0


def test_n_jobs_limits_native_threads_too(monkeypatch):
    seen = set()
    features = FourierMap.evaluate
    monkeypatch.setattr(FourierMap, "evaluate", lambda self, X: seen.add(threads.count()) or features(self, X))
    RandomFeatureRegressor(RandomFourier(20), n_jobs=1, alpha=1.0).fit(X.astype(float), X[:, 0])
    assert seen == {1}
    assert threading.active_count() < 50


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_conjugate_gradients_on_rows_keep_to_their_threads_and_give_the_same_bits(n_jobs, monkeypatch):
    """As many blocks at a time as n_jobs says, whatever the processor has."""
    monkeypatch.setenv("BOCHNER_NUM_THREADS", "3")
    running, most = [], []
    made = FourierMap.evaluate

    def features(self, rows):
        running.append(1)
        most.append(len(running))
        time.sleep(0.001)
        running.pop()
        return made(self, rows)

    model = RandomFeatureRegressor(RandomFourier(60, random_state=0), solver="cg", alpha=1e-3, n_jobs=n_jobs)
    rows, y = X.astype(np.float32), X[:, 0] / 255.0
    with bochner.config_context(block_rows=100, memory="4MB"):  # too little to keep the features
        monkeypatch.setattr(FourierMap, "evaluate", features)
        coefficients = model.fit(rows, y).coef_
        assert max(most) == n_jobs
        monkeypatch.setattr(FourierMap, "evaluate", made)
        assert np.array_equal(coefficients, model.set_params(n_jobs=None).fit(rows, y).coef_)


def test_systems_without_forks_can_import(monkeypatch):
    monkeypatch.delattr(os, "register_at_fork", raising=False)
    for name in ("bochner.maps.cache", "bochner.ops.threads"):
        spec = importlib.util.find_spec(name)
        spec.loader.exec_module(importlib.util.module_from_spec(spec))  # as Windows would


@pytest.mark.parametrize("features", [300, 1700])
def test_large_matrices_are_factored_to_the_same_bits(features, monkeypatch):
    """Enough features for several tiles in every product."""
    monkeypatch.setenv("BOCHNER_NUM_THREADS", "3")
    rng = np.random.default_rng(3)
    X = rng.standard_normal((2500, 5))
    y = np.sin(X[:, 0]) + X[:, 1]
    one, three = (
        RandomFeatureRegressor(RandomFourier(features), random_state=0, solver="cholesky", n_jobs=jobs).fit(X, y)
        for jobs in (1, 3)
    )
    assert np.array_equal(one.coef_, three.coef_)
    assert one.alpha_ == three.alpha_

"""Fits that are interrupted and taken up again end with the same bits; folders of other fits are refused."""

import errno
import json
import os
import subprocess
import sys
import warnings
from contextlib import suppress
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone

import bochner
from bochner import RandomFeatureClassifier, RandomFeatureRegressor, RandomFourier, RandomMaxout, RandomStumps, storage
from bochner.blocks import CheckpointedBlocks, Journal, MemoryBlocks, SumOf, checkpoint, forget_checkpoint
from helpers import battery
from helpers.places import HELPERS

rng = np.random.default_rng(1)
X = rng.standard_normal((1000, 4))
Y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(1000)
LABELS = np.array(["low", "middle", "high"])[np.digitize(Y, [-0.5, 0.5])]


class InterruptedFitError(Exception):
    pass


class SumOfAll(SumOf):
    def of(self, block):
        return block.X.sum()


@pytest.fixture(autouse=True)
def often(monkeypatch):
    monkeypatch.setattr(checkpoint, "INTERVAL", 0.0)
    monkeypatch.setattr(checkpoint, "SHARE", 1e9)
    with bochner.config_context(block_rows=90):
        yield


def interrupt_after(monkeypatch, writes):
    """Every write after so many fails as if the process had been killed just before it."""
    save, count = storage.save, [0]

    def counted(*arguments, **named):
        count[0] += 1
        if count[0] > writes:
            raise InterruptedFitError
        save(*arguments, **named)

    monkeypatch.setattr(storage, "save", counted)


MODELS = {
    "cholesky": RandomFeatureRegressor(RandomFourier(40), random_state=0),
    "several targets": RandomFeatureRegressor(RandomStumps(40), random_state=0, alpha=0.1),
    "folds": RandomFeatureClassifier(RandomMaxout(40, precision="int8"), random_state=0),
    "leave one out": RandomFeatureRegressor(RandomFourier(40), random_state=0, alpha="loo", solver="cholesky"),
    "dual": RandomFeatureRegressor(RandomFourier(40), random_state=0, solver="dual"),
    "cg": RandomFeatureRegressor(RandomFourier(40), random_state=0, alpha=0.01, solver="cg"),
    "auto precision": RandomFeatureClassifier(RandomFourier(40), random_state=0, precision="auto"),
}


@pytest.mark.parametrize("weighted", [False, True])
def test_conjugate_gradients_go_on_with_another_number_of_threads(tmp_path, monkeypatch, weighted):
    """Blocks belong to the data: each row is counted once, and the bits are the same."""
    rows, y, weight = X[:200], Y[:200], rng.uniform(0.5, 2.0, 200) if weighted else None

    def fit(cores, folder=None):
        monkeypatch.setenv("BOCHNER_NUM_THREADS", str(cores))
        model = RandomFeatureRegressor(RandomFourier(40, bandwidth=2.0), alpha=0.1, solver="cg", random_state=0)
        with bochner.config_context(block_rows="auto", memory="1MB"):
            return model.fit(rows, y, weight, checkpoint=folder)

    whole = fit(1)
    assert "converged" in whole.solution_.status
    for number, (first, second) in enumerate([(1, 2), (4, 1)]):
        folder = tmp_path / str(number)
        with monkeypatch.context() as killed:
            interrupt_after(killed, 12)
            with pytest.raises(InterruptedFitError):
                fit(first, folder)
        again = fit(second, folder)
        assert np.array_equal(again.coef_, whole.coef_)
        assert again.solution_.status == whole.solution_.status


SOLVERS = [
    "regression squared cholesky auto", "classification squared cholesky auto", "regression squared cholesky loo",
    "regression squared dual", "classification squared cg auto", "regression squared box", "regression huber newton",
    "classification logistic newton", "classification logistic box", "classification hinge dual",
    "classification squared sgd", "classification logistic adam", "classification squared doubly_stochastic",
]  # fmt: skip
SOME = [("4GB", 1, 2), ("1MB", 4, 1)]  # with room to keep features, and without
OTHERS = [case for case in product(("4GB", "1MB"), (1, 2, 4), (1, 2, 4)) if case not in SOME]


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize(
    ("memory", "first", "second"), [*SOME, *(pytest.param(*case, marks=pytest.mark.slow) for case in OTHERS)]
)
def test_taken_up_with_other_threads_it_ends_with_the_same_bits(tmp_path, monkeypatch, name, memory, first, second):
    """Killed with some number of threads, taken up with another, and last by worker processes."""
    monkeypatch.setenv("BOCHNER_NUM_THREADS", "4")

    def fit(threads, folder=None, engine="threads"):
        blocks = MemoryBlocks(battery.X, battery.targets_of(name)).in_blocks()
        with bochner.config_context(block_rows=64, memory=memory, engine=engine), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return battery.numbers(battery.model_of(name, n_jobs=threads).fit(blocks, checkpoint=folder))

    whole = fit(first)
    for writes, threads, engine in ((5, first, "threads"), (5, second, "threads"), (10**6, second, "processes")):
        interrupt_after(monkeypatch, writes)
        with suppress(InterruptedFitError):
            resumed = fit(threads, tmp_path, engine)
        monkeypatch.undo()
        monkeypatch.setenv("BOCHNER_NUM_THREADS", "4")
        monkeypatch.setattr(checkpoint, "INTERVAL", 0.0)
        monkeypatch.setattr(checkpoint, "SHARE", 1e9)
    assert all(np.array_equal(a, b) for a, b in zip(resumed, whole, strict=True))


def test_checkpoints_of_the_old_form_are_refused_in_one_sentence(tmp_path):
    storage.save(tmp_path / "job.checkpoint", checkpoint.KIND, 1, {"model": "RandomFeatureRegressor"})
    with pytest.raises(ValueError, match=r"^[^.]* was written by an older version of bochner[^.]*\.$"):
        RandomFeatureRegressor(RandomFourier(20)).fit(X, Y, checkpoint=tmp_path)


@pytest.mark.parametrize("nodes", [[[0, 0, 1.0], [0, 0, 1.0], [1, 0, 2.0]], [[0, 99, 1.0]], [[-1, 0, 1.0]], "no", None])
def test_records_of_partitions_that_cannot_be_are_refused(tmp_path, nodes):
    journal = Journal(tmp_path, {})
    blocks = CheckpointedBlocks(MemoryBlocks(X), journal)
    assert blocks.reduce(SumOfAll()) == pytest.approx(X.sum())
    state = journal._load("step-00001")
    journal._save("step-00001", {**state, "nodes": nodes})
    journal.step = 0
    with pytest.raises(ValueError, match="is damaged: delete the folder"):
        blocks.reduce(SumOfAll())
    journal.close()


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("source", ["array", "file", "sparse"])
def test_interrupted_anywhere_it_ends_with_the_same_bits(tmp_path, monkeypatch, name, source):
    model = MODELS[name]
    y = LABELS if hasattr(model, "class_weight") else np.column_stack([Y, 2 * Y]) if name == "several targets" else Y

    def fit(folder=None):
        fresh = clone(model)
        if source == "file":
            return fresh.fit(MemoryBlocks(X, y).map(lambda block: block), checkpoint=folder)
        return fresh.fit(scipy.sparse.csr_matrix(X) if source == "sparse" else X, y, checkpoint=folder)

    whole = fit()
    runs = 0
    with monkeypatch.context() as patch:
        for _ in range(60):
            interrupt_after(patch, 60 if name == "cg" else 7)
            runs += 1
            try:
                resumed = fit(tmp_path / "c")
                break
            except InterruptedFitError:
                patch.undo()
                patch.setattr(checkpoint, "INTERVAL", 0.0)
    assert runs > 1 or name == "dual"
    assert np.array_equal(resumed.coef_, whole.coef_)
    assert np.array_equal(resumed.intercept_, whole.intercept_)
    assert resumed.alpha_ == whole.alpha_


def test_work_that_was_done_is_not_done_again(tmp_path, monkeypatch):
    seen = []

    def counted(block):
        seen.append(block.start)
        return block

    model = RandomFeatureRegressor(RandomFourier(40), random_state=0, alpha=1.0)
    interrupt_after(monkeypatch, 9)
    with pytest.raises(InterruptedFitError):
        model.fit(MemoryBlocks(X, Y).map(counted), checkpoint=tmp_path)
    monkeypatch.undo()
    before = len(seen)
    with bochner.config_context(block_rows=90):
        model.fit(MemoryBlocks(X, Y).map(counted), checkpoint=tmp_path)
        all_blocks = len(seen)
        model.fit(MemoryBlocks(X, Y).map(counted), checkpoint=tmp_path)
    assert before < all_blocks < 2 * before
    assert len(seen) <= all_blocks + 2  # the third run found all sums done; it looks at a first row and at sampled ones


def test_a_drawn_seed_is_remembered(tmp_path):
    fits = [RandomFeatureRegressor(RandomFourier(20), alpha=1.0).fit(X, Y, checkpoint=tmp_path) for _ in range(2)]
    assert fits[0].basis_.seed_ == fits[1].basis_.seed_
    assert np.array_equal(fits[0].coef_, fits[1].coef_)


def test_checkpoints_of_another_fit_are_refused(tmp_path):
    RandomFeatureRegressor(RandomFourier(20), random_state=0, alpha=1.0).fit(X, Y, checkpoint=tmp_path)
    for model, rows, what in [
        (RandomFeatureRegressor(RandomFourier(21), random_state=0, alpha=1.0), X, "basis"),
        (RandomFeatureRegressor(RandomFourier(20), random_state=0, alpha=2.0), X, "alpha"),
        (RandomFeatureRegressor(RandomFourier(20), random_state=0, alpha=1.0), X + 1.0, "data"),
    ]:
        with pytest.raises(ValueError, match=f"belongs to another fit .*{what}"):
            model.fit(rows, Y, checkpoint=tmp_path)
    with bochner.config_context(block_rows=50), pytest.raises(ValueError, match="different: block_rows"):
        RandomFeatureRegressor(RandomFourier(20), random_state=0, alpha=1.0).fit(X, Y, checkpoint=tmp_path)


def test_other_targets_weights_and_contents_are_another_fit(tmp_path):
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=Y, z=-Y, w=np.abs(Y))
    frame.to_parquet(tmp_path / "t.parquet")
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", Y)
    model = RandomFeatureRegressor(RandomFourier(20), random_state=0, alpha=1.0)
    table = partial(bochner.read, tmp_path / "t.parquet")
    model.fit(table(target="y", drop=["z", "w"]), checkpoint=tmp_path / "table")
    for other in (table(target="z", drop=["y", "w"]), table(target="y", weight="w", drop=["z"])):
        with pytest.raises(ValueError, match="belongs to another fit"):
            model.fit(other, checkpoint=tmp_path / "table")
    matrix = partial(bochner.read, tmp_path / "x.npy", target=str(tmp_path / "y.npy"))
    model.fit(matrix(), checkpoint=tmp_path / "matrix")
    np.save(tmp_path / "y.npy", -Y)
    with pytest.raises(ValueError, match="belongs to another fit"):
        model.fit(matrix(), checkpoint=tmp_path / "matrix")
    model.fit(X, Y, checkpoint=tmp_path / "array")
    changed = Y.copy()
    changed[17] += 1e-9
    with pytest.raises(ValueError, match="belongs to another fit"):
        model.fit(X, changed, checkpoint=tmp_path / "array")


def test_a_checkpoint_keeps_to_a_folder_of_its_own(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    model = RandomFeatureRegressor(RandomFourier(20), random_state=0, alpha=1.0)
    with pytest.raises(ValueError, match="holds other files"):
        model.fit(X, Y, checkpoint=tmp_path)
    with pytest.raises(ValueError, match="must be a folder"):
        model.fit(X, Y, checkpoint=tmp_path / "thesis.txt")
    model.fit(X, Y, checkpoint=tmp_path / "c")
    (tmp_path / "c" / "mine").write_text("later")
    forget_checkpoint(tmp_path / "c")
    assert os.listdir(tmp_path / "c") == ["mine"]


def test_labels_of_objects_and_generators_go_on_in_another_process(tmp_path):
    code = (
        "import numpy as np, bochner, sys\n"
        "X = np.random.default_rng(0).standard_normal((200, 3)); y = np.array(['a', 'b'] * 100, dtype=object)\n"
        "m = bochner.RandomFeatureClassifier(bochner.RandomFourier(9), random_state=np.random.RandomState(3))\n"
        "print(m.fit(X, y, checkpoint=sys.argv[1]).coef_.tolist())"
    )
    runs = [subprocess.run([sys.executable, "-c", code, tmp_path / "c"], capture_output=True, text=True, check=True)
            for _ in range(2)]  # fmt: skip
    assert runs[0].stdout == runs[1].stdout


def test_damaged_checkpoints_are_refused(tmp_path):
    model = RandomFeatureRegressor(RandomFourier(20), random_state=0, alpha=1.0)
    model.fit(X, Y, checkpoint=tmp_path)
    last = sorted(tmp_path.glob("step-*"))[-1]
    whole = last.read_bytes()
    for damaged in (whole[:-100], whole[:50] + b"!" + whole[51:], b""):
        last.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"Delete the folder .* to start afresh"):
            model.fit(X, Y, checkpoint=tmp_path)


def test_a_full_disk_leaves_the_last_good_checkpoint(tmp_path, monkeypatch):
    model = RandomFeatureRegressor(RandomFourier(20), random_state=0, alpha=1.0)
    count, sync = [0], os.fsync

    def full(handle):
        count[0] += 1
        if count[0] > 9:
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left on device; the last good checkpoint is kept"):
            model.fit(X, Y, checkpoint=tmp_path)
    assert not list(tmp_path.glob(".*.part"))
    steps = len(list(tmp_path.glob("step-*")))
    assert steps > 0
    resumed = model.fit(X, Y, checkpoint=tmp_path).coef_
    assert np.array_equal(resumed, model.fit(X, Y).coef_)


def test_two_fits_cannot_share_a_folder(tmp_path):
    journal = Journal(tmp_path, {})
    with pytest.raises(ValueError, match="another fit is using"):
        Journal(tmp_path, {})
    journal.close()
    Journal(tmp_path, {}).close()


def test_what_a_killed_writer_left_is_cleared_away(tmp_path):
    (tmp_path / ".bochner-abc.part").write_bytes(b"half")
    Journal(tmp_path, {}).close()
    assert not list(tmp_path.glob(".*.part"))


def test_writes_take_a_small_share_of_the_time(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "INTERVAL", 5.0)
    journal = Journal(tmp_path, {})
    blocks = CheckpointedBlocks(MemoryBlocks(X), journal)
    writes, save = [], storage.save
    monkeypatch.setattr(storage, "save", lambda *a, **k: writes.append(a[0]) or save(*a, **k))
    with bochner.config_context(block_rows=10):
        assert blocks.reduce(SumOfAll()) == pytest.approx(X.sum())
    assert len(writes) == 1  # a hundred blocks in less than five seconds: only the whole sum


@pytest.mark.parametrize("kills", [8, pytest.param(100, marks=pytest.mark.slow)])
def test_killed_at_random_moments(tmp_path, kills):
    server = HELPERS / "crash_server.py"
    done = subprocess.run(
        [sys.executable, server, tmp_path, str(kills), "0"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    print(result)
    assert result["kills"] >= kills / 2  # on a busy machine some have ended before the blow
    assert result["went_on"] > 0.3 * kills  # on a busy machine many blows come before the first sum is kept
    assert result["broken"] == result["different"] == result["failed"] == 0
    # A writer that is killed cannot tidy up: its hidden part may stay, but nothing else under a name of its own.
    seen = [file.name for file in tmp_path.iterdir() if not file.name.startswith(storage.PART)]
    assert all(name.startswith("whole-") or name.endswith(".npy") for name in seen)

"""A cluster of worker processes gives the bits of one machine, whoever dies; and says what is wrong in one sentence."""

import subprocess
import sys
import threading
import time
import warnings

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from distributed import Client, wait

import bochner
from bochner.blocks import MemoryBlocks, checkpoint
from bochner.blocks.dask import DaskEngine, blocks_of
from bochner.blocks.dask.cluster import Pass
from bochner.blocks.engine import Passed
from bochner.blocks.partitions import Plan
from bochner.blocks.tasks import ClusterError
from bochner.cli import main
from bochner.theory import kernel_error
from helpers.aggregates import Columns, Failing, Heavy
from helpers.battery import BATTERY, LABELS, X, Y, fitted, model_of, numbers
from helpers.cluster import Killer, SlowRows, change_version, cluster, narrow, quiet, use_definitions, with_gap

# The others take up to a minute each: they make hundreds of passes over their few rows.
EVERY_TIME = {
    "regression squared cholesky auto", "regression squared cholesky loo", "classification squared cholesky",
    "regression squared cg", "regression huber newton", "classification logistic adam",
    "regression squared doubly_stochastic", "regression squared box", "classification hinge sgd",
}  # fmt: skip
NAMES = [name for name in BATTERY if isinstance(name, str)]
WEIGHT = np.random.default_rng(3).random(300)


@pytest.fixture(scope="module")
def client():
    with cluster(2) as client:
        yield client


@pytest.fixture(autouse=True)
def small_blocks():
    with bochner.config_context(block_rows=64):
        yield


def test_every_worker_has_a_share_of_a_pass(client, monkeypatch):
    """Tasks are short, and the job is small: left alone, Dask does them all on the worker that has it."""
    workers, folded = [], Pass.folded

    def noted(work, node, answer):
        workers.append(answer.worker)
        return folded(work, node, answer)

    monkeypatch.setattr(Pass, "folded", noted)
    for rows in (SlowRows(6400, 0.0), MemoryBlocks(np.ones((6400, 3)), np.ones(6400))):
        workers.clear()
        rows.on(client).reduce(Columns())
        share = [workers.count(worker) / len(workers) for worker in client.nthreads()]
        assert len(workers) >= 8 and min(share) > 0.2


def same(some, others):
    return all(np.array_equal(a, b) for a, b in zip(some, others, strict=True))


def model(precision=None, **settings):
    return bochner.RandomFeatureRegressor(bochner.RandomFourier(48), precision=precision, random_state=0, **settings)


def arrays(rows=90):
    return da.from_array(X, chunks=(rows, 4)), da.from_array(Y, chunks=rows)


# ---- the same bits ----


@pytest.mark.parametrize("name", [n if n in EVERY_TIME else pytest.param(n, marks=pytest.mark.slow) for n in NAMES])
def test_a_cluster_gives_the_bits_of_threads(name, client):
    expected = numbers(fitted(name))
    with bochner.config_context(engine="dask"):
        assert same(numbers(fitted(name)), expected)


@pytest.mark.parametrize("precision", ["int8", None])
def test_workers_may_die(precision, client):
    """Two are killed in the middle of the fit; the bits are those of one thread on one machine."""
    expected = model(precision, n_jobs=1).fit(SlowRows(4000, 0.0))
    with Killer(client, (0.4, 0.7)) as killer:
        found = model(precision).fit(SlowRows(4000, 0.03).on(client))
        assert killer.killed == 2
    assert same(numbers(found), numbers(expected))
    assert same(found.sums_.total().gram, expected.sums_.total().gram)


@pytest.mark.slow
def test_workers_may_die_a_hundred_times():
    pauses = np.random.default_rng(0).uniform(0.5, 2.5, size=100).tolist()
    expected, fits = {name: numbers(model(name).fit(SlowRows(4000, 0.0))) for name in ("int8", None)}, 0
    with cluster(3) as client, Killer(client, pauses) as killer:
        while killer.is_alive():
            for name, known in expected.items():
                assert same(numbers(model(name).fit(SlowRows(4000, 0.02).on(client))), known)
                fits += 1
        assert killer.killed == 100
        assert fits > 5


def test_the_number_of_workers_changes_no_bit(client):
    with cluster(1) as alone:
        one = model().fit(SlowRows(1000, 0.0).on(alone))
    assert same(numbers(one), numbers(model().fit(SlowRows(1000, 0.0).on(client))))


def test_large_partials_are_joined_by_the_workers(client, monkeypatch):
    monkeypatch.setattr("bochner.blocks.dask.cluster.HEAVY", 2)
    heavy, rows = Heavy(1 << 25), np.random.default_rng(0).standard_normal((1000, 3))
    with bochner.config_context(memory="16GB", block_rows=10):
        plan, blocks = Plan.of(heavy, 1000), blocks_of(da.from_array(rows, chunks=(97, 3)))
        assert len(plan) > 32
        parts = list(DaskEngine(client).fold(blocks, heavy, plan, list(range(len(plan))), None))
        tops = [part for part in parts if not isinstance(part, Passed)]
        assert 1 < len(tops) <= 2
        assert sum(part.rows for part in parts if isinstance(part, Passed)) == 1000
        assert np.array_equal(blocks.reduce(heavy), MemoryBlocks(rows).reduce(heavy))


# ---- collections ----


@pytest.mark.parametrize("chunks", [((90, 4), 90), ((100, 1), 77), ((300, 3), 1), ((50, 4), (0, 120, 0, 180, 0))])
def test_arrays_of_any_partitions(chunks, client):
    expected = model().fit(X, Y, WEIGHT)
    y_chunks = chunks[1] if isinstance(chunks[1], int) else (chunks[1],)
    given = da.from_array(X, chunks=chunks[0]), da.from_array(Y, chunks=y_chunks), da.from_array(WEIGHT, chunks=110)
    found = model().fit(given[0], given[1], given[2])
    assert same(numbers(found), numbers(expected))
    assert found.score(*given[:2]) == pytest.approx(expected.score(X, Y), abs=1e-12)


def test_partitions_of_unknown_size_and_empty_ones(client):
    there = X[:, 0] > -0.5
    there[90:180] = False
    rows, y = arrays()
    known = da.from_array(there, chunks=90)
    found = model().fit(rows[known], y[known])
    assert same(numbers(found), numbers(model().fit(X[there], Y[there])))


def test_sparse_arrays(client):
    dense = X * (np.abs(X) > 0.7)
    rows = da.from_array(dense, chunks=(70, 4)).map_blocks(scipy.sparse.csr_matrix)
    found = model(scale=None).fit(rows, da.from_array(Y, chunks=70))
    assert same(numbers(found), numbers(model(scale=None).fit(scipy.sparse.csr_matrix(dense), Y)))


def test_frames(client):
    frame = pd.DataFrame(X, columns=list("abcd")).astype({"a": "float32"}).assign(y=Y)
    lazy = dd.from_pandas(frame, npartitions=7)
    expected, found = model().fit(frame, target="y"), model().fit(lazy, target="y")
    assert same(numbers(found), numbers(expected))
    assert found.feature_names_in_.tolist() == list("abcd")
    predicted = found.predict(lazy.drop(columns="y"))
    assert np.allclose(predicted.compute(), expected.predict(frame.drop(columns="y")), rtol=1e-12)
    with pytest.raises(ValueError, match="other names than those of the fit"):
        found.refit_metric(lazy[["b", "a", "c", "d"]], lazy["y"])


def test_frames_of_categories_text_dates_and_gaps(client):
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(300) % 99, "D")
    frame = pd.DataFrame({"a": X[:, 0], "t": np.where(X[:, 1] > 0, "u", "v"), "day": days, "y": Y})
    frame["c"] = pd.Categorical(np.where(X[:, 2] > 0, "left", "right"))
    frame.loc[5, "a"], frame.loc[7, "t"] = np.nan, None
    lazy = dd.from_pandas(frame, npartitions=5)
    expected, found = model().fit(frame, target="y"), model().fit(lazy, target="y")
    assert found.recipe_ == expected.recipe_
    assert same(numbers(found), numbers(expected))
    more = [fit.partial_fit(rows, target="y") for fit, rows in ((expected, frame), (found, lazy))]
    assert same(numbers(more[0]), numbers(more[1]))


def test_without_a_client_the_rows_are_worked_through_here():
    code = (
        "import dask.array as da, numpy as np, bochner\n"
        "X = np.random.default_rng(0).normal(size=(200, 3))\n"
        "fits = [bochner.RandomFeatureRegressor(random_state=0, solver='cholesky').fit(rows, rows[:, 0])"
        " for rows in (X, da.from_array(X, chunks=(70, 2)))]\n"
        "assert np.array_equal(fits[0].coef_, fits[1].coef_)\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)


def test_dask_is_not_imported_by_itself():
    code = "import sys, bochner, bochner.blocks.files; assert not {'dask', 'distributed'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_predictions_are_lazy(client):
    rows, y = arrays()
    fit = model().fit(rows, y)
    mean, deviation = fit.predict(rows, return_std=True)
    assert mean.chunks == rows.chunks[:1]
    here = fit.predict(X, return_std=True)
    assert np.allclose(deviation.compute(), here[1], rtol=1e-9)
    assert np.allclose(mean.compute(), here[0], rtol=1e-12)
    labels = model_of("classification logistic newton").fit(X, LABELS)
    assert np.array_equal(labels.predict(rows).compute(), labels.predict(X))
    assert labels.predict_proba(rows).shape == (300, 3)
    assert len(labels.predict(rows[:0])) == 0


def test_every_verb_that_reduces(client):
    rows, y = arrays()
    pca = bochner.FeaturePCA(bochner.RandomFourier(40), random_state=0)
    expected = pca.fit(X).components_.copy()
    assert np.array_equal(pca.fit(rows).components_, expected)
    assert np.allclose(pca.transform(rows).compute(), pca.transform(X), rtol=1e-12, atol=1e-12)
    tests = [bochner.mmd_test(a[:150], a[150:], n_resamples=20, random_state=0) for a in (X, rows)]
    assert tests[0].pvalue == tests[1].pvalue
    assert tests[0].statistic == tests[1].statistic
    assert kernel_error(bochner.RandomFourier(40), rows) == kernel_error(bochner.RandomFourier(40), X)
    metrics = [model(metric="diagonal", metric_rounds=1).fit(*pair) for pair in ((X, Y), (rows, y))]
    assert same(numbers(metrics[0]), numbers(metrics[1]))
    more = [model().fit(X[:200], Y[:200]).partial_fit(*pair) for pair in ((X[200:], Y[200:]), (rows[200:], y[200:]))]
    assert same(numbers(more[0]), numbers(more[1]))


# ---- files ----


def parquet(folder, parts=3):
    frame = pd.DataFrame(X, columns=list("abcd")).assign(t=np.where(X[:, 0] > 0, "p", "q"), y=Y, g=np.arange(300) // 10)
    for k, part in enumerate(np.array_split(np.arange(300), parts)):
        frame.iloc[part].to_parquet(folder / f"part-{k}.parquet")
    return str(folder / "part-*.parquet")


@pytest.mark.parametrize("prefix", ["", "file://"])
def test_files_are_read_by_workers_alone(prefix, client, tmp_path, monkeypatch):
    path = prefix + parquet(tmp_path)
    expected = model().fit(bochner.read(path, target="y", drop=["g"]))
    blocks = bochner.read(path, target="y", drop=["g"])

    def refuse(*arguments):
        raise AssertionError("the client reads rows")

    monkeypatch.setattr(type(blocks.table), "chunks_of", refuse)
    found = model().fit(blocks.on(client))
    assert same(numbers(found), numbers(expected))
    assert found.recipe_ == expected.recipe_
    assert np.isfinite(found.predict(blocks.on(client))).all()


def test_bags_of_points_in_files(client, tmp_path):
    path = parquet(tmp_path)

    def fit(on=lambda blocks: blocks):
        blocks = bochner.read(path, drop=["g", "y", "t"])
        model = bochner.DistributionRegressor(bochner.RandomFourier(40), random_state=0)
        return model.fit(on(blocks), np.sin(np.arange(30)), bag="g").predict(blocks, bag="g")

    assert np.array_equal(fit(lambda blocks: blocks.on(client)), fit())


def test_a_killed_client_takes_up_where_it_stopped(client, tmp_path, monkeypatch):
    blocks, writes = SlowRows(2000, 0.0), []
    expected = numbers(model().fit(blocks))
    monkeypatch.setattr(checkpoint, "INTERVAL", 0.0)
    monkeypatch.setattr(checkpoint, "SHARE", 1e9)
    save = checkpoint.Journal._save

    def dying(journal, name, state):
        save(journal, name, state)
        writes.append(name)
        if len(writes) == 6:
            raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint.Journal, "_save", dying)
    with pytest.raises(KeyboardInterrupt):
        model().fit(blocks.on(client), checkpoint=tmp_path / "kept")
    assert quiet(client)
    found = model().fit(blocks.on(client), checkpoint=tmp_path / "kept")
    assert same(numbers(found), expected)


def test_the_command_line_fits_on_a_cluster(client, tmp_path, capsys):
    path = parquet(tmp_path)
    how = ["fit", path, "--target", "y", "--drop", "g", "--components", "48", "--json"]
    for name, more in (("here", []), ("there", ["--dask", client.scheduler.address])):
        with pytest.raises(SystemExit, match=r"^0$"):
            main([*how, "--out", str(tmp_path / name), *more])
    capsys.readouterr()
    here, there = (bochner.load(tmp_path / name) for name in ("here", "there"))
    assert same(numbers(here), numbers(there))
    with pytest.raises(SystemExit, match=r"^[1-9]"):
        main(["fit", path, "--target", "y", "--out", str(tmp_path / "x"), "--dask", "tcp://127.0.0.1:1"])
    assert "there is no Dask scheduler at 'tcp://127.0.0.1:1'" in capsys.readouterr().err


# ---- what goes wrong ----


@pytest.mark.parametrize("spoil, message", [
    (narrow, r"partition 2 of the Dask array \(rows 180 to 269\) has 3 columns, and 4 columns were expected"),
    (with_gap, r"partition 2 of the Dask array \(rows 180 to 269\) has NaN in X"),
])  # fmt: skip
def test_a_bad_partition_is_named(spoil, message, client):
    rows, y = arrays()
    parts = [part if k != 2 else part.map_blocks(spoil, dtype=float, chunks=part.chunks)
             for k, part in enumerate(rows.partitions[k] for k in range(4))]  # fmt: skip
    with pytest.raises(ValueError, match=message):
        model().fit(da.concatenate(parts), y)
    assert quiet(client)


def test_an_unreadable_file_is_named(client, tmp_path):
    blocks = bochner.read(parquet(tmp_path), target="y", drop=["g"])
    (tmp_path / "part-1.parquet").write_bytes((tmp_path / "part-1.parquet").read_bytes()[:200])
    with pytest.raises(ValueError, match=r"part-1.parquet cannot be read"):
        model().fit(blocks.on(client))


def test_errors_come_back_as_they_are_and_nothing_is_left_under_way(client):
    with bochner.config_context(engine="dask", block_rows=10):
        with pytest.raises(ArithmeticError, match="row 2"):
            MemoryBlocks(X).reduce(Failing())
        assert quiet(client)
        assert np.array_equal(MemoryBlocks(X).reduce(Columns()).round(9), X.sum(axis=0).round(9))


def test_an_interrupt_leaves_nothing_under_way(client):
    blocks, columns = SlowRows(64 * 40, 0.2), Columns()
    coming = DaskEngine(client).fold(blocks, columns, Plan.of(columns, blocks.n_rows), list(range(40)), None)
    next(coming)
    coming.close()  # what an interrupt does
    assert quiet(client, 2.0)


def test_a_fit_that_waits_for_workers_says_so(monkeypatch):
    monkeypatch.setattr("bochner.blocks.dask.cluster.PATIENCE", 0.2)
    with cluster(1) as client:
        client.cluster.scale(0)
        while client.nthreads():
            time.sleep(0.05)
        back = threading.Timer(1.0, client.cluster.scale, [1])
        back.start()
        with pytest.warns(UserWarning, match="the Dask cluster has no worker left"):
            found = model().fit(SlowRows(200, 0.0).on(client))
        back.join()
    assert same(numbers(found), numbers(model().fit(SlowRows(200, 0.0))))


def test_workers_of_another_version_are_refused(client):
    client.run(change_version, "0.0.1")
    try:
        with pytest.raises(ClusterError, match=r"the worker tcp://.* has bochner 0.0.1, and this is"):
            model().fit(*arrays())
    finally:
        client.run(change_version, bochner.__version__)


@pytest.mark.filterwarnings("ignore::bochner.validation.FitWarning")
def test_workers_without_native_code_have_the_same_integers_and_one_warning(client):
    expected = model("int8").fit(X, Y)
    client.run(use_definitions, True)
    try:
        with pytest.warns(UserWarning, match="has no native code") as told:
            found = model("int8").fit(*arrays())
        assert sum("native" in str(warning.message) for warning in told) == 1
    finally:
        client.run(use_definitions, False)
    assert np.array_equal(found.sums_.total().gram, expected.sums_.total().gram)
    assert same(numbers(found), numbers(expected))


# ---- devices of workers ----


@pytest.mark.torch
@pytest.mark.parametrize("precision", ["int8", None])
@pytest.mark.parametrize("settings", [{}, {"solver": "cg", "alpha": 1.0}, {"alpha": "loo"}, {"metric": "diagonal"}])
def test_workers_carry_rows_to_devices_of_their_own(precision, settings, client):
    """These have none, and say so; what they do is what torch does here, by way of tensors that travel as arrays."""
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("workers have a GPU")
    rows, y = arrays()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = model(precision, **settings).fit(torch.from_numpy(X), torch.from_numpy(Y))
    with pytest.warns(bochner.validation.FitWarning, match="have no GPU") as told:
        found = model(precision, **settings, device="cuda").fit(rows, y)
    assert sum("no GPU" in str(warning.message) for warning in told) == 1
    assert type(found.coef_) is type(expected.coef_)
    assert torch.allclose(found.coef_, expected.coef_, rtol=1e-6, atol=1e-9)
    if precision == "int8" and "solver" not in settings:
        assert torch.equal(found.sums_.total().gram, expected.sums_.total().gram)
    assert np.allclose(found.predict(rows).compute(), found.set_params(device=None).predict(X), atol=1e-9)


@pytest.mark.torch
def test_a_device_here_is_asked_for_where_rows_are_here(client):
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is one")
    with pytest.raises(ValueError, match="sees no GPU here"):
        model(device="cuda").fit(X, Y)


def test_arrays_that_do_not_fit_together_are_refused(client):
    rows, y = arrays()
    for given, message in (
        ((rows, y[:200]), "X has 300 rows but y has 200"), ((y, y), "X must have two dimensions; it has 1"),
        ((rows, y, y[:5]), "X has 300 rows but sample_weight has 5"), ((rows[:0], y[:0]), "there are no rows"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            model().fit(*given)


def test_a_closed_client_and_lost_rows_are_told(client):
    with pytest.raises(ValueError, match="the Dask client is closed"):
        gone = Client(client.cluster.scheduler_address, set_as_default=False)
        gone.close()
        SlowRows(200, 0.0).on(gone)
    rows, y = (part.persist() for part in arrays())
    wait([rows, y])
    client.cancel(rows, force=True)
    with pytest.raises(ClusterError, match="the cluster has let go of rows"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model().fit(rows, y)

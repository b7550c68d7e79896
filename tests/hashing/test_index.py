"""The index: what it finds, rows that come and go, files that are whole, and sentences for what it refuses."""

import json
import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import bochner
from bochner import MaxoutHash, MaxoutIndex, data, storage
from bochner.models.saving import KIND, VERSION
from helpers.places import HELPERS

rng = np.random.default_rng(0)
X = rng.standard_normal((900, 10)) * np.linspace(0.2, 2.0, 10) + 5.0
NEW = X[800:]


def index(**settings):
    return MaxoutIndex(6, random_state=0, **settings)


def same(a, b):
    """Every row, id and bucket."""
    return all(
        np.array_equal(*pair) and pair[0].dtype == pair[1].dtype
        for pair in [(a.ids_, b.ids_), (a._rows, b._rows), (a._tables.keys, b._tables.keys),
                     (a._tables.rows, b._tables.rows)]
    )  # fmt: skip


def brute_force(rows, queries, k, metric="euclidean", center=0.0):
    if metric == "euclidean":
        distances = np.linalg.norm(rows[None] - queries[:, None], axis=2)
    else:
        a, b = rows - center, queries - center
        cosines = (b @ a.T) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)[:, None]
        distances = np.arccos(np.clip(cosines, -1.0, 1.0))
    order = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(distances, order, axis=1), order


def recall(found, true):
    return np.mean([len(set(a) & set(b)) / len(b) for a, b in zip(found, true, strict=True)])


# ---- what it finds ----


@pytest.mark.parametrize("metric", ["euclidean", "angular"])
@pytest.mark.parametrize("precision", [None, "float32", "int8"])
def test_with_all_buckets_it_is_brute_force(metric, precision):
    search = index(metric=metric, codes_per_table=2, pool_size=4, precision=precision).fit(X)
    distances, ids, counts = search.query(NEW, 7, n_probes=16, return_counts=True)
    exact, order = brute_force(X, NEW, 7, metric, search.hash_.center_)
    np.testing.assert_allclose(distances, exact, atol=3e-8)
    assert np.array_equal(ids, order)
    assert (counts == len(X)).all()


def test_few_buckets_find_most_neighbours_with_few_comparisons():
    search = MaxoutIndex(random_state=0).fit(X)
    distances, ids = search.query(NEW, 10)
    exact, order = brute_force(X, NEW, 10)
    assert np.array_equal(ids[:, 0], np.arange(800, 900))  # a row is its own nearest neighbour
    assert (np.diff(distances, axis=1) >= 0).all()
    assert (distances >= exact - 1e-12).all()
    more = [search.query(NEW, 10, n_probes=probes, return_counts=True) for probes in (1, 8, 48)]
    recalls, works = [recall(m[1], order) for m in more], [m[2].mean() for m in more]
    assert recalls[0] < recalls[1] < recalls[2]
    assert works[0] < works[1] < works[2]
    assert recalls[2] > 0.95
    _, some, few = search.query(NEW, 10, max_candidates=200, return_counts=True)
    assert few.max() == 200
    assert 0.85 < recall(some, order) <= recalls[2]


def test_rows_that_were_not_found_are_said_to_be_missing():
    search = index(codes_per_table=3, pool_size=16).fit(X)
    distances, ids, counts = search.query(NEW, 50, n_probes=1, return_counts=True)
    found = np.isfinite(distances).sum(axis=1)
    assert (found == np.minimum(counts, 50)).all()
    assert (found < 50).any()
    assert ((ids == -1) == np.isinf(distances)).all()


def test_queries_do_not_depend_on_blocks_or_each_other_and_change_nothing():
    search = index(precision="int8").fit(X)
    before, queries = pickle.dumps(search), NEW.copy()
    whole = search.query(NEW, 5)
    with bochner.config_context(block_rows=7):
        blocks = search.query(NEW, 5)
        assert same(index(precision="int8").fit(X), search)
    alone = [search.query(NEW[i : i + 1], 5) for i in range(20)]
    for k in range(2):
        assert np.array_equal(blocks[k], whole[k])
        assert np.array_equal(np.vstack([a[k] for a in alone]), whole[k][:20])
    assert pickle.dumps(search) == before
    assert np.array_equal(NEW, queries)


# ---- rows come and go ----


@pytest.mark.parametrize("precision", ["float64", "int8"])
@pytest.mark.parametrize("center", [True, False])
def test_adding_and_removing_is_rebuilding(precision, center):
    parts = index(precision=precision, center=center, codes_per_table=3).fit(X[:300])
    parts.add(X[300:301]).add(X[301:700]).remove(np.arange(100, 350)).add(X[700:]).remove([5, 899])
    left = np.setdiff1d(np.arange(900), np.r_[100:350, 5, 899])
    # The same hash, given the rows that are left.
    rebuilt = index(precision=precision, center=center, codes_per_table=3).fit(X[:300])
    rebuilt.remove(np.arange(300)).add(X[left], ids=left)
    assert same(parts, rebuilt)
    if not center and precision == "float64":  # nothing in the hash hangs on the rows
        assert same(index(precision=precision, center=False, codes_per_table=3).fit(X[left], ids=left), parts)
    ours, theirs = parts.query(NEW, 6), rebuilt.query(NEW, 6)
    assert np.array_equal(ours[1], theirs[1])
    assert not np.isin(ours[1], np.r_[100:350, 5, 899]).any()


def test_ids():
    search = index().fit(X[:4], ids=[7, 100, 3, 50])
    assert search.add(X[4:6]).ids_.tolist() == [7, 100, 3, 50, 101, 102]
    assert search.remove(102).add(X[5:6]).ids_.tolist()[-1] == 103  # an id is not given twice
    assert search.query(X[:1], 1)[1][0, 0] == 7
    for call, message in [
        (lambda: search.remove([7, 12]), "there is no row with the id 12 in this index."),
        (lambda: search.add(X[:1], ids=[100]), "the id 100 is in the index already"),
        (lambda: search.add(X[:2], ids=[1, 1]), "the id 1 is given more than once."),
        (lambda: search.add(X[:2], ids=[1]), "X has 2 rows but there are 1 ids."),
        (lambda: search.add(X[:1], ids=[-1]), "ids must be a list of integers from 0 to 2^62."),
        (lambda: search.add(X[:1], ids=[1 << 63]), "ids must be a list of integers from 0 to 2^62."),
        (lambda: search.remove([0.5]), "ids must be a list of integers from 0 to 2^62."),
    ]:
        state = pickle.dumps(search)
        with pytest.raises(ValueError) as caught:
            call()
        assert message in str(caught.value)
        assert pickle.dumps(search) == state
    assert len(search.remove(search.ids_).ids_) == 0
    with pytest.raises(ValueError, match="k=1 neighbours were asked for, but the index has 0 rows"):
        search.query(X[:1], 1)


# ---- files ----


@pytest.mark.parametrize("dtype", ["float64", "float32", "uint8"])
@pytest.mark.parametrize("precision", [None, "int8"])
def test_saved_and_loaded_bit_for_bit(tmp_path, dtype, precision):
    rows = np.clip(np.rint(20 * X), 0, 255).astype(dtype)
    search = index(precision=precision).fit(rows[:500]).add(rows[500:]).remove([3])
    search.save(tmp_path / "i.bochner")
    loaded = bochner.load(tmp_path / "i.bochner")
    assert same(loaded, search)
    assert loaded._rows.dtype == dtype
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "i.bochner").read_bytes()
    for ours, theirs in zip(search.query(rows[:50], 5), loaded.query(rows[:50], 5), strict=True):
        assert np.array_equal(ours, theirs)
    assert same(loaded.add(rows[:9]).remove([4]), search.add(rows[:9]).remove([4]))
    assert loaded.ids_[-1] == 908


def test_files_that_do_not_fit_together_are_refused(tmp_path):
    search, path = index().fit(X), tmp_path / "i.bochner"

    def forged(**changes):
        state = search._to_state()
        state["fitted"].update(changes)
        storage.save(path, KIND, VERSION, {"model": "MaxoutIndex", "state": state}, bochner.hashing.saving.INDEX_PARTS)

    other, tables = index().fit(X[:, :9]), search._tables
    swapped = object.__new__(type(tables))
    swapped.__dict__.update(keys=tables.keys[:, ::-1], rows=tables.rows)
    twice = object.__new__(type(tables))
    twice.__dict__.update(keys=tables.keys, rows=np.zeros_like(tables.rows))
    bad = X.copy()
    bad[0, 0] = np.nan
    for changes in [
        {"_rows": X[:-1]}, {"_rows": X[:, :5]}, {"_rows": bad}, {"_rows": X.astype(np.int64)},
        {"ids_": search.ids_ - 1}, {"ids_": search.ids_ * 0}, {"_next_id": 5}, {"_next_id": "7"}, {"n_features_in_": 9},
        {"hash_": other.hash_}, {"hash_": MaxoutIndex(5, random_state=0).fit(X).hash_},
        {"_tables": other._tables.without_rows(search.ids_ > 9)},
        {"hash_": MaxoutHash(6 * 17, pool_size=16, random_state=0).fit(X)},
        {"_tables": swapped}, {"_tables": twice}, {"_tables": tables.keys}, {"more": 1},
    ]:  # fmt: skip
        forged(**changes)
        with pytest.raises(storage.BadFileError, match="holds no valid") as caught:
            bochner.load(path)
        assert "\n" not in str(caught.value)
    forged()
    assert same(bochner.load(path), search)


@pytest.mark.parametrize("kills", [15, pytest.param(200, marks=pytest.mark.slow)])
def test_a_killed_save_leaves_the_old_file_or_the_new(tmp_path, kills):
    server = HELPERS / "index_crash_server.py"
    command = [sys.executable, server, tmp_path, str(kills), "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    print(result)
    assert result["kills"] >= result["in_the_middle"] >= kills
    assert result["broken"] == 0


def test_commands_for_models_say_that_an_index_is_none(tmp_path):
    index().fit(X).save(tmp_path / "i.bochner")
    command = [sys.executable, "-c", "from bochner.cli import main; main()", "info", str(tmp_path / "i.bochner")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "holds a MaxoutIndex, which does not predict; use bochner.load." in done.stderr


# ---- sentences ----


def with_value(value):
    bad = X[:8].copy()
    bad[5, 1] = value
    return bad


def test_bad_rows():
    for bad, message in [
        (with_value(np.nan), r"X contains NaN \(first at row 5, column 1\)"),
        (with_value(np.inf), "X contains infinity"),
        (np.empty((0, 10)), "0 sample"),
        (X[0], "2D array"),
    ]:
        with pytest.raises(ValueError, match=message):
            index().fit(bad)
        search = index().fit(X)
        for call in (search.add, search.query):
            with pytest.raises(ValueError, match=message):
                call(bad)
    for call in (search.add, search.query):
        with pytest.raises(ValueError, match="X has 9 features, but MaxoutIndex is expecting 10"):
            call(X[:, :9])
    for call in (lambda: index().query(X), lambda: index().add(X), lambda: index().remove([1])):
        with pytest.raises(NotFittedError):
            call()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_tables": 0}, "n_tables must be an integer of at least 1; got 0."),
        ({"codes_per_table": 0}, "codes_per_table must be an integer of at least 1; got 0."),
        ({"codes_per_table": 17}, "17 codes of 4 bits are more than a key of 64 bits holds; the most is 16."),
        ({"pool_size": 1}, "pool_size must be an integer of at least 2; got 1."),
        ({"n_probes": 0}, "n_probes must be an integer of at least 1; got 0."),
        ({"metric": "euclid"}, "metric='euclid' is not known: did you mean 'euclidean'?"),
        ({"precision": "int9"}, "did you mean 'int8'"),
    ],
)  # fmt: skip
def test_bad_parameters(settings, message):
    with pytest.raises(ValueError) as caught:
        clone(index()).set_params(**settings).fit(X)
    assert message in str(caught.value)


def test_bad_queries():
    search = index().fit(X)
    for settings, message in [
        ({"k": 0}, "k must be an integer of at least 1; got 0."),
        ({"k": 901}, "k=901 neighbours were asked for, but the index has 900 rows."),
        ({"n_probes": 0}, "n_probes must be an integer of at least 1"),
        ({"max_candidates": 0}, "max_candidates must be an integer of at least 1"),
    ]:
        with pytest.raises(ValueError, match=message):
            search.query(NEW, **settings)


# ---- recall at size ----


def true_neighbours(rows, queries, k):
    """By exact float64 products, a block of queries at a time."""
    rows = rows.astype(np.float64)
    lengths, out = (rows**2).sum(axis=1), []
    for block in np.array_split(queries.astype(np.float64), -(-len(queries) // 100)):
        out.append(np.argsort(lengths - 2.0 * block @ rows.T, axis=1, kind="stable")[:, :k])
    return np.vstack(out)


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_recall_on_mnist(precision):
    """The 10 nearest of 60,000 pictures by Euclidean distance of raw pixels, for 1,000 test pictures."""
    if not (data.folder() / "mnist").is_dir():
        pytest.skip("MNIST is not here: set BOCHNER_DATA")
    digits = data.mnist()
    rows, queries = digits.X, digits.X_test[:1000]
    true = true_neighbours(rows, queries, 10)
    search = MaxoutIndex(precision=precision, random_state=0).fit(rows)
    for settings, largest in (({}, 0.06), ({"n_probes": 64, "max_candidates": 1200}, 0.02)):
        _, ids, counts = search.query(queries, 10, return_counts=True, **settings)
        found, touched = recall(ids, true), counts.mean() / len(rows)
        print(f"\n{precision} {settings}: recall {found:.4f}, touched {touched:.2%}, at most {counts.max() / 6e4:.2%}")
        assert found >= 0.95
        assert touched <= largest
    uncentred = MaxoutIndex(precision=precision, center=False, random_state=0).fit(rows)
    assert uncentred.query(queries[:100], 10, return_counts=True)[2].mean() > 0.3 * len(rows)  # pictures look alike


def on_the_sphere(kind):
    """30,000 rows and 1,000 queries of the same law: uniform, or around 300 centres."""
    draw = np.random.default_rng(1)
    if kind == "uniform in 16 dimensions":
        rows = draw.standard_normal((31_000, 16))
    else:
        rows = draw.standard_normal((300, 64))[draw.integers(0, 300, 31_000)] + 0.8 * draw.standard_normal((31_000, 64))
    return np.split(rows / np.linalg.norm(rows, axis=1, keepdims=True), [30_000])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["uniform in 16 dimensions", "clustered in 64 dimensions"])
def test_recall_on_the_unit_sphere(kind):
    """The 10 nearest by angle."""
    rows, queries = on_the_sphere(kind)
    search = MaxoutIndex(metric="angular", center=False, random_state=0).fit(rows)
    distances, ids, counts = search.query(queries, 10, return_counts=True)
    found, touched = recall(ids, true_neighbours(rows, queries, 10)), counts.mean() / len(rows)
    print(f"\n{kind}: recall {found:.4f}, touched {touched:.2%}")
    assert found >= 0.95
    assert touched < 0.1
    np.testing.assert_allclose(np.cos(distances[:, 0]), np.sum(rows[ids[:, 0]] * queries, axis=1), atol=1e-12)

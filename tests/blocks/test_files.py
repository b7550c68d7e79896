"""Files in blocks: every format gives the same rows, and what cannot be used is refused by name."""

import gzip
import warnings

import h5py
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import bochner
from bochner import (
    KernelRidgeClassifier,
    KernelRidgeRegressor,
    LearnedFourierClassifier,
    LearnedFourierRegressor,
    RandomFeatureClassifier,
    RandomFeatureRegressor,
    RandomFourier,
    RandomMaxout,
    advise,
    read,
    tune,
)
from bochner.models.preparation import CheckedRows
from bochner.tables.categories import hash_text

rng = np.random.default_rng(0)
N = 1000
FRAME = pd.DataFrame(rng.standard_normal((N, 3)) * [1.0, 10.0, 100.0] + [0.0, 5.0, -7.0], columns=["a", "b", "c"])
FRAME["city"] = rng.choice(["Rome", "Paris", "Oslo"], N)
FRAME["flag"] = rng.random(N) < 0.3
FRAME["y"] = np.sin(FRAME.a) + (FRAME.city == "Rome")


def rows_of(blocks, rows=77):
    return np.vstack([block.X for block in blocks.stream(0, rows)])


def expected(frame=FRAME):
    numbers = (
        StandardScaler()
        .fit(FRAME[["a", "b", "c", "flag"]].astype(float))
        .transform(frame[["a", "b", "c", "flag"]].astype(float))
    )
    return np.hstack([numbers, OneHotEncoder(sparse_output=False).fit_transform(frame[["city"]])])


def write_parquet(folder):
    FRAME.to_parquet(folder / "t.parquet", row_group_size=130)
    return "t.parquet"


def write_parts(folder):
    FRAME[:300].to_parquet(folder / "part-0.parquet")
    FRAME[300:].to_parquet(folder / "part-1.parquet")
    return "part-*.parquet"


def write_feather(folder):
    FRAME.to_feather(folder / "t.feather")
    return "t.feather"


def write_csv(folder):
    FRAME.to_csv(folder / "t.csv", index=False)
    return "t.csv"


def write_zipped_csv(folder):
    FRAME.to_csv(folder / "t.csv.gz", index=False)
    return "t.csv.gz"


def write_tsv(folder):
    FRAME.to_csv(folder / "t.tsv", index=False, sep="\t")
    return "t.tsv"


def write_json(folder):
    FRAME.to_json(folder / "t.jsonl", orient="records", lines=True, double_precision=15)
    return "t.jsonl"


TABLES = [write_parquet, write_parts, write_feather, write_csv, write_zipped_csv, write_tsv, write_json]


@pytest.mark.parametrize("write", TABLES)
def test_tables_of_every_format_are_the_same_rows(tmp_path, write):
    blocks = read(str(tmp_path / write(tmp_path)), target="y")
    assert (blocks.n_rows, blocks.n_columns) == (N, 7)
    assert blocks.recipe.column_names() == ["a", "b", "c", "flag", "city=Oslo", "city=Paris", "city=Rome"]
    rows = rows_of(blocks)
    assert np.allclose(rows, expected(), atol=1e-9)
    assert np.allclose(np.concatenate([b.y for b in blocks.stream(0, 77)]), FRAME.y, atol=1e-12)
    part = blocks.read(123, 456)
    assert part.start == 123
    assert np.array_equal(part.X, rows[123:456])
    some = np.array([0, 5, 299, 300, 777, 999])
    assert np.array_equal(blocks.take(some).X, rows[some])


@pytest.mark.parametrize("size", [1, 64, 129, 130, 131, 5000])
def test_blocks_of_any_size_are_the_same_rows(tmp_path, size):
    blocks = read(tmp_path / write_parquet(tmp_path), target="y")
    lots = list(blocks.stream(0, size))
    assert [len(b.X) for b in lots[:-1]] == [size] * (len(lots) - 1)
    assert np.array_equal(np.vstack([b.X for b in lots]), rows_of(blocks))


def test_frames_and_arrow_tables(tmp_path):
    want = expected()
    for frame in (FRAME, pl.from_pandas(FRAME), pl.from_pandas(FRAME).to_arrow()):
        assert np.allclose(rows_of(read(frame, target="y")), want, atol=1e-9)


def test_matrices(tmp_path):
    table = rng.standard_normal((N, 6)).astype(np.float32)
    np.save(tmp_path / "t.npy", table)
    np.save(tmp_path / "x.npy", table[:, :5])
    np.save(tmp_path / "y.npy", table[:, 5])
    np.save(tmp_path / "half-0.npy", table[:400])
    np.save(tmp_path / "half-1.npy", table[400:])
    with h5py.File(tmp_path / "t.h5", "w") as file:
        file["group/x"], file["y"] = table[:, :5], table[:, 5]
    want = (table[:, :5] - table[:, :5].mean(0, dtype=float)) / table[:, :5].std(0, dtype=float)
    ways = {"t.npy": -1, "x.npy": str(tmp_path / "y.npy"), "half-*.npy": -1, "t.h5": "y", "./t.npy": "5"}
    for name, target in ways.items():
        blocks = read(tmp_path / name, target=target)
        assert blocks.recipe.dtype == "float32"
        assert np.allclose(rows_of(blocks), want, atol=1e-5)
        assert np.array_equal(np.concatenate([b.y for b in blocks.stream(0, 100)]), table[:, 5])
    plain = read(tmp_path / "t.npy", target=-1, weight=0, drop=[1], standardize=False)
    assert np.array_equal(rows_of(plain), table[:, 2:5])
    assert np.array_equal(plain.read(0, 50).weight, table[:50, 0])


def test_eight_bit_matrices_stay_eight_bit(tmp_path):
    pixels = rng.integers(0, 255, (50, 4), dtype=np.uint8)
    np.save(tmp_path / "t.npy", pixels)
    blocks = read(tmp_path / "t.npy", standardize=False)
    assert rows_of(blocks).dtype == np.uint8
    assert np.array_equal(rows_of(blocks), pixels)


@pytest.mark.parametrize("zero_based", [True, False])
@pytest.mark.parametrize("zipped", [True, False])
def test_svmlight_in_chunks(tmp_path, monkeypatch, zero_based, zipped):
    import bochner.blocks.formats.svmlight as module

    monkeypatch.setattr(module, "BYTES", 1000)
    rows = np.where(rng.random((300, 8)) < 0.5, 0.0, rng.standard_normal((300, 8)))
    path = tmp_path / "t.svm"
    dump_svmlight_file(rows, np.arange(300), str(path), zero_based=zero_based)
    if zipped:
        path = tmp_path / "t.svm.gz"
        path.write_bytes(gzip.compress((tmp_path / "t.svm").read_bytes()))
    blocks = read(path)
    assert (blocks.n_rows, blocks.n_columns) == (300, 8)
    dense = np.vstack([block.X.toarray() for block in blocks.stream(0, 37)])
    assert np.allclose(dense, rows, atol=1e-12)
    assert np.array_equal(np.concatenate([b.y for b in blocks.stream(0, 37)]), np.arange(300))
    assert np.array_equal(blocks.read(100, 130).X.toarray(), dense[100:130])
    assert read(path, n_columns=12).read(0, 5).X.shape == (5, 12)
    with pytest.raises(ValueError, match="has 8 columns; the model was fitted to 3"):
        read(path, n_columns=3)


# ---- the recipe ----


def test_the_recipe_of_the_fit_is_used_for_new_rows(tmp_path):
    blocks = read(tmp_path / write_parquet(tmp_path), target="y")
    model = RandomFeatureRegressor(RandomFourier(300), random_state=0).fit(blocks)
    assert model.score(FRAME, FRAME.y) > 0.99
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "city", "flag"]
    new = FRAME[:50].assign(a=FRAME.a[:50] + 1.0)
    new.drop(columns="y").to_csv(tmp_path / "new.csv", index=False)
    by_file = model.predict(read(tmp_path / "new.csv", recipe=model.recipe_))
    assert np.allclose(by_file, model.predict(new), atol=1e-9)
    assert np.allclose(by_file, model.predict(pl.from_pandas(new)), atol=1e-9)
    shuffled = new[["flag", "city", "c", "b", "a"]]
    assert np.allclose(by_file, model.predict(shuffled), atol=1e-9)
    with pytest.raises(ValueError, match="not encoded as those of the fit"):
        model.predict(read(new, target="y"))
    with pytest.raises(ValueError, match="'city' holds text: give a frame"):
        model.predict(np.zeros((3, 5)))
    with pytest.raises(ValueError, match="no column 'b'"):
        model.predict(new.drop(columns="b"))
    with pytest.raises(ValueError, match="'a' does not hold numbers"):
        model.predict(new.assign(a="x"))


def test_arrays_are_standardised_as_the_files_were(tmp_path):
    table = rng.standard_normal((500, 4)) * [1, 5, 9, 2] + [3, 0, -8, 1]
    y = np.sin(table[:, 0])
    np.save(tmp_path / "t.npy", np.column_stack([table, y]))
    model = RandomFeatureRegressor(RandomFourier(100), random_state=0).fit(read(tmp_path / "t.npy", target=-1))
    assert model.score(table, y) > 0.99
    model.partial_fit(table, y)
    assert model.moments_.rows == 1000
    assert model.score(table, y) > 0.99
    with pytest.raises(ValueError, match="fitted to 4 columns"):
        model.predict(table[:, :3])


def test_fits_from_file_and_from_memory_agree(tmp_path):
    write_parquet(tmp_path)
    labels = np.where(FRAME.y > 0.5, "high", "low")
    FRAME.assign(y=labels).to_parquet(tmp_path / "t.parquet", row_group_size=99)
    blocks = read(tmp_path / "t.parquet", target="y")
    X = rows_of(blocks)
    for basis in (RandomMaxout(60, precision="int8"), RandomFourier(60)):
        for solver in ("cholesky", "dual"):
            how = {"solver": solver, "random_state": 0, "class_weight": "balanced", "alpha": [1e-2, 1.0]}
            from_file = RandomFeatureClassifier(basis, **how).fit(blocks)
            from_memory = RandomFeatureClassifier(basis, **how).fit(X, labels)
            assert from_file.classes_.tolist() == ["high", "low"]
            assert from_file.basis_.identity() == from_memory.basis_.identity()
            assert np.allclose(from_file.coef_, from_memory.coef_, rtol=1e-9, atol=1e-12)


def test_integer_sums_have_the_same_bits_from_any_source(tmp_path):
    FRAME.assign(y=FRAME.y > 0.5).to_parquet(tmp_path / "t.parquet", row_group_size=99)
    blocks = read(tmp_path / "t.parquet", target="y")
    models = []
    for size in (7, 100, "auto"):
        with bochner.config_context(block_rows=size):
            model = RandomFeatureClassifier(RandomMaxout(40, precision="int8"), random_state=0, alpha=1.0)
            models.append(model.fit(blocks))
    assert all(np.array_equal(models[0].moments_.gram, m.moments_.gram) for m in models)
    assert all(np.array_equal(models[0].coef_, m.coef_) for m in models)


@pytest.mark.parametrize("size", [50, 333, "auto"])
def test_weights_of_zero_are_rows_that_are_not_there(tmp_path, size):
    weighted = FRAME.drop(columns="city").assign(w=rng.integers(0, 3, N).astype(float), flag=FRAME.flag.astype(float))
    weighted.to_parquet(tmp_path / "t.parquet")
    with bochner.config_context(block_rows=size):
        blocks = read(tmp_path / "t.parquet", target="y", weight="w", standardize=False)
        model = RandomFeatureRegressor(RandomFourier(50, bandwidth=20.0), random_state=0, alpha=1.0).fit(blocks)
    X, y, w = weighted[["a", "b", "c", "flag"]].to_numpy(), weighted.y.to_numpy(), weighted.w.to_numpy()
    again = RandomFeatureRegressor(RandomFourier(50, bandwidth=20.0), random_state=0, alpha=1.0).fit(X, y, w)
    assert model.moments_.rows == np.count_nonzero(w)
    assert np.allclose(model.coef_, again.coef_, atol=1e-9)


def test_one_hot_and_hashed_text():
    many = pd.DataFrame({"id": [f"u{k}" for k in range(200)], "y": 0.0})
    hashed = read(many, target="y", categories=16)
    assert hashed.n_columns == 16
    rows = rows_of(hashed)
    for k in (0, 17, 199):
        place, sign = hash_text("id", f"u{k}", 16)
        assert rows[k].nonzero()[0].tolist() == [place]
        assert rows[k, place] == sign
    assert 50 < np.sum(rows.sum(axis=1) == 1.0) < 150
    assert read(many, target="y", text="onehot").n_columns == 200
    few = read(FRAME[["city", "y"]], target="y", text="hash", categories=5)
    assert few.n_columns == 5
    assert hash_text("city", "Rome", 64) == (14, -1)  # saved models rely on it


def test_categories_that_are_new_have_zeros():
    blocks = read(FRAME, target="y")
    new = read(FRAME[:3].assign(city=["Rome", "Kyiv", "Oslo"]), recipe=blocks.recipe)
    assert np.array_equal(new.read(0, 3).X[:, 4:], [[0, 0, 1], [0, 0, 0], [1, 0, 0]])


def test_missing_values(tmp_path):
    holes = FRAME.copy()
    holes.loc[[3, 8], "b"] = np.nan
    holes.loc[[4, 5, 6], "city"] = None
    holes.to_csv(tmp_path / "t.csv", index=False)
    holes.to_parquet(tmp_path / "t.parquet")
    for name in ("t.csv", "t.parquet"):
        with pytest.raises(ValueError, match=r"'b' has 2 missing values \(first at row 3\): give missing='mean'"):
            read(tmp_path / name, target="y")
        with pytest.raises(ValueError, match=r"column 'city' has 3 missing values \(first at row 4\)"):
            read(tmp_path / name, target="y", drop=["b"])
        blocks = read(tmp_path / name, target="y", missing="mean")
        rows = rows_of(blocks)
        assert np.array_equal(rows[[3, 8], 1], [0.0, 0.0])
        assert not rows[[4, 5, 6], 4:].any()
        assert np.allclose(rows[:, 1].std(), np.sqrt((N - 2) / N), atol=1e-12)
        raw = rows_of(read(tmp_path / name, target="y", missing="mean", standardize=False))
        assert np.allclose(raw[3, 1], holes.b.mean())
        strict = read(FRAME, target="y").recipe
        with pytest.raises(ValueError, match="column 'b' has 2 missing values"):
            rows_of(read(tmp_path / name, recipe=strict), 1000)


def test_numbers_of_any_type(tmp_path):
    import decimal

    frame = pd.DataFrame({
        "i": np.arange(10, dtype=np.int64), "u": np.arange(10, dtype=np.uint16), "f": np.arange(10, dtype=np.float32),
        "d": [decimal.Decimal(k) / 4 for k in range(10)], "n": pd.array([1, None] * 5, dtype="Int64"),
        "y": np.arange(10),
    })  # fmt: skip
    rows = rows_of(read(frame, target="y", standardize=False, missing="mean"))
    assert np.allclose(rows, np.column_stack([*[np.arange(10)] * 3, np.arange(10) / 4, np.ones(10)]))
    narrow = read(frame[["u", "f"]], standardize=False)
    assert narrow.recipe.dtype == "float32"


def test_an_integer_column_of_csv_may_have_fractions_later(tmp_path):
    lines = ["x,e,y"] + [f"{k},,{k}" for k in range(100_000)] + ["0.5,7,1"]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    blocks = read(tmp_path / "t.csv", target="y", standardize=False, missing="mean")
    assert blocks.read(100_000, 100_001).X.tolist() == [[0.5, 7.0]]


def test_a_constant_column_becomes_zero():
    assert not rows_of(read(pd.DataFrame({"k": [1e9] * 5, "y": 0.0}), target="y")).any()


def test_integer_labels_of_csv_stay_integers(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n" + "\n".join(f"{k % 7},{2**53 + k % 3}" for k in range(60)))
    model = RandomFeatureClassifier(RandomFourier(10), random_state=0).fit(read(tmp_path / "t.csv", target="y"))
    assert model.classes_.tolist() == [2**53, 2**53 + 1, 2**53 + 2]


def test_types_that_hold_the_numbers_of_all_files(tmp_path):
    for kind, write in (("parquet", pd.DataFrame.to_parquet), ("feather", pd.DataFrame.to_feather)):
        write(pd.DataFrame({"a": np.arange(3, dtype=np.int32), "b": np.zeros(3, np.float32)}), tmp_path / f"p-0.{kind}")
        write(pd.DataFrame({"a": [0.5, 2.0**40], "b": [1e12 + 1, 3.0]}), tmp_path / f"p-1.{kind}")
        rows = rows_of(read(str(tmp_path / f"p-*.{kind}"), standardize=False))
        assert rows[3:].tolist() == [[0.5, 1e12 + 1], [2.0**40, 3.0]]
    (tmp_path / "c-0.csv").write_text("a\n1\n2\n")
    (tmp_path / "c-1.csv").write_text("a\n1.5\n")
    assert rows_of(read(str(tmp_path / "c-*.csv"), standardize=False)).tolist() == [[1.0], [2.0], [1.5]]
    lines = ['{"a": 1}'] * 50_000 + ['{"a": 0.5}']
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    assert read(tmp_path / "t.jsonl", standardize=False).read(50_000, 50_001).X.tolist() == [[0.5]]


def test_text_stays_text_when_it_looks_like_numbers(tmp_path):
    train = pd.DataFrame({"zip": ["45A", "123", "007"] * 20, "y": np.arange(60.0)})
    train.to_csv(tmp_path / "train.csv", index=False)
    model = RandomFeatureRegressor(RandomFourier(10), random_state=0).fit(read(tmp_path / "train.csv", target="y"))
    (tmp_path / "new.csv").write_text("zip\n123\n007\n")
    found = model.predict(read(tmp_path / "new.csv", recipe=model.recipe_))
    assert np.array_equal(found, model.predict(train)[1:3])
    (tmp_path / "codes.csv").write_text("zip,y\n00501,1\n501,2\n")
    coded = read(tmp_path / "codes.csv", target="y", text_columns=["zip"])
    assert coded.recipe.categories[0].tolist() == ["00501", "501"]
    numbers = pd.DataFrame({"zip": [501, 7], "y": [1.0, 2.0]})
    assert read(numbers, target="y", text_columns=["zip"]).recipe.categories[0].tolist() == ["501", "7"]


def test_frames_as_people_have_them():
    frame = pd.DataFrame({0: np.arange(6.0), 1: pd.array(["a", None, "b"] * 2, dtype="string"), "y": np.arange(6.0)})
    frame["kind"] = pd.Categorical([1, 2, 1, 2, 1, 2])
    blocks = read(frame, target="y", missing="mean")
    assert blocks.recipe.column_names() == ["0", "1=a", "1=b", "kind=1", "kind=2"]
    model = RandomFeatureRegressor(RandomFourier(10), random_state=0).fit(blocks)
    assert np.allclose(model.predict(frame), model.predict(read(frame, recipe=model.recipe_)))
    assert model.score(blocks) == pytest.approx(model.score(frame, frame.y))


def test_indices_of_svmlight_mean_what_they_meant_in_the_fit(tmp_path):
    rows = rng.standard_normal((100, 4))
    dump_svmlight_file(rows, rows[:, 1], str(tmp_path / "train.svm"), zero_based=True)
    model = RandomFeatureRegressor(RandomFourier(50), random_state=0).fit(read(tmp_path / "train.svm"))
    new = rows[:9].copy()
    new[:, 0] = 0.0
    dump_svmlight_file(new, np.zeros(9), str(tmp_path / "new.svm"), zero_based=True)
    found = model.predict(read(tmp_path / "new.svm", recipe=model.recipe_))
    assert np.allclose(found, model.predict(new))
    assert np.allclose(found, model.predict(scipy.sparse.csr_matrix(new)))
    with pytest.raises(ValueError, match="no column of weights"):
        read(tmp_path / "new.svm", weight="w")


def test_text_targets_of_hdf5(tmp_path):
    for k in range(2):
        with h5py.File(tmp_path / f"t-{k}.h5", "w") as file:
            file["x"] = rng.standard_normal((30, 2))
            file["y"] = np.array([b"no", b"yes"] * 15)
    blocks = read(str(tmp_path / "t-*.h5"), target="y")
    assert RandomFeatureClassifier(RandomFourier(5)).fit(blocks).classes_.tolist() == ["no", "yes"]
    with h5py.File(tmp_path / "t-2.h5", "w") as file:
        file["x"] = np.zeros((3, 2))
    with pytest.raises(ValueError, match=r"t-2.h5' has no dataset 'y'"):
        read(str(tmp_path / "t-*.h5"), target="y")


def test_few_rows_with_weight_are_all_there_is():
    n, how = 20_000, {"random_state": 0, "alpha": 1.0, "scale": None, "linear": False}
    frame = pd.DataFrame(rng.standard_normal((n, 3)), columns=list("abc")).assign(y=rng.standard_normal(n), w=0.0)
    frame.loc[np.arange(20) * 997, "w"] = 1.0
    from_file = RandomFeatureRegressor(RandomFourier(10), **how).fit(
        read(frame, target="y", weight="w", standardize=False)
    )
    X, y, w = frame[["a", "b", "c"]].to_numpy(), frame.y.to_numpy(), frame.w.to_numpy()
    from_memory = RandomFeatureRegressor(RandomFourier(10), **how).fit(X, y, w)
    alone = RandomFeatureRegressor(RandomFourier(10), **how).fit(X[w > 0], y[w > 0])
    assert from_file.basis_.bandwidth_ == from_memory.basis_.bandwidth_ == alone.basis_.bandwidth_
    assert np.allclose(from_file.coef_, from_memory.coef_)
    assert np.allclose(from_memory.coef_, alone.coef_)


@pytest.mark.parametrize("alpha", ["auto", "loo"])
@pytest.mark.parametrize("solver", ["cholesky", "dual", "cg"])
def test_zero_weights_choose_the_same_penalty_from_file_and_memory(alpha, solver):
    if alpha == "loo" and solver == "cg":
        pytest.skip("not allowed")
    frame = FRAME[["a", "b", "c"]].assign(y=np.where(FRAME.y > 0.5, "high", "low"), w=rng.integers(0, 2, N))
    model = RandomFeatureClassifier(RandomFourier(60), random_state=0, alpha=alpha, solver=solver)
    blocks = read(frame, target="y", weight="w", standardize=False)
    from_file = clone(model).fit(blocks)
    from_memory = model.fit(frame[["a", "b", "c"]].to_numpy(), frame.y.to_numpy(), frame.w.to_numpy())
    assert from_file.alpha_ == from_memory.alpha_
    assert from_file.basis_.bandwidth_ == from_memory.basis_.bandwidth_


def test_a_column_far_from_zero_is_standardised():
    rows = rows_of(read(pd.DataFrame({"t": 1.7e18 + 1e3 * np.arange(300)})))
    assert rows.std() == pytest.approx(1.0, abs=1e-3)


# ---- what people write ----


def test_a_column_of_numbers_with_other_tokens_is_numbers(tmp_path):
    power = ["1.5", " 2 ", "+3", "1e1"] * 50
    power[3], power[7], power[150] = "?", "abc", "-"
    (tmp_path / "t.csv").write_text("power,city,y\n" + "\n".join(f"{p},Rome,{k}" for k, p in enumerate(power)))
    with pytest.warns(UserWarning, match=r"column 'power' holds numbers, but 3 of its values .*'\?', '-', 'abc'"):
        blocks = read(tmp_path / "t.csv", target="y", missing="mean", standardize=False)
    assert blocks.recipe.column_names() == ["power", "city=Rome"]
    known = [float(p) for p in power if p not in ("?", "abc", "-")]
    rows = rows_of(blocks)[:, 0]
    assert np.allclose(rows[[0, 1, 2, 4]], [1.5, 2.0, 3.0, 1.5])
    assert np.allclose(rows[[3, 7, 150]], np.mean(known))
    with pytest.raises(ValueError, match=r"'power' has 3 missing values, written '\?', '-', 'abc' \(first at row 3\)"):
        read(tmp_path / "t.csv", target="y")
    text = read(tmp_path / "t.csv", target="y", text_columns=["power"])
    assert "power=abc" in text.recipe.column_names()


def test_tokens_that_come_late_do_not_change_what_a_column_is(tmp_path):
    clean = [f"{k % 7}.5,true,{k % 3}" for k in range(300_000)]
    (tmp_path / "t.csv").write_text("\n".join(["x,flag,y", *clean, "?,maybe,1", "3.5,true,2"]))
    with pytest.warns(UserWarning, match=r"'x' holds numbers, but one of its values says something else \('\?'\)"):
        blocks = read(tmp_path / "t.csv", target="y", missing="mean")
    assert blocks.recipe.column_names() == ["x", "flag=maybe", "flag=true"]
    again = read(pd.DataFrame({"x": [k % 7 + 0.5 for k in range(300_000)] + [3.5]}))
    assert np.allclose(blocks.recipe.means, again.recipe.means)
    assert blocks.read(300_000, 300_001).X[0, 0] == 0.0


def test_text_is_numbers_from_95_per_cent_on_and_missing_words_do_not_count():
    def is_number(tokens):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return not read(pd.DataFrame({"x": tokens}), missing="mean").recipe.texts

    assert is_number(["1"] * 95 + ["a"] * 5)
    assert not is_number(["1"] * 94 + ["a"] * 6)
    assert is_number(["1", "2"] + ["?", "NA", "n/a", "null", "-", "", "None"] * 9)
    assert not is_number(["?"] * 5)
    assert not is_number(["007", "123"] * 5)  # someone made this text, and the zeros are part of it
    assert not is_number(pd.Categorical(["1", "2"] * 5))
    assert is_number([1.5, "?", 2, None] * 5)


@pytest.mark.parametrize("how", [{}, {"decimal": ","}])
def test_decimal_commas(tmp_path, how):
    frame = pd.DataFrame({"a": np.arange(60) / 8 - 2, "k": np.arange(60), "y": np.sin(np.arange(60))})
    frame.to_csv(tmp_path / "comma.csv", sep=";", decimal=",", index=False)
    frame.to_csv(tmp_path / "point.csv", index=False)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        blocks = read(tmp_path / "comma.csv", target="y", delimiter=";", **how)
    assert [str(one.message).split(",")[0] for one in told] == ([] if how else [
        "column 'a' is read with decimal commas", "column 'y' is read with decimal commas",
    ])  # fmt: skip
    plain = read(tmp_path / "point.csv", target="y")
    assert np.array_equal(rows_of(blocks), rows_of(plain))
    assert np.array_equal(blocks.read(0, 60).y, plain.read(0, 60).y)
    model = RandomFeatureRegressor(RandomFourier(10), random_state=0, alpha=1.0).fit(blocks)
    model.save(tmp_path / "m.bochner")
    model = bochner.load(tmp_path / "m.bochner")
    (tmp_path / "new.csv").write_text("a;k\n1,125;2\n3;4\n")  # which may be more than a thousand, had there been no fit
    found = model.predict(read(tmp_path / "new.csv", delimiter=";", recipe=model.recipe_))
    assert np.array_equal(found, model.predict(pd.DataFrame({"a": ["1,125", "3"], "k": [2, 4]})))
    new = rows_of(read(tmp_path / "new.csv", delimiter=";", recipe=model.recipe_))
    assert np.allclose(new[:, 0] * frame.a.std(ddof=0) + frame.a.mean(), [1.125, 3.0])
    (tmp_path / "new.csv").write_text("a,k\n1.125,2\n")
    with pytest.raises(ValueError, match="'a' holds text here, and numbers in the fit"):
        read(tmp_path / "new.csv", recipe=model.recipe_)
    pointed = read(tmp_path / "new.csv", recipe=model.recipe_, decimal=".")
    assert np.allclose(rows_of(pointed)[0], new[0])


def test_dates_are_days_since_1970(tmp_path):
    moments = pd.date_range("2020-02-28 06:00", periods=50, freq="36h")
    days = (moments - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
    frames = {
        "datetimes": pd.DataFrame({"t": moments}),
        "nanoseconds": pd.DataFrame({"t": moments.astype("datetime64[ns]")}),
        "text": pd.DataFrame({"t": moments.strftime("%Y-%m-%d %H:%M:%S")}),
        "zones": pd.DataFrame({"t": moments.tz_localize("UTC").tz_convert("Asia/Tokyo")}),
        "polars": pl.DataFrame({"t": moments.to_pydatetime().tolist()}),
    }
    for name, frame in frames.items():
        blocks = read(frame, standardize=False)
        assert blocks.recipe.dates == ("t",)
        assert np.array_equal(rows_of(blocks)[:, 0], days), name
        assert np.array_equal(blocks.recipe.encode(frame)[:, 0], days), name
        if name not in ("zones", "polars"):
            frame.to_csv(tmp_path / "t.csv", index=False)
            assert np.array_equal(rows_of(read(tmp_path / "t.csv", standardize=False))[:, 0], days), name
    whole = pl.DataFrame({"t": pl.date_range(pl.date(1969, 12, 30), pl.date(1970, 1, 2), eager=True)})
    assert rows_of(read(whole, standardize=False))[:, 0].tolist() == [-2.0, -1.0, 0.0, 1.0]
    recipe = read(whole, standardize=False, missing="mean").recipe
    assert recipe.encode(whole)[:, 0].tolist() == [-2.0, -1.0, 0.0, 1.0]
    assert recipe.encode(pd.DataFrame({"t": ["1970-01-03", None, "?"]}))[:, 0].tolist() == [2.0, -0.5, -0.5]
    for other in (pd.DataFrame({"t": [1.0, 2.0]}), pd.DataFrame({"t": ["x", "y"]})):
        with pytest.raises(ValueError, match="column 't' does not hold dates, as it did in the fit"):
            recipe.encode(other)
        with pytest.raises(ValueError, match=r"column 't' holds (numbers|text) here, and dates in the fit"):
            read(other, recipe=recipe)
    with pytest.raises(ValueError, match="'t' holds dates here, and numbers in the fit"):
        read(whole, recipe=read(pd.DataFrame({"t": [1.0, 2.0]})).recipe)
    with pytest.raises(ValueError, match="'t' holds dates: give a frame"):
        recipe.encode(np.zeros((2, 1)))


def test_a_missing_date_is_missing(tmp_path):
    (tmp_path / "t.csv").write_text("t\n2020-01-01\n\n2020-01-03\n")
    frame = pd.DataFrame({"t": pd.to_datetime(["2020-01-01", None, "2020-01-03"])})
    blocks = read(frame, missing="mean", standardize=False)
    assert rows_of(blocks)[:, 0].tolist() == [18262.0, 18263.0, 18264.0]
    assert blocks.recipe.encode(frame)[:, 0].tolist() == [18262.0, 18263.0, 18264.0]
    with pytest.raises(ValueError, match="'t' has a missing value"):
        read(frame)


def test_other_tokens_in_rows_to_predict(tmp_path):
    frame = pd.DataFrame({"a": np.arange(40.0), "y": np.arange(40.0)})
    model = RandomFeatureRegressor(RandomFourier(5), random_state=0, alpha=1.0).fit(
        read(frame, target="y", missing="mean")
    )
    (tmp_path / "new.csv").write_text("a\n1\n?\n3\nfour\n")
    expected = model.predict(pd.DataFrame({"a": [1.0, np.nan, 3.0, np.nan]}))
    with pytest.warns(UserWarning, match="'a' holds numbers, but 2 of its values say something else"):
        assert np.allclose(model.predict(read(tmp_path / "new.csv", recipe=model.recipe_)), expected)
    with pytest.warns(UserWarning, match=r"'a' holds numbers, but one of its values says something else \('four'\)"):
        assert np.allclose(model.predict(pd.DataFrame({"a": ["1", "?", "3", "four"]})), expected)
    with pytest.raises(ValueError, match=r"'a' has 2 missing values, written '\?', 'four' \(first at row 1\)"):
        read(tmp_path / "new.csv", recipe=model.recipe_, missing="refuse")


def test_another_rule_for_missing_values_at_predict():
    frame = pd.DataFrame({"a": np.arange(40.0), "c": ["x", "z"] * 20, "y": np.arange(40.0)})
    model = RandomFeatureRegressor(RandomFourier(5), random_state=0, alpha=1.0).fit(read(frame, target="y"))
    holes = pd.DataFrame({"a": [1.0, None], "c": [None, "z"]})
    with pytest.raises(ValueError, match="'a' has a missing value"):
        model.predict(read(holes, recipe=model.recipe_))
    blocks = read(holes, recipe=model.recipe_, missing="mean")
    assert np.allclose(rows_of(blocks)[1], [0.0, 0.0, 1.0])
    assert np.isfinite(model.predict(blocks)).all()


def test_all_missing_values_are_counted_whoever_took_them_for_missing(tmp_path):
    """pyarrow takes some of the words that stand for nothing for null, and the others are left to us."""
    tokens = ["1.5"] * 400
    for k, token in enumerate(["NA", "", "?", "n/a"] * 4):
        tokens[7 + 20 * k] = token
    (tmp_path / "t.csv").write_text("x,y\n" + "\n".join(f"{token},{k}" for k, token in enumerate(tokens)))
    with pytest.raises(ValueError, match=r"'x' has 16 missing values, .* of them written .*\(first at row 7\)"):
        read(tmp_path / "t.csv", target="y")
    with pytest.warns(UserWarning, match="'x' holds numbers, but 16 of its values are empty or say something else"):
        read(tmp_path / "t.csv", target="y", missing="mean")


def test_missing_values_of_all_pieces_are_counted(tmp_path):
    rows = 150_000  # more than are looked at together
    frame = pd.DataFrame({"a": np.arange(rows, dtype=float), "c": ["u", "v"] * (rows // 2), "y": np.arange(rows)})
    frame.loc[[5, 70_000, 149_999], "a"] = np.nan
    frame.loc[[6, 140_000], "c"] = None
    frame.loc[[7, 99_999], "y"] = np.nan
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=50_000)
    with pytest.raises(ValueError, match=r"'a' has 3 missing values \(first at row 5\)"):
        read(tmp_path / "t.parquet", drop=["y"])
    with pytest.raises(ValueError, match=r"'c' has 2 missing values \(first at row 6\)"):
        read(tmp_path / "t.parquet", drop=["a", "y"])
    with pytest.raises(ValueError, match="target 'y' has 2 missing values"):
        read(tmp_path / "t.parquet", target="y", missing="mean")
    strict = read(frame.fillna({"a": 0.0, "c": "u"}), drop=["y"]).recipe
    with pytest.raises(ValueError, match=r"'a' has 1 or more missing values \(first at row 5\)"):
        read(tmp_path / "t.parquet", recipe=strict).read(0, 1000)


@pytest.mark.parametrize(
    "tokens, how, values",
    [
        (["1,234,567", "1,234", "12", "-5,000.25"], {}, [1234567.0, 1234.0, 12.0, -5000.25]),
        (["1,234", "2,345"], {"decimal": "."}, [1234.0, 2345.0]),
        (["12.345,67", "1.234", "3,5", "7"], {"decimal": ","}, [12345.67, 1234.0, 3.5, 7.0]),
        (["12.345,67", "3,5", "1.234.567"], {}, [12345.67, 3.5, 1234567.0]),
    ],
)
def test_digits_parted_by_threes(tmp_path, tokens, how, values):
    frame = pd.DataFrame({"x": tokens * 5})
    frame.to_csv(tmp_path / "t.csv", sep=";", index=False)
    for source, reading in ((frame, how), (tmp_path / "t.csv", {"delimiter": ";", **how})):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            blocks = read(source, standardize=False, **reading)
        assert len(told) == (0 if how else 1)
        assert not told or "thousands" in str(told[0].message)
        assert rows_of(blocks)[: len(values), 0].tolist() == values
    again = bochner.blocks.Recipe.from_state(blocks.recipe.to_state())
    assert again == blocks.recipe
    assert again.encode(frame)[: len(values), 0].tolist() == values
    assert rows_of(read(tmp_path / "t.csv", delimiter=";", recipe=again))[: len(values), 0].tolist() == values


def test_dates_that_cannot_be_told_become_text_and_it_is_said(tmp_path):
    days = [f"{k % 12 + 1:02d}/{k % 28 + 1:02d}/2021" for k in range(200)]
    frame = pd.DataFrame({"when": days, "a": np.arange(200.0), "name": [f"n{k}" for k in range(200)]})
    with pytest.warns(
        UserWarning, match=r"1 of 3 columns hold dates .* became text: 'when' \(64 columns\); .*drop=\['when'\]"
    ):
        blocks = read(frame)
    assert blocks.recipe.texts == ("when", "name")
    read(frame, text_columns=["when"])  # which warns of nothing
    iso = pd.DataFrame({"when": pd.to_datetime(days).strftime("%Y-%m-%d")})
    assert read(iso).recipe.dates == ("when",)


def test_latin_1_files_can_be_read(tmp_path):
    (tmp_path / "t.csv").write_bytes("ville,prix\nOrléans,1\nNîmes,2\n".encode("latin-1"))
    blocks = read(tmp_path / "t.csv", encoding="latin-1")
    assert blocks.recipe.column_names() == ["prix", "ville=Nîmes", "ville=Orléans"]


def test_rows_by_number_read_no_more_than_they_must(tmp_path, monkeypatch):
    from bochner.blocks.formats.arrow import ArrowTable

    read_rows = []
    chunk = ArrowTable.chunk
    monkeypatch.setattr(ArrowTable, "chunk", lambda self, batch: read_rows.append(batch.num_rows) or chunk(self, batch))
    for write, at_most in ((write_parquet, 260), (write_csv, N)):
        blocks = read(str(tmp_path / write(tmp_path)), target="y", weight="b")
        numbers = np.array([5, 6, 700])
        everything = rows_of(blocks)
        read_rows.clear()
        found = blocks.take(numbers)
        assert sum(read_rows) <= at_most
        assert np.array_equal(found.X, everything[numbers])
        assert np.array_equal(found.y, FRAME.y.to_numpy()[numbers])
        assert np.array_equal(found.weight, FRAME.b.to_numpy()[numbers])
    with bochner.config_context(block_rows=50):
        read_rows.clear()
        blocks.take(np.array([0, 99]))
        assert sum(read_rows) <= 150


# ---- frames given to fit ----

MESSY = FRAME.assign(
    day=pd.date_range("2021-03-01", periods=N), grade=pd.Categorical(rng.choice(["A", "B"], N)),
    b=np.where(rng.random(N) < 0.1, np.nan, FRAME.b),
)  # fmt: skip


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
@pytest.mark.parametrize("named", [True, False])
def test_frames_are_fitted_as_read_would(tmp_path, kind, named):
    from pyarrow import Table

    made = {"pandas": lambda f: f, "polars": pl.from_pandas, "arrow": Table.from_pandas}[kind]
    frame, inputs = made(MESSY), made(MESSY.drop(columns="y"))
    model = RandomFeatureRegressor(RandomFourier(50), random_state=0, alpha=1e-2)
    expected = clone(model).fit(read(MESSY, target="y", missing="mean"))
    model = model.fit(frame, target="y") if named else model.fit(inputs, MESSY.y.to_numpy())
    assert model.recipe_ == expected.recipe_
    assert model.feature_names_in_.tolist() == list(MESSY.drop(columns="y"))
    assert np.array_equal(model.predict(frame), expected.predict(MESSY))
    model.save(tmp_path / "m.bochner")
    assert np.array_equal(bochner.load(tmp_path / "m.bochner").predict(inputs), expected.predict(MESSY))
    assert np.array_equal(model.predict(MESSY[::-1])[::-1], expected.predict(MESSY))


def test_classes_weights_and_more_rows_of_a_frame():
    frame = MESSY.drop(columns="y")
    labels = pd.Series(np.where(FRAME.y > 0.5, "high", "low"), index=np.arange(N)[::-1])  # whose index means nothing
    weight = rng.integers(0, 3, N)
    model = RandomFeatureClassifier(RandomFourier(50), random_state=0, alpha=1.0).fit(frame, labels, weight)
    expected = RandomFeatureClassifier(RandomFourier(50), random_state=0, alpha=1.0).fit(
        read(frame.assign(label=labels.to_numpy(), w=weight), target="label", weight="w", missing="mean")
    )
    assert np.array_equal(model.decision_function(frame), expected.decision_function(frame))
    model.partial_fit(frame[:100], labels[:100])
    assert model.moments_.rows == np.count_nonzero(weight) + 100
    assert not hasattr(model.fit(FRAME[["a", "b"]], labels), "recipe_")


def test_frames_of_plain_numbers_stay_as_they_are():
    for frame in (FRAME[["a", "b"]], FRAME[["a", "b"]].astype("Float64"), pl.from_pandas(FRAME[["a", "b"]])):
        model = RandomFeatureRegressor(RandomFourier(20), random_state=0, alpha=1.0).fit(frame, FRAME.y)
        plain = RandomFeatureRegressor(RandomFourier(20), random_state=0, alpha=1.0).fit(
            FRAME[["a", "b"]].to_numpy(), FRAME.y
        )
        assert not hasattr(model, "recipe_")
        assert np.array_equal(model.coef_, plain.coef_)


SIBLINGS = {
    "kernel ridge": lambda kind: (KernelRidgeRegressor, KernelRidgeClassifier)[kind](),
    "learned": lambda kind: (LearnedFourierRegressor, LearnedFourierClassifier)[kind](
        10, alpha=1e-3, frequency_alpha=1e-4, max_iter=5, random_state=0
    ),
}


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
@pytest.mark.parametrize("name", SIBLINGS)
@pytest.mark.parametrize("labels", [False, True])
def test_models_of_whole_arrays_take_frames_too(tmp_path, kind, name, labels):
    from pyarrow import Table

    made = {"pandas": lambda f: f, "polars": pl.from_pandas, "arrow": Table.from_pandas}[kind]
    few = MESSY[:150]
    few = few.assign(y=np.where(few.y > few.y.median(), "high", "low")) if labels else few
    inputs, recipe = few.drop(columns="y"), read(few, target="y", missing="mean").recipe
    expected = SIBLINGS[name](labels).fit(recipe.encode(inputs), few.y)
    for model in (
        SIBLINGS[name](labels).fit(made(few), target="y"),
        SIBLINGS[name](labels).fit(made(inputs), few.y.to_numpy()),
    ):
        assert model.recipe_ == recipe
        assert model.n_features_in_ == inputs.shape[1]
        assert model.feature_names_in_.tolist() == list(inputs)
        assert np.array_equal(model.predict(made(few)), expected.predict(recipe.encode(inputs)))
        model.save(tmp_path / "m.bochner")
        again = bochner.load(tmp_path / "m.bochner")
        assert again.recipe_ == recipe
        assert np.array_equal(again.predict(made(inputs)), model.predict(made(inputs)))
    assert not hasattr(model.fit(few[["a", "b"]].fillna(0.0), few.y), "recipe_")
    assert model.feature_names_in_.tolist() == ["a", "b"]


@pytest.mark.parametrize("solver", ["auto", "sgd"])
def test_rows_of_frames_come_in_parts(solver):
    inputs = MESSY.drop(columns="y")
    given = {"random_state": 0, "alpha": 1e-2, "solver": solver}
    model = RandomFeatureRegressor(RandomFourier(50), **given).partial_fit(MESSY[:300], target="y")
    model.partial_fit(inputs[300:], MESSY.y[300:].astype(object))
    recipe = read(MESSY[:300], target="y", missing="mean").recipe
    assert model.recipe_ == recipe
    expected = RandomFeatureRegressor(RandomFourier(50), **given)
    for part in (slice(300), slice(300, None)):
        expected.partial_fit(recipe.encode(inputs[part]), MESSY.y[part])
    assert np.array_equal(model.predict(inputs), expected.predict(recipe.encode(inputs)))
    labels = np.where(MESSY.y > 0.5, "high", "low")
    classifier = RandomFeatureClassifier(RandomFourier(50), **given).partial_fit(inputs[:300], labels[:300])
    classifier.partial_fit(inputs[300:].assign(label=labels[300:]), target="label")
    assert classifier.score(inputs, labels) > 0.6
    with pytest.raises(ValueError, match="y is given twice"):
        classifier.partial_fit(inputs, labels, target="y")
    with pytest.raises(ValueError, match="blocks have their own targets"):
        classifier.partial_fit(read(MESSY, missing="mean"), target="y")


def test_frames_are_tuned_and_advised_on_as_they_are_fitted():
    few, inputs = MESSY[:300], MESSY[:300].drop(columns="y")
    for found, again in (
        (tune(inputs, few.y, basis=RandomFourier(50)), tune(few, target="y", basis=RandomFourier(50))),
        (advise(inputs, few.y), advise(few, target="y")),
    ):
        models = [one.model().fit(inputs, few.y) for one in (found, again)]
        assert models[0].recipe_.texts == ("city", "grade")
        assert np.array_equal(models[0].predict(few), models[1].predict(few))
    for call in (tune, advise):
        for given in (inputs, FRAME[["a", "b"]], FRAME[["a", "b"]].to_numpy()):
            with pytest.raises(ValueError, match=r"^there are no targets: give y, or target, the column of"):
                call(given)


def test_frames_that_cannot_be_fitted():
    model = RandomFeatureRegressor(RandomFourier(5))
    with pytest.raises(ValueError, match="the target 'y' has 1 missing values: leave those rows out"):
        model.fit(MESSY.assign(y=[np.nan, *FRAME.y[1:]]), target="y")
    with pytest.raises(ValueError, match="give y, or target, the column of the frame"):
        model.fit(MESSY)
    with pytest.raises(ValueError, match="X has 1000 rows but y has 3"):
        model.fit(MESSY, [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="'a' has 1,000 infinite values"):
        model.fit(MESSY.assign(a=np.inf), target="y")
    with pytest.raises(ValueError, match="X has no column 'z' to take as the target"):
        model.fit(MESSY, target="z")


# ---- refusals ----


@pytest.mark.parametrize(
    ("content", "name", "how", "message"),
    [
        (b"", "t.csv", {}, "is empty"),
        (b"a,b\n", "t.csv", {}, "no rows"),
        (b"a,b\n1,2\n3\n", "t.csv", {}, "cannot be read: .*Expected 2 columns, got 1"),
        (b"a,a\n1,2\n", "t.csv", {}, "multiple columns"),
        (b"a,b\n1,2\n", "t.csv", {"target": "c"}, "has no column 'c'; it has 'a', 'b'"),
        (b"a,b\n1,2\n", "t.csv", {"target": "a", "drop": ["b"]}, "no columns left"),
        (b"a;b\n1;2\n", "t.csv", {"target": "b"}, "Is the delimiter another one"),
        (b"a;b\n1,5;2\n", "t.csv", {"target": "b"}, "Is the delimiter another one, such as delimiter=';'"),
        (b",b\n1,2\n", "t.csv", {"target": "b"}, "column without a name"),
        (b"a,b\n1,x\n", "t.csv", {"weight": "b"}, "weights 'b' hold string, and must be numbers"),
        (b"a,b\n1,2020-01-01\n", "t.csv", {"weight": "b"}, "weights 'b' hold date32"),
        (b"a,b\n1,inf\n", "t.csv", {}, "'b' has an infinite value"),
        (b"a,b\n1,10:20:30\n", "t.csv", {}, r"'b' holds time32.*leave it out with drop=\['b'\]"),
        (b"a,b\n1,\n", "t.csv", {"missing": "mean"}, "'b' has no values at all"),
        (b"a,y\n1,\n2,3\n", "t.csv", {"target": "y"}, "target 'y' has 1 missing values"),
        (b"nonsense", "t.parquet", {}, "cannot be read: "),
        (b"nonsense", "t.feather", {}, "cannot be read: "),
        (b"nonsense", "t.npy", {}, "cannot be read as .npy"),
        (b"nonsense", "t.h5", {}, "cannot be read as HDF5"),
        (b"1 a:b\n", "t.svm", {}, "lines 1 to 1 of .* are not svmlight"),
        (b"{]", "t.jsonl", {}, "cannot be read: "),
        (b"a,b\n1,2\n", "t.xyz", {}, "does not tell its format"),
        (b"a,b\n1,2\n", "t.csv", {"format": "cvs"}, "did you mean 'csv'"),
        (b"a,b\n1,2\n", "t.csv", {"missing": "drop"}, "missing='drop' is not known"),
        (b"a,b\n\xff\xfe,2\n", "t.csv", {}, "Latin-1.*give encoding='latin-1'"),
        (b"n\xefme,b\n1,2\n", "t.csv", {}, "Latin-1.*give encoding='latin-1'"),
        (b"a,b\nx,2\n" + b"x,2\n" * 400_000 + b"\xe9,3\n", "t.csv", {}, "Latin-1.*give encoding='latin-1'"),
        (b"a,b\nx,2\n", "t.csv", {"encoding": "klingon"}, "encoding='klingon' is not known"),
        (b"a,b\n1,2\n?,3\n", "t.csv", {}, r"'a' has a missing value, written '\?' \(first at row 1\): give missing="),
        (b"a\tb\n\"1,234\"\t2\n", "t.tsv", {}, "'a' holds '1,234', where the comma may be .* give decimal=','"),
        (b"a\tb\n\"1,5\"\t2\n", "t.tsv", {"decimal": "."}, "'a' holds numbers such as '1,5', and decimal='.' was"),
        (b"a\tb\n1.5\t2\n", "t.tsv", {"decimal": ","}, "'a' holds numbers such as '1.5', and decimal=',' was given"),
        (b"a,b\n1,2\n", "t.csv", {"decimal": ";"}, "decimal=';' is not known"),
        (b"a,y\n" + b"".join(b"1,%d.5\n" % k for k in range(50)) + b"2,?\n", "t.csv", {"target": "y"},
         r"the target 'y' has 1 missing values, written '\?'"),
    ],
)  # fmt: skip
def test_bad_files_are_refused_in_one_sentence(tmp_path, content, name, how, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        rows_of(read(tmp_path / name, **how))
    assert "\n" not in str(caught.value)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read(tmp_path / "t.csv")
    with pytest.raises(FileNotFoundError, match="no file matches"):
        read(str(tmp_path / "part-*.csv"))
    with pytest.raises(ValueError, match="a path, a pattern, a frame"):
        read(5)


def test_parts_must_have_the_same_columns(tmp_path):
    FRAME.to_parquet(tmp_path / "part-0.parquet")
    FRAME.drop(columns="b").to_parquet(tmp_path / "part-1.parquet")
    with pytest.raises(ValueError, match=r"part-1.parquet.* has no column 'b'"):
        read(str(tmp_path / "part-*.parquet"), target="y")
    np.save(tmp_path / "m-0.npy", np.zeros((3, 4)))
    np.save(tmp_path / "m-1.npy", np.zeros((3, 5)))
    with pytest.raises(ValueError, match=r"has 5 columns and .* has 4"):
        read(str(tmp_path / "m-*.npy"))


def test_models_refuse_unfit_blocks(tmp_path):
    with pytest.raises(ValueError, match="no targets: name the target column"):
        RandomFeatureRegressor().fit(read(FRAME))
    with pytest.raises(ValueError, match="y must hold numbers"):
        RandomFeatureRegressor().fit(read(FRAME, target="city"))
    with pytest.raises(ValueError, match="fractions, which are no labels"):
        RandomFeatureClassifier().fit(read(FRAME, target="y"))
    with pytest.raises(ValueError, match="their own targets"):
        RandomFeatureRegressor().fit(read(FRAME, target="y"), FRAME.y)
    with pytest.raises(ValueError, match=r"give target to bochner\.read"):
        RandomFeatureRegressor().fit(read(FRAME), target="y")
    with pytest.raises(ValueError, match="one class only"):
        RandomFeatureClassifier().fit(read(FRAME.assign(y="x"), target="y"))


def test_an_integer_memory_map_is_never_converted_as_a_whole(tmp_path, monkeypatch):
    table = rng.integers(0, 100, (5000, 4))
    np.save(tmp_path / "t.npy", table)
    mapped = np.load(tmp_path / "t.npy", mmap_mode="r")
    sizes = []
    check = CheckedRows.__call__
    monkeypatch.setattr(CheckedRows, "__call__", lambda self, b: sizes.append(b.X.shape[0]) or check(self, b))
    with bochner.config_context(block_rows=500):
        model = RandomFeatureRegressor(RandomFourier(20), alpha=1.0, random_state=0).fit(mapped, table[:, 0] * 1.0)
    assert len(sizes) > 10
    again = RandomFeatureRegressor(RandomFourier(20), alpha=1.0, random_state=0).fit(table, table[:, 0] * 1.0)
    assert np.allclose(model.coef_, again.coef_)

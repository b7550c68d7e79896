"""TableEncoder: what columns become, sums that add, no row that sees its own target, files that are checked."""

import pickle
import warnings

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from bochner import RandomFeatureClassifier, RandomFeatureRegressor, RandomFourier, TableEncoder, storage
from bochner.tables.targets import effects

ROWS = 300
WORDS = [f"word {k}" for k in range(50)]


def messy(seed=0, rows=ROWS):
    """A frame of everything, and targets that some of its columns tell of."""
    rng = np.random.default_rng(seed)
    frame = pandas.DataFrame(
        {
            "price": np.where(rng.random(rows) < 0.1, np.nan, rng.lognormal(size=rows)),
            "far": np.where(rng.random(rows) < 0.02, np.inf, rng.standard_cauchy(size=rows)),
            "rooms": rng.integers(1, 6, rows),
            "flag": rng.random(rows) < 0.3,
            "kind": rng.choice(["a", "b", "c", None], rows),
            "city": rng.choice(WORDS, rows),
            "when": pandas.Timestamp("2020-01-01 06:00") + pandas.to_timedelta(rng.integers(0, 10_000, rows), unit="h"),
            "written": [f"{value:.3f}" for value in rng.normal(size=rows)],
            "day": [f"2021-{month:02d}-11" for month in rng.integers(1, 13, rows)],
            "fixed": "m",
            "number": np.arange(rows),
            "key": [f"key {k}" for k in range(rows)],
        }
    )
    y = rng.normal(size=rows) + 0.1 * frame["city"].str[5:].astype(int).to_numpy()
    return frame, y


FRAME, Y = messy()


def values_of(encoder, Z, name):
    return Z[:, encoder.get_feature_names_out().tolist().index(name)]


# ---- what columns become ----


def test_what_becomes_of_each_column_is_told():
    encoder = TableEncoder().fit(FRAME, Y)
    told = dict(line.split(": ", 1) for line in encoder.report_)
    for name, words in {
        "price": "median", "far": "infinite values", "kind": "a column for each", "city": "effect on the target",
        "when": "cycles of year, week, day", "written": "numbers", "day": "cycles of year", "fixed": "dropped",
        "number": "look like an identifier", "key": "dropped: 300 categories in 300 rows look like an identifier",
    }.items():  # fmt: skip
        assert words in told[name], name
    assert list(told) == list(FRAME.columns)
    names = encoder.get_feature_names_out().tolist()
    assert names[:3] == ["price", "price is missing", "far"]
    assert [n for n in names if n.startswith("kind")] == ["kind=a", "kind=b", "kind=c", "kind is missing"]
    assert {"city effect", "city=hash 0", "when sine of day"} <= set(names)
    assert [name.split("=")[0].split(" ")[0] for name in names] == FRAME.columns[encoder.column_of_].tolist()
    assert len(names) == encoder.transform(FRAME).shape[1] == len(set(names))


def test_numbers_by_each_method():
    x = np.random.default_rng(1).normal(3.0, 2.0, 501)
    x[:5] = [1e9, -1e9, np.inf, -np.inf, np.nan]
    finite = x[np.isfinite(x)]
    low, median, high = np.quantile(finite, [0.25, 0.5, 0.75])
    z = (x[5:] - median) / ((high - low) / 1.349)
    Z = {method: TableEncoder(method).fit_transform(x[:, None]) for method in ("robust", "normal", "piecewise")}
    np.testing.assert_allclose(Z["robust"][5:, 0], z / np.sqrt(1 + (z / 3) ** 2))
    np.testing.assert_allclose(Z["robust"][:5], [[3, 0], [-3, 0], [3, 0], [-3, 0], [0, 1]], atol=1e-4)
    assert np.array_equal(np.argsort(Z["normal"][5:, 0]), np.argsort(x[5:]))
    assert abs(Z["normal"][:, 0].std() - 1) < 0.02
    assert Z["normal"][2, 0] == Z["normal"][0, 0] > 3
    assert Z["normal"][3, 0] == Z["normal"][1, 0] < -3
    pieces = Z["piecewise"][:, :-1]
    assert pieces.shape[1] == 8
    assert (np.diff(pieces, axis=1) <= 0).all()  # each piece is full before the next begins
    np.testing.assert_allclose(pieces[5:].mean(), 0.5, atol=0.02)
    assert np.array_equal(pieces[[2, 3]], [np.ones(8), np.zeros(8)])


def test_standard_scaling_and_none():
    x = np.random.default_rng(1).normal(3.0, 2.0, (200, 2))
    np.testing.assert_allclose(TableEncoder("standard").fit_transform(x), (x - x.mean(axis=0)) / x.std(axis=0))
    np.testing.assert_array_equal(TableEncoder(None).fit_transform(x), x)


def test_dates_turn():
    days = pandas.date_range("2020-01-01", periods=1461)
    Z = TableEncoder(None).fit(pandas.DataFrame({"day": days})).transform(pandas.DataFrame({"day": days}))
    np.testing.assert_array_equal(Z[:, 0], 18262.0 + np.arange(1461))
    np.testing.assert_allclose(Z[:-7, 3:5], Z[7:, 3:5], atol=1e-9)  # a week later
    np.testing.assert_allclose(Z[0, 1:3], Z[-1, 1:3], atol=0.02)  # four years later
    np.testing.assert_allclose((Z[:, 1:3] ** 2).sum(axis=1), 1.0)


def test_kinds_of_columns_by_type_and_by_what_text_says():
    rng = np.random.default_rng(0)
    codes = pandas.DataFrame(
        {
            "digits": [str(k % 7) for k in range(100)],
            "zip": [f"{k % 9:03d}" for k in range(100)],
            "some words": [str(k) if k % 10 else "none of it" for k in range(100)],
            "few words": pandas.Series([str(k) if k % 50 else "unknown" for k in range(100)]),
            "mixed": pandas.Series([1, "x", 2.5, "y"] * 25, dtype=object),
            "category": pandas.Categorical(rng.integers(0, 3, 100)),
            "nullable": pandas.array([1, None, 3, 4] * 25, dtype="Int64"),
            "truth": pandas.array([True, None, False, False] * 25, dtype="boolean"),
            "span": pandas.to_timedelta(np.arange(100), unit="h"),
            "zoned": pandas.date_range("2020-01-01", periods=100, tz="Europe/Oslo"),
        }
    )
    with pytest.warns(UserWarning, match="'few words' holds numbers"):
        encoder = TableEncoder(None).fit(codes)
    kinds = dict(zip(codes.columns, [kind for kind, _ in encoder._learned.kinds], strict=True))
    assert kinds == {
        "digits": "number", "zip": "category", "some words": "category", "few words": "number", "mixed": "category",
        "category": "category", "nullable": "number", "truth": "boolean", "span": "number", "zoned": "date",
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Z = encoder.transform(codes)
    np.testing.assert_array_equal(values_of(encoder, Z, "nullable"), [1, 3, 3, 4] * 25)
    np.testing.assert_allclose(values_of(encoder, Z, "span"), np.arange(100) / 24)
    assert values_of(encoder, Z, "few words is missing").sum() == 2


@pytest.mark.parametrize("chosen", [[1], ["x1"], [False, True, False], np.array([-2])])
def test_columns_of_arrays_named_categorical(chosen):
    X = np.column_stack([np.arange(60.0), np.arange(60) % 3, np.arange(60) % 2])
    X[0, 1] = np.nan
    encoder = TableEncoder(categorical_features=chosen).fit(X)
    names = ["x0", "x1=0", "x1=1", "x1=2", "x1 is missing", "x2"]
    assert encoder.get_feature_names_out().tolist() == names
    assert encoder.column_of_.tolist() == [0, 1, 1, 1, 1, 2]
    for wrong, words in [([3], "no column"), (["age"], "no column"), ([True], "mask of 1 columns")]:
        with pytest.raises(ValueError, match=words):
            TableEncoder(categorical_features=wrong).fit(X)


@pytest.mark.parametrize(
    "frame", [polars.from_pandas(FRAME), pyarrow.Table.from_pandas(FRAME)], ids=["polars", "arrow"]
)
def test_frames_of_every_library_are_the_same(frame):
    ours, theirs = TableEncoder(), TableEncoder()
    np.testing.assert_array_equal(theirs.fit_transform(frame, Y), ours.fit_transform(FRAME, Y))
    np.testing.assert_array_equal(theirs.transform(frame), ours.transform(FRAME))
    assert theirs.report_ == ours.report_
    assert theirs.feature_names_in_.tolist() == list(FRAME.columns)


def test_categories_of_every_library():
    values = ["b", None, "a", "b"] * 10
    frames = [
        pandas.DataFrame({"c": pandas.Categorical(values)}),
        polars.DataFrame({"c": polars.Series(values, dtype=polars.Categorical)}),
        polars.DataFrame({"c": polars.Series(values, dtype=polars.Enum(["a", "b"]))}),
        pyarrow.table({"c": pyarrow.array(values).dictionary_encode()}),
        pandas.DataFrame({"c": pandas.Series(values, dtype="string")}),
    ]
    Z = [TableEncoder().fit_transform(frame) for frame in frames]
    for one in Z:
        np.testing.assert_array_equal(one[:4], [[0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0]])


# ---- new rows ----


def test_new_rows_of_any_kind_are_bounded_and_finite():
    encoder = TableEncoder().fit(FRAME.dropna(), Y[FRAME.notna().all(axis=1)])
    new = FRAME.iloc[:6].copy()
    new["price"] = [np.nan, 1e308, -1e308, np.inf, -np.inf, 0.0]
    new["kind"] = ["unseen", None, "a", "b", "c", "unseen"]
    new["city"] = ["unseen", None, *WORDS[:4]]
    new.loc[0, "when"] = pandas.NaT
    new["rooms"] = new["rooms"].astype(float)
    new.loc[1, "rooms"] = np.nan
    Z = encoder.transform(new)
    assert np.isfinite(Z).all()
    assert (
        np.abs(Z[:, [n.split(" ")[0] in ("price", "far", "rooms") for n in encoder.get_feature_names_out()]]).max() <= 3
    )
    assert (Z[0, encoder.column_of_ == 4] == 0).all()
    assert values_of(encoder, Z, "city effect")[0] == 0


def test_numbers_that_become_text_and_the_other_way():
    encoder = TableEncoder().fit(FRAME, Y)
    same = FRAME.assign(rooms=FRAME["rooms"].astype(str), written=FRAME["written"].astype(float))
    np.testing.assert_array_equal(encoder.transform(same), encoder.transform(FRAME))
    coded = same.assign(rooms=pandas.Categorical(same["rooms"]))
    for frame in (coded, polars.from_pandas(coded), pyarrow.Table.from_pandas(coded)):
        np.testing.assert_array_equal(encoder.transform(frame), encoder.transform(FRAME))
    with pytest.raises(ValueError, match="'rooms' does not hold numbers, as it did in the fit"):
        encoder.transform(FRAME.assign(rooms="many"))
    with pytest.raises(ValueError, match="feature names"):
        encoder.transform(FRAME[FRAME.columns[::-1]])


# ---- targets ----


def test_effects_by_the_definition():
    """Against the formulas of targets.py, in the plainest form."""
    rng = np.random.default_rng(3)
    codes, y = rng.integers(0, 6, 200), rng.normal(size=200)
    y += codes
    groups = [y[codes == c] for c in range(6)]
    within = sum(((g - g.mean()) ** 2).sum() for g in groups) / (200 - 6)
    between = sum(len(g) * (g.mean() - y.mean()) ** 2 for g in groups) - 5 * within
    between /= 200 - sum(len(g) ** 2 for g in groups) / 200
    expected = np.array([(g - y.mean()).sum() / (len(g) + max(within / between, 1)) for g in groups])
    expected /= np.sqrt((expected[codes] ** 2).mean())
    counts, sums = np.bincount(codes), np.bincount(codes, y)[:, None]
    np.testing.assert_allclose(effects(counts, sums, np.array([(y**2).sum()]), "auto")[:, 0], expected)


@pytest.mark.parametrize("labels", [False, True], ids=["numbers", "classes"])
def test_no_row_sees_its_own_target(labels):
    y = np.where(Y > 2, "high", "low") if labels else Y.copy()
    encoder = TableEncoder()
    before = encoder.fit_transform(FRAME, y)
    effect = [name.startswith("city effect") for name in encoder.get_feature_names_out()]
    assert sum(effect) == 1
    for row in (0, 17, 200):
        changed = y.copy()
        changed[row] = ("low" if y[row] == "high" else "high") if labels else y[row] + 50.0
        after = TableEncoder().fit_transform(FRAME, changed)
        np.testing.assert_allclose(after[row, effect], before[row, effect], rtol=1e-10)
        assert np.abs(after[:, effect] - before[:, effect]).max() > 1e-3
    assert np.abs(before - encoder.transform(FRAME)).max() > 0.1  # which new rows get, by all targets


@pytest.mark.parametrize("labels", [False, True], ids=["numbers", "classes"])
def test_categories_of_noise_show_no_signal(labels):
    """z-scores of covariances of effects and targets, both noise, over seeds; in-sample ones would be about 10."""
    scores, shown = [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        frame = pandas.DataFrame({"c": rng.integers(0, 150, 600).astype(str)})
        y = rng.integers(0, 2, 600) if labels else rng.normal(size=600)
        encoder = TableEncoder(categories="target", categorical_features=["c"], smoothing=5.0)
        for kept, Z in ((scores, encoder.fit_transform(frame, y)), (shown, encoder.transform(frame))):
            product = Z[:, 0] * (y - y.mean())
            kept.append(product.sum() / np.sqrt((product**2).sum()))
    assert abs(np.mean(scores)) * np.sqrt(60) < 4
    assert np.std(scores) < 1.5
    assert np.mean(shown) > 5  # what the test would find


def test_effects_of_noise_are_drawn_to_none():
    sizes = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        codes, y = rng.integers(0, 100, 1000), rng.normal(size=1000)
        table = effects(np.bincount(codes), np.bincount(codes, y)[:, None], np.array([(y**2).sum()]), "auto")
        sizes.append(np.abs(table).max() > 0)
    assert 1 <= sum(sizes) <= 15  # half of the time the estimated variance between categories is not above 0


def test_several_classes_and_outputs():
    classes = np.digitize(Y, [1.0, 3.0])
    names = TableEncoder().fit(FRAME, classes).get_feature_names_out().tolist()
    assert [name for name in names if "effect" in name] == ["city effect on 1", "city effect on 2"]
    outputs = TableEncoder().fit(FRAME, np.column_stack([Y, -Y]))
    Z = outputs.transform(FRAME)
    np.testing.assert_allclose(values_of(outputs, Z, "city effect on 0"), -values_of(outputs, Z, "city effect on 1"))
    number = TableEncoder(target_type="continuous").fit(FRAME, classes).get_feature_names_out()
    assert [name for name in number if "effect" in name] == ["city effect"]


def test_what_is_refused():
    for wrong, words in [
        ({"numbers": "rank"}, "numbers"), ({"categories": "binary"}, "categories"), ({"cv": 1}, "cv"),
        ({"smoothing": -1.0}, "smoothing"), ({"target_type": "text"}, "target_type"), ({"pieces": 0}, "pieces"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=words):
            TableEncoder(**wrong).fit(FRAME, Y)
    with pytest.raises(ValueError, match="give y"):
        TableEncoder(categories="target").fit(FRAME)
    with pytest.raises(ValueError, match="missing or infinite"):
        TableEncoder().fit(FRAME, np.where(Y > 1, np.nan, Y))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        TableEncoder().fit(FRAME, Y[:-1])
    encoder = TableEncoder().partial_fit(FRAME, Y)
    with pytest.raises(ValueError, match="had targets: give y"):
        encoder.partial_fit(FRAME)


# ---- sums that add ----


def test_rows_in_any_order_give_the_same_statistics():
    order = np.random.default_rng(5).permutation(ROWS)
    whole, shuffled = TableEncoder().fit(FRAME, Y), TableEncoder().fit(FRAME.iloc[order], Y[order])
    np.testing.assert_allclose(shuffled.transform(FRAME), whole.transform(FRAME), rtol=1e-9, atol=1e-12)
    assert whole.report_ == shuffled.report_


@pytest.mark.parametrize("numbers", ["robust", "normal", "standard", "piecewise"])
def test_parts_and_merged_parts_equal_one_fit(numbers):
    y = np.where(Y > 3, "b", "a")
    y[:3] = "rare"  # a class that only one part has
    whole = TableEncoder(numbers).fit(FRAME, y)
    parts = [slice(0, 90), slice(90, 100), slice(100, ROWS)]
    streamed = TableEncoder(numbers)
    for part in parts:
        streamed.partial_fit(FRAME.iloc[part], y[part])
    merged, *others = [TableEncoder(numbers).fit(FRAME.iloc[part], y[part]) for part in parts[::-1]]
    kept = pickle.dumps(others[0])
    for other in others:
        merged.merge(other)
    assert pickle.dumps(others[0]) == kept
    expected = whole.transform(FRAME)
    names = whole.get_feature_names_out().tolist()
    for encoder in (streamed, merged):
        assert encoder.get_feature_names_out().tolist() == names
        Z = encoder.transform(FRAME)
        np.testing.assert_allclose(Z, expected, rtol=1e-11, atol=1e-11)
        exact = [whole._learned.kinds[k][0] == "category" for k in whole.column_of_]
        np.testing.assert_array_equal(Z[:, exact], expected[:, exact])  # counts are whole numbers


def test_numbers_as_targets_merge_whatever_their_origin():
    y = 1e9 + Y
    merged = TableEncoder().fit(FRAME[:100], y[:100]).merge(TableEncoder().fit(FRAME[100:], y[100:]))
    np.testing.assert_allclose(merged.transform(FRAME), TableEncoder().fit(FRAME, Y).transform(FRAME), atol=1e-6)


def test_merged_quantiles_of_many_rows_are_within_the_error_of_the_sketch():
    x = np.random.default_rng(2).standard_cauchy(60_000)
    merged = TableEncoder("normal").fit(x[:10_000, None])
    for part in np.split(x[10_000:], 5):
        merged.merge(TableEncoder("normal").fit(part[:, None]))
    error = merged._learned.statistics[0].sketch.rank_error
    assert 0 < error < 0.002
    ranks = (np.argsort(np.argsort(x)) + 0.5) / len(x)
    assert np.abs(ndtr(merged.transform(x[:, None])[:, 0]) - ranks).max() <= error + 1e-3  # and the width of a step


def test_encoders_that_do_not_go_together():
    encoder = TableEncoder().fit(FRAME, Y)
    for other, words in [
        (TableEncoder().fit(FRAME[["price", "city"]], Y), "different columns"),
        (TableEncoder().fit(FRAME.assign(rooms=FRAME["city"]), Y), "'rooms' holds number values in one"),
        (TableEncoder().fit(FRAME), "has seen targets"),
        (TableEncoder().fit(FRAME, np.where(Y > 0, "a", "b")), "different kinds"),
    ]:
        with pytest.raises(ValueError, match=words):
            encoder.merge(other)
    np.testing.assert_array_equal(encoder.transform(FRAME), TableEncoder().fit(FRAME, Y).transform(FRAME))
    twice = pandas.concat([FRAME, FRAME])
    np.testing.assert_allclose(
        encoder.merge(encoder).transform(FRAME), TableEncoder().fit(twice, np.tile(Y, 2)).transform(FRAME), atol=1e-12
    )


# ---- files ----


@pytest.mark.parametrize("y", [None, Y, np.where(Y > 1, "a", "b")], ids=["no target", "numbers", "classes"])
def test_a_file_has_all_of_it(tmp_path, y):
    encoder = TableEncoder("normal", categorical_features=["rooms"], smoothing=3, random_state=5).fit(FRAME, y)
    storage.save(tmp_path / "encoder", "encoder", 1, encoder, [TableEncoder])
    _, again = storage.load(tmp_path / "encoder", "encoder", range(1, 2), [TableEncoder])
    np.testing.assert_array_equal(again.transform(FRAME), encoder.transform(FRAME))
    assert again.report_ == encoder.report_
    assert again.get_params() | {"categorical_features": 0} == encoder.get_params() | {"categorical_features": 0}
    more, z = messy(9)
    z = None if y is None else z if y is Y else np.where(z > 1, "a", "c")
    np.testing.assert_array_equal(
        again.partial_fit(more, z).transform(more), encoder.partial_fit(more, z).transform(more)
    )


def changed(state, path, value):
    """The state with one value put elsewhere."""
    if not path:
        return value
    parts = list(state) if isinstance(state, tuple) else dict(state)
    parts[path[0]] = changed(parts[path[0]], path[1:], value)
    return tuple(parts) if isinstance(state, tuple) else parts


CITY, PRICE = 5, 0
HOSTILE = [
    (("parameters", "pieces"), 0), (("parameters", "numbers"), "rank"), (("parameters", "cv"), 1.5),
    (("parameters", "smoothing"), np.nan), (("parameters", "categorical_features"), (99,)), (("is_named",), 2),
    (("names",), np.array(["a"], dtype=object)), (("kinds", 0), ("price", "number")), (("kinds", 0), ("date",)),
    (("kinds", 0), ("category", "")), (("statistics",), ()), (("targets",), None), (("targets", "rows"), 7),
    (("targets", "squares"), np.array([-1.0])), (("targets", "origin"), np.array([np.inf])), (("targets", "kind"), "x"),
    (("statistics", CITY, "counts"), np.zeros(51, dtype=np.int64)), (("statistics", CITY, "sums"), np.zeros((51, 2))),
    (("statistics", CITY, "values"), np.array(["a"] * 50, dtype=object)),
    (("statistics", CITY, "sums"), np.full((51, 1), np.nan)), (("statistics", PRICE, "missing"), -1),
    (("statistics", PRICE, "low"), 1e6), (("statistics", PRICE, "sums"), {"mean": 1.0}),
    (("statistics", PRICE, "sums"), {"mean": 1e9, "square": 1.0}), (("statistics", PRICE, "is_whole"), "yes"),
    (("statistics", PRICE, "sketch"), {}),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value"), HOSTILE, ids=lambda value: str(value)[:40])
def test_files_that_no_fit_gives_are_refused(path, value):
    state = TableEncoder().fit(FRAME, Y).to_state()
    TableEncoder.from_state(state)
    place = path if path[0] in state else ("learned", *path)
    with pytest.raises((ValueError, TypeError)):
        TableEncoder.from_state(changed(state, place, value))


# ---- scikit-learn ----


def test_pipelines_and_column_transformers():
    labels = np.where(Y > 2.5, "high", "low")
    basis = RandomFourier(100, random_state=0)
    model = make_pipeline(TableEncoder(), RandomFeatureClassifier(basis, alpha=1.0))
    assert cross_val_score(model, FRAME, labels, cv=3).mean() > 0.7  # and a half without the cities
    model = make_pipeline(TableEncoder(), RandomFeatureRegressor(basis, alpha=1.0)).fit(FRAME, Y)
    assert model.score(FRAME, Y) > 0.4
    split = ColumnTransformer([("table", TableEncoder(), ["city", "rooms"])], remainder="drop")
    assert split.fit_transform(FRAME, Y).shape == (ROWS, 18)
    assert "table__city effect" in split.get_feature_names_out()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_output_as_frames(library):
    encoder = TableEncoder().set_output(transform=library)
    Z = encoder.fit_transform(FRAME, Y)
    assert list(Z.columns) == encoder.get_feature_names_out().tolist()
    np.testing.assert_array_equal(Z.to_numpy(), TableEncoder().fit_transform(FRAME, Y))


def test_clones_and_names_that_meet():
    encoder = TableEncoder(categories="hash", categorical_features=["a"]).fit(pandas.DataFrame({"a": [1, 2, 2]}))
    assert clone(encoder).get_params() == encoder.get_params()
    meeting = pandas.DataFrame({"a": [1.0, None, 3.0], "a is missing": [0.0, 1.0, 2.0]})
    assert TableEncoder().fit(meeting).get_feature_names_out().tolist() == ["a", "a is missing", "a is missing'"]


CELLS = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 5), st.floats(), st.sampled_from(["a", "b", "", "3", "?", "2020-02-30"])
)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 3).flatmap(lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=1)))
def test_whatever_a_table_holds_becomes_finite(rows):
    frame = pandas.DataFrame(rows, columns=[f"c{k}" for k in range(len(rows[0]))], dtype=object)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for numbers in ("robust", "normal", "piecewise", "standard"):
            encoder = TableEncoder(numbers)
            Z = encoder.fit_transform(frame, np.arange(float(len(rows))))
            assert np.isfinite(Z).all()
            assert Z.shape == (len(rows), len(encoder.get_feature_names_out())) == encoder.transform(frame).shape
            array = TableEncoder(numbers).fit_transform(frame.to_numpy(), np.arange(float(len(rows))))
            assert np.isfinite(array).all()


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(["int8", "uint16", "int64", "float32", "float64", "bool", "float16"]),
    st.integers(1, 30), st.integers(1, 4), st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_arrays_of_every_type(dtype, rows, columns, seed):
    X = np.random.default_rng(seed).integers(0, 100, (rows, columns)).astype(dtype)
    encoder = TableEncoder()
    Z = encoder.fit_transform(X)
    assert Z.dtype == np.float64
    varies = (X[0] != X).any(axis=0)
    assert encoder.column_of_.tolist() == np.flatnonzero(varies).tolist()
    np.testing.assert_array_equal(Z, TableEncoder().fit_transform(X.astype(np.float64)))

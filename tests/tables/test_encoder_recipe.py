"""A TableEncoder as the recipe of files: the same numbers as from a frame, in models and in their files."""

import numpy as np
import pandas
import pytest

from bochner import RandomFeatureRegressor, RandomFourier, TableEncoder, load, read
from bochner.onnx_export import to_bytes
from bochner.tables.recipe import Recipe

rng = np.random.default_rng(0)
FRAME = pandas.DataFrame(
    {
        "kind": rng.choice(["a", "b", None], 200),
        "size": np.where(rng.random(200) < 0.1, np.nan, rng.lognormal(size=200)),
        "city": rng.choice([f"city {k}" for k in range(60)], 200),
        "day": pandas.Timestamp("2020-01-01") + pandas.to_timedelta(rng.integers(0, 900, 200), unit="D"),
        "code": rng.integers(0, 4, 200),
        "unit": "m",
    }
)
Y = rng.normal(size=200) + FRAME["code"].to_numpy()


def written(folder, ending):
    table = FRAME.assign(y=Y)
    if ending == "parquet":
        table.to_parquet(folder / "table.parquet")
    else:
        table.to_csv(folder / "table.csv", index=False)
    return folder / f"table.{ending}"


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_files_and_frames_give_the_same_numbers(tmp_path, ending):
    path = written(tmp_path, ending)
    blocks = read(path, target="y", recipe=TableEncoder())
    encoder = TableEncoder().fit(FRAME)
    np.testing.assert_allclose(blocks.read(0, 200).X, encoder.transform(FRAME), rtol=1e-12)
    assert blocks.recipe.column_names() == encoder.get_feature_names_out().tolist()
    assert blocks.recipe.column_origins().tolist() == encoder.column_of_.tolist()
    assert blocks.recipe == read(path, target="y", recipe=TableEncoder()).recipe
    assert blocks.recipe != read(path, target="y", recipe=TableEncoder("normal")).recipe
    fitted = TableEncoder().fit(FRAME, Y)
    again = read(path, target="y", recipe=fitted)
    np.testing.assert_allclose(again.read(0, 200).X, fitted.transform(FRAME), rtol=1e-12)


def test_columns_named_categorical_and_what_is_refused(tmp_path):
    path = written(tmp_path, "csv")
    names = read(path, target="y", recipe=TableEncoder(categorical_features=["code"])).recipe.column_names()
    assert [name for name in names if name.startswith("code")] == ["code=0", "code=1", "code=2", "code=3"]
    with pytest.raises(ValueError, match="names of columns"):
        read(path, target="y", recipe=TableEncoder(categorical_features=[4]))
    with pytest.raises(ValueError, match="missing values"):
        read(path, target="y", recipe=TableEncoder(), missing="refuse")
    (tmp_path / "rows.svm").write_text("1 1:2.0\n0 2:1.0\n")
    for recipe in (TableEncoder(), TableEncoder().fit(FRAME), read(FRAME, missing="mean").recipe):
        with pytest.raises(ValueError, match="one of tables"):
            read(tmp_path / "rows.svm", recipe=recipe)
    (tmp_path / "comma.csv").write_text("a;b\n1,5;x\n2,5;y\n3,25;x\n")
    with pytest.warns(UserWarning, match="decimal commas"):
        blocks = read(tmp_path / "comma.csv", delimiter=";", recipe=TableEncoder(None))
    np.testing.assert_array_equal(blocks.read(0, 3).X, [[1.5, 1, 0], [2.5, 0, 1], [3.25, 1, 0]])


def test_models_of_such_blocks_predict_and_go_to_files(tmp_path):
    blocks = read(written(tmp_path, "parquet"), target="y", recipe=TableEncoder())
    model = RandomFeatureRegressor(RandomFourier(50, random_state=0), alpha=1.0).fit(blocks)
    expected = model.predict(FRAME[FRAME.columns[::-1]])  # by name
    np.testing.assert_allclose(model.predict(blocks), expected)
    assert model.n_features_in_ == 6
    assert model.feature_importances_.shape == (6,)
    assert model.feature_importances_[5] == 0  # dropped
    model.save(tmp_path / "m.bochner")
    again = load(tmp_path / "m.bochner")
    np.testing.assert_array_equal(again.predict(FRAME), expected)
    np.testing.assert_allclose(
        again.predict(read(tmp_path / "table.parquet", recipe=again.recipe_, drop=["y"])), expected
    )
    with pytest.raises(ValueError, match="holds text"):
        to_bytes(model)
    plain = read(FRAME[["size"]].assign(y=Y), target="y", recipe=TableEncoder())
    with pytest.raises(ValueError, match="made by a TableEncoder"):
        to_bytes(RandomFeatureRegressor(RandomFourier(50, random_state=0), alpha=1.0).fit(plain))


def test_the_recipe_knows_where_its_columns_came_from():
    table = pandas.DataFrame({"t=1": ["x", "y", "x"], "a": [1.0, 2.0, 3.0], "b": ["u", "v", "w"]})
    recipe = read(table).recipe
    assert type(recipe) is Recipe
    assert recipe.column_names() == ["a", "t=1=x", "t=1=y", "b=u", "b=v", "b=w"]
    assert recipe.column_origins().tolist() == [1, 0, 0, 2, 2, 2]

"""Tables with categories, by TableEncoder and by the plain recipe that models have for frames: errors side by side.

BOCHNER_DATA=... python examples/encoded_tables.py             # german and splice, three splits each, and adult
"""

import json
import warnings

import numpy as np
import pandas
from sklearn.model_selection import train_test_split

from bochner import RandomFeatureClassifier, RandomFourier, TableEncoder
from bochner.data.loading import file_of

ENCODERS = {
    "robust": TableEncoder(),
    "normal": TableEncoder("normal"),
    "piecewise": TableEncoder("piecewise"),
    "by targets": TableEncoder(categories="target"),
}


def adult():
    """The census of 1994 as its files have it, with their own split."""
    parts = []
    for name, skipped in (("adult/adult.data.gz", 0), ("adult/adult.test.gz", 1)):
        how = {"header": None, "names": list("abcdefghijklmno"), "skipinitialspace": True, "na_values": "?"}
        rows = pandas.read_csv(file_of(name), skiprows=skipped, **how)
        parts += [rows.iloc[:, :14], rows["o"].str.startswith(">").to_numpy()]
    return parts


def table(name, seed):
    """A table with its categories as text, 70 of 100 rows to learn from."""
    stored = np.load(file_of(f"tabular/{name}.npz"))
    values, y = json.loads(str(stored["categories"])), stored["y"]
    columns = {}
    for column, key, kind in zip(stored["X"].T, stored["names"].tolist(), stored["kinds"], strict=True):
        columns[key] = [values[key][int(k)] if k == k else None for k in column] if kind == "category" else column
    frame = pandas.DataFrame(columns)
    train, test = train_test_split(np.arange(len(y)), test_size=0.3, stratify=y, random_state=seed)
    return frame.iloc[train], y[train], frame.iloc[test], y[test]


def errors(frame, y, new, y_new):
    """The share of wrong labels by the recipe, and by each encoder."""
    model = RandomFeatureClassifier(RandomFourier(1000), random_state=0)
    found = {"recipe": 1 - model.fit(frame, y).score(new, y_new)}
    for name, encoder in ENCODERS.items():
        model.fit(encoder.fit_transform(frame, y), y)
        found[name] = 1 - model.score(encoder.transform(new), y_new)
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print("set".ljust(10), *(name.rjust(11) for name in ("recipe", *ENCODERS)))
    for name, splits in (("german", 3), ("splice", 3), ("adult", 1)):
        found = [errors(*(adult() if name == "adult" else table(name, seed))) for seed in range(splits)]
        print(name.ljust(10), *(f"{np.mean([one[way] for one in found]):11.4f}" for way in found[0]), flush=True)

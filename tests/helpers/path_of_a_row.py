"""The files that a row passes: in a fit from Parquet, and in a prediction.

A file counts if any function in it is called. Run as `python -m helpers.path_of_a_row` in tests.
"""

import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
import pandas

import bochner

ROOT = Path(bochner.__file__).parent


def files_passed(action):
    """What the action returns, and the files of the library that it calls functions of."""
    seen = set()

    def look(frame, event, argument):
        if event == "call":
            seen.add(frame.f_code.co_filename)

    threading.setprofile(look)
    sys.setprofile(look)
    try:
        result = action()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    passed = {Path(name).relative_to(ROOT).as_posix() for name in seen if name.startswith(str(ROOT))}
    return result, sorted(passed)


def fit_and_predict(folder):
    """The files that a fit from Parquet passes, and those of a prediction for an array of rows."""
    rng = np.random.default_rng(0)
    table = pandas.DataFrame(rng.normal(size=(300, 4)), columns=list("abcd")).assign(y=rng.normal(size=300))
    table.to_parquet(Path(folder) / "rows.parquet")

    def fit():
        rows = bochner.read(Path(folder) / "rows.parquet", target="y")
        return bochner.RandomFeatureRegressor(bochner.RandomFourier(50), random_state=0).fit(rows)

    _, fitting = files_passed(fit)
    plain = bochner.RandomFeatureRegressor(bochner.RandomFourier(50), random_state=0)
    plain.fit(table[list("abcd")].to_numpy(), table["y"].to_numpy())
    _, predicting = files_passed(lambda: plain.predict(table[list("abcd")].to_numpy()))
    return fitting, predicting


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        for name, files in zip(("fit", "predict"), fit_and_predict(scratch), strict=True):
            print(f"{name}: {len(files)} files: {' '.join(files)}")

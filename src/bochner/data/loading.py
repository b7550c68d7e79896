"""The rows of each data set as arrays, with the split that the papers use; a missing file is one clear sentence.

Nothing is standardised here: `Split.standardized` does that with the numbers of the training rows.
"""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_svmlight_file

from .catalogue import folder


class Split(NamedTuple):
    """Rows to learn from, and rows to judge by."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    def standardized(self) -> Split:
        """Columns of mean 0 and variance 1 over the training rows; a constant column becomes 0."""
        mean, deviation = self.X.mean(axis=0), self.X.std(axis=0)
        deviation = np.where(deviation > 0, deviation, 1.0)
        return Split((self.X - mean) / deviation, self.y, (self.X_test - mean) / deviation, self.y_test)

    def first(self, rows: int, test_rows: int | None = None) -> Split:
        """The first rows of each part."""
        return Split(self.X[:rows], self.y[:rows], self.X_test[:test_rows], self.y_test[:test_rows])


def file_of(name: str) -> Path:
    path = folder() / name
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no {str(path)!r}: `bochner data fetch` gets it, or set BOCHNER_DATA to the folder where it is."
        )
    return path


def text_of(name: str) -> io.StringIO:
    """The text of a gzipped file."""
    return io.StringIO(gzip.decompress(file_of(name).read_bytes()).decode())


def split_at_random(X: np.ndarray, y: np.ndarray, rows: int, seed: int, test_rows: int | None = None) -> Split:
    """`rows` rows to learn from, the rest (or `test_rows` of it) to judge by."""
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[:rows], order[rows : None if test_rows is None else rows + test_rows]
    return Split(X[train], y[train], X[test], y[test])


def mnist() -> Split:
    """Handwritten digits: 60,000 and 10,000 rows of 784 bytes, labels 0 to 9."""
    return pictures("mnist")


def fashion_mnist() -> Split:
    """Pictures of clothes, in the shape of MNIST."""
    return pictures("fashion_mnist")


def pictures(name: str) -> Split:
    parts = [read_idx(file_of(f"{name}/{part}.gz")) for part in (
        "train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte",
    )]  # fmt: skip
    return Split(parts[0].reshape(-1, 784), parts[1], parts[2].reshape(-1, 784), parts[3])


def read_idx(path: Path) -> np.ndarray:
    """An array in the format of the MNIST files."""
    content = gzip.decompress(path.read_bytes())
    shape = [int.from_bytes(content[4 + 4 * k : 8 + 4 * k], "big") for k in range(content[3])]
    return np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * len(shape)).reshape(shape)


def adult(form: str = "binary") -> Split:
    """Income above 50,000 dollars or not: 32,561 and 16,281 rows, labels -1 and 1.

    form : "binary", the 123 columns of zeros and ones that LIBSVM calls a9a; or "mixed", six numbers (capital gains and
    losses as logarithms) and indicators of the categories.
    """
    if form == "mixed":
        return adult_mixed()
    parts = [load_svmlight_file(str(file_of(f"adult/{name}.gz")), n_features=123) for name in ("a9a", "a9a.t")]
    return Split(parts[0][0].toarray(), parts[0][1], parts[1][0].toarray(), parts[1][1])


def adult_mixed() -> Split:
    rows, n = adult_rows()
    numbers = rows[:, [0, 2, 4, 10, 11, 12]].astype(np.float64)
    numbers[:, 3:5] = np.log1p(numbers[:, 3:5])
    X = np.column_stack([numbers, indicators(rows[:, [1, 3, 5, 6, 7, 8, 9, 13]])])
    y = np.where(np.char.startswith(rows[:, 14], ">50K"), 1.0, -1.0)
    return Split(X[:n], y[:n], X[n:], y[n:])


def adult_rows() -> tuple[np.ndarray, int]:
    """The fifteen columns as text, and how many rows are for training: they come first."""
    train = list(csv.reader(text_of("adult/adult.data.gz"), skipinitialspace=True))
    test = list(csv.reader(text_of("adult/adult.test.gz"), skipinitialspace=True))[1:]  # a comment comes first
    train, test = [row for row in train if row], [row for row in test if row]
    return np.array(train + test), len(train)


def indicators(text: np.ndarray) -> np.ndarray:
    """A column of zeros and ones for each value of each column."""
    return np.column_stack([column[:, None] == np.unique(column) for column in text.T]).astype(np.float64)


def forest(seed: int = 0) -> Split:
    """Forest cover: 54 map variables; the commonest of seven kinds (lodgepole pine) or not, labels 1 and -1.

    522,911 rows to learn from and 58,101 to judge by, at random, as many as the papers have.
    """
    table = np.loadtxt(text_of("covtype/covtype.data.gz"), delimiter=",", dtype=np.float32)
    return split_at_random(table[:, :54], np.where(table[:, 54] == 2, 1.0, -1.0), 522_911, seed)


def network_intrusion(rows: int = 50_000, test_rows: int = 150_000, seed: int = 0) -> Split:
    """KDD Cup 1999: attack (1) or normal (-1), numbers and indicators of the three columns of text.

    Rows to learn from are drawn from the 10 percent file and rows to judge by from the rest of it: the corrected test
    file has kinds of attack that the training rows lack, which is another question.
    """
    table = connections(rows + test_rows, seed)
    numbers = np.delete(table[:, :41], [1, 2, 3], axis=1).astype(np.float64)
    X = np.column_stack([numbers, indicators(table[:, 1:4])])
    y = np.where(table[:, 41] == "normal.", -1.0, 1.0)
    return Split(X[:rows], y[:rows], X[rows:], y[rows:])


def connections(rows: int, seed: int) -> np.ndarray:
    """Some rows of the 10 percent file at random: 41 columns and the label, as text."""
    lines = np.array(text_of("kddcup99/kddcup.data_10_percent.gz").read().split())
    order = np.random.default_rng(seed).permutation(len(lines))[:rows]
    return np.array([line.split(",") for line in lines[order]])


def computer_activity(seed: int = 0) -> Split:
    """Delve's computer activity (cpu): 21 numbers, per cent of time in user mode; 6,554 and 1,638 rows at random."""
    table = np.loadtxt(text_of("cpu/comp-activ.data.gz"))
    return split_at_random(table[:, :21], table[:, 21], 6_554, seed)


def census_house(seed: int = 0) -> Split:
    """Delve's house prices: 36 of the 139 columns, so no number here is to be compared with others'; 18,186 rows."""
    stored = np.load(file_of("census_house/census_house_36.npz"))
    return split_at_random(stored["X"].astype(np.float64), stored["y"].astype(np.float64), 18_186, seed)


def heart_disease() -> tuple[np.ndarray, np.ndarray]:
    """SAheart: 462 men, 9 columns, labels 0 and 1."""
    with open(file_of("saheart/SAheart.csv"), newline="") as file:
        rows = list(csv.reader(file, skipinitialspace=True))[1:]
    table = np.array([["1" if v == "Present" else "0" if v == "Absent" else v for v in row[1:]] for row in rows if row])
    numbers = np.array([[float(v) for v in row] for row in table])
    return numbers[:, :-1], numbers[:, -1].astype(int)


def phone_activity(test_users: int = 12, seed: int = 0, missing: str = "mean") -> Split:
    """WISDM: what 36 people with a phone did, 43 columns, six activities as text; nobody is in both parts.

    missing : a missing peak time becomes the "mean" of its column, or is a NaN that is to "stay".
    """
    body = text_of("wisdm/WISDM_ar_v1.1_transformed.arff.gz").read().split("@data")[1]
    table = [row for row in csv.reader(io.StringIO(body.strip())) if row]
    users, labels = np.array([int(row[1]) for row in table]), np.array([row[-1].strip() for row in table])
    X = np.array([[np.nan if v.strip() == "?" else float(v) for v in row[2:-1]] for row in table])
    if missing == "mean":
        X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    chosen = np.random.default_rng(seed).permutation(np.unique(users))[:test_users]
    test = np.isin(users, chosen)
    return Split(X[~test], labels[~test], X[test], labels[test])

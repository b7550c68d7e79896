"""Frames as arrays, for those that take nothing but numbers; and as the frames that others like.

A missing number becomes the mean of its column, with a column that says so; a category becomes indicators, a missing
one too. Indicators stay 0 and 1; numbers are scaled, in one of several ways (`scalings`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import norm
from sklearn.preprocessing import QuantileTransformer, StandardScaler

if TYPE_CHECKING:
    import pandas

MANY = 10  # values of a column that make its ranks worth more than itself
SAMPLE = 10_000  # rows that tell how many values a column has


def categorical(X: pandas.DataFrame) -> np.ndarray:
    """Which columns of a frame are categories."""
    return np.array([kind == "category" for kind in X.dtypes], dtype=bool)


def scalings(X: pandas.DataFrame) -> tuple[str, ...]:
    """The ways in which it may pay to scale this frame, the most usual first."""
    numbers = X.loc[:, ~categorical(X)]
    if is_picture(X):
        return ("pixels",)
    many = any(numbers[name].iloc[:SAMPLE].nunique() > MANY for name in numbers)
    return ("standardised", "normal scores") if many else ("standardised",)


def is_picture(X: pandas.DataFrame) -> bool:
    """Whether all columns are bytes, which no category and no gap is."""
    return all(kind == np.uint8 for kind in X.dtypes)


class Encoding:
    """A frame of these columns as an array, by the numbers of the rows that it was made with."""

    def __init__(self, X: pandas.DataFrame, scaling: str | None, dtype: type = np.float64) -> None:
        self.categories, self.dtype, self.scaling = categorical(X), dtype, scaling
        self.is_picture = is_picture(X)
        if self.is_picture:
            return
        numbers = self._numbers(X)
        self.gaps = np.isnan(numbers).any(axis=0)
        self.absent = [bool(X[name].isna().any()) for name in X.columns[self.categories]]
        self.means = np.nansum(numbers, axis=0) / np.maximum((~np.isnan(numbers)).sum(axis=0), 1)
        filled = np.where(np.isnan(numbers), self.means, numbers)
        self.scaler = StandardScaler().fit(filled) if scaling is not None and filled.shape[1] else None
        self.ranked = np.array([len(np.unique(column[:SAMPLE])) > MANY for column in filled.T], dtype=bool)
        self.ranks: Any = None
        if scaling == "normal scores" and self.ranked.any():
            ranks = QuantileTransformer(n_quantiles=min(1000, len(X)), output_distribution="normal", random_state=0)
            self.ranks = ranks.fit(filled[:, self.ranked])
            self.end = float(norm.isf(0.5 / ranks.n_quantiles))  # the first and last rank, which have no score

    def __call__(self, X: pandas.DataFrame) -> np.ndarray:
        if self.is_picture:
            return X.to_numpy().astype(self.dtype) / self.dtype(255 if self.scaling == "pixels" else 1)
        numbers = self._numbers(X)
        gaps = np.isnan(numbers)[:, self.gaps]
        numbers = np.where(np.isnan(numbers), self.means, numbers)
        scaled = self.scaler.transform(numbers) if self.scaler is not None else numbers
        if self.ranks is not None:
            scaled[:, self.ranked] = self.ranks.transform(numbers[:, self.ranked]).clip(-self.end, self.end)
        names = X.columns[self.categories]
        indicators = [one_hot(X[name], absent) for name, absent in zip(names, self.absent, strict=True)]
        return np.hstack([scaled, gaps, *indicators]).astype(self.dtype)

    def _numbers(self, X: pandas.DataFrame) -> np.ndarray:
        return np.asarray(X.loc[:, ~self.categories].to_numpy(), dtype=np.float64)


def one_hot(column: pandas.Series, absent: bool) -> np.ndarray:
    """A column for each category, and one for missing ones if there were any to learn from."""
    count = len(column.cat.categories)
    codes = column.cat.codes.to_numpy()
    return np.eye(count + 1)[np.where(codes < 0, count, codes)][:, : count + absent]


def numbers_or(encode: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Frames without categories as arrays of floats, which is faster; others as `encode` makes them."""

    def encoded(X: pandas.DataFrame) -> pandas.DataFrame | np.ndarray:
        return encode(X) if categorical(X).any() else np.ascontiguousarray(X.to_numpy(), dtype=np.float32)

    return encoded


def coded(X: pandas.DataFrame) -> pandas.DataFrame:
    """Categories as their numbers, still categories."""
    X = X.copy()
    for name in X.columns[categorical(X)]:
        X[name] = X[name].cat.rename_categories(range(len(X[name].cat.categories)))
    return X


def worded(X: pandas.DataFrame) -> pandas.DataFrame:
    """Categories as text, a missing one as a word of its own."""
    X = X.copy()
    for name in X.columns[categorical(X)]:
        X[name] = X[name].astype(object).where(X[name].notna(), "missing").astype(str)
    return X


def take(X: np.ndarray | pandas.DataFrame, rows: np.ndarray | slice) -> np.ndarray | pandas.DataFrame:
    """Rows of an array or a frame."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]

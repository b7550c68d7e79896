"""Columns of frames and arrays, and what they hold: numbers, truth values, dates or categories."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from ..typing import Column, Frame
from .chunk import Text, gaps_of, number_column, objects_of, text_column
from .survey import TextSurvey

if TYPE_CHECKING:
    import pyarrow


NUMERIC = (numbers.Real, Decimal)


def is_frame(X: object) -> TypeGuard[Frame]:
    """Whether X is a pandas or polars frame or an Arrow table."""
    return hasattr(X, "column_names") or (hasattr(X, "columns") and hasattr(X, "dtypes") and not hasattr(X, "collect"))


def columns_of(X: Frame | np.ndarray) -> list[Column]:
    """The columns of a frame, or of an array of two dimensions."""
    frame: Any = X  # of whichever library
    if hasattr(X, "column_names"):
        return list(frame.columns)
    if hasattr(X, "iloc"):
        return [frame.iloc[:, k] for k in range(X.shape[1])]
    return frame.get_columns() if is_frame(X) else [ArrayColumn(frame[:, k]) for k in range(X.shape[1])]


class ArrayColumn:
    """A column of an array, with the few verbs that columns of frames have in common."""

    def __init__(self, values: np.ndarray) -> None:
        self.values, self.dtype = values, values.dtype

    def to_numpy(self) -> np.ndarray:
        return self.values

    def to_list(self) -> list[Any]:
        return self.values.tolist()

    def isna(self) -> ArrayColumn:
        if self.dtype.kind in "fcmM":
            return ArrayColumn(np.isnan(self.values) if self.dtype.kind in "fc" else np.isnat(self.values))
        return ArrayColumn(np.array([is_nothing(value) for value in self.to_list()], dtype=bool))


def is_nothing(value: object) -> bool:
    """Whether an object of an array stands for a missing value; pandas has two more of its own."""
    return (
        value is None or (isinstance(value, float) and value != value) or type(value).__name__ in ("NAType", "NaTType")
    )


def is_category(column: object) -> bool:
    """Whether whoever made the frame has said that a column holds categories."""
    kind = str(getattr(column, "dtype", getattr(column, "type", ""))).lower()
    return kind.startswith(("category", "categorical", "enum", "dictionary"))


def kind_of(column: Column, name: str) -> tuple[str, str]:
    """(kind, how): what a column holds, and how its numbers are written where they are text ('number' or 'date')."""
    if is_category(column):
        return "category", ""
    dtype = getattr(column, "dtype", None)
    if getattr(dtype, "_is_boolean", False):
        return "boolean", "number"
    if getattr(dtype, "_is_numeric", False):
        return "number", "number"
    kind = np.asarray(column.to_numpy()).dtype.kind
    if kind == "c":
        raise ValueError(f"Complex data not supported: column {name!r}.")
    if kind in "OUTS":
        return kind_of_objects(column, name)
    return {"b": ("boolean", "number"), "M": ("date", "date")}.get(kind, ("number", "number"))


def kind_of_objects(column: Column, name: str) -> tuple[str, str]:
    """By the types of the objects; of text by what it says, if 95 % of it say numbers or dates."""
    gaps = gaps_of(column)
    types = {type(value) for value, gap in zip(objects_of(column), gaps, strict=True) if not gap}
    if all(issubclass(kind, bool | np.bool_) for kind in types):
        return ("boolean" if types else "number"), "number"
    if all(issubclass(kind, NUMERIC) for kind in types):
        return "number", "number"
    if all(issubclass(kind, date | np.datetime64) for kind in types):
        return "date", "date"
    survey = TextSurvey(name, ("number", "date"))
    survey.add(text_column(column))
    how = survey.how(None, typed=True)
    return ("category", "") if how is None else (how, how)


def numbers_of(column: Column, name: str, how: str) -> np.ndarray:
    """Numbers, NaN where they are missing; dates and lengths of time in days."""
    dtype = getattr(column, "dtype", None)
    if getattr(dtype, "kind", "") == "m":
        spans = np.asarray(column.to_numpy())
        return np.where(np.isnat(spans), np.nan, spans / np.timedelta64(1, "D"))
    if is_category(column) and not hasattr(column, "iloc"):
        frozen: Any = column  # categories of polars or Arrow
        column = frozen.cast(str) if hasattr(column, "dtype") else frozen.cast("string")
    return number_column(column, name, how)


# ---- categories ----


def category_name(value: object) -> str:
    """A category as text: 3, 3.0 and "3" are the same one, whatever type the column got from its gaps."""
    if isinstance(value, float | np.floating) and value == int(value):
        return str(int(value))
    return str(value)


def categories_of(column: Column) -> Text:
    """Categories as places in a list of their names; -1 where they are missing."""
    if isinstance(column, ArrayColumn) and column.dtype.kind in "iuf":
        different, codes = np.unique(column.values, return_inverse=True)
        return named(np.where(np.isnan(column.values), -1, codes), different.tolist(), finite_name)
    if hasattr(column, "factorize"):
        try:
            codes, different = column.factorize()
            return named(np.asarray(codes, dtype=np.int64), list(different), finite_name)
        except TypeError:  # objects without a hash
            pass
    if hasattr(column, "dictionary_encode"):
        return arrow_categories(column)
    return text_column(column, finite_name)


def finite_name(value: object) -> str:
    return str(value) if isinstance(value, float) and np.isinf(value) else category_name(value)


def arrow_categories(column: pyarrow.ChunkedArray | pyarrow.Array) -> Text:
    whole = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    coded = whole if hasattr(whole, "indices") else whole.dictionary_encode()
    coded = coded.unify_dictionaries() if hasattr(coded, "unify_dictionaries") else coded
    parts = coded.chunks if hasattr(coded, "chunks") else [coded]
    different = parts[0].dictionary.to_pylist() if parts else []
    codes = [part.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64) for part in parts]
    return named(np.concatenate([*codes, np.empty(0, dtype=np.int64)]), different, finite_name)


def named(codes: np.ndarray, different: list[Any], name: Callable[[Any], str]) -> Text:
    """Text of codes and values; values of one name become one, and a missing value among them is missing."""
    places: dict[str, int] = {}
    new = [-1 if is_nothing(value) else places.setdefault(name(value), len(places)) for value in different]
    return Text(np.append(np.array(new, dtype=np.int64), -1)[codes], list(places))


def target_values(y: object) -> np.ndarray:
    """Targets as an array, of numbers where they are numbers."""
    values = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    if values.dtype.kind == "O" and all(isinstance(value, numbers.Real) for value in values.ravel()):
        return np.array(values.tolist())
    return values

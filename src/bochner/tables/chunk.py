"""Some rows of a table, as numbers and text: what formats give and recipes take; and those of a frame."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

import numpy as np

from ..typing import Column, Frame
from .tokens import NAMES, UNITS, days_of, is_missing, parse, tell_of

if TYPE_CHECKING:
    from .recipe import Recipe


class Text(NamedTuple):
    """A column of text as places in a list of different values; -1 where it is missing."""

    codes: np.ndarray
    values: list[str]


class Chunk(NamedTuple):
    """Some rows of a table: its numbers (n, p), NaN where missing, its columns of text, targets and weights."""

    numbers: np.ndarray
    text: dict[str, Text]
    target: Any = None
    weight: Any = None

    def only(self, rows: np.ndarray) -> Chunk:
        """Some of the rows, by number."""
        target, weight = (None if part is None else part[rows] for part in (self.target, self.weight))
        text = {name: Text(text.codes[rows], text.values) for name, text in self.text.items()}
        return Chunk(self.numbers[rows], text, target, weight)


def has_columns(rows: object) -> TypeGuard[Frame]:
    """Whether rows are those of a frame, whose columns have names."""
    return hasattr(rows, "columns")


def chunk_of_frame(frame: Frame, recipe: Recipe) -> Chunk:
    """The columns of a pandas or polars frame, or an Arrow table, that a recipe names; others are left alone."""
    present = {str(name): name for name in getattr(frame, "column_names", getattr(frame, "columns", ()))}
    for name in recipe.names:
        if name not in present:
            raise ValueError(f"the frame has no column {name!r}, which the model was fitted to.")
    numbers = [number_column(frame[present[name]], name, recipe.how(name)) for name in recipe.numbers]
    table = np.column_stack(numbers) if numbers else np.empty((len(frame), 0))
    return Chunk(table, {name: text_column(frame[present[name]]) for name in recipe.texts})


def number_column(column: Column, name: str, how: str = "number") -> np.ndarray:
    """Numbers, or texts and dates that say numbers in the way of the fit."""
    try:
        given = column.to_numpy(dtype=np.float64, na_value=np.nan) if is_nullable(column) else column.to_numpy()
        values = np.asarray(given)
        if values.dtype.kind in "OUT":
            return numbers_of_objects(column, name, how)
        if (values.dtype.kind == "M") != (how == "date"):
            raise TypeError("dates are no numbers, nor numbers dates")
        if values.dtype.kind == "M":
            unit = np.datetime_data(values.dtype)[0]
            values = values if unit in UNITS else values.astype("datetime64[s]")
            days = days_of(values.astype(np.int64), UNITS.get(unit, UNITS["s"]))
            return np.where(np.isnat(values), np.nan, days)
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"column {name!r} does not hold {NAMES[how]}, as it did in the fit.") from None


def numbers_of_objects(column: Column, name: str, how: str) -> np.ndarray:
    """Numbers that are missing here and there, or texts and dates of any kind by what they say."""
    text = text_column(column)
    if how == "number" and not any(isinstance(value, str) for value in objects_of(column)):
        gaps = text.codes < 0
        return np.array([np.nan if gap else float(v) for v, gap in zip(objects_of(column), gaps, strict=True)])
    return numbers_said(text, name, how)


def objects_of(column: Column) -> list[Any]:
    either: Any = column
    return either.to_pylist() if hasattr(column, "to_pylist") else either.to_list()


def gaps_of(column: Column) -> np.ndarray:
    """Where values are missing."""
    either: Any = column
    return np.asarray((either.isna() if hasattr(column, "isna") else either.is_null()).to_numpy())


def is_nullable(column: object) -> bool:
    """Whether this is a column of pandas whose numbers may be missing without being NaN."""
    kind = getattr(column, "dtype", None)
    return hasattr(column, "iloc") and bool(getattr(kind, "_is_numeric", False) or getattr(kind, "_is_boolean", False))


def numbers_said(text: Text, name: str, how: str) -> np.ndarray:
    """The numbers that a column of text says, NaN where it says none; text that says no number at all is refused."""
    said = parse(text.values, how)
    strange = np.array([np.isnan(number) and not is_missing(t) for number, t in zip(said, text.values, strict=True)])
    if strange.any():
        if np.isnan(said).all():
            raise ValueError(f"column {name!r} holds text here, and {NAMES[how]} in the fit.")
        count = int(np.count_nonzero(np.append(strange, False)[text.codes]))
        tell_of(name, count, [text.values[k] for k in np.flatnonzero(strange)], how)
    return np.append(said, np.nan)[text.codes]


def text_column(column: Column, name: Callable[[Any], str] = str) -> Text:
    """Text as places in a list of different values, each by its `name`."""
    places: dict[str, int] = {}
    missing = gaps_of(column)
    codes = [
        -1 if gap else places.setdefault(name(value), len(places))
        for value, gap in zip(objects_of(column), missing, strict=True)
    ]
    return Text(np.array(codes, dtype=np.int64), list(places))

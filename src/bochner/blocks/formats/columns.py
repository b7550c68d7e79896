"""Columns of Arrow as numbers, text and targets."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...tables.chunk import Text
from ...tables.tokens import UNITS, days_of, parse

Column: TypeAlias = pa.Array | pa.ChunkedArray


def is_text(kind: object) -> bool:
    kinds = (pa.types.is_dictionary, pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(is_kind(kind) for is_kind in kinds)


def is_number(kind: object) -> bool:
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
    return any(is_kind(kind) for is_kind in kinds)


def is_date(kind: object) -> bool:
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def as_numbers(column: Column) -> np.ndarray:
    """Numbers with NaN where they are missing; dates as days since 1970."""
    if is_date(column.type):
        unit = "d" if pa.types.is_date32(column.type) else getattr(column.type, "unit", "ms")
        whole = column.cast(pa.int32() if unit == "d" else pa.int64()).cast(pa.int64())
        days = days_of(pc.fill_null(whole, 0).to_numpy(zero_copy_only=False), 1 if unit == "d" else UNITS[unit])
        return np.where(column.is_null().to_numpy(zero_copy_only=False), np.nan, days)
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    return column.to_numpy(zero_copy_only=False)


def said_numbers(column: Column, how: str) -> np.ndarray:
    """Numbers that a column of text says, NaN where it says something else."""
    try:  # quicker, where all of them are plain numbers
        plain = column.cast(pa.string()) if how == "comma" else column
        if how == "comma" and not pc.any(pc.match_substring(plain, ".")).as_py():
            plain = pc.replace_substring(plain, ",", ".")
        elif how != "number":
            raise pa.ArrowInvalid
        return plain.cast(pa.float64()).to_numpy(zero_copy_only=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        text = as_text(column)
        return np.append(parse(text.values, how), np.nan)[text.codes]


def as_text(column: Column) -> Text:
    if not is_text(column.type):
        column = column.cast(pa.string())
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    codes = pc.fill_null(coded.indices.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)
    values = [str(value) for value in coded.dictionary.to_pylist()]
    used = np.unique(codes[codes >= 0])  # a dictionary may hold values that these rows do not have
    places = np.full(len(values) + 1, -1)
    places[used] = np.arange(len(used))
    return Text(places[codes], [values[k] for k in used])


def as_target(column: Column, name: str, how: str | None = None) -> np.ndarray:
    if how is not None:
        return said_numbers(column, how)
    if is_text(column.type):
        codes, values = as_text(column)
        return np.array(values, dtype=np.str_)[codes] if values else np.empty(0, dtype=np.str_)
    if not is_number(column.type):
        raise ValueError(f"the target {name!r} holds {column.type}, which is neither number nor text.")
    if pa.types.is_boolean(column.type):
        return column.to_numpy(zero_copy_only=False)
    return as_numbers(column)

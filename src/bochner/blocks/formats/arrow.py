"""Parquet, Arrow (Feather), CSV and lines of JSON, by pyarrow.dataset; frames and Arrow tables in memory too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..recipe import Chunk, Text
from .base import Choice, Table, pick_columns, stamp

try:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.dataset as ds
except ImportError:
    raise ImportError('reading tables needs pyarrow: pip install "bochner[files]"') from None

SMALL = {"float", "halffloat", "int8", "uint8", "int16", "uint16", "bool"}  # types that float32 holds exactly


class ArrowTable(Table):
    """A table of one or more files with the same columns."""

    def __init__(
        self, source: Any, choice: Choice, format: str = "memory", header: bool = True, delimiter: str = ","
    ) -> None:
        self.source, self.target, self.weight, self.format = source, choice.target, choice.weight, format
        self.where = f"{source[0]!r}" if isinstance(source, list) else "the table"
        with clear_errors(self.where):
            self.dataset = open_dataset(source, format, choice, header, delimiter)
            schema, present = self.dataset.schema, self.dataset.schema.names
            self.pieces = [piece for part in self.dataset.get_fragments() for piece in row_groups(part)]
        self.names = pick_columns(present, choice, self.where)
        self.types = {name: schema.field(name).type for name in present}
        self.texts = [name for name in self.names if is_text(self.types[name]) or name in choice.texts]
        if self.weight is not None and not is_number(self.types[self.weight]):
            raise ValueError(f"the weights {self.weight!r} hold {self.types[self.weight]}, and must be numbers.")
        for name in self.numbers:
            if not is_number(self.types[name]):
                raise ValueError(
                    f"column {name!r} holds {self.types[name]}, which is neither number nor text: "
                    f"drop it (drop=[{name!r}]) or make it a number first."
                )
        kinds = {str(self.types[name]) for name in self.numbers}
        self.dtype = next(iter(kinds)) if kinds in ({"uint8"}, {"int8"}) else "float32" if kinds <= SMALL else "float64"
        self.counts = [known_rows(piece) for piece in self.pieces]

    def sizes(self) -> list[Any]:
        if not isinstance(self.source, list):
            return [self.source.num_rows, self.source.nbytes]
        return [stamp(path) for path in self.source]

    def column_name(self, name: str) -> str:
        if name not in self.types:
            raise ValueError(f"{self.where} has no column {name!r}; it has {', '.join(map(repr, self.types))}.")
        return name

    def chunks_of(self, piece: int, start: int, rows: int) -> Iterator[Chunk]:
        fragment = self.pieces[piece]
        columns = [name for name in [*self.names, self.target, self.weight] if name is not None]
        where = getattr(fragment, "path", "") or self.where
        with clear_errors(where):
            absent = [name for name in columns if name not in fragment.physical_schema.names]
            if absent:
                raise ValueError(f"{where} has no column {absent[0]!r}.")
            # One batch ahead is enough: whole blocks are read ahead by their own thread.
            batches = fragment.to_batches(
                self.dataset.schema, columns=columns, batch_size=rows, batch_readahead=1, fragment_readahead=1
            )
            for batch in batches:
                if self.format == "ipc":  # such files are used as they lie on the disk, whatever they hold
                    batch.validate(full=True)
                if start >= batch.num_rows:
                    start -= batch.num_rows
                    continue
                yield self.chunk(batch.slice(start))
                start = 0

    def chunk(self, batch: Any) -> Chunk:
        numbers = np.empty((batch.num_rows, len(self.numbers)), dtype=self.dtype, order="F")
        for k, name in enumerate(self.numbers):
            column = batch.column(name)
            if column.null_count and numbers.dtype.kind != "f":
                numbers = numbers.astype(np.float32)
            numbers[:, k] = as_numbers(column)
        return Chunk(
            numbers,
            {name: as_text(batch.column(name)) for name in self.texts},
            None if self.target is None else as_target(batch.column(self.target), self.target),
            None if self.weight is None else as_numbers(batch.column(self.weight)),
        )


# ---- files ----


def open_dataset(source: Any, format: str, choice: Choice, header: bool, delimiter: str) -> Any:
    """The files as one table, of types that hold the numbers of all of them."""
    if not isinstance(source, list):
        return ds.dataset(source)
    kind = csv_format(header, delimiter, {}) if format == "csv" else format
    schemas = [ds.dataset(file, format=kind).schema for file in source]
    fields = pa.unify_schemas(schemas, promote_options="permissive")
    if format in ("csv", "json"):
        fields = pa.schema([field.with_type(settled(field, choice)) for field in fields])
    if format == "csv":
        kind = csv_format(header, delimiter, {field.name: field.type for field in fields})
    return ds.dataset(source, format=kind, schema=fields)


def settled(field: Any, choice: Choice) -> Any:
    """The type of a column of text files, where it is guessed from the first rows only.

    An integer may have a fraction later, and an empty column numbers. A target stays what it is: it may be labels.
    """
    if field.name in choice.texts:
        return pa.string()
    whole = pa.types.is_integer(field.type) and field.name != choice.target
    return pa.float64() if whole or pa.types.is_null(field.type) else field.type


def csv_format(header: bool, delimiter: str, types: dict[str, Any]) -> Any:
    from pyarrow import csv

    return ds.CsvFileFormat(
        parse_options=csv.ParseOptions(delimiter=delimiter),
        read_options=csv.ReadOptions(autogenerate_column_names=not header),
        convert_options=csv.ConvertOptions(column_types=types, strings_can_be_null=True),
    )


def row_groups(fragment: Any) -> list[Any]:
    """The parts of a file that can be read apart from each other."""
    return list(fragment.split_by_row_group()) if hasattr(fragment, "split_by_row_group") else [fragment]


def known_rows(fragment: Any) -> int | None:
    if hasattr(fragment, "row_groups"):
        return sum(group.num_rows for group in fragment.row_groups)
    return None


class clear_errors:  # noqa: N801, used as a verb
    """What pyarrow complains of, as a ValueError of one line that names the file."""

    def __init__(self, where: str) -> None:
        self.where = where

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, pa.ArrowException | UnicodeDecodeError | OSError):
            said = (str(error).splitlines() or [type(error).__name__])[0]
            # The last of several "file cannot be opened because ..." says what it is.
            raise ValueError(f"{self.where} cannot be read: {said.split('Invalid: ')[-1][:300]}") from None


# ---- columns ----


def is_text(kind: Any) -> bool:
    kinds = (pa.types.is_dictionary, pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(is_kind(kind) for is_kind in kinds)


def is_number(kind: Any) -> bool:
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
    return any(is_kind(kind) for is_kind in kinds)


def as_numbers(column: Any) -> np.ndarray:
    """Numbers with NaN where they are missing."""
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    return column.to_numpy(zero_copy_only=False)


def as_text(column: Any) -> Text:
    if not is_text(column.type):
        column = column.cast(pa.string())
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    codes = pc.fill_null(coded.indices.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)
    values = [str(value) for value in coded.dictionary.to_pylist()]
    used = np.unique(codes[codes >= 0])  # a dictionary may hold values that these rows do not have
    places = np.full(len(values) + 1, -1)
    places[used] = np.arange(len(used))
    return Text(places[codes], [values[k] for k in used])


def as_target(column: Any, name: str) -> np.ndarray:
    if column.null_count:
        raise ValueError(f"the target {name!r} has {column.null_count:,} missing values: leave those rows out.")
    if is_text(column.type):
        codes, values = as_text(column)
        return np.array(values, dtype=np.str_)[codes] if values else np.empty(0, dtype=np.str_)
    if not is_number(column.type):
        raise ValueError(f"the target {name!r} holds {column.type}, which is neither number nor text.")
    if pa.types.is_boolean(column.type):
        return column.to_numpy(zero_copy_only=False)
    return as_numbers(column)


def arrow_table(frame: Any) -> Any:
    """A pandas or polars frame, or what pyarrow takes, as an Arrow table."""
    with clear_errors("the table"):
        if isinstance(frame, pa.Table):
            return frame
        if hasattr(frame, "iloc"):
            return pa.Table.from_pandas(frame, preserve_index=False)
        return frame.to_arrow() if hasattr(frame, "to_arrow") else pa.table(frame)

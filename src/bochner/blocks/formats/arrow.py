"""Parquet, Arrow (Feather), CSV and lines of JSON, by pyarrow.dataset; frames and Arrow tables in memory too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ...tables.chunk import Chunk
from ...validation import option
from ..paths import file_system, is_address
from .base import Choice, Csv, MisreadError, Table, pick_columns, stamp

try:
    import pyarrow as pa
    import pyarrow.dataset as ds
    from pyarrow.fs import FSSpecHandler, PyFileSystem
except ImportError:
    raise ImportError('reading tables needs pyarrow: pip install "bochner[files]"') from None

from .columns import as_numbers, as_target, as_text, is_date, is_number, is_text, said_numbers

if TYPE_CHECKING:
    import pandas

Source: TypeAlias = list[str] | pa.Table  # files, or what is in memory already
MISREAD = re.compile(r"In CSV column #(\d+): .*conversion error to (?!string)")
FEW = 4  # columns that turn out to be text one by one; then all of them are read so
SMALL = {"float", "halffloat", "int8", "uint8", "int16", "uint16", "bool"}  # types that float32 holds exactly


class ArrowTable(Table):
    """A table of one or more files with the same columns."""

    def __init__(self, source: Source, choice: Choice, format: str = "memory", csv: Csv = Csv()) -> None:  # noqa: B008
        self.source, self.target, self.weight, self.format = source, choice.target, choice.weight, format
        self.where = f"{source[0]!r}" if isinstance(source, list) else "the table"
        self.choice, self.csv, self.typed = choice, csv, format != "csv"
        self.travels = isinstance(source, list)
        self.open()

    def open(self) -> None:
        """Find out which columns there are and what they hold."""
        choice = self.choice
        with clear_errors(self.where, self.csv.encoding):
            self.dataset = open_dataset(self.source, self.format, choice, self.csv)
            schema, present = self.dataset.schema, self.dataset.schema.names
            self.pieces = [piece for part in self.dataset.get_fragments() for piece in row_groups(part)]
        self.names = pick_columns(present, choice, self.where)
        self.types = {name: schema.field(name).type for name in present}
        self.texts = [name for name in self.names if is_text(self.types[name]) or name in choice.texts]
        kept = (*choice.texts, *(name for name in self.texts if pa.types.is_dictionary(self.types[name])))
        self.undecided = [name for name in self.texts if name not in kept]
        self.dates = [name for name in self.numbers if is_date(self.types[name])]
        self.require_kinds()
        kinds = {str(self.types[name]) for name in self.numbers}
        self.dtype = next(iter(kinds)) if kinds in ({"uint8"}, {"int8"}) else "float32" if kinds <= SMALL else "float64"
        self.counts = [known_rows(piece) for piece in self.pieces]

    def require_kinds(self) -> None:
        """Refuse columns that are neither numbers nor text nor dates."""
        if self.weight is not None and not is_number(self.types[self.weight]):
            raise ValueError(f"the weights {self.weight!r} hold {self.types[self.weight]}, and must be numbers.")
        used = [*self.names, *([] if self.target is None else [self.target])]
        if self.format == "csv" and any(pa.types.is_binary(self.types[name]) for name in used):
            raise ValueError(not_utf8(self.where, self.csv.encoding))
        for name in self.numbers:
            if not (is_number(self.types[name]) or name in self.dates):
                raise ValueError(
                    f"column {name!r} holds {self.types[name]}, which is neither number nor text nor date: "
                    f"leave it out with {option('drop', [name])}, or make it a number first."
                )

    def loosen(self, column: int) -> None:
        name = self.dataset.schema.names[column]
        loose = (*self.choice.loose, name)
        self.choice = self.choice._replace(loose=loose, all_loose=self.choice.all_loose or len(loose) > FEW)
        self.open()

    def kept(self, names: list[str], rows: int) -> Iterator[dict[str, Any]]:
        for name in names:
            self.column_name(name)
        with clear_errors(self.where, self.csv.encoding):
            kind, schema = self.format, self.dataset.schema
            if self.format == "csv":  # as it is written, be it 007
                kind = csv_format(self.csv, dict.fromkeys(names, pa.string()), nulls=False)
                schema = None
            elif self.format == "json":
                schema = None
            dataset = self.dataset if self.format == "memory" else dataset_of(self.source, kind, schema)
            held = pa.table({name: pa.array([], dataset.schema.field(name).type) for name in names})
            for batch in dataset.to_batches(columns=names, batch_size=rows, batch_readahead=1, fragment_readahead=1):
                held = pa.concat_tables([held, pa.table(batch)])
                while held.num_rows >= rows:
                    yield {name: held.column(name).slice(0, rows).combine_chunks() for name in names}
                    held = held.slice(rows)
            if held.num_rows:
                yield {name: held.column(name).combine_chunks() for name in names}

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
        with clear_errors(where, self.csv.encoding):
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

    def require_targets(self, batch: pa.RecordBatch) -> None:
        """Refuse missing targets, all of them counted."""
        if self.target is not None and batch.column(self.target).null_count:
            count = sum(b.column(0).null_count for b in self.dataset.to_batches(columns=[self.target]))
            raise ValueError(f"the target {self.target!r} has {count:,} missing values: leave those rows out.")

    def chunk(self, batch: pa.RecordBatch) -> Chunk:
        self.require_targets(batch)
        numbers = np.empty((batch.num_rows, len(self.numbers)), dtype=self.dtype, order="F")
        for k, name in enumerate(self.numbers):
            column = batch.column(name)
            if column.null_count and numbers.dtype.kind != "f":
                numbers = numbers.astype(np.float32)
            numbers[:, k] = said_numbers(column, self.hows[name]) if name in self.hows else as_numbers(column)
        return Chunk(
            numbers,
            {name: as_text(batch.column(name)) for name in self.texts},
            None if self.target is None else as_target(batch.column(self.target), self.target, self.target_how),
            None if self.weight is None else as_numbers(batch.column(self.weight)),
        )


# ---- files ----


def open_dataset(source: Source, format: str, choice: Choice, csv: Csv) -> ds.Dataset:
    """The files as one table, of types that hold the numbers of all of them."""
    if not isinstance(source, list):
        return ds.dataset(source)
    kind = csv_format(csv, {}) if format == "csv" else format
    schemas = [dataset_of([file], kind).schema for file in source]
    fields = pa.unify_schemas(schemas, promote_options="permissive")
    if format in ("csv", "json"):
        fields = pa.schema([field.with_type(settled(field, choice, format)) for field in fields])
    if format == "csv":
        kind = csv_format(csv, {field.name: field.type for field in fields})
    return dataset_of(source, kind, fields)


def dataset_of(files: list[str], format: str | ds.FileFormat, schema: pa.Schema | None = None) -> ds.Dataset:
    """The files as a dataset, of this machine or of where their addresses say."""
    if not any(is_address(file) for file in files):
        return ds.dataset(files, format=format, schema=schema)
    systems, paths = zip(*map(file_system, files), strict=True)
    return ds.dataset(list(paths), format=format, schema=schema, filesystem=PyFileSystem(FSSpecHandler(systems[0])))


def settled(field: pa.Field, choice: Choice, format: str) -> pa.DataType:
    """The type of a column of text files, where it is guessed from the first rows only.

    An integer may have a fraction later, and an empty column numbers. A target stays what it is: it may be labels.
    """
    whole = pa.types.is_integer(field.type) and field.name != choice.target
    number = whole or pa.types.is_null(field.type) or pa.types.is_floating(field.type)
    loose = field.name in choice.loose or (choice.all_loose and number)
    if field.name in choice.texts or (loose and format == "csv" and field.name != choice.weight):
        return pa.string()
    return pa.float64() if whole or pa.types.is_null(field.type) else field.type


def csv_format(how: Csv, types: dict[str, pa.DataType], nulls: bool = True) -> ds.CsvFileFormat:
    from pyarrow import csv

    return ds.CsvFileFormat(
        parse_options=csv.ParseOptions(delimiter=how.delimiter),
        read_options=csv.ReadOptions(autogenerate_column_names=not how.header, encoding=how.encoding),
        convert_options=csv.ConvertOptions(column_types=types, strings_can_be_null=nulls),
    )


def row_groups(fragment: object) -> list[Any]:
    """The parts of a file that can be read apart from each other."""
    return list(fragment.split_by_row_group()) if hasattr(fragment, "split_by_row_group") else [fragment]


def known_rows(fragment: object) -> int | None:
    if hasattr(fragment, "row_groups"):
        return sum(group.num_rows for group in fragment.row_groups)
    return None


class clear_errors:  # noqa: N801, used as a verb
    """What pyarrow complains of, as a ValueError of one line that names the file."""

    def __init__(self, where: str, encoding: str = "utf-8") -> None:
        self.where, self.encoding = where, encoding

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if not isinstance(error, pa.ArrowException | UnicodeError | OSError | LookupError):
            return
        said = (str(error).splitlines() or [type(error).__name__])[0]
        if isinstance(error, LookupError):
            raise ValueError(f"{option('encoding', self.encoding)} is not known: {said}.") from None
        if isinstance(error, UnicodeError) or "invalid UTF8" in said:
            raise ValueError(not_utf8(self.where, self.encoding)) from None
        # The last of several "file cannot be opened because ..." says what it is.
        message = f"{self.where} cannot be read: {said.split('Invalid: ')[-1][:300]}"
        if "CSV parse error" in said and "Expected 1 columns" in said:
            message += f" Is the delimiter another one, such as {option('delimiter', ';')}?"
        misread = MISREAD.search(said)
        raise (MisreadError(int(misread[1]), message) if misread else ValueError(message)) from None


def not_utf8(where: str, encoding: str) -> str:
    """What to do about a file in another encoding than the one it was read in."""
    if encoding.lower() not in ("utf-8", "utf8"):
        return f"{where} is not text in {encoding}: give another {option('encoding', 'utf-8')}."
    return (
        f"{where} is not UTF-8, but by the look of it Latin-1 (ISO 8859-1) or the like: give "
        f"{option('encoding', 'latin-1')}, or convert it to UTF-8 first."
    )


# ---- frames ----


def arrow_table(frame: object) -> pa.Table:
    """A pandas or polars frame, or what pyarrow takes, as an Arrow table."""
    with clear_errors("the table"):
        if isinstance(frame, pa.Table):
            return frame
        if hasattr(frame, "iloc"):
            return pa.Table.from_pandas(plain_objects(frame), preserve_index=False)
        return frame.to_arrow() if hasattr(frame, "to_arrow") else pa.table(frame)


def plain_objects(frame: pandas.DataFrame) -> pandas.DataFrame:
    """A pandas frame in which columns that mix text and other objects are text."""
    names = list(frame.columns)
    mixed: dict[Any, Any] = {}
    for k, kind in enumerate(frame.dtypes):
        if str(kind) == "object":
            column = frame.iloc[:, k]
            kinds = {type(value) for value in column[column.notna()]}
            if str in kinds and len(kinds) > 1:
                mixed[names[k]] = column.map(str).where(column.notna(), None)
    out = frame.copy(deep=False) if mixed else frame
    for name, column in mixed.items():
        out[name] = column
    return out

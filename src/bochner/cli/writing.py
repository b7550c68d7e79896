"""Predictions to a file, a block at a time; the file appears when it is complete."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ..storage import replacing

Columns = dict[str, Any]  # arrays, of numpy for what is predicted, of Arrow for what is carried over
Write = Callable[[Columns], None]


@contextmanager
def writer_for(path: Path, rows: int) -> Iterator[Write]:
    """A function that appends named columns to a file of the kind that its name says; `rows` in all."""
    kind = WRITERS.get(path.suffix.lower())
    if kind is None:
        raise ValueError(f"predictions can be written to {', '.join(WRITERS)} files; {str(path)!r} is none of them.")
    with replacing(path) as file, kind(file, path, rows) as write:
        yield write


@contextmanager
def csv_writer(file: BinaryIO, path: Path, rows: int) -> Iterator[Write]:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    lines = csv.writer(text)
    begun = False

    def write(columns: Columns) -> None:
        nonlocal begun
        if not begun:
            lines.writerow(columns)
            begun = True
        lines.writerows(zip(*(values.tolist() for values in columns.values()), strict=True))

    yield write
    text.flush()
    text.detach()


@contextmanager
def arrow_writer(file: BinaryIO, path: Path, rows: int) -> Iterator[Write]:
    import pyarrow as pa
    from pyarrow import ipc, parquet

    opened: list[Any] = []

    def write(columns: Columns) -> None:
        plain = {name: v if is_arrow(v) or v.dtype.kind not in "OU" else v.tolist() for name, v in columns.items()}
        table = pa.table({name: values if is_arrow(values) else pa.array(values) for name, values in plain.items()})
        if not opened:
            is_parquet = path.suffix.lower() == ".parquet"
            opened.append((parquet.ParquetWriter if is_parquet else ipc.new_file)(file, table.schema))
        opened[0].write_table(table)

    yield write
    for writer in opened:
        writer.close()


@contextmanager
def npy_writer(file: BinaryIO, path: Path, rows: int) -> Iterator[Write]:
    """One column as a vector, several as a matrix."""
    kind: np.dtype | None = None

    def write(columns: Columns) -> None:
        nonlocal kind
        columns = {name: as_numpy(values) for name, values in columns.items()}
        if any(values.dtype.kind == "O" for values in columns.values()) or len({v.dtype for v in columns.values()}) > 1:
            raise ValueError(f"{str(path)!r} cannot hold columns of several types or of text: write .csv or .parquet.")
        values = next(iter(columns.values())) if len(columns) == 1 else np.column_stack(list(columns.values()))
        if kind is None:
            kind = values.dtype
            header = {"descr": kind.str, "fortran_order": False, "shape": (rows, *values.shape[1:])}
            np.lib.format.write_array_header_1_0(file, header)
        file.write(np.ascontiguousarray(values).tobytes())

    yield write


def is_arrow(values: object) -> bool:
    return hasattr(values, "null_count")


def as_numpy(values: Any) -> np.ndarray:
    return values.to_numpy(zero_copy_only=False) if is_arrow(values) else values


WRITERS = {
    ".csv": csv_writer, ".parquet": arrow_writer, ".arrow": arrow_writer, ".feather": arrow_writer, ".npy": npy_writer,
}  # fmt: skip

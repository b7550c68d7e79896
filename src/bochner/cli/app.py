"""What the commands share: the application, options that several of them take, tables and JSON."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Protocol, TextIO

import numpy as np
from cyclopts import App, Parameter
from rich.console import Console, RenderableType
from rich.table import Table

import bochner

from ..bases import Basis
from ..blocks import Blocks
from ..kernels import Kernel
from ..solvers import Solution
from ..typing import MatrixLike

app = App(
    name="bochner",
    help="Kernel machines as cheap as linear algebra.",
    help_epilogue=(
        "A first try: `bochner demo`. Then `bochner fit train.parquet --target y --out m.bochner` and "
        "`bochner predict m.bochner new.parquet --out predictions.csv`."
    ),
    help_format="markdown",
    version=bochner.__version__,
    suppress_keyboard_interrupt=False,
)
app.register_install_completion_command()
NOTES: list[str] = []  # what a command had to say beside its result


@Parameter(name="*")
@dataclass(frozen=True)
class Printing:
    """How results are shown."""

    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False
    """Print JSON instead of a table."""
    quiet: Annotated[bool, Parameter(negative="")] = False
    """Show no progress bars; they are shown on a terminal only."""
    memory: str = "auto"
    """Memory budget, such as 2GB or 512MiB. Blocks of rows are made to fit; what cannot fit is refused."""

    @contextmanager
    def settings(self) -> Iterator[None]:
        shown = not self.quiet and not self.as_json and sys.stderr.isatty()
        with bochner.config_context(memory=self.memory, progress=shown):
            yield


@Parameter(name="*")
@dataclass(frozen=True)
class Reading:
    """How columns of a file become numbers."""

    weight: str | None = None
    """The column of sample weights."""
    drop: Annotated[tuple[str, ...], Parameter(negative="")] = ()
    """A column to leave out; may be given several times."""
    missing: str | None = None
    """Missing values: "refuse" them, naming the column, or impute the "mean" of the column; refused if not given, but
    with --auto, which knows what to do with them. Where nearly all texts of a column are numbers, the others count as
    missing."""
    text: str = "auto"
    """Encoding of text columns: "onehot", "hash", or "auto", which hashes those with more than --categories values."""
    text_columns: Annotated[tuple[str, ...], Parameter(negative="")] = ()
    """A column to encode as text although it looks like numbers, such as codes with leading zeros; may be given several
    times."""
    categories: int = 64
    """The largest number of categories that is one-hot encoded; the number of columns of a hashed text column."""
    standardize: bool = True
    """Standardize numbers to mean 0 and variance 1; means and variances are saved with the model."""
    format: str | None = None
    """The file format, if the file's name does not tell: parquet, ipc, csv, json, npy, hdf5 or svmlight."""
    header: bool = True
    """Whether CSV files have a header row; without one, columns are named f0, f1, ..."""
    delimiter: str | None = None
    """The delimiter of CSV files."""
    decimal: str | None = None
    """The decimal separator of numbers in text, "." or ","; detected by column if not given."""
    encoding: str = "utf-8"
    """The encoding of CSV files, such as latin-1."""

    def read(self, files: Sequence[str], target: str | None) -> Blocks:
        return bochner.read(
            list(files), target=target, weight=self.weight, drop=self.drop, missing=self.missing, text=self.text,
            text_columns=self.text_columns,
            categories=self.categories, standardize=self.standardize, format=self.format, header=self.header,
            delimiter=self.delimiter, decimal=self.decimal, encoding=self.encoding,
        )  # fmt: skip


class FittedModel(Protocol):
    """What the commands ask of the model in a file; a classifier has `classes_` and `decision_function` too.

    A model with an exact kernel has `kernel_` and `dual_coef_` in place of `basis_` and `coef_`.
    """

    n_features_in_: int
    basis_: Basis
    kernel_: Kernel
    alpha_: float
    coef_: np.ndarray
    intercept_: np.ndarray
    solution_: Solution
    fit_intercept: bool

    def predict(self, X: MatrixLike) -> np.ndarray: ...

    def explain_fit(self) -> str: ...


def load_model(path: Path) -> FittedModel:
    """The model in a file; an index of hash codes is no model that predicts, and is refused."""
    model: FittedModel = bochner.load(path)
    if not hasattr(model, "predict"):
        raise ValueError(f"{str(path)!r} holds a {type(model).__name__}, which does not predict; use bochner.load.")
    return model


def show(printing: Printing, result: object, table: RenderableType) -> None:
    """The result as JSON, or the table."""
    if printing.as_json:
        if NOTES and isinstance(result, dict):
            result = {**result, "notes": NOTES.copy()}
        print(json.dumps(typed(result), indent=1))
    else:
        Console().print(table, highlight=False)


def typed(value: object) -> object:
    """A value as JSON has it: numbers as numbers, what is none of its kinds as text."""
    if isinstance(value, dict):
        return {str(name): typed(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [typed(part) for part in value]
    if isinstance(value, np.ndarray | np.generic):
        return typed(value.tolist())
    if isinstance(value, float) and not np.isfinite(value):
        return None if np.isnan(value) else str(value)  # which JSON has no numbers for
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


@contextmanager
def notes() -> Iterator[None]:
    """Warnings of the library as lines for a reader, and kept for JSON."""
    NOTES.clear()

    def note(
        message: Warning | str, category: type[Warning], filename: str, lineno: int, file: TextIO | None = None,
        line: str | None = None,
    ) -> None:  # fmt: skip
        NOTES.append(" ".join(str(message).split()))
        print(f"bochner: note: {NOTES[-1]}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = note
        yield


def two_columns(title: str, rows: Mapping[str, object]) -> Table:
    table = Table(show_header=False, title=title, title_justify="left")
    for name, value in rows.items():
        table.add_row(name, f"{value:,.4g}" if isinstance(value, float) else str(value))
    return table

"""`read`: rows of files in blocks, with the rule by which their columns became numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..lazy import has_cluster
from ..tables.encoder import TableEncoder
from ..tables.encoder_recipe import learned_recipe, recipe_of
from ..tables.recipe import Recipe, SparseRecipe
from ..tables.survey import DECIMALS, Summary
from ..validation import option, require_choice, require_integer
from .base import Block, Blocks, stack
from .formats.base import Choice, Csv, MisreadError, Table
from .partitions import rows_per_block
from .paths import format_of, matching, require_local, size_of
from .progress import Progress
from .regroup import regroup

if TYPE_CHECKING:
    from .formats.arrow import ArrowTable

SURVEYED = 1 << 16  # rows at a time while means are learned, whatever the memory budget: the same bits for any
MOST_CATEGORIES = 10_000


class TableBlocks(Blocks):
    """Rows of a table, made numbers by a recipe as they are read."""

    def __init__(self, table: Table, recipe: Recipe | Learning, missing: str | None = None) -> None:
        """`missing` says what to do with missing values, if that is not what the recipe says.

        A recipe that is still to be learned is learned when it, or the number of rows, is first asked for.
        """
        self.table, self._recipe, self._missing = table, recipe, missing

    def surveyed(self) -> TableBlocks:
        """These rows, with their recipe."""
        if isinstance(self._recipe, Learning):
            self._recipe = self._recipe(self.table)
        return self

    @property
    def recipe(self) -> Recipe:
        """How columns become numbers."""
        found = self.surveyed()._recipe
        assert not isinstance(found, Learning)
        return found

    @property
    def encoder(self) -> Recipe:
        """The same, with what is to be done with missing values here."""
        recipe = self.recipe
        return recipe if self._missing in (None, recipe.missing) else with_missing(recipe, str(self._missing))

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        """Number of rows."""
        return self.surveyed().table.n_rows

    @property
    def n_columns(self) -> int:  # type: ignore[override]
        """Number of columns that come out."""
        return self.recipe.n_columns

    def read(self, start: int, stop: int) -> Block:
        return next(self.stream(start, stop - start))

    def stream(self, start: int, rows: int) -> Iterator[Block]:
        def encoded() -> Iterator[tuple[Any, Any, Any]]:
            first = start
            for chunk in self.table.chunks(start, rows):
                yield self.encoder.encode_chunk(chunk, first, self.n_rows), chunk.target, chunk.weight
                first += len(chunk.numbers)

        return regroup(encoded(), start, rows)

    def take(self, numbers: np.ndarray) -> Block:
        """Only the pieces of files are read that hold such rows, and only these rows are encoded."""
        parts = []
        for start, chunk in self.table.parts(numbers, rows_per_block(4 * self.n_columns)):
            inside = numbers[(numbers >= start) & (numbers < start + len(chunk.numbers))]
            if len(inside):
                few = chunk.only(inside - start)
                parts.append((self.encoder.encode_chunk(few, int(inside[0]), self.n_rows), few.target, few.weight))
        X, y, weight = (None if part[0] is None else stack(part) for part in zip(*parts, strict=True))
        return Block(X, y, weight, 0)

    def part(self, start: int, stop: int, rows: int) -> list[Block] | None:
        """Files are read where their rows are worked on; a table in memory is not sent as a whole."""
        return None if self.table.travels else super().part(start, stop, rows)

    def kept(self, names: list[str], rows: int) -> Iterator[dict[str, Any]]:
        """Columns of the files as they stand there, `rows` rows at a time."""
        return self.table.kept(names, rows)

    def column(self, name: str, rows: int, start: int = 0) -> Iterator[np.ndarray]:
        """The values of one more column of the table from a row on, `rows` at a time."""
        chunks = self.table.with_target(name).chunks(start, rows)
        return (block.y for block in regroup(((c.numbers, c.target, None) for c in chunks), start, rows))

    def fingerprint(self) -> dict[str, Any]:
        table = self.table
        columns = {"target": repr(table.target), "weights": repr(table.weight)}
        return {**super().fingerprint(), **columns, "files": table.sizes(), "recipe": self.recipe.digest()}


def with_missing(recipe: Recipe, missing: str) -> Recipe:
    """The recipe with another rule for missing values; means need fractions."""
    dtype = "float32" if recipe.dtype in ("uint8", "int8") else recipe.dtype
    return replace(recipe, missing=missing, dtype=dtype if missing == "mean" else recipe.dtype)


def read(
    source: object,
    target: str | int | None = None,
    *,
    weight: str | int | None = None,
    drop: Iterable[str | int] = (),
    format: str | None = None,
    standardize: bool = True,
    missing: str | None = None,
    text: str = "auto",
    text_columns: Iterable[str] = (),
    categories: int = 64,
    header: bool = True,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str = "utf-8",
    rows: str | None = None,
    recipe: Recipe | SparseRecipe | TableEncoder | None = None,
    n_columns: int | None = None,
) -> Blocks:
    """Read rows of files in blocks, which models fit without ever holding all of them.

    Files may be Parquet, Arrow, CSV, lines of JSON, .npy, HDF5 or svmlight, and text may be compressed. One pass over
    the rows learns how columns become numbers; the result keeps it as `recipe`. Where there is a Dask client, that pass
    waits until it is needed, since `.on(client)` lets a worker make it.

    Parameters
    ----------
    source : str, path-like, list, frame or table
        A path, a pattern such as 'part-*.parquet' (in the order of names) or a list of paths; or a frame or Arrow
        table. Paths may be addresses such as 's3://bucket/part-*.parquet', for which fsspec knows a file system.
    target : str or int, default=None
        Column of the targets; a number for matrices. For .npy it may be another .npy file, for HDF5 another dataset;
        svmlight has its own targets.
    weight : str or int, default=None
        Column of the sample weights.
    drop : iterable of str or int, default=()
        Columns to leave out.
    format : {'parquet', 'ipc', 'csv', 'json', 'npy', 'hdf5', 'svmlight'}, default=None
        Format of the files; None tells it by their names.
    standardize : bool, default=True
        Whether numbers get mean 0 and variance 1.
    missing : {'refuse', 'mean'}, default=None
        What becomes of missing values: an error; or the mean of the column for numbers, and no category for text. None
        is what the recipe says, and 'refuse' without one.
    text : {'auto', 'onehot', 'hash'}, default='auto'
        How text becomes numbers: one column for each category, or hashed columns. 'auto' takes the first up to
        `categories` of them.
    text_columns : iterable of str, default=()
        Columns that are text although they look like numbers, such as codes with leading zeros. Other columns of text
        of which 95 % are numbers or ISO dates are taken for that; the rest is missing, and reported.
    categories : int, default=64
        Most categories of a column that get a column each, and the number of hashed columns.
    header : bool, default=True
        Whether the first line of CSV holds the names of the columns.
    delimiter : str, default=None
        Delimiter of CSV; None finds it out.
    decimal : {'.', ','}, default=None
        Decimal sign in text; None finds it out by column.
    encoding : str, default='utf-8'
        Encoding of CSV.
    rows : str, default=None
        The dataset of HDF5 that holds the matrix.
    recipe : Recipe or TableEncoder, default=None
        That of a fitted model, `model.recipe_`, to read rows to predict; nothing is learned then. An encoder decides
        what columns become, in place of `standardize`, `text` and `categories`; one that is not fitted learns it by one
        more pass, without targets.
    n_columns : int, default=None
        Number of columns of svmlight, where it is more than the file shows.

    Returns
    -------
    Blocks
        The rows, for `fit`, `predict` and `score` of the models.

    Examples
    --------
    >>> import pandas
    >>> from bochner import read
    >>> blocks = read(pandas.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "x"], "y": [0, 1, 0]}), target="y")
    >>> blocks.recipe.column_names()
    ['a', 'b=x', 'b=y']
    """
    require_words(text, missing, decimal)
    require_integer("categories", categories)
    encoder = None
    if isinstance(recipe, TableEncoder):
        recipe, encoder = (recipe_of(recipe), None) if hasattr(recipe, "column_of_") else (None, recipe)
    choice = choice_of(recipe, encoder, target, weight, drop, text_columns, decimal)
    if hasattr(source, "columns") or hasattr(source, "schema"):
        table: Table = frame_table(source, choice)
    else:
        files = matching(source)
        format = format_of(files, format)
        if format == "svmlight":
            return sparse_blocks(files, n_columns, recipe if encoder is None else encoder, choice)
        table = open_table(files, format, choice, Csv(header, delimiter or delimiter_of(files), encoding), rows)
    learning = Learning(standardize, missing, text, categories, decimal, recipe, encoder)
    blocks = TableBlocks(table, learning, None if recipe is None else missing)
    # With a cluster at hand, its workers may be meant to read the rows: they are not looked at before they are needed.
    return blocks if table.travels and has_cluster() else blocks.surveyed()


@dataclass(frozen=True)
class Learning:
    """How the recipe of a table is learned, by the settings of `read`: one pass over the rows, or two."""

    standardize: bool
    missing: str | None
    text: str
    categories: int
    decimal: str | None
    recipe: Recipe | SparseRecipe | None
    encoder: TableEncoder | None

    def __call__(self, table: Table) -> Recipe:
        if self.recipe is not None:
            return followed(self.recipe, table, self.missing, self.decimal)
        if self.encoder is not None:
            plain = learn(table, False, self.missing or "mean", "auto", self.categories, self.decimal)
            return learned_recipe(self.encoder, plain, table.chunks(0, SURVEYED))
        how = self.standardize, self.missing or "refuse", self.text, self.categories, self.decimal
        return learn(table, *how)


def require_words(text: str, missing: str | None, decimal: str | None) -> None:
    """Refuse other words than those that settings of reading have."""
    require_choice("text", text, ["auto", "onehot", "hash"])
    if missing is not None:
        require_choice("missing", missing, ["refuse", "mean"])
    if decimal is not None:
        require_choice("decimal", decimal, [".", ","])


def choice_of(
    recipe: Recipe | SparseRecipe | None,
    encoder: TableEncoder | None,
    target: str | int | None,
    weight: str | int | None,
    drop: Iterable[str | int],
    text_columns: Iterable[str],
    decimal: str | None,
) -> Choice:
    """What is read of a table: the columns of a recipe, or all but those that are dropped."""
    dropped = [drop] if isinstance(drop, str | int) else list(drop)
    if isinstance(recipe, Recipe):
        loose = recipe.commas if decimal is None else ()
        return Choice(list(recipe.names), target, weight, dropped, list(recipe.texts), loose, decimal == ",")
    texts = [*text_columns, *([] if encoder is None else named_categories(encoder))]
    return Choice(None, target, weight, dropped, texts, (), decimal == ",")


def sparse_blocks(
    files: list[str], n_columns: int | None, recipe: SparseRecipe | Recipe | TableEncoder | None, choice: Choice
) -> Blocks:
    """Rows of svmlight files, which have no columns to choose."""
    from .formats.svmlight import SvmlightBlocks

    require_local(files, "svmlight")
    if choice.weight is not None or choice.drop:
        raise ValueError("svmlight rows have no column of weights and none to drop.")
    if isinstance(recipe, TableEncoder | Recipe):
        raise ValueError("svmlight rows are sparse numbers, and the recipe is one of tables: give such a file.")
    return SvmlightBlocks(files, n_columns, recipe)


def named_categories(encoder: TableEncoder) -> list[str]:
    """The columns that an encoder is told to take for categories, which files know by name."""
    given = [] if encoder.categorical_features is None else list(encoder.categorical_features)
    if not all(isinstance(name, str) for name in given):
        raise ValueError("categorical_features must be names of columns where files are read.")
    return given


def learn(
    table: Table, standardize: bool, missing: str, text: str, categories: int, decimal: str | None = None
) -> Recipe:
    """One pass over the table: means, deviations and categories."""
    limit = MOST_CATEGORIES if text == "onehot" else 0 if text == "hash" else categories
    summary = survey(table, lambda: Summary(table, limit, missing))
    if summary.rows == 0:
        raise ValueError("there are no rows: at least one is needed.")
    hows = summary.settle(table, decimal)
    table.settle(hows)
    for name, count in zip(table.numbers, summary.count, strict=True):
        if count == 0:
            raise ValueError(f"column {name!r} has no values at all: leave it out with {option('drop', [name])}.")
    found = [summary.categories[name] for name in table.texts]
    if text == "onehot" and any(len(seen) > limit for seen in found):
        name = next(name for name, seen in zip(table.texts, found, strict=True) if len(seen) > limit)
        hashed, dropped = option("text", "hash"), option("drop", [name])
        raise ValueError(f"column {name!r} has more than {limit:,} different texts: use {hashed}, or {dropped}.")
    listed = tuple(np.array(sorted(seen) if len(seen) <= limit else [], dtype=object) for seen in found)
    widths = (len(values) or categories for values in listed)
    summary.tell_dates(table, dict(zip(table.texts, widths, strict=True)))
    plain = table.dtype if not (standardize or missing == "mean" or table.texts) else ""
    dtype = plain or ("float64" if table.dtype == "float64" else "float32")
    dates = [name for name in table.numbers if name in table.dates or hows.get(name) == "date"]
    return Recipe(
        tuple(table.names), tuple(table.texts), summary.mean, summary.deviations, listed, categories, missing,
        standardize, dtype, tuple(name for name in hows if "comma" in hows[name]), tuple(dates),
        tuple(name for name in hows if "grouped" in hows[name]),
    )  # fmt: skip


def survey(table: Table, make: Callable[[], Summary]) -> Summary:
    """A pass over all rows; begun again where a column is not what its first rows look like."""
    while True:
        summary = make()
        try:
            with Progress("survey", sum(count or 0 for count in table.counts)) as progress:
                progress.visible = progress.visible and progress.rows > 0
                for told in table.summaries(summary, SURVEYED):
                    progress.advance(told.rows - progress.done)
                    summary = told
            return summary
        except MisreadError as error:
            table.loosen(error.column)


def followed(recipe: Recipe | SparseRecipe, table: Table, missing: str | None, decimal: str | None) -> Recipe:
    """The recipe, once the columns are sure to hold what they held in the fit; the rows are counted."""
    if isinstance(recipe, SparseRecipe):
        raise ValueError("the model was fitted to svmlight rows: give such a file.")
    for name in recipe.numbers:
        if name not in table.texts and (name in table.dates) != (name in recipe.dates):
            kinds = ("dates", "numbers") if name in table.dates else ("numbers", "dates")
            raise ValueError(f"column {name!r} holds {kinds[0]} here, and {kinds[1]} in the fit.")

    def how(name: str) -> str:
        kind = recipe.how(name)
        return kind if decimal is None or kind == "date" else DECIMALS[decimal]["grouped" in kind]

    def begin() -> Summary:
        return Summary(table, 0, "mean", {name: how(name) for name in table.texts if name not in recipe.texts})

    if any(count is None for count in table.counts) or set(table.texts) - set(recipe.texts):
        table.settle(survey(table, begin).settle_as_given(table, missing or recipe.missing, decimal))
    return recipe


# ---- which table ----


def open_table(files: list[str], format: str, choice: Choice, csv: Csv, rows: str | None) -> Table:
    for file in files:
        if size_of(file) == 0:
            raise ValueError(f"{file!r} is empty.")
    if format in ("npy", "hdf5"):
        require_local(files, format)
        from .formats.dense import open_hdf5, open_npy

        return open_npy(files, choice) if format == "npy" else open_hdf5(files, choice, rows)
    from .formats.arrow import ArrowTable

    return ArrowTable(files, choice, format, csv)


def delimiter_of(files: list[str]) -> str:
    return "\t" if any(ending == ".tsv" for ending in Path(files[0]).suffixes) else ","


def frame_table(frame: object, choice: Choice) -> ArrowTable:
    from .formats.arrow import ArrowTable, arrow_table

    return ArrowTable(arrow_table(frame), choice)

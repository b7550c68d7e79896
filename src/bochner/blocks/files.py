"""`read`: rows of files in blocks, with the rule by which their columns became numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..validation import require_choice, require_integer
from .base import Block, Blocks
from .formats.base import Choice, Table
from .paths import format_of, matching
from .progress import Progress
from .recipe import Recipe, SparseRecipe, Summary
from .regroup import regroup

SURVEYED = 1 << 16  # rows at a time while means are learned, whatever the memory budget: the same bits for any
MOST_CATEGORIES = 10_000


class TableBlocks(Blocks):
    """Rows of a table, made numbers by a recipe as they are read."""

    recipe: Recipe

    def __init__(self, table: Table, recipe: Recipe) -> None:
        self.table, self.recipe = table, recipe
        self.n_rows, self.n_columns = table.n_rows, recipe.n_columns

    def read(self, start: int, stop: int) -> Block:
        return next(self.stream(start, stop - start))

    def stream(self, start: int, rows: int) -> Iterator[Block]:
        def encoded() -> Iterator[tuple[Any, Any, Any]]:
            first = start
            for chunk in self.table.chunks(start, rows):
                yield self.recipe.encode_chunk(chunk, first), chunk.target, chunk.weight
                first += len(chunk.numbers)

        return regroup(encoded(), start, rows)

    def column(self, name: str, rows: int) -> Iterator[np.ndarray]:
        """The values of one more column of the table, `rows` at a time."""
        chunks = self.table.with_target(name).chunks(0, rows)
        return (block.y for block in regroup(((c.numbers, c.target, None) for c in chunks), 0, rows))

    def fingerprint(self) -> dict[str, Any]:
        table = self.table
        columns = {"target": repr(table.target), "weights": repr(table.weight)}
        return {**super().fingerprint(), **columns, "files": table.sizes(), "recipe": self.recipe.digest()}


def read(
    source: Any,
    target: str | int | None = None,
    *,
    weight: str | int | None = None,
    drop: Iterable[str | int] = (),
    format: str | None = None,
    standardize: bool = True,
    missing: str = "refuse",
    text: str = "auto",
    text_columns: Iterable[str] = (),
    categories: int = 64,
    header: bool = True,
    delimiter: str | None = None,
    rows: str | None = None,
    recipe: Any = None,
    n_columns: int | None = None,
) -> Blocks:
    """Rows of files, in blocks that models fit without ever holding all of them.

    source : a path, a pattern such as "part-*.parquet" (in the order of names), or a list of paths; Parquet, Arrow,
        CSV, lines of JSON, .npy, HDF5 or svmlight, compressed text too. Or a frame or Arrow table.
    target, weight : the columns of targets and of sample weights. Columns of matrices are numbers; the target of .npy
        may be another .npy, that of HDF5 another dataset; svmlight has its own.
    drop : columns to leave out.
    format : "parquet", "ipc", "csv", "json", "npy", "hdf5" or "svmlight", if the name does not tell.
    standardize : numbers get mean 0 and variance 1, by the means of this pass, which the recipe keeps.
    missing : "refuse", or "mean": the mean of its column for a number, none of its categories for text.
    text : "onehot", "hash", or "auto": one column per category up to `categories` of them, else hashed to as many.
    text_columns : columns that are text although they look like numbers, such as codes with zeros in front.
    header, delimiter : of CSV. rows : the dataset of HDF5 that holds the matrix.
    recipe : that of a fitted model (model.recipe_), to read rows to predict; nothing is learned then.
    n_columns : of svmlight, where it is more than the file shows.

    Examples
    --------
    >>> import pandas
    >>> from bochner import read
    >>> blocks = read(pandas.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "x"], "y": [0, 1, 0]}), target="y")
    >>> blocks.recipe.column_names()
    ['a', 'b=x', 'b=y']
    """
    require_choice("missing", missing, ["refuse", "mean"])
    require_choice("text", text, ["auto", "onehot", "hash"])
    require_integer("categories", categories)
    wanted = list(recipe.names) if isinstance(recipe, Recipe) else None
    dropped = [drop] if isinstance(drop, str | int) else list(drop)
    texts = list(text_columns) if recipe is None else list(recipe.texts)
    choice = Choice(wanted, target, weight, dropped, texts)
    if hasattr(source, "columns") or hasattr(source, "schema"):
        table: Table = frame_table(source, choice)
    else:
        files = matching(source)
        format = format_of(files, format)
        if format == "svmlight":
            from .formats.svmlight import SvmlightBlocks

            if weight is not None or dropped:
                raise ValueError("svmlight rows have no column of weights and none to drop.")
            return SvmlightBlocks(files, n_columns, recipe)
        table = open_table(files, format, choice, header, delimiter, rows)
    if isinstance(recipe, SparseRecipe):
        raise ValueError("the model was fitted to svmlight rows: give such a file.")
    if recipe is not None:
        require_same_kinds(table, recipe)
        count_rows(table)
        return TableBlocks(table, recipe)
    return TableBlocks(table, learn(table, standardize, missing, text, categories))


def learn(table: Table, standardize: bool, missing: str, text: str, categories: int) -> Recipe:
    """One pass over the table: means, deviations and categories."""
    limit = MOST_CATEGORIES if text == "onehot" else 0 if text == "hash" else categories
    summary = Summary(table.numbers, table.texts, limit, missing)
    with Progress("survey", sum(count or 0 for count in table.counts)) as progress:
        progress.visible = progress.visible and progress.rows > 0
        for chunk in table.chunks(0, SURVEYED):
            summary.add(chunk)
            progress.advance(len(chunk.numbers))
    if summary.rows == 0:
        raise ValueError("there are no rows: at least one is needed.")
    for name, count in zip(table.numbers, summary.count, strict=True):
        if count == 0:
            raise ValueError(f"column {name!r} has no values at all: drop it.")
    found = [summary.categories[name] for name in table.texts]
    if text == "onehot" and any(len(seen) > limit for seen in found):
        name = next(name for name, seen in zip(table.texts, found, strict=True) if len(seen) > limit)
        raise ValueError(f"column {name!r} has more than {limit:,} different texts: use text='hash', or drop it.")
    listed = tuple(np.array(sorted(seen) if len(seen) <= limit else [], dtype=object) for seen in found)
    plain = table.dtype if not (standardize or missing == "mean" or table.texts) else ""
    dtype = plain or ("float64" if table.dtype == "float64" else "float32")
    return Recipe(
        tuple(table.names), tuple(table.texts), summary.mean, summary.deviations(), listed, categories, missing,
        standardize, dtype,
    )  # fmt: skip


# ---- which table ----


def open_table(
    files: list[str], format: str, choice: Choice, header: bool, delimiter: str | None, rows: str | None
) -> Table:
    for file in files:
        if Path(file).stat().st_size == 0:
            raise ValueError(f"{file!r} is empty.")
    if format in ("npy", "hdf5"):
        from .formats.dense import open_hdf5, open_npy

        return open_npy(files, choice) if format == "npy" else open_hdf5(files, choice, rows)
    from .formats.arrow import ArrowTable

    tabs = any(ending == ".tsv" for ending in Path(files[0]).suffixes)
    return ArrowTable(files, choice, format, header, delimiter or ("\t" if tabs else ","))


def frame_table(frame: Any, choice: Choice) -> Table:
    from .formats.arrow import ArrowTable, arrow_table

    return ArrowTable(arrow_table(frame), choice)


def require_same_kinds(table: Table, recipe: Recipe) -> None:
    for name in recipe.names:
        if (name in table.texts) != (name in recipe.texts):
            kinds = ("text", "numbers") if name in table.texts else ("numbers", "text")
            raise ValueError(f"column {name!r} holds {kinds[0]} here, and {kinds[1]} in the fit.")


def count_rows(table: Table) -> None:
    """A pass over the pieces whose rows are not known."""
    if any(count is None for count in table.counts):
        for _ in table.chunks(0, SURVEYED):
            pass

"""Dask arrays and frames as blocks: partitions of known sizes, and frames by a recipe that the workers learn."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import dask
import dask.array as da
import numpy as np
from dask.delayed import delayed

from ...arrays import Rows
from ...typing import ArrayLike
from ..base import Blocks
from ..frames import is_plain
from .rows import DaskBlocks, computed

if TYPE_CHECKING:
    import dask.dataframe as dd
    import pandas
    import pyarrow

    from ...tables import Recipe
    from ...tables.survey import Summary
    from ..formats.arrow import ArrowTable

Collection: TypeAlias = "da.Array | dd.DataFrame | dd.Series"
CATEGORIES = 64  # of a column of text that get a column each, as `read` has it


def blocks_of(
    X: Collection,
    y: Collection | ArrayLike | None = None,
    weight: Collection | ArrayLike | None = None,
    recipe: Recipe | None = None,
) -> Blocks:
    """A Dask array or frame with its targets and weights as blocks; a recipe is that of the fit, for a frame."""
    names = list(X.columns) if hasattr(X, "columns") else None
    rows = as_array(X, "X") if names is None else None
    if rows is None:
        rows, recipe = frame_as_array(X, recipe)
    if rows.ndim != 2:
        raise ValueError(f"X must have two dimensions; it has {rows.ndim}.")
    beside = [None if part is None else as_array(part, what) for part, what in ((y, "y"), (weight, "sample_weight"))]
    rows, *others = with_sizes([rows, *beside])
    if rows.shape[0] == 0:
        raise ValueError("there are no rows: at least one is needed.")
    rows = rows.rechunk({1: -1}) if rows.numblocks[1] > 1 else rows
    for other, what in zip(others, ("y", "sample_weight"), strict=True):
        if other is not None and other.shape[0] != rows.shape[0]:
            raise ValueError(f"X has {rows.shape[0]} rows but {what} has {other.shape[0]}.")
    fitting = [None if other is None else other.rechunk((rows.chunks[0], *[-1] * (other.ndim - 1))) for other in others]
    return DaskBlocks(rows, *fitting, recipe=recipe, names=names if recipe is None else None)


# ---- arrays ----


def as_array(part: object, name: str) -> da.Array:
    """An array of a collection's partitions; what is in memory is parted as Dask thinks fit."""
    if hasattr(part, "to_dask_array"):
        return part.to_dask_array()
    if isinstance(part, da.Array):
        return part
    if dask.is_dask_collection(part):
        raise ValueError(f"{name} must be a Dask array or frame; it is a {type(part).__name__}.")
    return da.from_array(np.asarray(part))


def with_sizes(arrays: list[Any]) -> list[Any]:
    """The same arrays with the sizes of all their partitions, found out in one pass if they are not known."""
    unknown = [k for k, a in enumerate(arrays) if a is not None and any(s != s for s in a.chunks[0])]
    firsts = [list(arrays[k].to_delayed().reshape(arrays[k].numblocks[0], -1)[:, 0]) for k in unknown]
    found = computed([[delayed(n_rows_of, pure=False)(piece) for piece in first] for first in firsts])
    out = list(arrays)
    for k, sizes in zip(unknown, found, strict=True):
        a = arrays[k]
        out[k] = da.Array(a.dask, a.name, (tuple(sizes), *a.chunks[1:]), dtype=a.dtype, meta=a._meta)
    return out


def n_rows_of(piece: Rows) -> int:
    return int(piece.shape[0])


# ---- frames ----


def frame_as_array(X: dd.DataFrame, recipe: Recipe | None) -> tuple[da.Array, Recipe | None]:
    """A frame as an array, and the recipe by which it became one; frames of plain numbers have none."""
    pieces = list(X.to_delayed())
    facts = computed([delayed(rows_and_kind, pure=False)(piece) for piece in pieces])
    sizes = tuple(rows for rows, _ in facts)
    if recipe is None and all(plain for _, plain in facts):
        return X.to_dask_array(lengths=sizes), None
    recipe = FrameTable(pieces, sizes).recipe() if recipe is None else recipe
    shared = delayed(recipe, traverse=False)
    parts = [
        da.from_delayed(delayed(encoded, pure=False)(shared, piece), (size, recipe.n_columns), dtype=recipe.dtype)
        for piece, size in zip(pieces, sizes, strict=True)
    ]
    return da.concatenate(parts), recipe


def rows_and_kind(frame: pandas.DataFrame) -> tuple[int, bool]:
    """How many rows there are, and whether all columns are plain numbers."""
    return len(frame), is_plain(frame)


def encoded(recipe: Recipe, frame: pandas.DataFrame) -> np.ndarray:
    if not len(frame):
        return np.empty((0, recipe.n_columns), recipe.dtype)
    found: np.ndarray = recipe.encode(frame)
    return found


class FrameTable:
    """A frame of text, dates and gaps, whose recipe is learned by the workers, as `read` learns that of a frame."""

    def __init__(self, pieces: list[Any], sizes: tuple[int, ...]) -> None:
        self.pieces, self.sizes = pieces, sizes
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    def recipe(self) -> Recipe:
        """The recipe that all rows have."""
        from ..files import Choice, frame_table, learn

        schemas = computed(
            [delayed(schema_of, pure=False)(p) for p, n in zip(self.pieces, self.sizes, strict=True) if n]
        )
        empty = schemas[0].empty_table() if len(schemas) == 1 else unified(schemas).empty_table()
        table = frame_table(empty, Choice(None, None, None, [], []))
        table.summaries = partial(self.summaries, table)  # type: ignore[method-assign]
        return learn(table, True, "mean", "auto", CATEGORIES)

    def summaries(self, table: ArrowTable, summary: Summary, rows: int) -> Iterator[Summary]:
        """One task after another adds its rows to the summary, in their order."""
        made, total = delayed(summary, traverse=False), int(self.starts[-1])
        table = delayed(table.dataset.schema, traverse=False)
        for start in range(0, total, rows):
            stop = min(start + rows, total)
            first = int(np.searchsorted(self.starts, start, side="right")) - 1
            last = int(np.searchsorted(self.starts, stop, side="left"))
            within = slice(start - int(self.starts[first]), stop - int(self.starts[first]))
            made = delayed(summarized, pure=False)(table, made, within, self.pieces[first:last])
        yield computed(made)


def schema_of(frame: pandas.DataFrame) -> pyarrow.Schema:
    from ..formats.arrow import arrow_table

    return arrow_table(frame).schema


def unified(schemas: list[pyarrow.Schema]) -> pyarrow.Schema:
    """Types that hold the numbers of all partitions."""
    import pyarrow

    return pyarrow.unify_schemas([schema.remove_metadata() for schema in schemas], promote_options="permissive")


def summarized(schema: pyarrow.Schema, summary: Summary, rows: slice, frames: list[pandas.DataFrame]) -> Summary:
    """A summary with some rows of neighbouring frames; the one that was given stays as it is."""
    import pandas

    from ..files import Choice, frame_table

    frame = pandas.concat(frames).iloc[rows]
    table = frame_table(schema_cast(frame, schema), Choice(None, None, None, [], []))
    more = deepcopy(summary)
    for chunk in table.chunks(0, len(frame)):
        more.add(chunk)
    return more


def schema_cast(frame: pandas.DataFrame, schema: pyarrow.Schema) -> pyarrow.Table:
    from ..formats.arrow import arrow_table

    return arrow_table(frame).replace_schema_metadata(None).cast(schema).combine_chunks()  # one piece, as of one frame

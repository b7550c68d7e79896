"""Rows in files for models that hold them: all of them as a frame, or as many as there is memory for."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from ...blocks import Blocks, MemoryBlocks, Recipe, SparseRecipe, TableBlocks, rows_per_block
from ...blocks.base import RowsLike
from ...config import memory_budget
from ...streams import sample_rows
from ...tables.encoder_recipe import require_sound_chunk
from ...tables.several_encoders import EncodersRecipe, frame_of_chunks
from ...typing import VectorLike
from ...validation import FitWarning
from ..checks import split_target

COPIES = 16  # of the encoded rows that a search may hold: by each encoder, sampled, in metrics
SEED = 17


Reading = tuple[str, tuple[str, ...], tuple[str, ...]]
READING: Reading = ("mean", (), ())  # files of rows like those of a frame


class Gathered(NamedTuple):
    """Rows and targets in memory, and how files of such rows are read: missing values, decimal commas, groups."""

    X: Any
    y: Any
    reading: Reading


def gather(X: RowsLike, y: VectorLike | None, target: str | None) -> Gathered:
    """Rows and targets as they are given; those of Blocks as a frame, or as an array where they have no table."""
    if not isinstance(X, Blocks):
        return Gathered(*split_target(X, y, target), READING)
    if y is not None or target is not None:
        raise ValueError("the blocks have their own targets: leave out y and target.")
    if isinstance(X, MemoryBlocks):
        refuse_weights(X.weight)
        return Gathered(X.X, X.y, READING)
    if isinstance(X.recipe, SparseRecipe):
        raise ValueError("sparse rows have no columns to learn a metric of: use RandomFeatureRegressor or -Classifier.")
    if X.n_rows == 0:
        raise ValueError("there are no rows: at least one is needed.")
    numbers = rows_that_fit(X)
    if not isinstance(X, TableBlocks):
        block = X.take(numbers)
        refuse_weights(block.weight)
        return Gathered(block.X, block.y, READING)
    if X.table.weight is not None:
        refuse_weights(X.table.weight)
    return from_table(X, numbers)


def from_table(blocks: TableBlocks, numbers: np.ndarray) -> Gathered:
    """The columns of a table as they were read, before its recipe makes numbers of them."""
    recipe: Recipe = blocks.encoder
    chunks = []
    for start, chunk in blocks.table.parts(numbers, rows_per_block(4 * blocks.n_columns)):
        inside = numbers[(numbers >= start) & (numbers < start + len(chunk.numbers))]
        if len(inside):
            chunks.append(chunk.only(inside - start))
            require_sound_chunk(recipe, chunks[-1], start, blocks.n_rows)
    targets = [chunk.target for chunk in chunks]
    y = None if targets[0] is None else np.concatenate(targets)
    return Gathered(frame_of_chunks(recipe, chunks), y, (recipe.missing, recipe.commas, recipe.groups))


def rows_that_fit(blocks: Blocks) -> np.ndarray:
    """The numbers of all rows, or of a random sample that finds room in the memory budget."""
    inputs = blocks.n_columns if blocks.recipe is None else max(blocks.n_columns, blocks.recipe.n_inputs)
    room = max(1, memory_budget() // (8 * COPIES * max(inputs, 1)))
    if blocks.n_rows > room:
        warnings.warn(
            f"{room:,} of {blocks.n_rows:,} rows, drawn at random, find room in the memory budget, and the model is "
            "fitted to those: set_config(memory=...) gives it more.",
            FitWarning, stacklevel=4,
        )  # fmt: skip
    return sample_rows(blocks.n_rows, room, seed=SEED)


def blocks_to_predict(blocks: Blocks, recipe: EncodersRecipe | None) -> Blocks:
    """The rows of Blocks as the encoders of a model make them; a table must be read as that of the fit was."""
    if recipe is None or not isinstance(blocks, TableBlocks) or blocks.recipe == recipe:
        return blocks
    theirs, ours = ((r.names, r.texts, r.dates) for r in (blocks.recipe, recipe))
    if theirs != ours:
        raise ValueError(
            "the blocks have other columns than those of the fit, or columns of other kinds: read them with "
            "bochner.read(..., recipe=model.recipe_)."
        )
    return TableBlocks(blocks.table, recipe, blocks.encoder.missing)


def refuse_weights(weight: object) -> None:
    """Rows count alike here."""
    if weight is not None:
        raise ValueError("there are no sample weights in models without settings: read the rows without weight.")

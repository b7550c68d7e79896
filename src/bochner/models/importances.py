"""Which columns matter: how predictions change when a column is exchanged between rows."""

from __future__ import annotations

import numpy as np

from .. import ops
from ..arrays import Array, constant, like, to_host
from ..bases.design import Design
from ..blocks import Recipe, SparseRecipe
from ..moments import times_columns
from ..ops.devices import device_of
from ..typing import MatrixLike

EXCHANGED = 4096  # rows whose predictions are made in all
TILE, WIDEST = 1 << 21, 512  # numbers of features that are held at a time, and columns of a row at most
FEWEST, MOST = 4, 100  # rows that exchange their columns
FLOATS = 4  # times as much room as features of 8 bits take: scores are of floats


def column_importances(
    design: Design, coefficients: Array, rows: MatrixLike, recipe: Recipe | SparseRecipe | None = None
) -> np.ndarray:
    """The total index of Sobol of each column, relative to their sum: E (f(x) - f(x with column j of another row))^2.

    For a recipe's columns that came from one column of a table, their sum.
    """
    weights = times_columns(design.scale_, coefficients)
    dense = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows)
    n, columns = dense.shape
    count = int(np.clip(EXCHANGED // columns, FEWEST, min(MOST, n)))
    chosen = dense[:count]
    others = np.roll(chosen, 1, axis=0)
    before, found = predicted(design, weights, chosen), np.zeros(columns)
    for start in range(0, columns, max(1, EXCHANGED // count)):
        part = np.arange(start, min(start + max(1, EXCHANGED // count), columns))
        exchanged = np.repeat(chosen[None], len(part), axis=0)
        exchanged[np.arange(len(part)), :, part] = others[:, part].T
        after = predicted(design, weights, exchanged.reshape(-1, columns)).reshape(len(part), *before.shape)
        found[part] = to_host(((after - before) ** 2).sum(axis=(1, 2)))
    found = gathered(recipe, found)
    total = float(found.sum())
    return found / total if total > 0 else np.zeros(len(found))


def predicted(design: Design, weights: Array, rows: np.ndarray) -> Array:
    """Scores without the intercept, a tile of columns at a time: features may be too many to be held.

    They are made where the weights are.
    """
    total = constant(0.0, (len(rows), weights.shape[1]), weights)
    width = int(np.clip(TILE // len(rows), 2, WIDEST))
    if device_of(weights) is not None:  # which has room for more, and wants few launches
        width = max(width, ops.tiles_for(weights).numbers // len(rows) // FLOATS)
    for columns, tile in design.column_tiles(like(rows, weights), width):
        total += ops.scores(tile, weights[columns])
    return total


def gathered(recipe: Recipe | SparseRecipe | None, found: np.ndarray) -> np.ndarray:
    """One number for each column of the table that the rows were made from."""
    if recipe is None or isinstance(recipe, SparseRecipe) or not recipe.names:
        return found
    return np.bincount(recipe.column_origins(), found, minlength=recipe.n_inputs)

"""What a two-sample test tells."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import ops
from ..arrays import Array, empty, like
from ..bases import Basis
from ..bases.design import Design
from ..blocks import Blocks, RowsLike, rows_per_block
from ..models.unlabelled import valid_rows
from ..ops.devices import device_of, room_on


@dataclass(frozen=True, eq=False)
class TwoSampleResult:
    """The outcome of `mmd_test`.

    Attributes
    ----------
    statistic : float
        Squared distance between mean features: the biased estimate of the squared MMD.
    pvalue : float
        Probability of a statistic as large if both samples have one distribution.
    unbiased : float
        The unbiased estimate of the squared MMD; it may be below 0.
    null : str
        How the p-value was found.
    rows : tuple of two int
        Numbers of rows of X and of Y.
    design : Design
        From rows to features: `design.features(X)` scales rows and applies the fitted basis.
    difference : ndarray of shape (n_components,)
        Mean features of X less those of Y.
    scores : ndarray of shape (n_components,)
        Each difference over its standard error.
    null_statistics : ndarray of shape (n_resamples,) or None
        Statistics of the resamples.
    recipe : Recipe or None
        How the columns of files became numbers.
    basis : Basis
        The fitted basis, which takes scaled rows.
    features : ndarray of shape (n_components,)
        Numbers of the features, those that differ most first.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import mmd_test
    >>> rng = np.random.default_rng(0)
    >>> result = mmd_test(rng.normal(size=(100, 1)), rng.normal(size=(100, 1)), random_state=0)
    >>> bool(result.pvalue > 0.05), result.rows
    (True, (100, 100))
    """

    statistic: float
    pvalue: float
    unbiased: float
    null: str
    rows: tuple[int, int]
    design: Design
    difference: np.ndarray = field(repr=False)
    scores: np.ndarray = field(repr=False)
    null_statistics: np.ndarray | None = field(repr=False, default=None)
    recipe: Any = field(repr=False, default=None)

    @property
    def basis(self) -> Basis:
        """The fitted basis, which takes scaled rows."""
        return self.design.basis

    @property
    def features(self) -> np.ndarray:
        """Numbers of the features, those that differ most first."""
        return np.argsort(-np.abs(self.scores), kind="stable")

    def witness(self, X: RowsLike) -> Array:
        """Compute the witness function, which is positive where the first sample is the denser one.

        It is the mean of k(x, .) over the first sample less that over the second.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, tensor or Blocks of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray or tensor of shape (n_samples,)
            The function at each row, made where the rows are.
        """
        if self.recipe is not None and not isinstance(X, Blocks):
            X = self.recipe.encode(X)
        elif isinstance(X, Blocks) and X.recipe != self.recipe:
            raise ValueError("X was not read as the samples were: use bochner.read(..., recipe=result.recipe).")
        weights, rows = float(self.design.scale_) * self.difference[:, None], valid_rows(X, "X", self.basis)
        if rows.n_columns != self.design.n_features_in_:
            raise ValueError(f"X has {rows.n_columns} columns; the samples had {self.design.n_features_in_}.")
        out = empty((rows.n_rows,), getattr(rows, "X", None))
        with room_on(device_of(out)):
            for block in rows.walk(rows_per_block(2 * len(weights)), title="witness"):
                features = self.design.features(block.X)
                found = ops.scores(features, like(weights, features))[:, 0]
                out[block.start : block.start + len(found)] = found
        return out

    def __str__(self) -> str:
        found = f"squared MMD {self.statistic:.4g} (unbiased {self.unbiased:.4g}), p = {self.pvalue:.4g}"
        return f"{found}: {self.rows[0]:,} and {self.rows[1]:,} rows, {self.null}"

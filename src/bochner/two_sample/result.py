"""What a two-sample test tells."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..bases import Basis
from ..bases.design import Design
from ..blocks import Blocks, rows_per_block
from ..models.unlabelled import valid_rows


@dataclass(frozen=True, eq=False)
class TwoSampleResult:
    """The outcome of `mmd_test`.

    statistic : the squared length of the difference of mean features, the biased estimate of the squared MMD.
    pvalue : the chance of a statistic as large if both samples have one law.
    unbiased : the unbiased estimate of the squared MMD; below zero by chance if the laws are equal.
    null : how the p-value was found. null_statistics : the statistics of the relabelings, or None.
    difference : mean features (times design.scale_) of X less those of Y.
    scores : each difference over its standard error. features : columns of features, those that differ most first.
    design : how rows become features: design.features(X) scales them and applies the fitted basis.
    basis : the fitted basis, which is to be given scaled rows.
    rows : of X and of Y. recipe : how columns of files became numbers, or None.
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
        return self.design.basis

    @property
    def features(self) -> np.ndarray:
        return np.argsort(-np.abs(self.scores), kind="stable")

    def witness(self, X: Any) -> np.ndarray:
        """The witness function at rows X (an array or Blocks): positive where the first sample is the denser one.

        It is the mean of k(x, .) over the first sample less that over the second.
        """
        if self.recipe is not None and not isinstance(X, Blocks):
            X = self.recipe.encode(X)
        elif isinstance(X, Blocks) and X.recipe != self.recipe:
            raise ValueError("X was not read as the samples were: use bochner.read(..., recipe=result.recipe).")
        weights, rows = float(self.design.scale_) * self.difference, valid_rows(X, "X", self.basis)
        if rows.n_columns != self.design.n_features_in_:
            raise ValueError(f"X has {rows.n_columns} columns; the samples had {self.design.n_features_in_}.")
        blocks = rows.walk(rows_per_block(2 * len(weights)), title="witness")
        return np.concatenate([np.asarray(self.design.features(block.X) @ weights) for block in blocks])

    def __str__(self) -> str:
        found = f"squared MMD {self.statistic:.4g} (unbiased {self.unbiased:.4g}), p = {self.pvalue:.4g}"
        return f"{found}: {self.rows[0]:,} and {self.rows[1]:,} rows, {self.null}"

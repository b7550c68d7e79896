"""Sums over rows of a loss, its gradient and its second derivative: the aggregates that Newton's method asks for.

Blocks are features in floats with targets and weights (`feature_cache.FloatFeatures`). Coefficients are those of
centred features, x = (b; c) with scores (z - mean)'b + c.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..arrays import Array, cast
from ..blocks import Block, SumOf
from ..losses import Loss
from ..moments import times_columns

SCORES = "_scores"  # the state of a block: a place, and the scores there, which can be made again


@dataclass(frozen=True)
class CentredModel:
    """Scores of features times `scale`, centred by `mean`."""

    scale: float | np.ndarray
    mean: np.ndarray

    def scores(self, features: Array, x: np.ndarray) -> np.ndarray:
        m = len(self.mean)
        weights = np.asarray(times_columns(self.scale, x[:m]), dtype=features.dtype)
        offset = (x[m] if len(x) > m else 0.0) - self.mean @ x[:m]
        return np.asarray(features @ weights, dtype=np.float64) + offset

    def transposed(self, features: Array, rows: np.ndarray) -> np.ndarray:
        """Z' times these rows, before the mean is taken out."""
        image = features.T @ rows.astype(features.dtype)
        return np.asarray(times_columns(self.scale, np.asarray(image, dtype=np.float64)))

    def dense(self, features: Array, intercept: bool) -> np.ndarray:
        """Rows of the centred features, and of ones for an intercept."""
        rows = features.toarray() if hasattr(features, "toarray") else features
        rows = self.scale * cast(rows, "float64") - self.mean
        return np.column_stack([rows, np.ones(len(rows))]) if intercept else rows


class Terms(Protocol):
    """What the rows of a block add to an objective, given their scores."""

    def terms(self, block: Block, f: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """The sum of losses, gradients (n, k) and curvatures (n, k), all times the weights."""

    def hessian_product(self, block: Block, f: np.ndarray, change: np.ndarray) -> np.ndarray:
        """The change of the gradients (n, k) with that of the scores."""


@dataclass(frozen=True)
class LossTerms:
    """Those of a loss with a second derivative."""

    loss: Loss

    def terms(self, block: Block, f: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        weight = block.weight[:, None]
        value = float(block.weight @ self.loss.value(f, block.y))
        return value, weight * self.loss.gradient(f, block.y), weight * self.loss.curvature(f, block.y)

    def hessian_product(self, block: Block, f: np.ndarray, change: np.ndarray) -> np.ndarray:
        return np.asarray(block.weight[:, None] * self.loss.hessian_product(f, block.y, change))


@dataclass(frozen=True)
class AtPlace(SumOf):
    """A sum at the coefficients x, which have the number `place`: `keeps` leaves scores for other sums there."""

    terms: Terms
    model: CentredModel
    x: np.ndarray
    place: int
    keeps: bool

    def known(self, block: Block) -> np.ndarray | None:
        place, f = (block.state or {}).get(SCORES, (None, None))
        return f if place == self.place else None

    def scores(self, block: Block) -> np.ndarray:
        f = self.known(block)
        if f is None:
            f = self.model.scores(block.X, self.x)
            if self.keeps and block.state is not None:
                block.state[SCORES] = self.place, f
        return f


@dataclass(frozen=True)
class GradientOf(AtPlace):
    """Rows of Z' times the slopes; then sums of slopes, of curvatures, of losses and of weights."""

    def of(self, block: Block) -> np.ndarray:
        k = self.x.shape[1]
        value, slope, curvature = self.terms.terms(block, self.scores(block))
        rest = [slope.sum(axis=0), curvature.sum(axis=0), np.full(k, value / k), np.full(k, block.weight.sum())]
        return np.vstack([self.model.transposed(block.X, slope), *rest])


@dataclass(frozen=True)
class HessianProduct(AtPlace):
    """Rows of Z' times the change of the slopes along v; then the sum of these changes."""

    v: np.ndarray

    def of(self, block: Block) -> np.ndarray:
        f = self.known(block)
        if f is None:  # both at once, for one pass over the features
            both = self.model.scores(block.X, np.hstack([self.x, self.v]))
            f, change = both[:, : self.x.shape[1]], both[:, self.x.shape[1] :]
        else:  # products come at the place looked at last: half their work is done
            change = self.model.scores(block.X, self.v)
        bent = self.terms.hessian_product(block, f, change)
        return np.vstack([self.model.transposed(block.X, bent), bent.sum(axis=0)])


@dataclass(frozen=True)
class CurvedCounts(AtPlace):
    """How many rows are curved, of each output; and how many there are."""

    def of(self, block: Block) -> np.ndarray:
        curvature = self.terms.terms(block, self.scores(block))[2]
        return np.vstack([np.count_nonzero(curvature > 0, axis=0), np.full(curvature.shape[1], len(curvature))])


@dataclass(frozen=True)
class CurvedRows(AtPlace):
    """The curved rows of one output times the roots of their curvatures: a list of matrices."""

    output: int
    intercept: bool

    def bent(self, block: Block) -> np.ndarray:
        curvature = self.terms.terms(block, self.scores(block))[2][:, self.output]
        there = curvature > 0
        return self.model.dense(block.X[there], self.intercept) * np.sqrt(curvature[there])[:, None]

    def of(self, block: Block) -> list[np.ndarray] | np.ndarray:
        return [self.bent(block)]


@dataclass(frozen=True)
class CurvedGram(CurvedRows):
    """Z'DZ with the curvatures D of the rows, of one output."""

    def of(self, block: Block) -> np.ndarray:
        rows = self.bent(block)
        return rows.T @ rows

"""The sum of losses over all rows, plus alpha |b|^2, as a function of coefficients: a pass over the rows for each look.

Features are kept if they fit in a quarter of the memory budget and made again in every pass if not. Coefficients are
those of centred features, x = (b; c) with scores (z - mean)'b + c, so that c and b hardly meet in the curvature.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ...bases.design import times_columns
from ...blocks import Block, MemoryBlocks, rows_per_block
from ...config import memory_budget
from ...losses import Logistic, Loss
from ...solvers import factor_gram, length, sampled_preconditioner
from ...streams import sample_rows
from .matrix_free import first_sums, preconditioner
from .primal import reduce_moments
from .problem import Problem

SAMPLED, LEAST = 8, 1000  # rows per feature that make a preconditioner, and rows at least
DRIFT = 4.0  # a preconditioner is made again when the mean curvature has changed by this factor
PATIENT = 60  # products in a direction after which it is worth while to factor the second derivative itself
SOME = 0.25  # share of rows that are few
LARGEST = 2048  # rows or features of a matrix that is factored in every step

Product = Callable[[np.ndarray], np.ndarray]


class Piece(NamedTuple):
    """Some rows as features in floats, targets, weights, and the numbers of the rows."""

    features: Any
    y: np.ndarray
    weight: np.ndarray
    rows: Any


def ridge_inverse(rows: np.ndarray, ratio: float, shift: float) -> Product:
    """v -> (ratio Z'Z + shift I)^-1 v, by whichever of Z'Z and ZZ' is smaller."""
    if len(rows) >= rows.shape[1]:
        factor = factor_gram(rows.T @ rows, shift / ratio)
        if factor is not None:
            return lambda v: factor.solve(v) / ratio
    apply = sampled_preconditioner(rows, ratio, shift)
    return lambda v: apply(v) / shift


class Pieces:
    """The features of all rows a block at a time, from memory if they fit."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.single = str(problem.basis.precision) in ("int8", "float32")
        m, n = int(problem.basis.n_components), problem.blocks.n_rows
        self.width = 3 * m
        self.kept: list[Piece] | None = None
        if n * m * (4 if self.single else 8) <= memory_budget() // 4:
            self.kept = []
            for block in problem.blocks.walk(max(1, (1 << 25) // m), title="features"):
                if block.X.shape[0]:
                    self.kept.append(self.piece(block))
        self.kind = np.dtype(np.float32 if self.single else np.float64)
        if self.kept and not hasattr(self.kept[0].features, "indptr"):
            self.kind = self.kept[0].features.dtype

    def piece(self, block: Block) -> Piece:
        features = self.problem.features(block.X)
        if features.dtype.kind != "f":
            features = features.astype(np.float32 if self.single else np.float64)
        n = features.shape[0]
        weight = np.ones(n) if block.weight is None else block.weight
        numbers = block.start + (np.arange(n) if block.kept is None else block.kept)
        return Piece(features, block.y.astype(np.float64), weight, numbers)

    def each(self, title: str) -> Iterator[Piece]:
        """All pieces in order, for work that leaves something behind: a sum may be read back instead of made."""
        if self.kept is not None:
            yield from self.kept
            return
        for block in self.problem.blocks.walk(rows_per_block(self.width), title=title):
            if block.X.shape[0]:
                yield self.piece(block)

    def reduce(self, function: Callable[[Piece], Any], title: str) -> Any:
        """The sum of function(piece)."""
        if self.kept is None:
            return self.problem.blocks.reduce(lambda b: function(self.piece(b)), width=self.width, title=title)
        total = None
        for piece in self.kept:
            part = function(piece)
            total = part if total is None else total + part
        return total


class RiskObjective:
    """sum_i w_i loss(f_i, y_i) + alpha |b|^2, for the solvers of smooth functions."""

    def __init__(self, problem: Problem, loss: Loss, alpha: float, metric: Metric | None = None) -> None:
        self.problem, self.loss, self.alpha = problem, loss, alpha
        self.pieces = Pieces(problem)
        self.separable = problem.outputs == 1 or not isinstance(loss, Logistic)
        self.rounding = 1e-6 if self.pieces.kind == np.float32 else 1e-13
        self._metric = Metric(problem) if metric is None else metric
        self._curvature = self._weight = 1.0
        self._looked: tuple[np.ndarray, dict[int, np.ndarray]] | None = None
        self._reference: float | None = None
        self._inverses: list[Product] = []
        self._products, self._hard = 0, False  # in this direction; whether there were too many in one

    @property
    def settings(self) -> dict[str, Any]:
        """How far to go, measured by the gradient of the model 0: the objective is near its least by the square of it.

        Who takes 8-bit or float32 features wants speed, and their rounding is above what further steps would gain.
        """
        if self._reference is None:
            self._reference = self.size(self.look(self.zeros())[1])
        return {"tolerance": 1e-3 if self.pieces.kind == np.float32 else 1e-9, "reference": self._reference}

    def zeros(self) -> np.ndarray:
        return np.zeros((int(self.problem.basis.n_components) + int(self.problem.intercept), self.problem.outputs))

    def size(self, gradient: np.ndarray) -> float:
        return length(self, gradient)

    def look(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        m, k = int(self.problem.basis.n_components), x.shape[1]
        seen: dict[int, np.ndarray] = {}

        def part(piece: Piece) -> np.ndarray:
            f = self.scores(piece, x)
            if self.pieces.kept is not None:
                seen[id(piece)] = f
            value, slope, curvature = self.terms(piece, f)
            rest = [slope.sum(axis=0), curvature.sum(axis=0), np.full(k, value / k), np.full(k, piece.weight.sum())]
            return np.vstack([self.transposed(piece, slope), *rest])

        sums = self.pieces.reduce(part, "losses")
        if self.pieces.kept is not None:  # products come at the place looked at last: half their work is done
            self._looked = x, seen
        b = x[:m]
        gradient = np.empty_like(x)
        gradient[:m] = sums[:m] - np.outer(self._metric.mean, sums[m]) + 2.0 * self.alpha * b
        gradient[m:] = sums[m]
        self._weight = float(sums[m + 3, 0])
        self._curvature = float(sums[m + 1].mean()) / self._weight
        return float(sums[m + 2].sum() + self.alpha * np.sum(b**2)), gradient

    def product(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        m = int(self.problem.basis.n_components)
        self._products += 1

        seen = self._looked[1] if self._looked is not None and self._looked[0] is x else None

        def part(piece: Piece) -> np.ndarray:
            if seen is None:
                both = self.scores(piece, np.hstack([x, v]))
                f, change = both[:, : x.shape[1]], both[:, x.shape[1] :]
            else:
                f, change = seen[id(piece)], self.scores(piece, v)
            bent = self.bend(piece, f, change)
            return np.vstack([self.transposed(piece, bent), bent.sum(axis=0)])

        sums = self.pieces.reduce(part, "curvature")
        image = np.empty_like(v)
        image[:m] = sums[:m] - np.outer(self._metric.mean, sums[m]) + 2.0 * self.alpha * v[:m]
        image[m:] = sums[m]
        return image

    def approach(self, x: np.ndarray) -> None:
        """The metric will do; or, where few rows are bent at all, or it did not, 2 alpha I + Z'DZ with the curvatures D
        of the rows is inverted."""
        self._hard = self._hard or self._products > PATIENT
        self._products, self._inverses = 0, []
        if not self.separable or self.pieces.kept is None or self.alpha == 0:
            return
        bent = [(p, self.terms(p, self.scores(p, x))[2]) for p in self.pieces.kept]
        if not self._hard and max(np.mean(c > 0) for _, c in bent) > SOME:
            return
        inverses = []
        for column in range(x.shape[1]):
            parts = [(p.features[c[:, column] > 0], c[c[:, column] > 0, column]) for p, c in bent]
            if min(sum(len(curvature) for _, curvature in parts), len(x)) > LARGEST:
                return
            rows = np.vstack([part.toarray() if hasattr(part, "toarray") else part for part, _ in parts])
            rows = self.problem.scale * rows.astype(np.float64) - self._metric.mean
            if self.problem.intercept:
                rows = np.column_stack([rows, np.ones(len(rows))])
            roots = np.sqrt(np.concatenate([curvature for _, curvature in parts]))
            inverses.append(ridge_inverse(rows * roots[:, None], 1.0, 2.0 * self.alpha))
        self._inverses = inverses

    def precondition(self, v: np.ndarray) -> np.ndarray:
        if self._inverses:
            return np.column_stack([inverse(v[:, [k]]) for k, inverse in enumerate(self._inverses)])
        return self._metric.inverse(v, self._curvature, self._weight, self.alpha)

    # ---- rows ----

    def terms(self, piece: Piece, f: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """The sum of losses, gradients (n, k) and curvatures (n, k), all times the weights."""
        weight = piece.weight[:, None]
        value = float(piece.weight @ self.loss.value(f, piece.y))
        return value, weight * self.loss.gradient(f, piece.y), weight * self.loss.curvature(f, piece.y)

    def bend(self, piece: Piece, f: np.ndarray, change: np.ndarray) -> np.ndarray:
        return piece.weight[:, None] * self.loss.curve(f, piece.y, change)

    def scores(self, piece: Piece, x: np.ndarray) -> np.ndarray:
        m = int(self.problem.basis.n_components)
        weights = times_columns(self.problem.scale, x[:m]).astype(piece.features.dtype)
        offset = (x[m] if len(x) > m else 0.0) - self._metric.mean @ x[:m]
        return np.asarray(piece.features @ weights, dtype=np.float64) + offset

    def transposed(self, piece: Piece, rows: np.ndarray) -> np.ndarray:
        image = piece.features.T @ rows.astype(piece.features.dtype)
        return times_columns(self.problem.scale, np.asarray(image, dtype=np.float64))

    def start_at(self, coefficients: np.ndarray, intercept: np.ndarray) -> np.ndarray:
        """The x of a model."""
        x = self.zeros()
        x[: len(coefficients)] = coefficients
        x[len(coefficients) :] = intercept + self._metric.mean @ coefficients
        return x

    def model(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients and intercept of the features as they are."""
        m = int(self.problem.basis.n_components)
        intercept = x[m] - self._metric.mean @ x[:m] if len(x) > m else np.zeros(x.shape[1])
        return x[:m], intercept


class Metric:
    """The Gram matrix of sampled rows, to measure changes of coefficients by; and their means, to centre by.

    Where rows are fewer than features the rows themselves serve (Woodbury's formula); where neither fits in memory, as
    many rows as do.
    """

    def __init__(self, problem: Problem) -> None:
        m, n = int(problem.basis.n_components), problem.blocks.n_rows
        self.problem = problem
        self._gram: np.ndarray | None = None
        self._rows: Any = None
        fits = 32 * m * min(m, n) <= memory_budget()
        block = problem.blocks.take(sample_rows(n, max(SAMPLED * m, LEAST) if fits else LEAST, seed=6))
        sample = replace(problem, blocks=MemoryBlocks(block.X, block.y))
        sums = sample.blocks.reduce(lambda block: first_sums(sample.features(block.X), block), width=3 * m)
        self.mean = problem.scale * sums.sum_z / sums.weight if problem.intercept else np.zeros(m)
        if fits and m <= n:
            centered = reduce_moments(sample, "preconditioner").centered(problem.scale, problem.intercept)
            self._gram = centered.gram / centered.rows
        elif fits:
            features = problem.features(block.X)
            dense = features.toarray() if hasattr(features, "toarray") else features
            self._rows = problem.scale * dense.astype(np.float64) - self.mean
        self._made: tuple[tuple[float, float], Callable[[np.ndarray], np.ndarray]] | None = None

    def inverse(self, v: np.ndarray, curvature: float, weight: float, alpha: float) -> np.ndarray:
        """(curvature G + 2 alpha I)^-1 v, and v / (curvature weight) for the intercept."""
        total = max(curvature, 1e-6) * weight
        if self._made is None or self._made[0][1] != alpha or not 1 / DRIFT < self._made[0][0] / total < DRIFT:
            self._made = (total, alpha), self._invert(max(2.0 * alpha / total, 1e-12))
        m = int(self.problem.basis.n_components)
        out = np.empty_like(v)
        out[:m], out[m:] = self._made[1](v[:m]) / total, v[m:] / total
        return out

    def _invert(self, shift: float) -> Callable[[np.ndarray], np.ndarray]:
        """v -> (G + shift I)^-1 v for the Gram matrix of an average row."""
        if self._gram is not None:
            least = max(shift, 1e-9 * float(np.trace(self._gram)) / len(self._gram), np.finfo(float).tiny)
            factor = factor_gram(self._gram, least)
            diagonal = np.diagonal(self._gram)[:, None] + least
            return lambda v: v / diagonal if factor is None else factor.solve(v)
        if self._rows is not None:
            apply = sampled_preconditioner(self._rows, 1.0 / len(self._rows), shift)
        else:
            apply, _ = preconditioner(self.problem, self.mean, 1.0, shift)
        return lambda v: apply(v) / shift

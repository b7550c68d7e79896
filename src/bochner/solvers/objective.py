"""The sum of losses over all rows, plus alpha |b|^2, as a function of coefficients: a pass over the rows for each look.

Features are kept if they fit in a quarter of the memory budget and made again in every pass if not. Coefficients are
those of centred features, x = (b; c) with scores (z - mean)'b + c, so that c and b hardly meet in the curvature.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import cast
from ..blocks import MemoryBlocks
from ..config import memory_budget
from ..streams import sample_rows
from .conjugate_gradient import Product, sampled_preconditioner
from .factor import factor_gram
from .feature_cache import FeaturesOf, kept_floats
from .matrix_free import FirstSums, preconditioner
from .minimise import length
from .problem import Problem
from .risk import CentredModel, CurvedCounts, CurvedGram, CurvedRows, GradientOf, HessianProduct, LossTerms, Terms
from .sums import reduce_moments

SAMPLED, LEAST = 8, 1000  # rows per feature that make a preconditioner, and rows at least
DRIFT = 4.0  # a preconditioner is made again when the mean curvature has changed by this factor
PATIENT = 60  # products in a direction after which it is worth while to factor the second derivative itself
SOME = 0.25  # share of rows that are few
LARGEST = 2048  # rows or features of a matrix that is factored in every step

METRIC = 6  # the seed of the rows of the metric

_places = itertools.count()


def inverse_of(rows: np.ndarray, shift: float) -> Product:
    """v -> (Z'Z + shift I)^-1 v, by whichever of Z'Z and ZZ' is smaller."""
    if len(rows) >= rows.shape[1]:
        factor = factor_gram(rows.T @ rows, shift)
        if factor is not None:
            return factor.solve
    apply = sampled_preconditioner(rows, 1.0, shift)
    return lambda v: apply(v) / shift


def rows_of_metric(most: int) -> int:
    """How many rows the metric samples for so many columns, where its matrix finds room."""
    return max(SAMPLED * most, LEAST)


class RiskObjective:
    """sum_i w_i loss(f_i, y_i) + alpha |b|^2, for the solvers of smooth functions."""

    def __init__(self, problem: Problem, metric: Metric | None = None) -> None:
        self.problem, self.loss, self.alpha = problem, problem.loss, problem.alpha
        self.blocks = kept_floats(problem, np.dtype(np.float32 if problem.single else np.float64))
        self.kind = kind_of(problem, self.blocks.keeps)
        self.separable = problem.outputs == 1 or problem.loss.separable
        self.rounding = 1e-6 if self.kind == np.float32 else 1e-13
        self._metric = Metric(problem) if metric is None else metric
        self.centred = CentredModel(problem.scale, self._metric.mean)
        self._curvature = self._weight = 1.0
        self._place: tuple[np.ndarray, int] | None = None
        self._reference: float | None = None
        self._inverses: list[Product] = []
        self._products, self._hard = 0, False  # in this direction; whether there were too many in one

    @property
    def settings(self) -> dict[str, Any]:
        """How far to go, measured by the gradient of the model 0: the objective is near its least by the square of it.

        Who takes 8-bit or float32 features wants speed, and their rounding is above what further steps would gain.
        """
        if self._reference is None:
            self._reference = self.size(self.value_and_gradient(self.zeros())[1])
        return {"tolerance": 1e-3 if self.kind == np.float32 else 1e-9, "reference": self._reference}

    def zeros(self) -> np.ndarray:
        return np.zeros((self.problem.columns + int(self.problem.intercept), self.problem.outputs))

    def size(self, gradient: np.ndarray) -> float:
        return length(self, gradient)

    @property
    def terms(self) -> Terms:
        """What a row adds."""
        return LossTerms(self.loss)

    def at(self, x: np.ndarray) -> tuple[Terms, CentredModel, np.ndarray, int, bool]:
        """What aggregates at x hold; scores are kept where features are."""
        if self._place is None or self._place[0] is not x:
            self._place = x, next(_places)
        return self.terms, self.centred, x, self._place[1], self.blocks.keeps

    def value_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        m = self.problem.columns
        sums = self.blocks.reduce(GradientOf(*self.at(x)), "losses")
        b = x[:m]
        gradient = np.empty_like(x)
        gradient[:m] = sums[:m] - np.outer(self._metric.mean, sums[m]) + 2.0 * self.alpha * b
        gradient[m:] = sums[m]
        self._weight = float(sums[m + 3, 0])
        self._curvature = float(sums[m + 1].mean()) / self._weight
        return float(sums[m + 2].sum() + self.alpha * np.sum(b**2)), gradient

    def hessian_product(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        m = self.problem.columns
        self._products += 1
        sums = self.blocks.reduce(HessianProduct(*self.at(x), v), "curvature")
        image = np.empty_like(v)
        image[:m] = sums[:m] - np.outer(self._metric.mean, sums[m]) + 2.0 * self.alpha * v[:m]
        image[m:] = sums[m]
        return image

    def update_preconditioner(self, x: np.ndarray) -> None:
        """The metric will do; or, where few rows are bent at all, or it did not, 2 alpha I + Z'DZ with the curvatures D
        of the rows is inverted."""
        self._hard = self._hard or self._products > PATIENT
        self._products, self._inverses = 0, []
        if not self.separable or not self.blocks.keeps or self.alpha == 0:
            return
        bent, rows = self.blocks.reduce(CurvedCounts(*self.at(x)), "curvature")
        if not self._hard and bent.sum() > SOME * rows.sum():
            return
        if min(bent.max(), len(x)) > LARGEST:
            return
        self._inverses = [self._inverse(x, column, int(bent[column])) for column in range(x.shape[1])]

    def _inverse(self, x: np.ndarray, output: int, bent: int) -> Product:
        """(Z'DZ + 2 alpha I)^-1 of one output."""
        if bent >= len(x):
            gram = self.blocks.reduce(CurvedGram(*self.at(x), output, self.problem.intercept), "curvature")
            factor = factor_gram(gram, 2.0 * self.alpha)
            if factor is not None:
                return factor.solve
        rows = self.blocks.reduce(CurvedRows(*self.at(x), output, self.problem.intercept), "curvature")
        return inverse_of(np.vstack(rows), 2.0 * self.alpha)

    def precondition(self, v: np.ndarray) -> np.ndarray:
        if self._inverses:
            return np.column_stack([inverse(v[:, [k]]) for k, inverse in enumerate(self._inverses)])
        return self._metric.inverse(v, self._curvature, self._weight, self.alpha)

    def start_at(self, coefficients: np.ndarray, intercept: np.ndarray) -> np.ndarray:
        """The x of a model."""
        x = self.zeros()
        x[: len(coefficients)] = coefficients
        x[len(coefficients) :] = intercept + self._metric.mean @ coefficients
        return x

    def model(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients and intercept of the features as they are."""
        m = self.problem.columns
        intercept = x[m] - self._metric.mean @ x[:m] if len(x) > m else np.zeros(x.shape[1])
        return x[:m], intercept


def kind_of(problem: Problem, keeps: bool) -> np.dtype:
    """The type that sums are as good as: that of dense features where they are kept."""
    if keeps and problem.blocks.n_rows:
        first = problem.blocks.read(0, 1)
        features = problem.features(first.X) if first.X.shape[0] else None
        if features is not None and features.dtype.kind == "f" and not hasattr(features, "indptr"):
            return np.dtype(features.dtype)
    return np.dtype(np.float32 if problem.single else np.float64)


class Metric:
    """The Gram matrix of sampled rows, to measure changes of coefficients by; and their means, to centre by.

    Where rows are fewer than features the rows themselves serve (Woodbury's formula); where neither fits in memory, as
    many rows as do.
    """

    def __init__(self, problem: Problem) -> None:
        m, n = problem.columns, problem.blocks.n_rows
        self.problem = problem
        self._gram: np.ndarray | None = None
        self._rows: np.ndarray | None = None
        fits = 32 * m * min(m, n) <= memory_budget()
        block = problem.blocks.take(sample_rows(n, rows_of_metric(m) if fits else LEAST, seed=METRIC))
        sample = replace(problem, blocks=MemoryBlocks(block.X, block.y))
        sums = sample.blocks.map(FeaturesOf(sample.map)).reduce(FirstSums(3 * m))
        self.mean = problem.scale * sums.sum_z / sums.weight if problem.intercept else np.zeros(m)
        if fits and m <= n:
            centered = reduce_moments(sample, "preconditioner").centered(problem.scale, problem.intercept)
            self._gram = centered.gram / centered.rows
        elif fits:
            features = problem.features(block.X)
            dense = features.toarray() if hasattr(features, "toarray") else features
            self._rows = problem.scale * cast(dense, "float64") - self.mean
        self._made: tuple[tuple[float, float], Product] | None = None

    def inverse(self, v: np.ndarray, curvature: float, weight: float, alpha: float) -> np.ndarray:
        """(curvature G + 2 alpha I)^-1 v, and v / (curvature weight) for the intercept."""
        total = max(curvature, 1e-6) * weight
        if self._made is None or self._made[0][1] != alpha or not 1 / DRIFT < self._made[0][0] / total < DRIFT:
            self._made = (total, alpha), self._invert(max(2.0 * alpha / total, 1e-12))
        m = self.problem.columns
        out = np.empty_like(v)
        out[:m], out[m:] = self._made[1](v[:m]) / total, v[m:] / total
        return out

    def _invert(self, shift: float) -> Product:
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

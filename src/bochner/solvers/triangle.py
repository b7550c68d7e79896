"""Least squares of very many features: one triangle of their Gram matrix, one float32 factor, and conjugate gradients.

The sums are exact integers of 4 or 8 bytes, in lots of columns from the diagonal on; the factor has the same lots. It
is made once, at one penalty and without the rows that judge penalties. As a preconditioner it serves every other
penalty, and in the end all rows: the eigenvalues of (G + alpha I) (G' + alpha' I)^-1 lie near 1, between alpha/alpha'
and a little more than the ratio of the rows. So a penalty is chosen at full size, and costs no factor of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse

from .. import ops
from ..arrays import Array, cast, is_csr, like, to_host
from ..blocks import Aggregate, Block
from ..costs import FOLDS, SIZES
from ..maps import FeatureMap
from ..moments import Moments, small_sums
from ..ops import threads
from ..ops.linear_algebra import FactorInLots, factor_in_place
from ..ops.reference_sums import LOT, triangle_lots, triangle_size
from .base import OUT, HeldOutScores, Solution, Solver
from .conjugate_gradient import solve_products
from .primal import noise_variance
from .problem import Problem, fold_of

TOLERANCE, ROUGH = 1e-9, 1e-3  # relative residuals: of the solution, and of models that judge penalties
MOST = 200  # iterations, after which a factor of the matrix itself is made
SUM_ROWS, SUM_BYTES = 8192, 1 << 28  # of the features of a block: the sums are read and written once for each
PIECE = 512  # rows of a lot that one thread multiplies in float64
EXACT_SQUARES, EXACT_SUM = 127**2, 2**31  # of 8-bit features: so many rows fit sums of 32 bits


@dataclass
class TriangleSums:
    """Moments of features whose Gram matrix is one triangle; rows that are left out are kept as they are.

    triangle : flat, as `ops.add_to_triangle` has it. others : the small sums of the same rows.
    """

    columns: int
    triangle: np.ndarray = field(repr=False)
    rows: int = 0
    weight: float = 0.0
    others: list[Any] = field(default_factory=list, repr=False)  # sum z, sum y, Z'Y, the diagonal of Y'Y
    left_out: list[tuple[np.ndarray, np.ndarray, np.ndarray | None]] = field(default_factory=list, repr=False)

    @classmethod
    def empty(cls, columns: int, rows: int, is_exact: bool) -> TriangleSums:
        """No rows yet, of which there may be so many."""
        kind = np.float64 if not is_exact else np.int32 if rows * EXACT_SQUARES < EXACT_SUM else np.int64
        return cls(columns, np.zeros(triangle_size(columns), dtype=kind))

    def add(self, features: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> None:
        """Add some rows; weights go by their roots, in floats."""
        if not len(features):
            return
        size = float(len(y))
        if weight is None:
            sum_z, sum_y, cross, square = small_sums(features, y)
            parts = [sum_z, sum_y, cross, square.diagonal()]
        else:
            root, size = np.sqrt(weight)[:, None], float(weight.sum())
            sum_z, sum_y, features, y = weight @ features, weight @ y, features * root, y * root
            parts = [sum_z, sum_y, features.T @ y, (y**2).sum(axis=0)]
        ops.add_to_triangle(features, self.triangle)
        small = [np.asarray(part, dtype=np.float64) for part in parts]
        self.others = [a + b for a, b in zip(self.others, small, strict=True)] if self.others else small
        self.rows, self.weight = self.rows + len(y), self.weight + size

    def add_left_out(self) -> None:
        """The rows that were left out join the others."""
        while self.left_out:
            self.add(*self.left_out.pop())

    @property
    def lots(self) -> list[np.ndarray]:
        return triangle_lots(self.triangle, self.columns)

    def leading(self, few: int) -> Moments:
        """Moments of the first few features, at most those of a lot."""
        sum_z, sum_y, cross, square = self.others
        corner = np.tril(self.lots[0][:few, :few]).astype(np.float64)
        gram = corner + np.tril(corner, -1).T
        return Moments(self.rows, self.weight, sum_z[:few], sum_y, gram, cross[:few], np.diag(square))

    def __iadd__(self, other: TriangleSums) -> TriangleSums:
        self.triangle += other.triangle
        if other.others:
            self.others = [a + b for a, b in zip(self.others, other.others, strict=True)] or other.others
        self.rows, self.weight = self.rows + other.rows, self.weight + other.weight
        self.left_out += other.left_out
        return self


@dataclass(frozen=True)
class TriangleOf(Aggregate[TriangleSums]):
    """The sums of the features of all rows but one fold of several, which is kept apart."""

    map: FeatureMap
    all_rows: int
    is_exact: bool
    leaves_out: bool
    copies: int = 1  # of each row that is read

    @property
    def width(self) -> float:
        return 2.0 * self.map.columns

    @property
    def rows(self) -> int:
        most = SUM_BYTES // (SIZES.get(str(self.map.precision), 8) * self.map.columns)
        return max(1, min(SUM_ROWS, most) // self.copies)

    @property
    def partial_bytes(self) -> int:
        return 8 * triangle_size(self.map.columns)

    @property
    def is_parallel(self) -> bool:
        return True

    def step(self, partial: TriangleSums | None, block: Block) -> TriangleSums:
        exact = self.is_exact and block.weight is None
        total = partial or TriangleSums.empty(self.map.columns, self.all_rows, exact)
        made = self.map(block.X)
        features = np.ascontiguousarray(made.toarray() if is_csr(made) else to_host(made))
        y, weight = to_host(block.y), None if block.weight is None else to_host(block.weight)
        if not self.leaves_out:
            total.add(features, y, weight)
            return total
        out = to_host(fold_of(block, FOLDS)) == 0
        parts = [(features[rows], y[rows], None if weight is None else weight[rows]) for rows in (out, ~out)]
        del made, features
        total.add(*parts[1])
        total.left_out.append(parts[0])
        return total


class TriangleSystem:
    """(S G S + alpha I) b = S c of centred features times their scale S, and a factor that nearly solves it."""

    def __init__(self, sums: TriangleSums, scale: float | np.ndarray, intercept: bool) -> None:
        self.sums, self.intercept = sums, intercept
        self.scale = np.ones(sums.columns) * scale
        self.factor: FactorInLots | None = None
        self.factored_at = 0.0
        self._solved: dict[tuple[float, float], Solution] = {}
        self.center()

    def center(self) -> None:
        """Means and products with targets, of the rows that are in the sums now."""
        sum_z, sum_y, cross, square = self.sums.others
        weight = self.sums.weight
        self._solved.clear()
        self.mean_z, self.mean_y = self.scale * sum_z / weight, sum_y / weight
        if not self.intercept:
            self.mean_z, self.mean_y = 0.0 * self.mean_z, 0.0 * self.mean_y
        self.cross = self.scale[:, None] * cross - weight * np.outer(self.mean_z, self.mean_y)
        self.square = (square - weight * self.mean_y**2).clip(min=0.0)

    @property
    def trace(self) -> float:
        """The sum of squares of the centred features."""
        diagonal = np.concatenate([lot.diagonal() for lot in self.sums.lots]).astype(np.float64)
        return float((self.scale**2 * diagonal - self.sums.weight * self.mean_z**2).clip(min=0.0).sum())

    def product(self, v: np.ndarray) -> np.ndarray:
        """G v: each lot is made float64 a piece at a time, and serves both sides of the diagonal."""
        scaled = self.scale[:, None] * v
        out = np.zeros_like(scaled)
        with threads.blas_limited():
            for k, lot in enumerate(self.sums.lots):
                self._add_lot(lot, k * LOT, scaled, out)
        return self.scale[:, None] * out - self.sums.weight * np.outer(self.mean_z, self.mean_z @ v)

    @staticmethod
    def _add_lot(lot: np.ndarray, start: int, v: np.ndarray, out: np.ndarray) -> None:
        here = slice(start, start + lot.shape[1])
        corner = np.tril(lot[: lot.shape[1]]).astype(np.float64)
        out[here] += (corner + np.tril(corner, -1).T) @ v[here]
        pieces = range(lot.shape[1], len(lot), PIECE)
        mirrored: list[Any] = [None] * len(pieces)

        def multiply(number: int, first: int) -> None:
            rows = slice(start + first, start + min(first + PIECE, len(lot)))
            piece = lot[first : first + PIECE].astype(np.float64)
            out[rows] += piece @ v[here]
            mirrored[number] = piece.T @ v[rows]

        threads.run([partial(multiply, number, first) for number, first in enumerate(pieces)])
        for part in mirrored:  # in order, so that the bits do not hang on threads
            out[here] += part

    def factorise(self, alpha: float) -> None:
        """A float32 factor at one penalty; of a larger one where the matrix is not positive definite in float32."""
        self.factor, at, size = None, max(alpha, 1e-300), self.trace / self.sums.columns + alpha
        while self.factor is None and at <= 1e8 * size:
            lots = [self._rough_lot(k, lot, at, size) for k, lot in enumerate(self.sums.lots)]
            with threads.blas_limited():
                self.factor = factor_in_place(FactorInLots(lots, size))
            self.factored_at, at = at, max(10.0 * at, 1e-7 * size)

    def _rough_lot(self, k: int, lot: np.ndarray, alpha: float, size: float) -> np.ndarray:
        """A lot of the centred matrix plus alpha I, over its usual size."""
        start, weight = k * LOT, self.sums.weight
        here = slice(start, start + lot.shape[1])
        out = np.empty(lot.shape, dtype=np.float32)

        def take(rows: slice) -> None:
            for first in range(rows.start, rows.stop, PIECE):
                piece = slice(first, min(first + PIECE, rows.stop))
                place = slice(start + piece.start, start + piece.stop)
                values = lot[piece] * (self.scale[place, None] * self.scale[here])
                values -= weight * np.outer(self.mean_z[place], self.mean_z[here])
                np.divide(values, size, out=out[piece], casting="same_kind")

        threads.over_rows(take, len(lot), PIECE)
        out[: lot.shape[1]].flat[:: lot.shape[1] + 1] += np.float32(alpha / size)
        return out.T

    def solve(self, alpha: float, tolerance: float) -> Solution:
        """The solution at a penalty by the factor at hand, or by a new one where that leads nowhere."""
        if (alpha, tolerance) in self._solved:
            return self._solved[alpha, tolerance]
        if self.factor is None:
            self.factorise(alpha)
        product: Callable[[Any], Any] = self.product
        for _ in range(2):
            precondition: Callable[[Any], Any] = self.factor.solve if self.factor is not None else lambda v: v
            found = solve_products(
                product, self.cross, alpha, precondition=precondition, tolerance=tolerance, max_iterations=MOST
            )
            if found.residual <= 10.0 * tolerance or self.factored_at == alpha:
                break
            self.factorise(alpha)
        found = replace(found, method="one triangle, conjugate gradients with a factor")
        self._solved[alpha, tolerance] = found
        return found

    def scores_left_out(self, b: np.ndarray) -> np.ndarray:
        """Scores of the rows that were left out, one part after another."""
        weights = (self.scale[:, None] * b).astype(np.float32)
        parts = [ops.scores(features, weights.astype(weights_type(features))) for features, _, _ in self.sums.left_out]
        return np.concatenate(parts).astype(np.float64) + self.mean_y - self.mean_z @ b


def weights_type(features: np.ndarray) -> np.dtype:
    """Of scores of integers, which float32 holds, or of floats."""
    return np.dtype(np.float64) if features.dtype == np.float64 else np.dtype(np.float32)


class Triangle(Solver):
    """One triangle of the Gram matrix, for features that are too many for several whole ones."""

    name = "triangle"
    needs = frozenset({"quadratic"})
    exact = True
    works_on = "triangle"
    holds_out = True

    def solve(self, problem: Problem) -> Solution:
        system, held_out = problem.triangle, None
        if system is None:
            system = system_of(problem, leaves_out=problem.calibrates)
        sums = system.sums
        if problem.calibrates and sums.left_out:
            rough = system.solve(problem.alpha, ROUGH)
            held_out = held_out_scores(system, np.asarray(rough.coefficients), problem.unit)
        if sums.left_out:
            sums.add_left_out()
            system.center()
        found = system.solve(problem.alpha, TOLERANCE)
        b = found.coefficients
        energy = (system.square - (b * system.cross).sum(axis=0)).clip(min=0.0)
        rows = max(sums.weight / problem.unit, sums.rows) if problem.unit else sums.rows
        noise = noise_variance(energy, sums.weight, rows, problem.intercept)
        rows_at_hand = problem.blocks.read(0, 1).X  # whose library the solution is in

        def beside(part: Array) -> Array:
            return part if scipy.sparse.issparse(rows_at_hand) else like(part, rows_at_hand)

        intercept = system.mean_y - system.mean_z @ b
        return replace(
            found, coefficients=beside(b), intercept=beside(intercept), noise=beside(noise), held_out=held_out
        )


def system_of(problem: Problem, leaves_out: bool) -> TriangleSystem:
    """The system of a problem, by one pass; of few rows none are left out."""
    rows = problem.blocks.n_rows
    made = TriangleOf(
        problem.map,
        max(rows, problem.blocks.present),
        str(problem.map.precision) == "int8",
        leaves_out and rows > FOLDS,
        max(1, -(-problem.blocks.present // max(rows, 1))),
    )
    sums: TriangleSums = problem.blocks.reduce(made, title="one triangle")
    if sums.rows <= 1 and sums.left_out:
        sums.add_left_out()
    sums.left_out = [part for part in sums.left_out if len(part[0])]
    return TriangleSystem(sums, problem.scale, problem.intercept)


def held_out_scores(system: TriangleSystem, b: np.ndarray, unit: float | None) -> HeldOutScores:
    """Scores of the rows left out, by the model of the others; `unit` is the weight of one row, None the mean."""
    sums = system.sums
    _, codes, weights = zip(*sums.left_out, strict=True)
    weight = None if weights[0] is None else np.concatenate(weights)
    if weight is not None:
        weight = weight / (unit or (sums.weight + weight.sum()) / (sums.rows + len(weight)))
    return HeldOutScores(system.scores_left_out(b), np.concatenate([cast(y, "float64") for y in codes]), weight, OUT)

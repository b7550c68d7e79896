"""The metric in which features are made, learned by rounds: fit, see which directions of x count, fit again in them.

A round takes the average gradient outer product M of the last fit, in the units of scaled columns, and makes features
of x R with R = (M / max diag M + 1e-6 I)^(1/2), whole or diagonal. Distances are then (x - z)'M(x - z). Every round has
an error of rows left out; the best is kept, and where noise could explain a gain, the simpler one: no metric before a
diagonal one, that before a full one, fewer rounds before more.

Rounds work on a sample of the rows, with few features and in floats, so that learning costs a part of the fit itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..arrays import is_csr
from ..bases import Basis
from ..bases.design import Design
from ..bases.heuristics import different_rows, median_bandwidth, median_factor, times_median
from ..blocks import Block, MemoryBlocks, Recipe, SparseRecipe
from ..config import memory_budget
from ..costs import fold_bytes
from ..maps.scaling import medians
from ..moments import Moments
from ..streams import sample_rows
from .importances import gathered
from .metric_errors import Judged, by_held_out, by_sums
from .metric_learning import GradientProducts, from_moments, has_gradients, has_moments
from .parameters import ModelParameters
from .preparation import PreparedData
from .sampling import SEED, sampled_for_rounds
from .trials import TRIED, Choice, design_of, is_noise, moved_by_diagonal

FEATURES = 2048  # of a round, if their sums find room
FEWEST = 30  # rows that a metric is learned from
OTHERS = 1 << 12  # rows of a round whose loss has no sums
FACTORS, TRIAL = (0.5, 2.0), 512  # of the median distance, and the features with which they are compared
GRADIENTS, NEIGHBOURS = 1 << 11, 1 << 16  # rows whose gradients are taken; rows made of their neighbours
MOST_FULL = 2048  # columns of a full metric
RIDGE = 1e-6  # beside the largest entry of M, so that no column is lost for ever
DIGITS = 9  # of the entries of R, so that they do not hang on the last bits of a sum
DOUBT = 0.5  # standard errors by which the best round must be better than a simpler one


@dataclass(frozen=True, eq=False)
class LearnedMetric:
    """What rounds ended with: M, None if no metric was better than none; shares of the columns; and rounds in words."""

    matrix: np.ndarray | None = None
    importances: np.ndarray | None = None
    told: str = ""


class AtHand(NamedTuple):
    """A fit whose sums tell its gradients: its design, the sums of all its rows, and its coefficients."""

    design: Design
    sums: Moments
    coefficients: np.ndarray


class Found(NamedTuple):
    """A learned metric, with the R and the bandwidth by which a basis is fitted in it."""

    metric: LearnedMetric
    root: np.ndarray | None = None
    bandwidth: str | None = None


class Round(NamedTuple):
    """One round: kind None is no metric."""

    kind: str | None
    number: int
    factor: float
    matrix: np.ndarray | None
    root: np.ndarray | None
    design: Design
    judged: Judged

    @property
    def told(self) -> str:
        name = "none" if self.kind is None else f"{self.kind} {self.number}"
        return f"{name} {self.judged.error:.4g}"


class MetricSearch:
    """Rounds on a sample of rows, with few features."""

    def __init__(
        self,
        parameters: ModelParameters,
        basis: Basis,
        choice: Choice,
        ready: PreparedData,
        recipe: Recipe | SparseRecipe | None = None,
        known: AtHand | None = None,
    ) -> None:
        self.parameters, self.choice, self.ready = parameters, choice, ready
        self.recipe, self.known = recipe, known
        self.by_sums = parameters.loss.quadratic and parameters.max_coefficient is None
        count, seed = sampled_for_rounds(ready.blocks.n_columns)
        count = count if self.by_sums else min(count, OTHERS)
        self.block: Block = ready.blocks.take(sample_rows(ready.blocks.n_rows, count, seed=seed)).on_host()
        # More features than rows tell no more.
        most = min(FEATURES, max(self.block.X.shape[0], TRIAL), int(np.sqrt(memory_budget() / fold_bytes(1))))
        self.basis = basis.sized(min(int(basis.n_components), most)).set_params(precision=None)
        rows = different_rows(ready.sample)
        scaler = design_of(Choice(self.choice.scale, 0.0, ""), self.few(), ready.sample, ready.largest).scaler
        self.rows = rows if scaler is None else scaler(rows)  # scaled, a few of them
        # Columns that are not scaled are measured in their spreads: they may have units of their own.
        self.units = medians(rows)[1] if scaler is None else np.ones(rows.shape[1])

    def few(self) -> Basis:
        return self.basis.sized(min(int(self.basis.n_components), TRIAL))

    def run(self) -> Found:
        """All rounds of all kinds, and the best of them."""
        count = len(different_rows(self.block.X)) if not is_csr(self.block.X) else self.block.X.shape[0]
        if count < FEWEST:
            return Found(LearnedMetric(told=f"none: {count} rows are too few to learn from"))
        first = self.made(None, 0, 1.0, None)
        kinds = ["diagonal", "full"] if self.parameters.metric == "auto" else [str(self.parameters.metric)]
        if len(kinds) == 2 and self.ready.blocks.n_columns > min(MOST_FULL, np.sqrt(self.block.X.shape[0])):
            kinds = kinds[:1]  # rows are fewer than the numbers of a matrix: it would learn them by heart
        rounds = [first, *(one for kind in kinds for one in self.rounds_of(kind, first))]
        best = simplest(rounds)
        what = "squared error relative to that of the mean" if self.by_sums else "loss"
        told = f"{', '.join(one.told for one in rounds)} ({what}, a fifth left out of {self.block.X.shape[0]:,} rows"
        told += f", {int(self.basis.n_components):,} features); {best.told.rsplit(' ', 1)[0]} is kept"
        if best.kind is None:
            return Found(LearnedMetric(told=told))
        importances = gathered(self.recipe, self.importances(best.matrix))
        return Found(LearnedMetric(best.matrix, importances, told), best.root, self.bandwidth(best.factor))

    def rounds_of(self, kind: str, first: Round) -> list[Round]:
        found, last = [], first
        for number in range(1, int(self.parameters.metric_rounds) + 1):
            matrix = self.at_hand(kind == "diagonal") if number == 1 else None
            matrix = self.matrix_of(last, kind == "diagonal") if matrix is None else matrix
            if matrix is None:
                break
            matrix, factor = self.best_trial(matrix, last.factor)
            last = self.made(kind, number, factor, matrix)
            found.append(last)
        return found

    def made(self, kind: str | None, number: int, factor: float, matrix: np.ndarray | None) -> Round:
        root = None if matrix is None else self.stretched(root_of(matrix), factor)
        design = self.designed(self.basis, root, factor)
        return Round(kind, number, factor, matrix, root, design, self.judged(design, self.block))

    # ---- the metric ----

    def at_hand(self, diagonal: bool) -> np.ndarray | None:
        """M from all rows of a fit before, if there was one whose sums tell it."""
        if self.known is None:
            return None
        design, sums, coefficients = self.known
        return self.normalised(from_moments(design, sums, self.in_spreads(coefficients), self.units, diagonal))

    def matrix_of(self, last: Round, diagonal: bool) -> np.ndarray | None:
        """M of the last round; None if its model is constant."""
        design, coefficients = last.design, self.in_spreads(last.judged.coefficients)
        if last.judged.sums is not None and has_moments(design):
            return self.normalised(from_moments(design, last.judged.sums, coefficients, self.units, diagonal))
        return self.normalised(self.by_rows(design, coefficients, diagonal))

    def normalised(self, matrix: np.ndarray) -> np.ndarray | None:
        """M of columns of spread 1, its largest diagonal entry 1; None if there is no gradient, or no end to it."""
        matrix = matrix * self.squared_units(matrix)
        matrix = np.maximum(matrix, 0.0) if matrix.ndim == 1 else matrix
        largest = float((matrix if matrix.ndim == 1 else matrix.diagonal()).max())
        return matrix / largest if np.isfinite(matrix).all() and largest > 0 else None

    def in_spreads(self, coefficients: np.ndarray) -> np.ndarray:
        """Coefficients of targets that count alike, whatever their units."""
        sizes = np.ones(1) if self.parameters.classifies else np.std(self.block.y, axis=0)
        return coefficients / np.where(sizes > 0, sizes, 1.0)

    def by_rows(self, design: Design, coefficients: np.ndarray, diagonal: bool) -> np.ndarray:
        """By the gradients of some of the rows, or by the scores of their neighbours."""
        products = GradientProducts(design.map, coefficients, self.units, diagonal)
        near = NEIGHBOURS // (2 * design.n_features_in_)
        count = GRADIENTS if has_gradients(design.map) else max(64, min(GRADIENTS, near))
        some = self.block.only(sample_rows(self.block.X.shape[0], count, seed=SEED))
        return products.mean(MemoryBlocks(*some[:3]).reduce(products, title="gradients"))

    def importances(self, matrix: np.ndarray | None) -> np.ndarray:
        """diag(M) times the variances of the scaled columns, as shares."""
        assert matrix is not None
        dense = self.rows.toarray() if is_csr(self.rows) else self.rows
        variances = np.var(dense, axis=0, dtype=np.float64) / self.units**2
        shares = np.maximum(matrix if matrix.ndim == 1 else matrix.diagonal(), 0.0) * variances
        total = float(shares.sum())
        return shares / total if total > 0 else np.full(len(shares), 1.0 / len(shares))

    def squared_units(self, matrix: np.ndarray) -> np.ndarray:
        """What each entry of M is multiplied by if columns are measured in their spreads."""
        return self.units**2 if matrix.ndim == 1 else np.outer(self.units, self.units)

    def half_way(self, matrix: np.ndarray) -> np.ndarray:
        """The geometric mean of M and of the distances of rows as they are: M^(1/2) of the scaled columns."""
        half = square_root(matrix / self.squared_units(matrix)) * self.squared_units(matrix)
        return half / (half if half.ndim == 1 else half.diagonal()).max()

    # ---- its length scale ----

    @property
    def has_bandwidth(self) -> bool:
        """Whether the basis takes its length scale from the rows; else x R keeps the one that x has."""
        return isinstance(getattr(self.basis, "bandwidth", None), str) and not self.basis.has_units

    def bandwidth(self, factor: float) -> str | None:
        if not self.has_bandwidth:
            return None
        return times_median(factor * median_factor(self.basis.bandwidth))

    def stretched(self, root: np.ndarray, factor: float) -> np.ndarray:
        """R for scaled columns as they are, of the length scale that the basis expects."""
        root = root / (self.units if root.ndim == 1 else self.units[:, None])
        if self.has_bandwidth:
            return root
        moved = self.rows @ root if root.ndim == 2 else moved_by_diagonal(self.rows, root)
        return root * (median_bandwidth(self.rows, 2.0) / median_bandwidth(moved, 2.0) / factor)

    def designed(self, basis: Basis, root: np.ndarray | None, factor: float) -> Design:
        bandwidth, basis = self.bandwidth(factor), basis.sized(int(basis.n_components))  # one of its own
        if bandwidth is not None:
            basis.set_params(bandwidth=bandwidth)
        return design_of(self.choice, basis, self.ready.sample, self.ready.largest, root)

    def best_trial(self, matrix: np.ndarray, last: float) -> tuple[np.ndarray, float]:
        """M, or what is half way to it from no metric at all; then the last factor, its half or its double.

        Whichever has the smallest error on few rows with few features.
        """
        some = self.block.only(sample_rows(self.block.X.shape[0], TRIED, seed=SEED))

        def error(one: np.ndarray, factor: float) -> float:
            design = self.designed(self.few(), self.stretched(root_of(one), factor), factor)
            return self.judged(design, some).error

        half = self.half_way(matrix)
        whole, tempered = error(matrix, last), error(half, last)
        best = matrix if whole <= tempered else half
        errors = {last: min(whole, tempered), **{last * f: error(best, last * f) for f in FACTORS}}
        return best, min(errors, key=lambda factor: errors[factor])

    def judged(self, design: Design, block: Block) -> Judged:
        """Errors of a fifth of the rows, left out of the metric too; the model of the others, from sums or a fit."""
        if not self.by_sums:
            return by_held_out(self.parameters, design, block)
        share = block.X.shape[0] / max(self.ready.blocks.n_rows, 1)  # a penalty that was given is for all rows
        problem = self.parameters.problem(design, MemoryBlocks(*block[:3]), self.ready.targets.outputs)
        return by_sums(problem, block, share)


def simplest(rounds: list[Round]) -> Round:
    """Of rounds from simple to less so, the first that is no worse than the best but for noise."""
    best = min(rounds, key=lambda one: one.judged.error)
    return next(one for one in rounds if is_noise(one.judged.errors - best.judged.errors, DOUBT) or one is best)


def root_of(matrix: np.ndarray) -> np.ndarray:
    """R = (M + 1e-6 I)^(1/2) of a matrix or a diagonal whose largest entry there is 1."""
    ridge = RIDGE if matrix.ndim == 1 else RIDGE * np.eye(len(matrix))
    return np.round(square_root(matrix + ridge), DIGITS)


def square_root(matrix: np.ndarray) -> np.ndarray:
    """That of a matrix that is symmetric and not negative, or of a diagonal."""
    if matrix.ndim == 1:
        return np.sqrt(matrix)
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2.0)
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T

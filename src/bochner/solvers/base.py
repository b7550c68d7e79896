"""What a solver is, and what it returns: coefficients, and in words how it ended."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np

from ..arrays import Array, constant, namespace, to_host
from ..maps import FeatureMap

if TYPE_CHECKING:
    from .problem import Problem

OUT, SAME = "rows left out", "rows that it was fitted to, too few to leave some out"


class HeldOutScores(NamedTuple):
    """Scores (n, k) of rows by a model not fitted to them, their codes and weights; and which rows these are.

    Leverages (n,) are those of the rows in the model of all, where they are known.
    """

    scores: Array
    codes: Array
    weight: Array | None
    how: str
    leverage: Array | None = None

    def on_host(self) -> HeldOutScores:
        """The same as numpy has it: a handful of rows, by which probabilities and deviations are calibrated."""
        scores, codes, weight, leverage = map(to_host, (self.scores, self.codes, self.weight, self.leverage))
        return HeldOutScores(scores, codes, weight, self.how, leverage)


@dataclass(frozen=True)
class Units:
    """What targets are measured from and by, one number per output, and the mean weight that weights are taken by."""

    centre: np.ndarray
    spread: np.ndarray
    weight: float


@dataclass(frozen=True)
class Training:
    """How far stochastic training has come: the rate it began with, its steps (epochs, calls), the rows it met.

    `units` are those of the first rows, which all further steps are taken in; None in old files, where there were none.
    """

    rate: float
    steps: int
    rows: int
    units: Units | None = None


class Posterior(Protocol):
    """The Gaussian posterior of a ridge model."""

    @property
    def width(self) -> int:
        """Numbers that a row becomes."""

    def spread(self, feature_map: FeatureMap, X: Array) -> Array:
        """What times the noise is the variance of the mean of each row."""

    def log_marginal_likelihood(self, noise: Array) -> float:
        """The log marginal likelihood of the targets, summed over outputs, for the variance of the noise of each."""


@dataclass(frozen=True)
class Solution:
    """Coefficients, and in words how a solver ended.

    Attributes
    ----------
    coefficients : ndarray of shape (n_components, n_outputs)
        Coefficients of the scaled features.
    method : str
        Name of the method.
    alpha : float
        The penalty.
    status : str
        How it ended, in words.
    residual : float
        |A b - c| / |c| of the equations that were solved, the largest over outputs.
    iterations : int
        Number of iterations.
    reason : str
        Why this method was chosen.
    intercept : ndarray of shape (n_outputs,) or None
        The intercept; None is 0.
    noise : ndarray of shape (n_outputs,) or None
        Variance of the noise, of a ridge model.
    posterior : Posterior or None
        Posterior of the coefficients, of a ridge model.
    training : Training or None
        How far training on batches has come.
    scale : ndarray or None
        The scale that a loss learned.
    start : ndarray or None
        Where a like problem may begin.
    held_out : HeldOutScores or None
        Scores of rows left out.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.solvers import solve_gram
    >>> solution = solve_gram(2.0 * np.eye(2), np.ones((2, 1)), alpha=1.0)
    >>> solution.method, solution.status
    ('cholesky', 'solved')
    """

    coefficients: Array = field(repr=False)
    method: str
    alpha: float
    status: str
    residual: float
    iterations: int = 1
    reason: str = ""
    intercept: Array | None = field(default=None, repr=False)
    noise: Array | None = field(default=None, repr=False)
    posterior: Posterior | None = field(default=None, repr=False)
    training: Training | None = field(default=None, repr=False)
    scale: Array | None = field(default=None, repr=False)
    start: Array | None = field(default=None, repr=False)
    held_out: HeldOutScores | None = field(default=None, repr=False)

    def __str__(self) -> str:
        because = f" ({self.reason})" if self.reason else ""
        return f"{self.method}{because}: {self.status}; relative residual {self.residual:.1e}"

    @property
    def intercepts(self) -> Array:
        """The intercept of each output; zeros if there is none."""
        nothing = constant(0.0, (self.coefficients.shape[1],), self.coefficients)
        return nothing if self.intercept is None else self.intercept

    @property
    def noises(self) -> Array:
        """The variance of the noise of each output; zeros if it is not known."""
        nothing = constant(0.0, (self.coefficients.shape[1],), self.coefficients)
        return nothing if self.noise is None else self.noise

    def to_state(self) -> dict[str, Any]:
        """Return what a file keeps of the solution; intercept, noise and training stand beside it there.

        Returns
        -------
        dict
            The fields by name.
        """
        names = ("coefficients", "method", "alpha", "status", "residual", "iterations", "reason")
        return {name: getattr(self, name) for name in names}


class Solver(ABC):
    """How a problem is solved, and what a solver declares of itself.

    `solve` is all that an object of another class needs to have. This class is abstract.

    Attributes
    ----------
    name : str
        Its name, as the parameter `solver` of a model gives it, and as messages call it.
    needs : frozenset of str
        What a loss must declare, such as 'smooth'.
    bounded : bool
        Whether it keeps coefficients within the bound of a problem.
    learns_scale : bool
        Whether it learns the scale of a loss that has one.
    exact : bool
        Whether its solution does not depend on the units of targets, which are then left as they are.
    takes_tensors : bool
        Whether it solves problems whose rows are tensors, in torch and on their device.
    works_on : {'rows', 'sums', 'kernel', 'triangle'}
        What it needs of the rows: all of them, their moments alone, their kernel matrix, or a triangle of moments.
    on_batches : bool
        Whether it takes steps on batches of rows, can take more of them, and wants columns of like size.
    holds_out : bool
        Whether it returns scores of rows left out by itself, where a problem asks for them.
    """

    name: ClassVar[str] = ""
    needs: ClassVar[frozenset[str]] = frozenset()
    bounded: ClassVar[bool] = False
    learns_scale: ClassVar[bool] = False
    exact: ClassVar[bool] = False
    takes_tensors: ClassVar[bool] = False
    works_on: ClassVar[str] = "rows"
    on_batches: ClassVar[bool] = False
    holds_out: ClassVar[bool] = False

    def samples(self, fewest: int, most: int) -> tuple[tuple[int, int], ...]:
        """Samples of rows that it takes beside its passes, so that the first pass over the rows can draw them.

        Parameters
        ----------
        fewest : int
            Least number of columns of the problem.
        most : int
            Largest number of columns.

        Returns
        -------
        tuple of (int, int)
            Of each sample the number of rows, at most, and the seed of `streams.sample_rows`.
        """
        return ()

    @abstractmethod
    def solve(self, problem: Problem) -> Solution:
        """Find the model of all rows at the penalty `problem.alpha`.

        Parameters
        ----------
        problem : Problem
            Rows, features, loss and penalty.

        Returns
        -------
        Solution
            Coefficients, and how the solver ended.
        """


def relative_residual(residual: Array, target: Array) -> float:
    """max over columns of |r| / |c|; 0 where the target is 0."""
    xp = namespace(residual)
    sizes = xp.linalg.vector_norm(target, axis=0)
    ratios = xp.linalg.vector_norm(residual, axis=0) / xp.where(sizes > 0, sizes, 1.0)
    return float(ratios.max()) if len(ratios) else 0.0

"""From a problem and a solver to a fit: units, the penalty, the solution, and scores of rows left out."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..arrays import Array
from ..config import config_context
from ..maps import FeatureMap
from ..moments import FoldedMoments
from ..ops import threads
from ..ops.devices import room_on
from ..penalties import Chosen, CrossValidated, FromSums, with_penalty
from ..solvers import HeldOutScores, Posterior, PrimalPosterior, Problem, Solution, Solver, Training
from ..solvers.leave_one_out import by_refitting
from ..solvers.primal import solve_sums
from ..solvers.problem import Alpha, rounding_floor
from ..solvers.units import Measure


@dataclass(frozen=True)
class Fit:
    """A solved problem: the solution, and how its penalty was chosen.

    penalty : that in words; validated : what it is expected to score on new rows, if that is known; end : "lower" or
    "upper" if the penalty lies at an end of its candidates.
    """

    solution: Solution
    penalty: str
    validated: CrossValidated | None = None
    end: str = ""

    @classmethod
    def of(cls, solution: Solution, chosen: Chosen) -> Fit:
        return cls(replace(solution, start=None, held_out=None), chosen.note, chosen.validated, chosen.end)

    @property
    def chosen(self) -> Chosen:
        return Chosen(self.solution.alpha, self.penalty, self.validated, self.end)

    @property
    def intercept(self) -> Array:
        return self.solution.intercepts

    @property
    def noise(self) -> Array:
        return self.solution.noises

    @property
    def posterior(self) -> Posterior | None:
        return self.solution.posterior

    @property
    def training(self) -> Training | None:
        return self.solution.training


class Fitted(NamedTuple):
    """A fit, the sums that it came from if there are any, and scores to calibrate by."""

    fit: Fit
    sums: FoldedMoments | None
    held_out: HeldOutScores | None


def fit_problem(problem: Problem, solver: Solver, reason: str) -> Fitted:
    """The penalty is chosen and the problem solved: in units of its own, unless the solver does not depend on them."""
    measure = None if solver.exact else Measure(problem)
    problem, chosen = with_penalty(problem if measure is None else measure.problem, solver)
    if problem.calibrates and not solver.holds_out:
        solution = by_refitting(problem, solver.solve)
    else:
        solution = solver.solve(problem)
    solution = replace(solution, alpha=problem.alpha, reason=reason)
    solution = solution if measure is None else measure.outward(solution)
    posterior = solution.posterior
    sums = posterior.sums if isinstance(posterior, PrimalPosterior) else None
    return Fitted(Fit.of(solution, chosen), sums, solution.held_out)


def fit_sums(
    sums: FoldedMoments,
    feature_map: FeatureMap,
    scale: float | np.ndarray,
    asked: Alpha,
    intercept: bool,
    classifies: bool,
    linear_columns: int,
) -> Fit:
    """The ridge model from sums alone, whose columns times `scale` are those of the model."""
    floor = rounding_floor(feature_map, sums.rows)
    chosen = FromSums(sums, scale, intercept, classifies, floor, linear_columns).choose(asked)
    found = solve_sums(sums, scale, chosen.alpha, intercept, chosen.unit)
    assert isinstance(found.posterior, PrimalPosterior)
    found.posterior.forget()
    return Fit.of(replace(found, reason="from sums at hand"), chosen)


class Limited:
    """n_jobs threads in native code, so many in BLAS, progress if verbose, and the memory of a device if there is one.

    With one thread of BLAS, and all else in tiles that do not hang on threads, a fit has the same bits for any n_jobs.
    """

    def __init__(self, n_jobs: int | None, verbose: int, blas: int | None = None, device: str | None = None) -> None:
        self._contexts = ExitStack()
        self._contexts.enter_context(room_on(device))
        blas = blas or n_jobs
        if blas and blas > 0:
            self._contexts.enter_context(threads.blas_limited(blas))
        if n_jobs and n_jobs > 0:
            self._contexts.enter_context(threads.limited(n_jobs))
        if verbose:
            self._contexts.enter_context(config_context(progress=True))

    def __enter__(self) -> None:
        pass

    def __exit__(self, *details: object) -> None:
        self._contexts.__exit__(*details)  # type: ignore[arg-type]

"""From a problem, a loss and a solver to a fit: the one place that knows every way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ...config import config_context
from ...losses import Loss
from ...moments import FoldedMoments
from ...solvers import DoublyStochastic
from . import leave_one_out
from .augmented_lagrangian import fit_multipliers
from .calibration import HeldOutScores
from .doubly import fit_doubly
from .dual import fit_dual
from .held_out import choose_penalty
from .matrix_free import fit_matrix_free
from .newton import fit_box, fit_newton
from .primal import fit_primal
from .problem import Fit, Problem
from .stochastic import Remember, fit_stochastic
from .strategy import EXACT, METHODS
from .units import Measure


@dataclass(frozen=True)
class Way:
    """What was asked for: `solver` is a name, `method` an object with the settings of a stochastic one."""

    loss: Loss
    solver: str
    reason: str
    method: Any
    bound: float | None
    seed: int
    calibrates: bool

    @property
    def is_exact(self) -> bool:
        return self.loss.quadratic and self.solver in EXACT


def solve(problem: Problem, way: Way, remember: Remember) -> tuple[Fit, FoldedMoments | None, HeldOutScores | None]:
    """The fit, the sums if there are any, and scores to calibrate probabilities by, if they are wanted."""
    if way.is_exact:
        return solve_exactly(problem, way)
    measure = Measure(problem, way.loss, targets=way.bound is None)  # bounds are in the units of y
    problem, loss = measure.problem, measure.loss
    with config_context(engine="threads"):  # it is chosen by a sample of the rows, which is small and stays here
        chosen = choose_penalty(problem, loss)
    held_out: HeldOutScores | None = None
    if way.solver in METHODS:
        learn: Any = fit_doubly if isinstance(way.method, DoublyStochastic) else fit_stochastic
        fit, held_out = learn(problem, loss, chosen.alpha, way.method, way.seed, remember)
    else:

        def fit_to(part: Problem, start: Any) -> Fit:
            if way.bound is not None:
                return fit_box(part, loss, chosen.alpha, way.bound / int(problem.basis.n_components), start)
            return (fit_newton if loss.smooth else fit_multipliers)(part, loss, chosen.alpha, start)

        if way.calibrates:
            fit, held_out = leave_one_out.by_refitting(problem, fit_to)
        else:
            fit = fit_to(problem, None)
    solution = replace(fit.solution, reason=way.reason)
    found = {"penalty": chosen.note, "validated": chosen.validated, "end": chosen.end}
    fit = replace(fit, solution=solution, **found)
    return measure.outward(fit), None, held_out


def solve_exactly(problem: Problem, way: Way) -> tuple[Fit, FoldedMoments | None, HeldOutScores | None]:
    if way.solver == "cholesky":
        fit, sums = fit_primal(problem, way.reason)
        held_out = leave_one_out.from_moments(problem, fit)
        fit.posterior.forget()
        return fit, sums, held_out
    if way.solver == "dual":
        fit, held_out = fit_dual(problem, way.reason)
        return fit, None, held_out
    fit, scored = fit_matrix_free(problem, way.reason, way.calibrates)
    return fit, None, scored

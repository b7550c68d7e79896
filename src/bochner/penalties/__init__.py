"""How a penalty is chosen: one interface, from sums, from a kernel matrix, or from losses of rows held out."""

from __future__ import annotations

from dataclasses import replace

from ..config import config_context
from ..solvers.base import Solver
from ..solvers.kernel_rows import with_kernel
from ..solvers.problem import Problem
from ..solvers.sums import reduce_folds
from ..validation import option
from .base import FEW, GIVEN, PERFECT, Chosen, CrossValidated, PenaltySelection
from .holdout import FromHeldOut
from .kernel import FromKernel, KernelFolds
from .kfold import LeftOut, above_floor
from .probe import FromProbe
from .sums import FromSums, FromSumsAndRows
from .triangle import FromTriangle
from .v_matrix import FromVMatrix

__all__ = [
    "FEW", "GIVEN", "PERFECT", "Chosen", "CrossValidated", "FromHeldOut", "FromKernel", "FromProbe", "FromSums",
    "FromSumsAndRows", "FromTriangle", "FromVMatrix", "KernelFolds", "LeftOut", "PenaltySelection", "above_floor",
    "with_penalty",
]  # fmt: skip


def with_penalty(problem: Problem, solver: Solver) -> tuple[Problem, Chosen]:
    """The problem with its penalty, and with what it was chosen from where the solver can go on with that."""
    if isinstance(problem.asked, float):
        chosen = Chosen(problem.asked, GIVEN)
    elif solver.works_on == "sums":
        problem = replace(problem, sums=reduce_folds(problem))
        chosen = FromSumsAndRows.of(problem).choose(problem.asked)
    elif solver.works_on == "kernel":
        problem = with_kernel(problem)
        assert problem.kernel is not None
        chosen = FromKernel(problem.kernel, problem.classifies).choose(problem.asked)
    elif solver.works_on == "triangle":
        selection = FromTriangle.of(problem)
        chosen = selection.choose(problem.asked)
        problem = replace(problem, triangle=selection.system)
    else:
        if problem.asks_for("loo") and solver.exact:
            loo = option("alpha", "loo")
            raise ValueError(f"{loo} needs the Gram or the kernel matrix, and conjugate gradients make neither.")
        with config_context(engine="threads"):  # it is chosen by a sample of the rows, which is small and stays here
            chosen = from_sample(problem, solver).choose(problem.asked)
    return replace(problem, chosen=chosen.alpha, unit=chosen.unit), chosen


def from_sample(problem: Problem, solver: Solver) -> PenaltySelection:
    """By squares where the loss is that of squares, else by the loss itself."""
    if problem.loss.quadratic and (solver.exact or not problem.asks_for("loo")):
        return FromProbe(problem)
    return FromHeldOut(problem)

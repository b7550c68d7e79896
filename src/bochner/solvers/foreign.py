"""A solver that bochner does not have: any object with `solve(problem)`, which returns a Solution."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from .base import Solution, Solver
from .problem import Problem


class SolverLike(Protocol):
    """What an object must have to be a solver; `needs` and `bounded`, as `Solver` has them, are welcome."""

    def solve(self, problem: Problem) -> Solution:
        """The model of all rows at the penalty problem.alpha: coefficients of shape (columns, outputs)."""


def is_solver_like(given: object) -> bool:
    return not isinstance(given, type) and callable(getattr(given, "solve", None))


@dataclass(frozen=True)
class ForeignSolver(Solver):
    """A solver that was given as an object, with what it declares; what it returns is looked at."""

    given: SolverLike

    def __post_init__(self) -> None:
        needs: str | Iterable[str] = getattr(self.given, "needs", ())
        facts = {"needs": frozenset([needs] if isinstance(needs, str) else needs), "name": type(self.given).__name__}
        for name, value in {**facts, "bounded": bool(getattr(self.given, "bounded", False))}.items():
            object.__setattr__(self, name, value)

    def solve(self, problem: Problem) -> Solution:
        found = self.given.solve(problem)
        if not isinstance(found, Solution):
            raise ValueError(f"{self.name}.solve must return a Solution; it returned a {type(found).__name__}.")
        coefficients = np.asarray(found.coefficients, dtype=np.float64)
        wanted = problem.columns, problem.outputs
        if coefficients.shape != wanted:
            raise ValueError(f"{self.name}.solve must return coefficients of shape {wanted}; got {coefficients.shape}.")
        found = replace(found, coefficients=coefficients)
        if found.intercepts.shape != wanted[1:]:
            raise ValueError(f"{self.name}.solve must return one intercept for each of {problem.outputs} outputs.")
        if not (np.isfinite(coefficients).all() and np.isfinite(found.intercepts).all()):
            raise ValueError(f"{self.name}.solve returned coefficients that are not finite numbers.")
        return found

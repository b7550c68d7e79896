"""Which loss goes with which solver, and which solver is taken where nobody says: one table.

A row of the table is a solver, which says what it needs a loss to declare. One name may have two rows: "dual" is the
kernel matrix for the squared loss, and the method of multipliers for losses with kinks.
"""

from __future__ import annotations

from ..costs import choose_exact
from ..losses import CAPABILITIES, ForeignLoss, Loss, name_of
from ..validation import option, require_choice
from .augmented_lagrangian import AugmentedLagrangian
from .base import Solver
from .doubly_stochastic import DoublyStochastic
from .foreign import ForeignSolver, SolverLike, is_solver_like
from .kernel_rows import Dual
from .matrix_free import ConjugateGradient
from .newton import Box, Newton
from .primal import Cholesky
from .stochastic import SGD, Adam
from .triangle import Triangle

# Where several suit a loss, the first is taken by itself; of the first four, by what fits in memory.
TABLE: tuple[Solver, ...] = (
    Cholesky(), Dual(), Triangle(), ConjugateGradient(), Newton(), Box(), AugmentedLagrangian(), SGD(), Adam(),
    DoublyStochastic(),
)  # fmt: skip
SOLVERS = ("auto", *dict.fromkeys(solver.name for solver in TABLE))


def missing(loss: Loss, solver: Solver) -> str:
    """What a loss has not that a solver needs, in words; nothing if they go together."""
    if loss.learns_scale and not solver.learns_scale:
        return "whose scale only Newton's method learns"
    lacking = [name for name in CAPABILITIES if name in solver.needs - loss.capabilities]
    return CAPABILITIES[lacking[0]] if lacking else ""


def named(name: str) -> list[Solver]:
    return [solver for solver in TABLE if solver.name == name]


def solvers_for(loss: Loss) -> list[str]:
    """The names of the solvers that suit a loss, the one that is taken by itself first."""
    return list(dict.fromkeys(solver.name for solver in TABLE if not missing(loss, solver)))


def candidates_for(asked: str | SolverLike) -> list[Solver]:
    """The rows of the table that were asked for, by name or as an object; none for "auto"."""
    if isinstance(asked, Solver):
        return [asked]
    if not isinstance(asked, str) and is_solver_like(asked):
        return [ForeignSolver(asked)]
    if not isinstance(asked, str):
        raise ValueError(
            f"solver must be one of {', '.join(map(repr, SOLVERS))}, or an object with the method solve(problem); "
            f"got {asked!r}."
        )
    return named(require_choice("solver", asked, SOLVERS))


def require_combination(loss: Loss, asked: str | SolverLike, max_coefficient: float | None) -> None:
    """Refuse what does not go together, and say what is missing."""
    rows = candidates_for(asked)
    if max_coefficient is not None:
        if any(not solver.bounded for solver in rows):
            raise ValueError(f"max_coefficient needs {option('solver', 'box')}; got {rows[0].name!r}.")
        rows = rows or named("box")
    elif any(solver.name == "box" for solver in rows):
        raise ValueError("solver='box' needs max_coefficient, the bound C of |coefficients| <= C / n_components.")
    if not rows or any(not missing(loss, solver) for solver in rows):
        return
    told = option("loss", name_of(loss))
    hint = ""
    if isinstance(loss, ForeignLoss):
        lacking = sorted(rows[-1].needs - loss.capabilities)
        hint = f" (a loss of your own may declare {' and '.join(lacking)})" if lacking else ""
    raise ValueError(
        f"{option('solver', rows[0].name)} does not go with {told}, {missing(loss, rows[-1])}{hint}: "
        f"use solver {' or '.join(map(repr, solvers_for(loss)))}."
    )


def require_torch(
    loss: Loss, asked: str | SolverLike, max_coefficient: float | None, device: str | None = None
) -> None:
    """Refuse for tensors, or on a device, what works on numpy arrays alone: all but some ways to least squares."""
    in_torch, rows, lacking = [solver.name for solver in TABLE if solver.takes_tensors], candidates_for(asked), ""
    if max_coefficient is not None:
        lacking = "max_coefficient"
    elif not loss.quadratic:
        lacking = option("loss", name_of(loss))
    elif rows and not any(solver.takes_tensors for solver in rows):
        lacking = option("solver", rows[0].name)
    if lacking:
        instead = "give numpy arrays, X.numpy(force=True)" if device is None else "leave out device"
        raise ValueError(
            f"there is no torch version of {lacking}: {instead}, or use "
            f"{option('loss', 'squared')} with solver {', '.join(map(repr, in_torch))}."
        )


def choose_solver(
    asked: str | SolverLike,
    loss: Loss,
    max_coefficient: float | None,
    rows: int,
    features: int,
    of_tensors: bool = False,
) -> tuple[Solver, str]:
    """The solver, and why."""
    suited = [solver for solver in candidates_for(asked) if not missing(loss, solver)]
    if suited:
        return suited[0], "as asked"
    if max_coefficient is not None:
        return named("box")[0], "coefficients are bounded"
    if not loss.quadratic:
        first = next(solver for solver in TABLE if not missing(loss, solver))
        return first, f"the way to the optimum of the {name_of(loss).replace('_', ' ')} loss"
    name, reason = choose_exact(rows, features, of_tensors)
    return named(name)[0], reason


def trains_on_batches(asked: str | SolverLike, loss: Loss) -> bool:
    """Whether the solver that was asked for, or that will be taken, takes steps on batches."""
    rows = candidates_for(asked) or [solver for solver in TABLE if not missing(loss, solver)]
    return rows[0].on_batches

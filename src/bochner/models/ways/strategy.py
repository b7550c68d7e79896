"""Which loss goes with which solver, which solver is taken where nobody says, and with how many threads."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from ...config import config_context, memory_budget
from ...losses import Loss, name_of
from ...ops import threads
from ...solvers import SGD, Adam, DoublyStochastic
from ...validation import option, require_choice

EXACT = ("cholesky", "dual", "cg")  # for the squared loss
SOLVERS = ("auto", *EXACT, "newton", "box", "sgd", "adam", "doubly_stochastic")
METHODS: dict[str, Any] = {"sgd": SGD(), "adam": Adam(), "doubly_stochastic": DoublyStochastic()}


def solver_name(asked: Any) -> str:
    """The name of a solver that was given by name or as an object such as SGD(epochs=5)."""
    for name, method in METHODS.items():
        if type(asked) is type(method):
            return name
    return require_choice("solver", asked, SOLVERS)


def solvers_for(loss: Loss) -> list[str]:
    """The solvers that suit a loss, the one that is taken by itself first."""
    if loss.learns_scale:
        return ["newton"]
    allowed = list(EXACT) if loss.quadratic else []
    allowed += ["newton", "box"] if loss.smooth else []
    if loss.proximal and loss.separable:
        allowed.append("dual")
    return [*allowed, "sgd", "adam", *(["doubly_stochastic"] if loss.bounded_slope else [])]


def require_combination(loss: Loss, solver: str, max_coefficient: Any) -> None:
    """Refuse what does not go together, and say what is missing."""
    if max_coefficient is not None and solver not in ("auto", "box"):
        raise ValueError(f"max_coefficient needs solver='box'; got {solver!r}.")
    if solver == "box" and max_coefficient is None:
        raise ValueError("solver='box' needs max_coefficient, the bound C of |coefficients| <= C / n_components.")
    wanted = "box" if max_coefficient is not None else solver
    allowed, name = solvers_for(loss), name_of(loss)
    if wanted == "auto" or wanted in allowed:
        return
    missing = "whose solution is not linear in the targets"
    if wanted in ("newton", "box") and not loss.smooth:
        missing = "which has kinks, and no curvature for Newton's method"
    elif loss.learns_scale:
        missing = "whose scale only Newton's method learns"
    elif wanted == "doubly_stochastic":
        missing = "whose slope has no bound, so that one step can undo all others"
    elif wanted == "dual":
        missing = "which has no proximal map for the multipliers"
    raise ValueError(
        f"{option('solver', wanted)} does not go with {option('loss', name)}, {missing}: "
        f"use solver {' or '.join(map(repr, allowed))}."
    )


def choose_solver(asked: str, loss: Loss, max_coefficient: Any, rows: int, features: int) -> tuple[str, str]:
    """The solver, and why."""
    if asked != "auto":
        return asked, "as asked"
    if max_coefficient is not None:
        return "box", "coefficients are bounded"
    if not loss.quadratic:
        return solvers_for(loss)[0], f"the way to the optimum of the {name_of(loss).replace('_', ' ')} loss"
    return choose_exact(rows, features)


def gram_bytes(features: int) -> int:
    """Five matrices: sums of held-out rows and of the others, a part to add, centred, factored."""
    return 40 * features**2


def kernel_bytes(rows: int) -> int:
    """Six matrices of rows by rows."""
    return 48 * rows**2


def choose_exact(rows: int, features: int) -> tuple[str, str]:
    """For least squares. Fewer rows than features is the dual's case, if its matrix fits in memory."""
    budget, gram, kernel = memory_budget(), gram_bytes(features), kernel_bytes(rows)
    if rows < features and kernel <= budget:
        return "dual", f"{rows:,} rows are fewer than {features:,} features"
    if gram <= budget:
        return "cholesky", "the Gram matrix fits in memory"
    if kernel <= budget:
        return "dual", "the kernel matrix fits in memory, the Gram matrix does not"
    needs = f"{gram / 1e9:.1f} GB for the Gram and {kernel / 1e9:.1f} GB for the kernel matrix"
    return "cg", f"neither fits {budget / 1e9:.1f} GB: {needs}"


class Limited:
    """n_jobs threads in native code, so many in BLAS, and progress if verbose.

    With one thread of BLAS, and all else in tiles that do not hang on threads, a fit has the same bits for any n_jobs.
    """

    def __init__(self, n_jobs: int | None, verbose: int, blas: int | None = None) -> None:
        self._contexts = ExitStack()
        blas = blas or n_jobs
        if blas and blas > 0:
            self._contexts.enter_context(threads.blas_limited(blas))
        if n_jobs and n_jobs > 0:
            self._contexts.enter_context(threads.limited(n_jobs))
        if verbose:
            self._contexts.enter_context(config_context(progress=True))

    def __enter__(self) -> None:
        pass

    def __exit__(self, *details: Any) -> None:
        self._contexts.__exit__(*details)

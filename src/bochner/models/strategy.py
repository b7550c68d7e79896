"""Which of the three ways to solve, and with how many threads."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from threadpoolctl import threadpool_limits

from ..config import config_context, memory_budget
from ..ops import threads


def choose_solver(asked: str, rows: int, features: int) -> tuple[str, str]:
    """Which of the three ways, and why: fewer rows than features is the dual's case, if its matrix fits in memory."""
    if asked != "auto":
        return asked, "as asked"
    budget = memory_budget()
    # Seven matrices: sums, a part to add, the same of held-out rows, centred, to factor, factored; six for a kernel.
    gram, kernel = 56 * features**2, 48 * rows**2
    if rows < features and kernel <= budget:
        return "dual", f"{rows:,} rows are fewer than {features:,} features"
    if gram <= budget:
        return "cholesky", "the Gram matrix fits in memory"
    if kernel <= budget:
        return "dual", "the kernel matrix fits in memory, the Gram matrix does not"
    needs = f"{gram / 1e9:.1f} GB for the Gram and {kernel / 1e9:.1f} GB for the kernel matrix"
    return "cg", f"neither fits {budget / 1e9:.1f} GB: {needs}"


class Limited:
    """n_jobs threads in BLAS and in native code, and progress if verbose."""

    def __init__(self, n_jobs: int | None, verbose: int) -> None:
        self._contexts = ExitStack()
        if n_jobs and n_jobs > 0:
            self._contexts.enter_context(threadpool_limits(n_jobs))
            self._contexts.enter_context(threads.limited(n_jobs))
        if verbose:
            self._contexts.enter_context(config_context(progress=True))

    def __enter__(self) -> None:
        pass

    def __exit__(self, *details: Any) -> None:
        self._contexts.__exit__(*details)

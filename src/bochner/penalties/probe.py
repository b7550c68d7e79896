"""The penalty of least squares from a sample of the rows, by their kernel matrix."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..config import memory_budget
from ..costs import rows_of_kernel
from ..solvers.kernel_rows import KernelRows, feature_kernel
from ..solvers.problem import Alpha, Problem
from ..streams import sample_rows
from .base import GIVEN, Chosen, PenaltySelection
from .kernel import FromKernel

PROBE = 2000  # rows from which the penalty is chosen


@dataclass
class FromProbe(PenaltySelection):
    """As from the kernel of all rows: alpha estimates a ratio of variances, which their number does not change."""

    problem: Problem

    def choose(self, asked: Alpha) -> Chosen:
        if isinstance(asked, float):
            return Chosen(asked, GIVEN)
        problem = self.problem
        most = int(min(PROBE, rows_of_kernel(memory_budget())))
        numbers = sample_rows(problem.blocks.n_rows, max(most, 20), seed=2)
        block = problem.blocks.take(numbers)
        rows = KernelRows(feature_kernel(problem, block.X), block, problem.intercept)
        found = FromKernel(rows, problem.classifies).choose(asked)
        return replace(found, note=f"{found.note} on {len(numbers):,} sampled rows")

    def by_folds(self, asked: Alpha) -> Chosen:
        return self.choose(asked)

    def by_leave_one_out(self) -> Chosen:
        return self.choose("loo")

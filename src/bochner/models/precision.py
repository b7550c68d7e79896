"""precision="auto": 8-bit features where they lose nothing, 14 bits where they are too few, floats beyond that.

Rounding features to a step acts like a ridge of about n step^2/12, and blurs features that vary by less than a few
steps. So integers are taken if every feature's deviation is many steps and the penalty is above that floor.
"""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from ..bases import Basis
from ..blocks import MemoryBlocks
from ..moments import Moments
from ..streams import sample_rows
from .rows import Ready
from .ways.matrix_free import PROBE, probe_alpha

MANY_STEPS = 10.0
LADDER = ("int8", "int14", None)


def choose_precision(basis: Basis, problem_of: Any, ready: Ready) -> tuple[str | None, str]:
    """The lowest precision that a sample of the rows allows, and why."""
    n = ready.blocks.n_rows
    probe = MemoryBlocks(*ready.blocks.take(sample_rows(n, PROBE, seed=3))[:3])
    floats = clone(basis).set_params(precision=None).fit_sample(ready.sample, ready.largest)
    alpha, _ = probe_alpha(problem_of(floats, probe))
    refused = []
    for precision in LADDER[:-1]:
        try:
            candidate = clone(basis).set_params(precision=precision).fit_sample(ready.sample, ready.largest)
        except ValueError as error:
            refused.append(f"{precision} is refused ({error})")
            continue
        trouble = too_coarse(candidate, Moments.of(candidate.features(probe.X), probe.y), alpha, n)
        if not trouble:
            return precision, "; ".join([*refused, f"{precision}: every feature varies by many steps"])
        refused.append(f"{precision} is too coarse ({trouble})")
    return None, "; ".join(refused)


def too_coarse(basis: Basis, moments: Moments, alpha: float, rows: int) -> str:
    """Why this integer precision would lose accuracy, or nothing."""
    if not basis.quantizes_input:  # comparisons are exact in integers
        return ""
    smallest = float(moments.deviations().min())
    if smallest < MANY_STEPS:
        return f"a feature has a deviation of {smallest:.1f} steps"
    floor = rows * float(basis.scale_) ** 2 / 12.0  # as Problem.rounding_floor, for all rows
    if alpha < floor:
        return f"the penalty {alpha:.1e} is below the rounding floor {floor:.1e}"
    return ""

"""precision="auto": 8-bit features where they lose nothing, 14 bits where they are too few, floats beyond that.

Rounding features to a step acts like a ridge of about n step^2/12, and blurs features that vary by less than a few
steps. So integers are taken if every feature's deviation is many steps, the penalty is above that floor, and rows left
out of a sample are predicted as well as with floats.
"""

from __future__ import annotations

from ..bases import Basis
from ..bases.design import Design
from ..blocks import MemoryBlocks
from ..moments import Moments
from ..penalties import FromProbe
from ..solvers.problem import rounding_floor
from .parameters import ModelParameters
from .preparation import PreparedData
from .trials import FEATURES, Choice, Trial, Wanted, design_of, probe_of

MANY_STEPS = 10.0
WORSE = 1.02  # times the squared error of floats that rounding may cost on rows left out
LADDER = ("int8", "int14", None)


def choose_precision(
    basis: Basis, choice: Choice, wanted: Wanted, parameters: ModelParameters, ready: PreparedData
) -> tuple[str | None, str]:
    """The lowest precision that a sample of the rows allows, and why."""
    n, block = ready.blocks.n_rows, probe_of(ready.blocks)
    probe = MemoryBlocks(*block[:3])

    def designed(precision: str | None) -> Design:
        few = min(int(basis.n_components), FEATURES)  # whether a step is too coarse does not hang on their number
        candidate = basis.sized(few).set_params(precision=precision)
        return design_of(choice, candidate, ready.sample, ready.largest)

    floats = designed(None)
    problem = parameters.problem(floats, probe, ready.targets.outputs)
    alpha = FromProbe(problem).choose(problem.asked).alpha
    least = Trial(wanted, floats, block).error()
    refused = []
    for precision in LADDER[:-1]:
        try:
            candidate = designed(precision)
        except ValueError as error:
            refused.append(f"{precision} is refused ({error})")
            continue
        trouble = too_coarse(candidate, Moments.of(candidate.features(block.X), block.y), alpha, n)
        if not trouble:
            found = Trial(wanted, candidate, block).error()
            if found <= WORSE * least + 1e-6:
                why = f"{precision}: squared error {found:.4g} of rows left out, {least:.4g} with floats"
                return precision, "; ".join([*refused, why])
            trouble = f"squared error {found:.4g} of rows left out, {least:.4g} with floats"
        refused.append(f"{precision} is too coarse ({trouble})")
    return None, "; ".join(refused)


def too_coarse(design: Design, moments: Moments, alpha: float, rows: int) -> str:
    """Why this integer precision would lose accuracy, or nothing."""
    if not design.quantizes_input:  # comparisons are exact in integers
        return ""
    smallest = float(moments.deviations()[design.linear_columns :].min())
    if smallest < MANY_STEPS:
        return f"a feature has a deviation of {smallest:.1f} steps"
    floor = rounding_floor(design.map, rows)
    if alpha < floor:
        return f"the penalty {alpha:.1e} is below the rounding floor {floor:.1e}"
    return ""

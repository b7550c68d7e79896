"""Sums that add: rows can come in any number of calls, models can be merged, rows forgotten, features added."""

from __future__ import annotations

from dataclasses import replace

from ..blocks import Blocks
from ..config import memory_budget
from ..costs import gram_bytes
from ..losses import Loss
from ..moments import FoldedMoments, require_squares
from ..solvers import DualPosterior
from ..solvers.sums import reduce_folds
from ..validation import option
from .calibration import calibrate
from .designing import choose_design
from .feature_fit import FeatureFit
from .fitting import fit_sums
from .parameters import ModelParameters
from .partial_fit import resume
from .preparation import PreparedData


def begin(parameters: ModelParameters, ready: PreparedData) -> FeatureFit:
    """The first rows settle the design (and the precision); there are no sums yet."""
    chosen = choose_design(parameters, ready)
    calibration = calibrate(ready.targets, parameters.loss)
    return FeatureFit(chosen.design, ready.targets, chosen.choice, chosen.precision_reason, calibration)


def add_rows(parameters: ModelParameters, before: FeatureFit | None, ready: PreparedData) -> FeatureFit:
    """With the sums of more rows; the first ones settle the design."""
    found = begin(parameters, ready) if before is None else before
    if before is None:
        require_room(found.design.n_components)
    part = sums_of(parameters, found, ready.blocks)
    sums = part if found.sums is None else found.sums + part.beside(found.sums)
    return found.outdated(parameters.loss, sums)


def train_on(parameters: ModelParameters, before: FeatureFit | None, ready: PreparedData) -> FeatureFit:
    """Steps on batches of more rows; after a fit they begin where that ended."""
    found = begin(parameters, ready) if before is None else before
    problem = parameters.problem(found.design, ready.blocks, ready.targets.outputs)
    solver, _ = parameters.solver_for(found.design, ready.blocks.n_rows)
    design, fit, held_out = resume(problem, found.design, solver, found.fit)
    calibration = calibrate(ready.targets, parameters.loss, held_out, fit.noise)
    rows = 0 if fit.training is None else fit.training.rows
    return replace(
        found, design=design, fit=fit, calibration=calibration, rows=rows, sums=None, widest=None, importances=None
    )


def merged(mine: FeatureFit, other: FeatureFit, loss: Loss) -> FeatureFit:
    """With the rows of another model of the same basis; both have sums."""
    assert mine.sums is not None and other.sums is not None
    if mine.summed.identity() != other.summed.identity():
        raise ValueError(
            "only models with identical fitted bases merge (same seed, and the same numbers for bandwidth, scale "
            "and radius): give random_state and bandwidth as numbers."
        )
    mine.targets.require_same(other.targets)
    shift = mine.targets.shift_from(other.targets)
    sums = other.sums if shift is None else other.sums.shifted_targets(shift)
    return mine.outdated(loss, mine.sums + sums.beside(mine.sums))


def without_rows(parameters: ModelParameters, found: FeatureFit, blocks: Blocks) -> FeatureFit:
    """Without these rows, which were fitted before."""
    assert found.sums is not None
    if blocks.n_rows >= found.sums.rows:
        raise ValueError(f"cannot forget {blocks.n_rows} of {found.sums.rows} rows: some must be left.")
    left = found.sums - sums_of(parameters, found, blocks).beside(found.sums)
    require_squares(left.total(), found.sums.total())
    return found.outdated(parameters.loss, left)


def truncated(found: FeatureFit, n_components: int, loss: Loss) -> FeatureFit:
    """With so many features, no more than were ever fitted: their sums are at hand."""
    widest = found.summed
    if n_components > widest.basis.n_components:
        raise ValueError(
            f"growing from {widest.basis.n_components} to {n_components} features needs the rows again: "
            "grow(n_components, X, y)."
        )
    found = replace(found, design=widest.truncated(n_components), widest=widest)
    return found.outdated(loss, found.sums)


def with_sums(found: FeatureFit, verb: str) -> FeatureFit:
    """With the sums of all rows; after a dual fit, which keeps its rows, they are made when first needed."""
    if found.sums is not None:
        return found
    if isinstance(found.solved.posterior, DualPosterior):
        require_room(found.design.n_components)
        return replace(found, sums=reduce_folds(found.solved.posterior.problem))
    raise ValueError(
        f"{verb} needs the sums of the fit, which were not kept: fit with {option('loss', 'squared')} and "
        f"{option('solver', 'cholesky')} (this was {found.solved.solution.method}), and save with "
        f"{option('sums', True)}."
    )


def solved(parameters: ModelParameters, found: FeatureFit) -> FeatureFit:
    """With the solution from the sums, after they changed."""
    parameters.refuse_leave_one_out("a model of sums")
    if parameters.max_coefficient is not None:
        raise ValueError("sums alone are solved without max_coefficient: fit again, or set it to None.")
    sums, design, widest = found.sums, found.design, found.summed
    assert sums is not None
    if design.n_components != widest.n_components:
        sums = sums.prefix(design.n_components)
    how = parameters.alpha, parameters.fit_intercept, parameters.classifies, design.linear_columns
    return replace(found, fit=fit_sums(sums, design.map, design.prefix_scale(widest), *how))


def sums_of(parameters: ModelParameters, found: FeatureFit, blocks: Blocks) -> FoldedMoments:
    """Those of some rows, as the sums at hand are made."""
    return reduce_folds(parameters.problem(found.summed, blocks, found.targets.outputs))


def require_room(features: int) -> None:
    needed = gram_bytes(features)
    if needed > memory_budget():
        sizes = f"{needed / 1e9:.3g} GB, over the budget of {memory_budget() / 1e9:.3g} GB"
        raise ValueError(f"the sums of {features:,} features need {sizes}.")

"""Rows that come and go: sums that add, and steps on batches that go on where the last call ended.

With sums, rows can come in any number of calls, models can be merged, rows forgotten, features added. Without, the rows
of each call are trained on once: mini-batch steps go on with the same features, doubly stochastic ones add features for
the new rows. All that a call leaves behind is the model and three numbers, so a saved model can go on too.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import numpy as np

from ..arrays import copied
from ..bases.design import Design
from ..blocks import Blocks, Recipe, SparseRecipe
from ..config import memory_budget
from ..costs import gram_bytes
from ..losses import Loss
from ..moments import FoldedMoments, require_squares
from ..penalties import with_penalty
from ..solvers import (
    DoublyStochastic,
    DualPosterior,
    HeldOutScores,
    Problem,
    Solution,
    Solver,
    Stochastic,
    Training,
    Units,
)
from ..solvers.doubly_stochastic import Descent, finished, steps_for
from ..solvers.minibatch import MinibatchTrainer, require_finite_training
from ..solvers.sums import reduce_folds
from ..solvers.units import Measure
from ..validation import option
from .calibration import calibrate
from .designing import choose_design
from .feature_fit import FeatureFit
from .fitting import Fit, fit_sums
from .parameters import ModelParameters
from .preparation import PreparedData


def begin(parameters: ModelParameters, ready: PreparedData, recipe: Recipe | SparseRecipe | None) -> FeatureFit:
    """The first rows settle the design, with its precision and its metric; there are no sums yet."""
    chosen = choose_design(parameters, ready, recipe)
    calibration = calibrate(ready.targets, parameters.loss)
    return FeatureFit(chosen.design, ready.targets, chosen.choice, chosen.precision_reason, chosen.metric, calibration)


def add_rows(
    parameters: ModelParameters,
    before: FeatureFit | None,
    ready: PreparedData,
    recipe: Recipe | SparseRecipe | None = None,
) -> FeatureFit:
    """With the sums of more rows; the first ones settle the design."""
    found = begin(parameters, ready, recipe) if before is None else before
    if before is None:
        require_room(found.design.n_components)
    part = sums_of(parameters, found, ready.blocks)
    sums = part if found.sums is None else found.sums + part.beside(found.sums)
    return found.outdated(parameters.loss, sums)


def train_on(
    parameters: ModelParameters,
    before: FeatureFit | None,
    ready: PreparedData,
    recipe: Recipe | SparseRecipe | None = None,
) -> FeatureFit:
    """Steps on batches of more rows; after a fit they begin where that ended."""
    found = begin(parameters, ready, recipe) if before is None else before
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
            "and radius): give random_state and bandwidth as numbers, or let both go on from copies of one model, as "
            "bases that learn from rows must (patches of pictures, metrics)."
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


# ---- steps on batches ----


def resume(
    problem: Problem, design: Design, solver: Solver, before: Fit | None
) -> tuple[Design, Fit, HeldOutScores | None]:
    """The design (perhaps with more features), the fit after these rows, and the scores they had before, if known.

    The first rows tell the penalty and the units; a fit that knows of no units goes on in those of y.
    """
    start = None
    if before is None:
        measure = Measure(problem)
        problem, chosen = with_penalty(measure.problem, solver)
    else:
        measure = Measure(problem, known_units(before, problem.outputs))
        start = measure.inward(before.solution)
        chosen = replace(before.chosen, alpha=start.alpha)
        problem = replace(measure.problem, chosen=start.alpha)
    design, found = steps_on(problem, design, solver, start)
    return design, Fit.of(measure.outward(found), chosen), found.held_out


def known_units(before: Fit, outputs: int) -> Units | None:
    """Those of the steps before; of an old file, whose steps were in the units of y; None if there were no steps."""
    if before.training is None:
        return None
    return before.training.units or Units(np.zeros(outputs), np.ones(outputs), 1.0)


def steps_on(problem: Problem, design: Design, solver: Solver, before: Solution | None) -> tuple[Design, Solution]:
    """Steps over the rows of a problem from where a solution ended."""
    training = None if before is None else before.training
    met = problem.blocks.present + (0 if training is None else training.rows)
    # Every row bears its share of the penalty.
    problem = replace(problem, chosen=problem.alpha * problem.blocks.present / met)
    if isinstance(solver, DoublyStochastic):
        return add_features(problem, design, solver, before, met)
    assert isinstance(solver, Stochastic)
    trainer = MinibatchTrainer(problem, solver)
    rate = trainer.find_rate()[0] if training is None else training.rate
    x = trainer.zeros()
    if before is not None:
        x[: trainer.m] = before.coefficients
        x[trainer.m :] = before.intercepts + trainer.mean @ before.coefficients
    calls = 0 if training is None else training.steps
    state = trainer.run(solver.begin(x), calls, lambda done: rate)
    require_finite_training(state["x"], calls, rate)
    status = f"{calls + 1} calls, batches of {solver.batch_size}, rate {rate:.3g}"
    return design, trainer.finished(state["x"], status, Training(rate, calls + 1, met))


def add_features(
    problem: Problem, design: Design, solver: DoublyStochastic, before: Solution | None, met: int
) -> tuple[Design, Solution]:
    """A step for every batch, each with a tile of columns that the basis has left, or gets."""
    training = None if before is None else before.training
    done = 0 if training is None else training.steps
    batches = -(-problem.blocks.n_rows // solver.batch_size)
    m = problem.columns
    missing = done + batches - steps_for(problem.map, solver.features)
    if missing > 0:
        unit = -(-m // design.basis.map_.units.number)  # columns that come together: a step takes one unit at least
        design = design.enlarged(m + missing * unit * -(-solver.features // unit))
    descent = Descent(replace(problem, map=design.map), solver)
    state = descent.begin()
    if before is not None:
        # Features carry 1/sqrt of their number in themselves.
        state["b"][:m] = before.coefficients * np.sqrt(len(state["b"]) / m)
        state["c"], state["step"] = copied(before.intercepts), done
    rate = descent.first_rate() if training is None else training.rate
    state = descent.run(state, done + batches, rate, islice(descent.batches(0), batches))
    require_finite_training(state["b"], 0, rate)
    return design, finished(descent, state, rate, met)

"""`partial_fit` of the stochastic solvers: the rows of each call are trained on once, from where the last call ended.

Mini-batch steps go on with the same features; doubly stochastic ones add features for the new rows. All that a call
leaves behind is the model and three numbers, so a saved model can go on too.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import numpy as np

from ..bases.design import Design
from ..penalties import with_penalty
from ..solvers import DoublyStochastic, HeldOutScores, Problem, Solution, Solver, Stochastic, Training, Units
from ..solvers.doubly_stochastic import Descent, finished, steps_for
from ..solvers.minibatch import MinibatchTrainer, require_finite_training
from ..solvers.units import Measure
from .fitting import Fit


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
        state["c"], state["step"] = before.intercepts.copy(), done
    rate = descent.first_rate() if training is None else training.rate
    state = descent.run(state, done + batches, rate, islice(descent.batches(0), batches))
    require_finite_training(state["b"], 0, rate)
    return design, finished(descent, state, rate, met)

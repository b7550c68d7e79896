"""`partial_fit` of the stochastic solvers: the rows of each call are trained on once, from where the last call ended.

Mini-batch steps go on with the same features; doubly stochastic ones add features for the new rows. All that a call
leaves behind is the model and three numbers, so a saved model can go on too.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import numpy as np

from ...bases.design import Design
from ...solvers import DoublyStochastic, Stochastic
from .calibration import HeldOutScores
from .doubly import Descent, finished, steps_for
from .held_out import choose_penalty
from .penalty import Chosen
from .problem import Fit, Problem, Training, Units
from .solve import Way
from .stochastic import MinibatchTrainer, require_finite_training
from .units import Measure


def resume(problem: Problem, way: Way, before: Fit | None) -> tuple[Design, Fit, HeldOutScores | None]:
    """The basis (perhaps with more features), the fit after these rows, and the scores they had before, if known.

    The first rows tell the penalty and the units; a fit that knows of no units goes on in those of y.
    """
    if before is None:
        measure = Measure(problem, way.loss)
        chosen = choose_penalty(measure.problem, measure.loss)
    else:
        measure = Measure(problem, way.loss, known_units(before, problem.outputs))
        before = measure.inward(before)
        chosen = Chosen(before.solution.alpha, before.penalty, before.validated, before.end)
    basis, fit, held_out = steps_on(measure.problem, replace(way, loss=measure.loss), chosen.alpha, before)
    found = replace(fit, penalty=chosen.note, validated=chosen.validated, end=chosen.end)
    return basis, measure.outward(found), held_out


def known_units(before: Fit, outputs: int) -> Units | None:
    """Those of the steps before; of an old file, whose steps were in the units of y; None if there were no steps."""
    if before.training is None:
        return None
    return before.training.units or Units(np.zeros(outputs), np.ones(outputs), 1.0)


def steps_on(problem: Problem, way: Way, alpha: float, before: Fit | None) -> tuple[Design, Fit, HeldOutScores | None]:
    training = None if before is None else before.training
    met = problem.blocks.present + (0 if training is None else training.rows)
    if isinstance(way.method, DoublyStochastic):
        return add_features(problem, way, alpha, before, met)
    assert isinstance(way.method, Stochastic)
    # Every row bears its share of the penalty.
    trainer = MinibatchTrainer(problem, way.loss, alpha * problem.blocks.present / met, way.method, way.seed)
    rate = trainer.find_rate()[0] if training is None else training.rate
    x = trainer.zeros()
    if before is not None:
        x[: trainer.m] = before.solution.coefficients
        x[trainer.m :] = before.intercept + trainer.mean @ before.solution.coefficients
    calls = 0 if training is None else training.steps
    state = trainer.run(way.method.begin(x), calls, lambda done: rate)
    require_finite_training(state["x"], calls, rate)
    status = f"{calls + 1} calls, batches of {way.method.batch_size}, rate {rate:.3g}"
    fit = trainer.finished(state["x"], status, Training(rate, calls + 1, met))
    return problem.basis, fit, None


def add_features(
    problem: Problem, way: Way, alpha: float, before: Fit | None, met: int
) -> tuple[Design, Fit, HeldOutScores | None]:
    """A step for every batch, each with a tile of columns that the basis has left, or gets."""
    training = None if before is None else before.training
    done, size = 0 if training is None else training.steps, way.method.batch_size
    batches = -(-problem.blocks.n_rows // size)
    basis, m = problem.basis, int(problem.basis.n_components)
    missing = done + batches - steps_for(basis, way.method.features)
    if missing > 0:
        unit = -(-m // basis.basis.map_.units.number)  # columns that come together: a step takes one unit at least
        basis = basis.enlarged(m + missing * unit * -(-way.method.features // unit))
    share = alpha * problem.blocks.present / met
    descent = Descent(replace(problem, basis=basis), way.loss, share, way.method, way.seed)
    state = descent.begin()
    if before is not None:
        # Features carry 1/sqrt of their number in themselves.
        state["b"][:m] = before.solution.coefficients * np.sqrt(len(state["b"]) / m)
        state["c"], state["step"] = before.intercept.copy(), done
    rate = descent.first_rate() if training is None else training.rate
    state = descent.run(state, done + batches, rate, islice(descent.batches(0), batches))
    require_finite_training(state["b"], 0, rate)
    return basis, *finished(descent, state, rate, met)

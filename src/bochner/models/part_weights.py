"""The weights of the parts of a union of bases: tried on sampled rows, from the sums of their folds.

The columns of a part times s are the same model as a penalty of 1 / s^2 on them, so one set of sums serves all weights.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Rows
from ..bases import Basis, BasisUnion
from ..bases.heuristics import different_rows
from ..blocks import Block
from ..maps.quantize import round_digits
from .preparation import PreparedData
from .trials import FEWEST, Choice, Trial, Wanted, design_of, is_noise, probe_of

FEATURES = 512  # of each part in a trial
STEPS = (0.2, 0.04, 5.0, 25.0)  # factors of a weight that are tried, those further out if the nearer ones serve


def with_weights(basis: Basis, choice: Choice, wanted: Wanted, ready: PreparedData) -> Basis:
    """The basis with weights of its parts, if it is a union that leaves them to the model."""
    if not isinstance(basis, BasisUnion) or not basis.chooses_weights:
        return basis
    union = basis

    def found() -> list[float]:
        return chosen_weights(union, choice, wanted, ready.sample, ready.largest, probe_of(ready.blocks))

    return union.set_params(bases=union.parts, weights=ready.remember(found))


def chosen_weights(
    basis: BasisUnion, choice: Choice, wanted: Wanted, sample: Rows, largest: float, probe: Block
) -> list[float]:
    """Weights of smallest squared error of rows left out, one part after the other; the first has weight 1.

    Where folds cannot tell, all parts have features of the same mean squared length.
    """
    rows = different_rows(probe.X).shape[0]
    parts = [part.sized(min(FEATURES, rows, int(part.n_components))) for part in basis.parts]
    few = BasisUnion(parts, weights=[1.0] * len(parts), random_state=basis.random_state)
    trial = Trial(wanted, design_of(choice, few, sample, largest), probe)
    owner = np.repeat(np.arange(len(parts)), [part.n_components for part in parts])
    lengths = np.bincount(owner, np.var(trial.features[:, -len(owner) :], axis=0))
    even = np.sqrt(lengths[0] / np.where(lengths > 0, lengths, lengths[0])) if lengths[0] > 0 else np.ones(len(parts))
    best = even
    if rows >= FEWEST:
        best = searched(trial, owner, even, float(choice.weight > 0))
    return [round_digits(float(weight), 3) for weight in best / best[0]]


def searched(trial: Trial, owner: np.ndarray, even: np.ndarray, line: float) -> np.ndarray:
    """Weights with fewer errors than even ones, by more than noise."""
    usual = trial.errors(line, even[owner])
    best, found = even, usual
    for part in range(1, len(even)):
        start, begun = best, found
        for direction in (STEPS[:2], STEPS[2:]):
            for step in direction:
                tried = start.copy()
                tried[part] *= step
                errors = trial.errors(line, tried[owner])
                if np.sum(errors) >= np.sum(found):
                    break
                best, found = tried, errors
            if found is not begun:
                break
    return even if is_noise(usual - found) else best

"""From prepared rows to a fitted design: scaling, linear part, precision and metric, as asked or as the data decide."""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from typing import Any

from sklearn.base import clone

from ..bases import Basis
from ..bases.design import Design
from ..bases.heuristics import draw_seed
from ..blocks import Recipe, SparseRecipe
from ..validation import require_squares
from .metric_rounds import learn_metric
from .metric_search import LearnedMetric
from .parameters import ModelParameters, new_basis
from .part_weights import with_weights
from .precision import choose_precision
from .preparation import PreparedData
from .trials import Choice, Wanted, choose, design_of, probe_of


@dataclass(frozen=True, eq=False)
class ChosenDesign:
    """A design, how its rows are scaled and why, why its precision is what it is, and the metric learned for it."""

    design: Design
    choice: Choice
    precision_reason: str
    metric: LearnedMetric

    def finer(self, ready: PreparedData, trouble: str) -> ChosenDesign:
        """The next precision, since all rows do not allow what a sample of them did."""
        basis = self.design.basis
        higher = {"int8": "int14", "int14": None}[str(basis.precision)]
        reason = f"{self.precision_reason}; over all rows {basis.precision} is too coarse ({trouble})"
        finer = clone(basis).set_params(precision=higher, random_state=basis.seed_)
        design = design_of(self.choice, finer, ready.sample, ready.largest, self.design.metric)
        return replace(self, design=design, precision_reason=reason)


def choose_design(
    parameters: ModelParameters, ready: PreparedData, recipe: Recipe | SparseRecipe | None = None
) -> ChosenDesign:
    """The basis fitted to a sample of the rows, with the scaling, the linear part and the metric that serve it."""
    basis = new_basis(parameters.basis)
    source = parameters.random_state if basis.random_state is None else basis.random_state
    basis.set_params(random_state=ready.remember(lambda: draw_seed(source)))
    wanted, why = wanted_of(parameters, basis, ready)

    def tried() -> tuple[Any, ...]:
        return astuple(choose(wanted, basis, ready.sample, ready.largest, probe_of(ready.blocks)))

    choice = Choice(*ready.remember(tried))
    basis = with_weights(basis, choice, wanted, ready)
    if why and choice.reason == "as asked":
        choice = replace(choice, reason=why)
    reason = "as asked"
    if parameters.precision == "auto":
        precision, reason = ready.remember(lambda: choose_precision(basis, choice, wanted, parameters, ready))
        basis.set_params(precision=precision)
    elif parameters.precision is not None:
        basis.set_params(precision=parameters.precision)
    elif basis.precision is None:
        reason = "that of X"
    metric, root = learn_metric(parameters, basis, choice, ready, recipe)
    return ChosenDesign(design_of(choice, basis, ready.sample, ready.largest, root), choice, reason, metric)


def wanted_of(parameters: ModelParameters, basis: Basis, ready: PreparedData) -> tuple[Wanted, str]:
    """What is to be tried, and why not more."""
    scale, linear, why = parameters.scale, parameters.linear, ""
    if basis.has_units:
        why = "rows as they are: a number was given in their units"
    elif ready.blocks.read(0, 1).X.dtype.itemsize == 1:
        why = "rows as they are: columns of 8 bits share a unit"
    if why:
        scale, linear = None if scale == "auto" else scale, False if linear == "auto" else linear
    if scale is not None:
        require_squares(ready.largest, "X")
    if linear == "auto" and (parameters.trains_on_batches or parameters.max_coefficient is not None):
        linear = False  # steps on batches need columns of like size, and bounds are those of features
    return Wanted(scale, linear, bool(parameters.fit_intercept), parameters.classifies), why

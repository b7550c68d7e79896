"""How a model comes by its metric: with its first fit, and again if asked to; `metric_search.py` has the rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..bases import Basis
from ..bases.design import Design
from .metric_search import MOST_FULL, LearnedMetric, MetricSearch
from .trials import design_of

if TYPE_CHECKING:
    from .preparation import PreparedData

METRICS = ("diagonal", "full", "auto")
MOST_STEPS = 512  # columns of a metric by differences


def learn_metric(model: Any, basis: Basis, ready: PreparedData) -> tuple[LearnedMetric, np.ndarray | None]:
    """The metric that a model asks for, learned from rows made ready, and its R; the basis gets a bandwidth for it."""
    if model.metric is None:
        return LearnedMetric(), None
    require_columns(model, basis, ready.blocks.n_columns)

    def searched() -> tuple[Any, ...]:
        found = MetricSearch(model, basis, ready).run()
        return tuple(vars(found.metric).values()), found.root, found.bandwidth

    learned, root, bandwidth = ready.remember(searched)
    if bandwidth is not None:
        basis.set_params(bandwidth=bandwidth)
    return LearnedMetric(*learned), root


def refitted_design(model: Any, ready: PreparedData) -> Design:
    """The design after the metric was learned again: first from the sums at hand, where these tell it."""
    if model.metric is None:
        raise ValueError("refit_metric needs a metric to learn: set_params(metric='diagonal'), 'full' or 'auto' first.")
    fitted, basis = model.basis_, model._chosen_basis()
    basis.set_params(precision=fitted.precision, random_state=fitted.seed_)
    basis = basis.sized(int(fitted.n_components))
    require_columns(model, basis, ready.blocks.n_columns)
    found = MetricSearch(model, basis, ready, known=model).run()
    if found.bandwidth is not None:
        basis.set_params(bandwidth=found.bandwidth)
    model._metric = found.metric
    return design_of(model._choice, basis, ready.sample, ready.largest, found.root)


def require_columns(model: Any, basis: Basis, columns: int) -> None:
    """Refuse what would take too long, in one sentence."""
    if model.metric == "full" and columns > MOST_FULL:
        raise ValueError(f"metric='full' takes at most {MOST_FULL:,} columns, X has {columns:,}: use 'diagonal'.")
    slow = not (hasattr(basis.kind, "wave_vectors") or basis.kind.has_slopes)
    if slow and columns > MOST_STEPS:
        raise ValueError(
            f"{type(basis).__name__} has no gradient, and its differences in each column take at most {MOST_STEPS} "
            f"columns; X has {columns:,}: use metric=None, or another basis."
        )

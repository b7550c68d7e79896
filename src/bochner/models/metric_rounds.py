"""How a model comes by its metric: with its first fit, and again if asked to; `metric_search.py` has the rounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..bases import Basis, BasisUnion
from ..blocks import Recipe, SparseRecipe
from .metric_search import MOST_FULL, AtHand, LearnedMetric, MetricSearch
from .parameters import ModelParameters
from .preparation import PreparedData
from .trials import Choice

MOST_STEPS = 512  # columns of a metric by differences


def learn_metric(
    parameters: ModelParameters,
    basis: Basis,
    choice: Choice,
    ready: PreparedData,
    recipe: Recipe | SparseRecipe | None = None,
    known: AtHand | None = None,
) -> tuple[LearnedMetric, np.ndarray | None]:
    """The metric that is asked for, learned from rows made ready, and its R; the basis gets a bandwidth for it.

    The first round takes what is known of a fit before, if there was one.
    """
    if parameters.metric is None:
        return LearnedMetric(), None
    require_columns(parameters, basis, ready.blocks.n_columns)

    def searched() -> tuple[Any, ...]:
        found = MetricSearch(parameters, basis, choice, ready, recipe, known).run()
        return tuple(vars(found.metric).values()), found.root, found.bandwidth

    learned, root, bandwidth = ready.remember(searched)
    if bandwidth is not None:
        basis.set_params(bandwidth=bandwidth)
    return LearnedMetric(*learned), root


def require_columns(parameters: ModelParameters, basis: Basis, columns: int) -> None:
    """Refuse what would take too long, in one sentence."""
    if parameters.metric == "full" and columns > MOST_FULL:
        raise ValueError(f"metric='full' takes at most {MOST_FULL:,} columns, X has {columns:,}: use 'diagonal'.")
    fast = not isinstance(basis, BasisUnion) and (hasattr(basis.kind, "wave_vectors") or basis.kind.has_slopes)
    if not fast and columns > MOST_STEPS:
        raise ValueError(
            f"{type(basis).__name__} has no gradient, and its differences in each column take at most {MOST_STEPS} "
            f"columns; X has {columns:,}: use metric=None, or another basis."
        )

"""Weighted sums of random kitchen sinks (Rahimi and Recht, 2008)."""

from ..findings import Experiment
from . import coefficient_decay, other_features, risk_bound, stumps_and_boosting

EXPERIMENTS: tuple[Experiment, ...] = (
    stumps_and_boosting.EXPERIMENT, risk_bound.EXPERIMENT, coefficient_decay.EXPERIMENT,
    other_features.EXPERIMENT,
)  # fmt: skip

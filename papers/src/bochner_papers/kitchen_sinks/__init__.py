"""Weighted sums of random kitchen sinks (Rahimi and Recht, 2008)."""

from ..findings import Experiment
from . import coefficient_decay, other_features, stumps_and_boosting

EXPERIMENTS: tuple[Experiment, ...] = (
    stumps_and_boosting.EXPERIMENT, coefficient_decay.EXPERIMENT, other_features.EXPERIMENT,
)  # fmt: skip

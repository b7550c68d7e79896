"""Weighted sums of random kitchen sinks (Rahimi and Recht, 2008)."""

from ..findings import Experiment

EXPERIMENTS: tuple[Experiment, ...] = ()

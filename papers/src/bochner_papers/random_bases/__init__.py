"""Uniform approximation of functions with random bases (Rahimi and Recht, 2008)."""

from ..findings import Experiment
from . import columns, forest, kernels, stumps, table_one

EXPERIMENTS: tuple[Experiment, ...] = (
    kernels.EXPERIMENT, table_one.EXPERIMENT, columns.EXPERIMENT, forest.EXPERIMENT, stumps.EXPERIMENT,
)  # fmt: skip

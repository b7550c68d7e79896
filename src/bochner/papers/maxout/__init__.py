"""Random maxout features (Mroueh, Rennie and Goel, 2015)."""

from ..findings import Experiment
from . import digits, distances
from .phones import table_three, table_two

EXPERIMENTS: tuple[Experiment, ...] = (
    distances.EXPERIMENT, digits.EXPERIMENT, table_two.EXPERIMENT, table_three.EXPERIMENT,
)  # fmt: skip

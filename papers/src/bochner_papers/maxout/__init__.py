"""Random maxout features (Mroueh, Rennie and Goel, 2015)."""

from ..findings import Experiment
from . import bound, centring, digits, digits_large, distances, faces
from .phones import amount, table_three, table_two

EXPERIMENTS: tuple[Experiment, ...] = (
    distances.EXPERIMENT, faces.EXPERIMENT, digits.EXPERIMENT, centring.EXPERIMENT, bound.EXPERIMENT,
    digits_large.EXPERIMENT, table_two.EXPERIMENT,
    table_three.EXPERIMENT, amount.EXPERIMENT,
)  # fmt: skip

"""Random maxout features (Mroueh, Rennie and Goel, 2015)."""

from ..findings import Experiment
from . import digits, distances

EXPERIMENTS: tuple[Experiment, ...] = (distances.EXPERIMENT, digits.EXPERIMENT)

"""McKernel: approximate kernel expansions in log-linear time (Curto, Zarza and Kim, 2017)."""

from ..findings import Experiment
from . import minibatch, transform_speed

EXPERIMENTS: tuple[Experiment, ...] = (transform_speed.EXPERIMENT, *minibatch.EXPERIMENTS)

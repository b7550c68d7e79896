"""McKernel: approximate kernel expansions in log-linear time (Curto, Zarza and Kim, 2017)."""

from ..findings import Experiment
from . import minibatch, transform_speed, v_matrix

EXPERIMENTS: tuple[Experiment, ...] = (transform_speed.EXPERIMENT, *minibatch.EXPERIMENTS, v_matrix.EXPERIMENT)

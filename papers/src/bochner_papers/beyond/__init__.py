"""Past the papers: on each data set our model without settings beside boosting, an exact SVM and a small network."""

from ..findings import Experiment
from .contest import EXPERIMENTS

__all__ = ["EXPERIMENTS", "Experiment"]

"""Past the papers: on each data set our best model beside tuned gradient boosting, an exact SVM and a small network."""

from ..findings import Experiment
from .contest import EXPERIMENTS

__all__ = ["EXPERIMENTS", "Experiment"]

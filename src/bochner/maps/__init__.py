"""Feature maps: what fitted bases are, one file per kind, and how maps compose."""

from .base import LIMITS, PRECISIONS, FeatureMap
from .bins import BinsMap
from .cells import AxisCellsMap, CellsMap, ObliqueCellsMap
from .design import DesignMap
from .fastfood import FastfoodMap
from .fixed import FixedFourierMap
from .fourier import FourierMap
from .gated import GatedMap
from .maxout import MaxoutMap
from .metric import Metric
from .patches import PatchMap
from .ridge_functions import RidgeMap
from .stumps import StumpsMap
from .threshold import ThresholdMap
from .union import Union
from .units import Drawn, UnitMap, Units, Weights

__all__ = [
    "LIMITS",
    "PRECISIONS",
    "AxisCellsMap",
    "BinsMap",
    "CellsMap",
    "DesignMap",
    "Drawn",
    "FastfoodMap",
    "FeatureMap",
    "FixedFourierMap",
    "FourierMap",
    "GatedMap",
    "MaxoutMap",
    "Metric",
    "ObliqueCellsMap",
    "PatchMap",
    "RidgeMap",
    "StumpsMap",
    "ThresholdMap",
    "Union",
    "UnitMap",
    "Units",
    "Weights",
]  # fmt: skip

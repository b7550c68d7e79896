"""Random bases, one small file each. Registering a class here enters it in every contract test."""

from .base import Basis, Bounds
from .bins import RandomBins
from .cells import RandomCells
from .fastfood import Fastfood
from .fixed import FixedFourier
from .fourier import RandomFourier
from .gated import GatedLinear
from .maxout import RandomMaxout
from .patches import PatchFeatures
from .ridge_functions import RandomRidge
from .stumps import RandomStumps
from .union import BasisUnion

REGISTRY: dict[str, type[Basis]] = {
    "fourier": RandomFourier,
    "fastfood": Fastfood,
    "maxout": RandomMaxout,
    "gated": GatedLinear,
    "stumps": RandomStumps,
    "bins": RandomBins,
    "cells": RandomCells,
    "ridge": RandomRidge,
}

__all__ = [
    "REGISTRY", "Basis", "BasisUnion", "Bounds", "Fastfood", "FixedFourier", "GatedLinear",
    "PatchFeatures", "RandomBins", "RandomCells", "RandomFourier", "RandomMaxout", "RandomRidge", "RandomStumps",
]  # fmt: skip

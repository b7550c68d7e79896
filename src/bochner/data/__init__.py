"""Data sets of the experiments: where they are, whether their files are whole, and their rows as arrays."""

from .bags import LabelledBags, Recordings, aerosol, spoken_digits
from .catalogue import DataSet, data_sets, folder
from .loading import (
    Split,
    adult,
    census_house,
    computer_activity,
    fashion_mnist,
    forest,
    heart_disease,
    mnist,
    network_intrusion,
    phone_activity,
)

__all__ = [
    "DataSet", "LabelledBags", "Recordings", "Split", "adult", "aerosol", "census_house", "computer_activity",
    "data_sets", "fashion_mnist", "folder", "forest", "heart_disease", "mnist", "network_intrusion", "phone_activity",
    "spoken_digits",
]  # fmt: skip

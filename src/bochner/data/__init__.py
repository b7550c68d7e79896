"""Data sets of the experiments: where they are, how to get them, whether they are whole, and their rows as arrays."""

from .bags import LabelledBags, Recordings, aerosol, spoken_digits
from .catalogue import DataSet, data_sets, folder
from .fetching import fetch
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
    "data_sets", "fashion_mnist", "fetch", "folder", "forest", "heart_disease", "mnist", "network_intrusion",
    "phone_activity", "spoken_digits",
]  # fmt: skip

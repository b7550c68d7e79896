"""Sets whose examples are bags of points: satellite pixels with one measurement, and spoken words."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from .catalogue import folder
from .loading import file_of


class LabelledBags(NamedTuple):
    """Points of each bag (points, columns), and a target for each bag."""

    bags: list[np.ndarray]
    y: np.ndarray


class Recordings(NamedTuple):
    """Signals as 16-bit integers at `rate` samples a second, what was said, and which are to judge by."""

    signals: list[np.ndarray]
    y: np.ndarray
    is_test: np.ndarray
    rate: int


def aerosol() -> LabelledBags:
    """MISR1: 800 places, 100 pixels each of 16 reflectances and angles, and the aerosol optical depth on the ground.

    Reads `aerosol/MISR1.mat`, whose table MISR1 has a row for each pixel: the bag, 16 columns, the depth; or the same
    table as `aerosol/MISR1.csv`.
    """
    for name in ("MISR1.mat", "MISR1.csv"):
        path = folder() / "aerosol" / name
        if path.is_file():
            return bags_of(aerosol_table(path))
    raise FileNotFoundError(
        f"there is no MISR1.mat or MISR1.csv in {str(folder() / 'aerosol')!r}: put the aerosol bags of Wang, Lan and "
        "Vucetic (2011) there, a row for each pixel with the bag, 16 numbers and the optical depth."
    )


def aerosol_table(path: Path) -> np.ndarray:
    if path.suffix == ".csv":
        return np.loadtxt(path, delimiter=",", ndmin=2)
    from scipy.io import loadmat

    content = loadmat(path)
    if "MISR1" not in content:
        raise ValueError(f"{str(path)!r} has no table MISR1.")
    return np.asarray(content["MISR1"], dtype=np.float64)


def bags_of(table: np.ndarray) -> LabelledBags:
    """Bags in the order of their numbers, which are in the first column; the target is in the last."""
    if table.ndim != 2 or table.shape[1] != 18:
        raise ValueError(f"a table of aerosol pixels has 18 columns (bag, 16 numbers, depth); got shape {table.shape}.")
    table = table[np.argsort(table[:, 0], kind="stable")]
    _, starts = np.unique(table[:, 0], return_index=True)
    bags, y = np.split(table[:, 1:17], starts[1:]), table[starts, 17]
    if any((part != part[0]).any() for part in np.split(table[:, 17], starts[1:])):
        raise ValueError("pixels of one bag have different optical depths: is the first column the bag?")
    return LabelledBags(bags, y)


def spoken_digits() -> Recordings:
    """FSDD: 3,000 recordings of digits by six speakers at 8 kHz; five of each digit and speaker are to judge by."""
    stored = np.load(file_of("fsdd/fsdd_8khz_int16.npz"))
    signals = np.split(stored["signal"], np.cumsum(stored["length"])[:-1])
    return Recordings(signals, stored["digit"].astype(int), stored["index"] < 5, 8_000)

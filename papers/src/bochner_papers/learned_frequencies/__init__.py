"""Kernel learning via random Fourier representations (Wang, Law, Miscouridou, Mider and Ip)."""

from ..findings import Experiment
from . import adult, adult_grid, aerosol, entropy, heart, heart_splits, pictures, spoken_digits

EXPERIMENTS: tuple[Experiment, ...] = (
    heart.EXPERIMENT, heart_splits.EXPERIMENT, adult.EXPERIMENT, adult_grid.EXPERIMENT, pictures.EXPERIMENT,
    aerosol.EXPERIMENT, entropy.EXPERIMENT, spoken_digits.EXPERIMENT,
)  # fmt: skip

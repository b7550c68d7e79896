"""From components back to rows: the expected row for given components, by kernel ridge regression."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array, empty
from ..bases.heuristics import SAMPLE, different_rows, median_bandwidth
from ..blocks import Block
from ..kernels import Gaussian
from ..maps.scaling import ColumnScaler
from ..models.checks import row_slices
from ..models.placing import beside
from ..penalties import FromKernel
from ..solvers.kernel_rows import KernelRows, solve_rows
from ..streams import sample_rows

PENALTIES = np.array([10.0**k for k in range(-6, 2)])  # smaller ones follow rounding, not rows


@dataclass(frozen=True)
class WayBack:
    """Rows in the units of X from components, within the range of the rows that it was learned from."""

    images: np.ndarray
    kernel: Gaussian
    coefficients: np.ndarray
    offset: np.ndarray
    ends: tuple[np.ndarray, np.ndarray]

    @classmethod
    def learned(cls, images: np.ndarray, rows: np.ndarray, scaler: ColumnScaler | None) -> WayBack:
        """By the penalty of smallest error of folds of the rows, each column measured in its own spreads.

        Folds go by what the rows hold, not by their images, whose last bits hang on how they were summed.
        """
        some = different_rows(images[sample_rows(len(images), SAMPLE, seed=0)])
        kernel = Gaussian(median_bandwidth(some, 2.0))
        center, spread = (0.0, 1.0) if scaler is None else (scaler.center, scaler.spread)
        block = Block(rows, (rows - center) / spread, None, 0)
        pairs = KernelRows(kernel(images), block, True)
        chosen = FromKernel(pairs, False).choose(PENALTIES)
        fit = solve_rows(pairs, chosen.alpha, chosen.unit)
        # Coefficients of centred rows sum to zero but for rounding, so that centring a new row adds a constant.
        found = fit.coefficients - fit.coefficients.mean(axis=0)
        offset = fit.intercepts - pairs.dual.row_means @ found
        return cls(images, kernel, spread * found, spread * offset + center, (rows.min(axis=0), rows.max(axis=0)))

    def __call__(self, T: Array) -> Array:
        """The rows (n, columns) of components T."""
        out = empty((len(T), len(self.offset)), T)
        images, coefficients, offset, low, high = beside(T, self.images, self.coefficients, self.offset, *self.ends)
        for part in row_slices(len(T), 3 * len(images)):
            out[part] = self.kernel(T[part], images) @ coefficients + offset
        return out.clip(low, high)

"""Sums over rows from which principal components come: all of Z'Z, or Z'Z times a few columns where that is too large.

Both add, so that rows can come in any blocks and any number of calls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh, svd

from ..arrays import Rows, cast
from ..bases.design import Design
from ..blocks import Block, SumOf
from ..moments import Moments

NOISE = 1e-13  # of the size of sums, which rounding leaves after they were centred


class Principal(NamedTuple):
    """The leading eigenvectors (rows) and eigenvalues of the covariance of features, its trace, and their mean."""

    components: np.ndarray
    variances: np.ndarray
    total: float
    mean: np.ndarray
    rows: int


def principal_of_moments(moments: Moments, scale: float, count: int) -> Principal:
    """Eigenvectors of (Z'Z - n mean mean')/(n - 1), for features times `scale`."""
    centered = moments.centered(scale)
    covariance = centered.gram
    covariance /= moments.rows - 1
    m = len(covariance)
    size = float(np.trace(moments.gram)) * scale**2 / (moments.rows - 1)
    total = max(float(np.trace(covariance)), 0.0)
    if total <= NOISE * size:  # all rows are one
        covariance[:], total = 0.0, 0.0
    values, vectors = eigh(covariance, subset_by_index=[m - count, m - 1], overwrite_a=True)
    return Principal(
        signed(vectors[:, ::-1].T), np.maximum(values[::-1], 0.0), total, np.asarray(centered.mean_z), moments.rows
    )


@dataclass
class Sketch:
    """rows, sum z, sum |z|^2 and Z'Z W for a few orthonormal columns W."""

    rows: int
    sum_z: np.ndarray
    square: float
    image: np.ndarray

    @classmethod
    def of(cls, features: Rows, probe: np.ndarray) -> Sketch:
        wide = cast(features, "float64")
        square = wide.multiply(wide).sum() if hasattr(wide, "multiply") else np.vdot(wide, wide)
        sum_z = np.asarray(wide.sum(axis=0)).ravel()
        return cls(features.shape[0], sum_z, float(square), np.asarray(wide.T @ (wide @ probe)))

    def __add__(self, other: Sketch) -> Sketch:
        return Sketch(*(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))

    def centered_image(self, probe: np.ndarray) -> np.ndarray:
        """(Z'Z - n mean mean') W."""
        return self.image - np.outer(self.sum_z, self.sum_z @ probe / self.rows)


@dataclass(frozen=True)
class SketchOf(SumOf):
    """The sketch of features, which a few columns of `probe` look at."""

    design: Design
    probe: np.ndarray

    @property
    def width(self) -> float:
        return 3.0 * len(self.probe)

    def of(self, block: Block) -> Sketch:
        return Sketch.of(self.design.features(block.X), self.probe)


def principal_of_sketch(sketch: Sketch, probe: np.ndarray, scale: float, count: int) -> Principal:
    """Eigenvectors of Nystrom's C W (W'C W)^-1 W'C, for the centred C = Z'Z and orthonormal W.

    Directions of W in which C is nothing but rounding are left out: their inverse would be noise.
    """
    image = sketch.centered_image(probe)
    inner = probe.T @ image
    values, turn = eigh((inner + inner.T) / 2)
    real = values > NOISE * float(np.linalg.norm(sketch.image))
    vectors, sizes, _ = svd(image @ (turn[:, real] / np.sqrt(values[real])), full_matrices=False)
    missing = max(0, count - len(sizes))  # directions of no variance, which any orthonormal ones are
    if missing:
        sizes = np.append(sizes, np.zeros(missing))
        vectors = np.linalg.qr(np.column_stack([vectors, probe[:, :missing]]))[0]
    degrees = (sketch.rows - 1) / scale**2
    mean = scale * sketch.sum_z / sketch.rows
    total = scale**2 * (sketch.square - np.vdot(sketch.sum_z, sketch.sum_z) / sketch.rows) / (sketch.rows - 1)
    variances = sizes[:count] ** 2 / degrees
    return Principal(signed(vectors[:, :count].T), variances, float(total), mean, sketch.rows)


def signed(components: np.ndarray) -> np.ndarray:
    """Each row with that sign which makes its largest number positive, as scikit-learn does."""
    largest = components[np.arange(len(components)), np.abs(components).argmax(axis=1)]
    return components * np.where(largest < 0, -1.0, 1.0)[:, None]

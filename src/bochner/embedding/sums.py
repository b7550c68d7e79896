"""Sums over rows from which principal components come: all of Z'Z, or Z'Z times a few columns where that is too large.

Both add, so that rows can come in any blocks and any number of calls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg

from .. import ops
from ..arrays import Array, Rows, Same, arange, cast, constant, is_csr, is_torch, like, namespace, to_host
from ..bases.design import Design
from ..blocks import Block, SumOf
from ..moments import Moments

NOISE = 1e-13  # of the size of sums, which rounding leaves after they were centred


class Principal(NamedTuple):
    """The leading eigenvectors (rows) and eigenvalues of the covariance of features, its trace, and their mean."""

    components: Array
    variances: np.ndarray
    total: float
    mean: Array
    rows: int


def principal_of_moments(moments: Moments, scale: float, count: int) -> Principal:
    """Eigenvectors of (Z'Z - n mean mean')/(n - 1), for features times `scale`."""
    centered = moments.centered(scale)
    covariance = centered.gram
    covariance /= moments.rows - 1
    size = float(moments.gram.trace()) * scale**2 / (moments.rows - 1)
    total = max(float(covariance.trace()), 0.0)
    if total <= NOISE * size:  # all rows are one
        covariance[:], total = 0.0, 0.0
    values, vectors = leading(covariance, count)
    variances = np.maximum(np.flip(to_host(values)), 0.0)
    return Principal(signed(namespace(vectors).flip(vectors.T, (0,))), variances, total, centered.mean_z, moments.rows)


def leading(matrix: Array, count: int) -> tuple[Array, Array]:
    """The largest eigenvalues, ascending, and their vectors; of an array, which is overwritten, no others are made."""
    if is_torch(matrix):
        values, vectors = ops.eigh(matrix)
        return values[-count:], vectors[:, -count:]
    m = len(matrix)
    found: tuple[Array, Array] = scipy.linalg.eigh(matrix, subset_by_index=[m - count, m - 1], overwrite_a=True)
    return found


@dataclass
class Sketch:
    """rows, sum z, sum |z|^2 and Z'Z W for a few orthonormal columns W."""

    rows: int
    sum_z: Array
    square: float
    image: Array

    @classmethod
    def of(cls, features: Rows, probe: Array) -> Sketch:
        wide = cast(features, "float64")
        square = wide.multiply(wide).sum() if is_csr(wide) else wide.reshape(-1) @ wide.reshape(-1)
        sum_z = np.asarray(wide.sum(axis=0)).ravel() if is_csr(wide) else wide.sum(axis=0)
        return cls(features.shape[0], sum_z, float(square), wide.T @ (wide @ like(probe, wide)))

    def __add__(self, other: Sketch) -> Sketch:
        return Sketch(*(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))

    def beside(self, other: Sketch) -> Sketch:
        """The same sums where those of another one are."""
        return Sketch(*(like(part, other.image) for part in vars(self).values()))

    def centered_image(self, probe: Array) -> Array:
        """(Z'Z - n mean mean') W."""
        return self.image - self.sum_z[:, None] * (self.sum_z @ like(probe, self.sum_z) / self.rows)


@dataclass(frozen=True)
class SketchOf(SumOf):
    """The sketch of features, which a few columns of `probe` look at."""

    design: Design
    probe: Array

    @property
    def width(self) -> float:
        return 3.0 * len(self.probe)

    def of(self, block: Block) -> Sketch:
        return Sketch.of(self.design.features(block.X), self.probe)


def principal_of_sketch(sketch: Sketch, probe: Array, scale: float, count: int) -> Principal:
    """Eigenvectors of Nystrom's C W (W'C W)^-1 W'C, for the centred C = Z'Z and orthonormal W.

    Directions of W in which C is nothing but rounding are left out: their inverse would be noise.
    """
    image, linalg = sketch.centered_image(probe), namespace(sketch.image).linalg
    probe = like(probe, image)
    inner = probe.T @ image
    values, turn = ops.eigh((inner + inner.T) / 2)
    real = values > NOISE * float(linalg.norm(sketch.image))
    vectors, sizes, _ = linalg.svd(image @ (turn[:, real] / values[real] ** 0.5), full_matrices=False)
    missing = max(0, count - len(sizes))  # directions of no variance, which any orthonormal ones are
    if missing:
        beside = namespace(image).hstack
        sizes = beside([sizes, constant(0.0, (missing,), sizes)])
        vectors = linalg.qr(beside([vectors, probe[:, :missing]]))[0]
    degrees = (sketch.rows - 1) / scale**2
    mean = scale * sketch.sum_z / sketch.rows
    total = scale**2 * (sketch.square - float(sketch.sum_z @ sketch.sum_z) / sketch.rows) / (sketch.rows - 1)
    variances = to_host(sizes[:count]) ** 2 / degrees
    return Principal(signed(vectors[:, :count].T), variances, float(total), mean, sketch.rows)


def signed(components: Same) -> Same:
    """Each row with that sign which makes its largest number positive, as scikit-learn does."""
    largest = components[arange(len(components), components), abs(components).argmax(axis=1)]
    return components * namespace(components).where(largest < 0, -1.0, 1.0)[:, None]

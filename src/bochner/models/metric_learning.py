"""Which directions of x a model listens to: the average gradient outer product, from the sums of its fit.

For pairs of Fourier features f(x) = sum_j a_j cos(w_j.x) + b_j sin(w_j.x) + l.x needs no second pass: with the
uncentred second moments of the features, divided by n and split in blocks A_cc, A_cs, A_sc, A_ss,

    Q = (a a') o A_ss + (b b') o A_cc - (a b') o A_sc - (b a') o A_cs,        o: element by element,
    g = -a o mean sin + b o mean cos,                                          W'g is the mean gradient of the waves,
    M = W'Q W + W'g l' + l g'W + l l' = (1/n) sum_i grad f(x_i) grad f(x_i)',  added up over outputs.

It is as exact as the sums are, so after `merge` and `forget` too. Frequencies with heavy tails have no useful gradient:
with sin(h W)/h in the place of W it is the same of symmetric differences of step h in each coordinate. What is not made
of pairs takes a pass over rows: by gradients where a map has them, else by differences of scores.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import ops
from ..arrays import to_host
from ..bases.design import Design
from ..blocks import Block, SumOf
from ..kernels import Gaussian, Kernel, Stable
from ..maps import Metric
from ..maps.design import DesignMap
from ..maps.frequencies import FrequencyMap, WaveMap
from ..maps.rows import to_dense
from ..moments import Moments, times_columns

TILE = 512  # rows of the Gram matrix that are worked on at a time
STEP = 0.5  # of differences, in units where columns have spread 1


def average_gradient_outer_product(
    sums: Moments,
    coefficients: np.ndarray,
    frequencies: np.ndarray,
    linear: np.ndarray,
    step: float | np.ndarray = 0.0,
    diagonal: bool = False,
) -> np.ndarray:
    """M (d, d), or its diagonal, of the models in the columns of `coefficients` (features, outputs), for features as
    the sums have them.

    The features are interleaved pairs cos<w, x>, sin<w, x> of the `frequencies` (pairs, d), after as many others as
    there are rows more; those are the columns of x themselves, whose slopes are `linear` (d, outputs). Differences have
    one step, or one for each column; 0 is the gradient itself.
    """
    first, weight = len(coefficients) - 2 * len(frequencies), float(sums.weight)
    mean = np.asarray(sums.sum_z[first:], dtype=np.float64) / weight
    directions = stepped(frequencies, step)
    a, b = coefficients[first::2], coefficients[first + 1 :: 2]
    # The slope of a pair is b cos - a sin: with the signs of (b, -a) its products are those of the Gram matrix.
    slopes = np.stack([b, -a], axis=1).reshape(-1, coefficients.shape[1])
    total = np.zeros(directions.shape[1] if diagonal else (directions.shape[1],) * 2)
    for start in range(0, len(slopes), TILE):
        rows = slice(start, start + TILE)
        gram = np.asarray(sums.gram[first:][rows, first:], dtype=np.float64) / weight
        products = gram * (slopes[rows] @ slopes.T)
        pairs = products[0::2, 0::2] + products[0::2, 1::2] + products[1::2, 0::2] + products[1::2, 1::2]
        left, right = directions[start // 2 : start // 2 + len(pairs)], pairs @ directions
        total += (left * right).sum(axis=0) if diagonal else left.T @ right
    mean_slopes = mean[:, None] * slopes
    waves = directions.T @ (mean_slopes[0::2] + mean_slopes[1::2])  # (d, outputs)
    if diagonal:
        return total + ((2.0 * waves + linear) * linear).sum(axis=1)
    mixed = waves @ linear.T
    return total + mixed + mixed.T + linear @ linear.T


def stepped(frequencies: np.ndarray, step: float | np.ndarray) -> np.ndarray:
    """sin(h w)/h: what the slope of a wave becomes by symmetric differences of step h; w itself without steps."""
    return np.asarray(np.sin(step * frequencies) / step) if np.any(step) else frequencies


def has_moments(design: Design) -> bool:
    """Whether the sums of a design tell its gradients: all its features are pairs of waves."""
    waves = design.basis.map_
    return isinstance(waves, WaveMap) and not len(waves.wave_phases())


def from_moments(
    design: Design, sums: Moments, coefficients: np.ndarray, units: float | np.ndarray, diagonal: bool
) -> np.ndarray:
    """M of a design with pairs, of its scaled columns, whose spreads are `units`."""
    weights = to_host(times_columns(design.scale_, coefficients))
    slopes = scaled_slopes(design.map, coefficients)
    host = Moments(*(to_host(part) for part in vars(sums).values()))
    return average_gradient_outer_product(
        host, weights, effective_frequencies(design.map), slopes, step_of(design.map) * units, diagonal
    )


def effective_frequencies(design: DesignMap) -> np.ndarray:
    """The frequencies that scaled columns meet: those of the map, after the metric."""
    inner = design.map.map if isinstance(design.map, Metric) else design.map
    assert isinstance(inner, WaveMap)
    waves = inner.wave_vectors()
    if not isinstance(design.map, Metric):
        return waves
    matrix = design.map.matrix
    return waves * matrix if matrix.ndim == 1 else waves @ matrix.T


def step_of(design: DesignMap) -> float:
    """The step of differences, in spreads: none where frequencies have light tails."""
    inner = design.map.map if isinstance(design.map, Metric) else design.map
    kernel: Kernel | None = inner.kernel if isinstance(inner, FrequencyMap) else None
    light = isinstance(kernel, Gaussian) or (isinstance(kernel, Stable) and kernel.p == kernel.q == 2.0)
    return 0.0 if light or kernel is None else STEP


def scaled_slopes(design: DesignMap, coefficients: np.ndarray) -> np.ndarray:
    """Slopes (d, outputs) of the linear part in scaled columns, where these are not clipped."""
    part, scaler = design.linear, design.scaler
    if part is None:
        return np.zeros((design.inputs, coefficients.shape[1]))
    spread = np.ones(design.inputs) if scaler is None else scaler.spread
    slopes: np.ndarray = to_host(design.linear_coefficients(coefficients))
    return (part.weight * spread / part.spread)[:, None] * slopes


# ---- by a pass over rows ----


@dataclass(frozen=True)
class GradientProducts(SumOf):
    """The weighted sum of g g', or of its diagonal, over rows; of all outputs. The last number is the weight.

    `coefficients` are those of the columns of a design, after their scale; `units` the spreads of its scaled columns.
    """

    design: DesignMap
    coefficients: np.ndarray
    units: float | np.ndarray
    diagonal: bool

    @property
    def width(self) -> float:
        """Numbers that a row becomes: features, or its neighbours in all columns."""
        near = 1 if has_gradients(self.design) else 2 * self.design.inputs
        return 3.0 * near * (self.design.columns + self.design.inputs * self.coefficients.shape[1])

    def of(self, block: Block) -> np.ndarray:
        slopes = row_gradients(self.design, to_dense(block.X), self.coefficients, self.units)
        weight = np.ones(len(slopes)) if block.weight is None else block.weight
        d = slopes.shape[1]
        if self.diagonal:
            products = np.tensordot(weight, (slopes**2).sum(axis=2), 1)
        else:
            flat = np.moveaxis(slopes, 2, 0).reshape(-1, d)
            products = (flat.T @ (flat * np.tile(weight, slopes.shape[2])[:, None])).ravel()
        return np.append(products, weight.sum())

    def mean(self, total: np.ndarray) -> np.ndarray:
        """The average of what `reduce` added up."""
        found = total[:-1] / total[-1]
        return found if self.diagonal else found.reshape(self.design.inputs, -1)


def has_gradients(design: DesignMap) -> bool:
    """Whether gradients of rows have a formula; else scores of their neighbours are taken."""
    inner = design.map.map if isinstance(design.map, Metric) else design.map
    return isinstance(inner, WaveMap) or (inner.has_slopes and not inner.is_integer)


def row_gradients(
    design: DesignMap, X: np.ndarray, coefficients: np.ndarray, units: float | np.ndarray = 1.0
) -> np.ndarray:
    """Gradients (n, d, outputs) of the scores in scaled columns, or their symmetric differences."""
    rows = np.asarray(X if design.scaler is None else design.scaler(X), dtype=np.float64)
    weights = times_columns(design.scale, coefficients)[design.linear_columns :]
    inner, matrix = (design.map.map, design.map.matrix) if isinstance(design.map, Metric) else (design.map, None)
    if isinstance(inner, WaveMap):
        found = wave_gradients(inner, rows, weights, effective_frequencies(design), step_of(design) * units)
    elif has_gradients(design):
        moved = rows if matrix is None else rows * matrix if matrix.ndim == 1 else rows @ matrix
        found = np.asarray(inner.slopes(moved, weights))
        if matrix is not None:
            found = matrix[:, None] * found if matrix.ndim == 1 else matrix @ found
    else:
        found = differences(design, rows, weights, np.broadcast_to(STEP * units, rows.shape[1]))
    return np.asarray(found + scaled_slopes(design, coefficients))


def wave_gradients(
    waves: WaveMap, rows: np.ndarray, weights: np.ndarray, frequencies: np.ndarray, step: float | np.ndarray
) -> np.ndarray:
    """Those of cosines and sines: b cos - a sin of pairs, -c sin of phased cosines, times the frequencies."""
    angles, phases = rows @ frequencies.T, waves.wave_phases()
    if waves.quantizer is not None:  # integers measure from a centre of theirs
        angles -= waves.wave_vectors() @ np.broadcast_to(waves.quantizer.center, waves.inputs)
    directions = stepped(frequencies, step)
    height = float(waves.limit if waves.is_integer else waves.height("float64"))
    pairs = len(frequencies) - len(phases)
    angles[:, pairs:] += phases
    cosines, sines = height * np.cos(angles[:, :pairs]), height * np.sin(angles)
    found = []
    for column in weights.T:
        paired = cosines * column[1 : 2 * pairs : 2] - sines[:, :pairs] * column[0 : 2 * pairs : 2]
        found.append(np.hstack([paired, -sines[:, pairs:] * column[2 * pairs :]]) @ directions)
    return np.stack(found, axis=2)


def differences(design: DesignMap, rows: np.ndarray, weights: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """(f(z + h e_j) - f(z - h e_j)) / 2h of scaled rows z, for each column j and its step."""
    n, d = rows.shape
    moved, each = np.repeat(rows[None], 2 * d, axis=0), np.arange(d)
    moved[each, :, each] += steps[:, None]
    moved[d + each, :, each] -= steps[:, None]
    scores = ops.scores(design.map(moved.reshape(-1, d)), weights).reshape(2, d, n, -1)
    return np.moveaxis((scores[0] - scores[1]) / (2.0 * steps[:, None, None]), 0, 1)

"""Learning the metric from the sums: which directions of x a fitted model depends on.

The average gradient outer product of f(x) = sum_j a_j cos(w_j.x) + b_j sin(w_j.x) + l.x needs no second pass: with the
uncentred second moments of the features, divided by n and split in blocks A_cc, A_cs, A_sc, A_ss,

    Q = (a a') o A_ss + (b b') o A_cc - (a b') o A_sc - (b a') o A_cs,        o: element by element,
    g = -a o mean sin + b o mean cos,                                          W'g is the mean gradient of the waves,
    M = W'Q W + W'g l' + l g'W + l l' = (1/n) sum_i grad f(x_i) grad f(x_i)',  added up over outputs.

It is as exact as the sums are, so after `merge` and `forget` too. Frequencies with heavy tails have no useful gradient:
with sin(h W)/h in the place of W it is the same of symmetric differences of step h in each coordinate.
"""

from __future__ import annotations

import numpy as np

from ..moments import Moments


def average_gradient_outer_product(
    sums: Moments, coefficients: np.ndarray, frequencies: np.ndarray, linear: np.ndarray, step: float = 0.0
) -> np.ndarray:
    """M (d, d) of the models in the columns of `coefficients` (features, outputs), for features as the sums have them.

    The features are interleaved pairs cos<w, x>, sin<w, x> of the `frequencies` (pairs, d), after as many others as
    there are rows more; those are the columns of x themselves, whose slopes are `linear` (d, outputs).
    """
    first = len(coefficients) - 2 * len(frequencies)
    weight = float(sums.weight)
    gram = np.asarray(sums.gram[first:, first:], dtype=np.float64) / weight
    mean = np.asarray(sums.sum_z[first:], dtype=np.float64) / weight
    directions = np.sin(step * frequencies) / step if step else frequencies
    a, b = coefficients[first::2], coefficients[first + 1 :: 2]
    # The slope of a pair is b cos - a sin: with the signs of (b, -a) its products are those of the Gram matrix.
    slopes = np.stack([b, -a], axis=1).reshape(-1, coefficients.shape[1])
    products = gram * (slopes @ slopes.T)
    pairs = products[0::2, 0::2] + products[0::2, 1::2] + products[1::2, 0::2] + products[1::2, 1::2]
    total = directions.T @ pairs @ directions
    mean_slopes = mean[:, None] * slopes
    mixed = directions.T @ (mean_slopes[0::2] + mean_slopes[1::2]) @ linear.T
    return total + mixed + mixed.T + linear @ linear.T

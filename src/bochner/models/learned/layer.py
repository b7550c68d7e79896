"""One hidden layer of waves: neighbouring columns height cos p, height sin p of projections p = <w, x>.

The last `len(phases)` projections have one column each, height cos(p + b). Any number of such layers can be stacked: a
gradient with respect to features becomes one with respect to projections, and that one with respect to what made them.
"""

from __future__ import annotations

import numpy as np

from ... import ops
from ...arrays import Array, Rows, empty, is_torch, like, namespace


def features(projections: Array, phases: np.ndarray, height: float) -> Array:
    """The columns of the layer, (n, 2 p - len(phases)) for projections (n, p)."""
    return ops.cos_sin(projections, like(phases, projections), np.float64(height))


def projection_gradient(
    gradient: Array, features: Array, projections: Array, phases: np.ndarray, height: float
) -> Array:
    """The gradient with respect to projections, from that with respect to features.

    d cos p = -sin p and d sin p = cos p, so each half of a pair is multiplied by the other half's feature:
    g_p = g_sin cos p - g_cos sin p. (Equation 14 of the paper multiplies both by one derivative.)
    """
    pairs = projections.shape[1] - len(phases)
    xp, out = namespace(projections), empty(projections.shape, projections)
    cosine, sine = slice(0, 2 * pairs, 2), slice(1, 2 * pairs, 2)
    xp.multiply(gradient[:, sine], features[:, cosine], out=out[:, :pairs])
    out[:, :pairs] -= gradient[:, cosine] * features[:, sine]
    shifted = projections[:, pairs:] + like(phases, projections)
    out[:, pairs:] = -height * xp.sin(shifted) * gradient[:, 2 * pairs :]
    return out


def frequency_gradient(gradient: Array, X: Rows) -> Array:
    """The gradient with respect to frequencies (p, d), from that with respect to projections X W' (n, p)."""
    found = X.T @ gradient
    return (found if is_torch(found) else np.asarray(found)).T


def input_gradient(gradient: Array, frequencies: Array) -> Array:
    """The gradient with respect to the rows that entered the layer, for a layer before it."""
    return gradient @ frequencies

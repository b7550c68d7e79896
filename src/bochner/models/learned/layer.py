"""One hidden layer of waves: neighbouring columns height cos p, height sin p of projections p = <w, x>.

The last `len(phases)` projections have one column each, height cos(p + b). Any number of such layers can be stacked: a
gradient with respect to features becomes one with respect to projections, and that one with respect to what made them.
"""

from __future__ import annotations

import numpy as np

from ... import ops
from ...typing import Matrix


def features(projections: np.ndarray, phases: np.ndarray, height: float) -> np.ndarray:
    """The columns of the layer, (n, 2 p - len(phases)) for projections (n, p)."""
    return ops.cos_sin(projections, phases, np.float64(height))


def projection_gradient(
    gradient: np.ndarray, features: np.ndarray, projections: np.ndarray, phases: np.ndarray, height: float
) -> np.ndarray:
    """The gradient with respect to projections, from that with respect to features.

    d cos p = -sin p and d sin p = cos p, so each half of a pair is multiplied by the other half's feature:
    g_p = g_sin cos p - g_cos sin p. (Equation 14 of the paper multiplies both by one derivative.)
    """
    pairs = projections.shape[1] - len(phases)
    out = np.empty_like(projections)
    cosine, sine = slice(0, 2 * pairs, 2), slice(1, 2 * pairs, 2)
    np.multiply(gradient[:, sine], features[:, cosine], out=out[:, :pairs])
    out[:, :pairs] -= gradient[:, cosine] * features[:, sine]
    out[:, pairs:] = -height * np.sin(projections[:, pairs:] + phases) * gradient[:, 2 * pairs :]
    return out


def frequency_gradient(gradient: np.ndarray, X: Matrix) -> np.ndarray:
    """The gradient with respect to frequencies (p, d), from that with respect to projections X W' (n, p)."""
    return np.asarray(X.T @ gradient).T


def input_gradient(gradient: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
    """The gradient with respect to the rows that entered the layer, for a layer before it."""
    return gradient @ frequencies

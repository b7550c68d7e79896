"""Cholesky factors of G + alpha I, in float64, or in float32 for half the time and memory."""

from __future__ import annotations

import numpy as np

from .. import ops
from ..arrays import Array
from ..ops import Factor

__all__ = ["Factor", "factor_gram", "rough_factor"]


def factor_gram(gram: Array, alpha: float) -> Factor | None:
    """The factor of G + alpha I, or None if it is not positive definite in floating point."""
    factor = ops.cholesky(gram, alpha, 1.0, "float64")
    # A pivot at rounding level means that the factor is noise: the matrix is singular to working precision.
    noise = 4 * len(gram) * np.finfo(float).eps
    return factor if factor is not None and factor.smallest_pivot > noise else None


def rough_factor(gram: Array, alpha: float) -> Factor | None:
    """The same in float32; it may be noise: only the residual that it leads to can tell."""
    size = float(gram.trace()) / max(len(gram), 1) + alpha
    return ops.cholesky(gram, alpha, size, "float32") if 1e-300 < size < np.inf else None

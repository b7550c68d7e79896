"""A symmetric matrix times few columns, by the BLAS that scipy also factors with.

numpy brings a BLAS of its own. Its threads look out for work for a tenth of a second after they had some, and on few
processors whoever works next, scipy's BLAS or the pool of `threads`, shares them with those that only wait.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas


def symmetric_product(matrix: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """matrix (m, m) @ columns (m, k), both float64."""
    if not columns.size:
        return np.zeros(columns.shape)
    # Being symmetric, it is also the matrix in the order of numbers that BLAS wants, so that nothing is copied.
    return np.asarray(blas.dgemm(1.0, matrix.T if matrix.flags.c_contiguous else matrix, columns))

"""What a solver returns: coefficients, and in words how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..arrays import Array, namespace


@dataclass(frozen=True)
class Solution:
    """Coefficients, and in words how a solver ended.

    Attributes
    ----------
    coefficients : ndarray of shape (n_components, n_outputs)
        Coefficients of the centred features.
    method : str
        Name of the method.
    alpha : float
        The penalty.
    status : str
        How it ended, in words.
    residual : float
        |A b - c| / |c| of the equations that were solved, the largest over outputs.
    iterations : int
        Number of iterations.
    reason : str
        Why this method was chosen.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.solvers import solve_gram
    >>> solution = solve_gram(2.0 * np.eye(2), np.ones((2, 1)), alpha=1.0)
    >>> solution.method, solution.status
    ('cholesky', 'solved')
    """

    coefficients: Array = field(repr=False)
    method: str
    alpha: float
    status: str
    residual: float
    iterations: int = 1
    reason: str = ""

    def __str__(self) -> str:
        because = f" ({self.reason})" if self.reason else ""
        return f"{self.method}{because}: {self.status}; relative residual {self.residual:.1e}"


def relative_residual(residual: Array, target: Array) -> float:
    """max over columns of |r| / |c|; 0 where the target is 0."""
    xp = namespace(residual)
    sizes = xp.linalg.vector_norm(target, axis=0)
    ratios = xp.linalg.vector_norm(residual, axis=0) / xp.where(sizes > 0, sizes, 1.0)
    return float(ratios.max()) if len(ratios) else 0.0

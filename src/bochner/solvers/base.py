"""What a solver returns: coefficients, and in words how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Solution:
    """coefficients (m, k) of centred features; residual is |A b - c| / |c|, the largest over outputs."""

    coefficients: np.ndarray = field(repr=False)
    method: str
    alpha: float
    status: str
    residual: float
    iterations: int = 1
    reason: str = ""

    def __str__(self) -> str:
        because = f" ({self.reason})" if self.reason else ""
        return f"{self.method}{because}: {self.status}; relative residual {self.residual:.1e}"


def relative_residual(residual: np.ndarray, target: np.ndarray) -> float:
    """max over columns of |r| / |c|; 0 where the target is 0."""
    sizes = np.linalg.norm(target, axis=0)
    ratios = np.linalg.norm(residual, axis=0) / np.where(sizes > 0, sizes, 1.0)
    return float(ratios.max(initial=0.0))

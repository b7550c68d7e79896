"""What a solver returns: coefficients, and in words how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..arrays import Array, namespace


@dataclass(frozen=True)
class Solution:
    """coefficients (m, k) of centred features; residual is |A b - c| / |c|, the largest over outputs."""

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

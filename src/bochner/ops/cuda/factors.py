"""Cholesky factors of large matrices in float32, some columns at a time, by products on tensor cores.

What stands left of some columns is taken out of them by one product of matrices with very long rows, so a number is
read and written once. A float32 number is two of bfloat16, high + low; high high' + high low' + low high' is right to
2^-16 of each product, and is added up in float32. That is all a factor has to be whose solutions are refined.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..torch_linear_algebra import TorchFactor
from .backend import BACKEND
from .sums import single_product

LOT = 1024  # columns that are made at a time
LEAST = 8192  # rows from which this is faster than a factor by the library
PRODUCTS = 3  # of bfloat16 numbers, or 0: of float32 numbers


def takes(matrix: Tensor, shift: float, scale: float, dtype: str) -> bool:
    return dtype == "float32" and len(matrix) >= LEAST


@BACKEND.serves(when=takes, note="large ones in float32")
def cholesky(matrix: Tensor, shift: float, scale: float, dtype: str) -> FactorOfLots | None:
    m, inverses = len(matrix), []
    lower = torch.empty((m, m), dtype=torch.float32, device=matrix.device)
    halves = None if PRODUCTS == 0 else Halves.empty(lower)
    failed = torch.zeros((), dtype=torch.int32, device=matrix.device)
    for start in range(0, m, LOT):
        stop = min(start + LOT, m)
        columns = (matrix[start:, start:stop] / scale).float()
        corner, below = columns[: stop - start], columns[stop - start :]
        corner.diagonal().add_(shift / scale)
        if start:
            columns -= product(lower, start, stop) if halves is None else halves.product(start, stop)
        made, failure = torch.linalg.cholesky_ex(corner)
        failed += failure.abs()
        inverses.append(torch.linalg.solve_triangular(made, torch.eye(len(made)).to(made), upper=False))
        lower[start:stop, start:stop] = made
        torch.mm(below, inverses[-1].mT, out=lower[stop:, start:stop])
        if halves is not None:
            halves.keep(lower, start, stop)
    sound = (failed == 0) & torch.isfinite(lower.diagonal()).all()
    return FactorOfLots(lower, scale, tuple(inverses)) if bool(sound) else None


def product(lower: Tensor, start: int, stop: int) -> Tensor:
    """What the columns before `start` add to rows from there on and columns start..stop-1."""
    return lower[start:, :start] @ lower[start:stop, :start].mT


@dataclass(frozen=True)
class Halves:
    """The columns that are made, each number as the sum of two of bfloat16."""

    high: Tensor
    low: Tensor

    @classmethod
    def empty(cls, lower: Tensor) -> Halves:
        return cls(*(torch.empty_like(lower, dtype=torch.bfloat16) for _ in range(2)))

    def keep(self, lower: Tensor, start: int, stop: int) -> None:
        """Columns start..stop-1, which are made now."""
        here = (slice(stop, None), slice(start, stop))
        self.high[here] = lower[here]
        self.low[here] = lower[here] - self.high[here]

    def product(self, start: int, stop: int) -> Tensor:
        """What `product` gives, to 2^-16 of each product."""
        high, low = self.high[start:, :start], self.low[start:, :start]
        made = single_product(high, high[: stop - start])
        made += single_product(high, low[: stop - start])
        made += single_product(low, high[: stop - start])
        return made


@dataclass(frozen=True, eq=False)
class FactorOfLots(TorchFactor):
    """R' with the inverses of the corners on its diagonal: a solution is a few products with long rows."""

    inverses: tuple[Tensor, ...] = ()

    def solve(self, columns: Tensor) -> Tensor:
        scaled, size = self._scaled(columns)
        return self._unscaled(self._backwards(self._forwards(scaled)), size / self.scale, columns)

    def half_solve(self, columns: Tensor) -> Tensor:
        scaled, size = self._scaled(columns)
        return self._unscaled(self._forwards(scaled), size / self.scale**0.5, columns)

    def leading(self, rows: int) -> FactorOfLots:
        """The inverse of a leading part of a triangle is that part of its inverse."""
        kept = [(inverse, rows - k * LOT) for k, inverse in enumerate(self.inverses)]
        inverses = tuple(inverse[:left, :left] for inverse, left in kept if left > 0)
        return FactorOfLots(self.lower[:rows, :rows], self.scale, inverses)

    def _forwards(self, columns: Tensor) -> Tensor:
        made = columns.clone()
        for k, inverse in enumerate(self.inverses):
            start, stop = k * LOT, k * LOT + len(inverse)
            made[start:stop] = inverse @ (made[start:stop] - self.lower[start:stop, :start] @ made[:start])
        return made

    def _backwards(self, made: Tensor) -> Tensor:
        """In its place."""
        for k in reversed(range(len(self.inverses))):
            start, stop = k * LOT, k * LOT + len(self.inverses[k])
            made[start:stop] = self.inverses[k].mT @ (made[start:stop] - self.lower[stop:, start:stop].mT @ made[stop:])
        return made

"""Cholesky factors of many matrices of some hundred to some thousand rows, side by side, and what they solve.

A factor is made BLOCK columns at a time, each from all columns before it: so nearly all work is products, one for all
matrices, and the library that factors has small corners alone. The triangle of a corner is inverted, so that what is
divided by it is a product too. Half of the operations of a product with all columns after it are saved.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .backend import BACKEND

BLOCK = 256  # columns
FEWEST = 1000  # rows of matrices from which it is worth its launches; smaller ones go to the library as they are


def takes(matrices: Tensor, shifts: Tensor, columns: Tensor) -> bool:
    return len(matrices) * len(shifts) > 0 and matrices.shape[1] > 0


@BACKEND.serves(dtypes=("float64",), when=takes, note="some matrix")
def shifted_solutions(matrices: Tensor, shifts: Tensor, columns: Tensor) -> Tensor:
    several, (tables, n, k) = len(shifts), columns.shape
    shifted = matrices.repeat(several, 1, 1)
    shifted.view(several, tables, n, n).diagonal(dim1=-2, dim2=-1).add_(shifts[:, None, None])
    failed, corners = factored(shifted, n if n < FEWEST else BLOCK)
    found = solved(shifted, corners, columns.repeat(several, 1, 1))
    return found.masked_fill_(failed[:, None, None], torch.nan).view(several, tables, n, k)


def factored(matrices: Tensor, block: int) -> tuple[Tensor, list[Tensor]]:
    """Which matrices (t, n, n) are not positive definite, and the inverses of the corners of the others' factors.

    Below its corners a factor L of A = L L' is left in the place of A, whose other numbers are rubbish then.
    """
    tables, n, _ = matrices.shape
    failed, corners = torch.zeros(tables, dtype=torch.bool, device=matrices.device), list[Tensor]()
    for start in range(0, n, block):
        end = min(start + block, n)
        panel = matrices[:, start:, start:end]
        if start:
            before = matrices[:, start:, :start]
            panel.baddbmm_(before, before[:, : end - start].mT, alpha=-1.0)
        corner, wrong = torch.linalg.cholesky_ex(panel[:, : end - start])
        failed |= wrong != 0
        one = torch.eye(end - start, dtype=matrices.dtype, device=matrices.device)
        corners.append(torch.linalg.solve_triangular(corner, one.expand(tables, -1, -1), upper=False))
        if end < n:
            panel[:, end - start :] = panel[:, end - start :] @ corners[-1].mT
    return failed, corners


def solved(factors: Tensor, corners: list[Tensor], columns: Tensor) -> Tensor:
    """A^-1 times columns (t, n, k), in their place, by factors as `factored` leaves them."""
    start = 0
    for inverse in corners:
        end = start + inverse.shape[1]
        own = columns[:, start:end]
        if start:
            own = own.baddbmm(factors[:, start:end, :start], columns[:, :start], alpha=-1.0)
        columns[:, start:end] = inverse @ own
        start = end
    for inverse in reversed(corners):
        end, start = start, start - inverse.shape[1]
        own = columns[:, start:end]
        if end < columns.shape[1]:
            own = own.baddbmm(factors[:, end:, start:end].mT, columns[:, end:], alpha=-1.0)
        columns[:, start:end] = inverse.mT @ own
    return columns

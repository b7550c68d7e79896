"""Distances between rows, each from the differences of its columns: no products, whose rounding near rows would feel.

A program has a tile of them in registers and goes through the columns once, so that memory is written once.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from .backend import BACKEND

ROWS, COLUMNS, WARPS = 32, 32, 2  # of a tile, and of those who make it: 16 sums in each thread


# Compiled once for all sizes: a search has many, and to compile takes as long as some rounds of it.
@triton.jit(do_not_specialize=["n", "m", "d"])
def distances_kernel(x, z, out, n, m, d, SQUARED: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """One tile of one table; x (t, d, n) and z (t, d, m) have their columns side by side."""
    table = tl.program_id(2).to(tl.int64)
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(1).to(tl.int64) * COLUMNS + tl.arange(0, COLUMNS)
    x += table * d * n
    z += table * d * m
    total = tl.zeros((ROWS, COLUMNS), dtype=out.dtype.element_ty)
    for _ in range(d):
        left = tl.load(x + row, mask=row < n, other=0.0)
        right = tl.load(z + column, mask=column < m, other=0.0)
        apart = left[:, None] - right[None, :]
        if SQUARED:
            total += apart * apart
        else:
            total += tl.abs(apart)
        x += n
        z += m
    if SQUARED:
        total = tl.sqrt(total)
    place = out + table * n * m + row[:, None] * m + column[None, :]
    tl.store(place, total, mask=(row < n)[:, None] & (column < m)[None, :])


def takes(x: Tensor, z: Tensor, p: float) -> bool:
    return p in (1.0, 2.0) and x.dtype == z.dtype and x.shape[:-2] == z.shape[:-2] and min(x.numel(), z.numel()) > 0


@BACKEND.serves(dtypes=("float32", "float64"), when=takes, note="p = 1 and p = 2")
def distances(x: Tensor, z: Tensor, p: float) -> Tensor:
    (n, d), m = x.shape[-2:], z.shape[-2]
    out = torch.empty((*x.shape[:-1], m), dtype=x.dtype, device=x.device)
    tables = x.shape[:-2].numel()
    grid = (triton.cdiv(n, ROWS), triton.cdiv(m, COLUMNS), tables)
    columns = (part.mT.contiguous() for part in (x, z))
    distances_kernel[grid](*columns, out, n, m, d, p == 2.0, ROWS, COLUMNS, num_warps=WARPS)
    return out

"""The largest of chosen columns, read and written as bytes: features of a pool of projections that units share."""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from .backend import BACKEND, beside, by_column

UNITS, ROWS, WARPS = 32, 512, 4  # of a program


@triton.jit
def chosen_kernel(
    values, choices, out, n, units, stride, out_stride, POOL: tl.constexpr, UNITS: tl.constexpr, ROWS: tl.constexpr
):  # fmt: skip
    """Neighbouring programs take the same rows, whose values so stay in a cache."""
    across = tl.cdiv(units, UNITS)
    unit = tl.program_id(0) % across * UNITS + tl.arange(0, UNITS)
    row = (tl.program_id(0) // across * ROWS + tl.arange(0, ROWS))[None, :]
    there, keep = unit < units, (unit < units)[:, None] & (row < n)
    first = tl.load(choices + unit * POOL, mask=there, other=0).to(tl.int64)
    best = tl.load(values + first[:, None] * stride + row, mask=keep, other=0)
    for j in tl.static_range(1, POOL):
        column = tl.load(choices + unit * POOL + j, mask=there, other=0).to(tl.int64)
        best = tl.maximum(best, tl.load(values + column[:, None] * stride + row, mask=keep, other=0))
    tl.store(out + unit.to(tl.int64)[:, None] * out_stride + row, best, mask=keep)


@BACKEND.serves(dtypes=("int8", "int16"))
def largest_chosen(values: Tensor, choices: Tensor) -> Tensor:
    (choices,) = beside(values, choices)
    n, (units, pool) = len(values), choices.shape
    turned = values.mT if values.stride(0) == 1 else values.mT.contiguous()
    out = by_column(n, units, values.dtype, values)
    if n and units:
        chosen_kernel[(triton.cdiv(units, UNITS) * triton.cdiv(n, ROWS),)](
            turned, choices, out, n, units, turned.stride(0), out.stride(0), POOL=pool, UNITS=UNITS, ROWS=ROWS,
            num_warps=WARPS,
        )  # fmt: skip
    return out.mT

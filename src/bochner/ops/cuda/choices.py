"""The largest of chosen columns, read and written as bytes: features of a pool of projections that units share."""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from .backend import BACKEND, beside, by_column

UNITS, ROWS, WARPS = 32, 512, 8  # of a program


@triton.jit
def chosen_kernel(
    values, choices, out, n, units, stride, out_stride, POOL: tl.constexpr, UNITS: tl.constexpr, ROWS: tl.constexpr
):  # fmt: skip
    """Neighbouring programs take the same rows, whose values so stay in a cache. Rows go to the end of a line."""
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


def in_lines(values: Tensor) -> Tensor:
    """Values' (p, n) with columns that begin on lines of 16 bytes, and room after the last for another line."""
    turned, n = values.mT, len(values)
    end = turned.storage_offset() + (len(turned) - 1) * turned.stride(0) + n + -n % 16
    held = turned.untyped_storage().nbytes() // turned.element_size()
    if turned.stride(1) == 1 and not (turned.stride(0) % 16 or turned.storage_offset() % 16) and end <= held:
        return turned
    return by_column(n, len(turned), values.dtype, values).copy_(turned)


@BACKEND.serves(dtypes=("int8", "int16"))
def largest_chosen(values: Tensor, choices: Tensor) -> Tensor:
    (choices,) = beside(values, choices)
    n, (units, pool) = len(values), choices.shape
    turned = in_lines(values)
    out = by_column(n, units, values.dtype, values)
    if n and units:
        chosen_kernel[(triton.cdiv(units, UNITS) * triton.cdiv(n, ROWS),)](
            turned, choices, out, n + -n % 16, units, turned.stride(0), out.stride(0),
            POOL=pool, UNITS=UNITS, ROWS=ROWS, num_warps=WARPS,
        )  # fmt: skip
    return out.mT

"""Hadamard transforms of rows that stay in registers: memory is read once and written once.

A row of 2^k numbers is seen as (parts, members, 32 lanes), a part for each warp that shares it. Strides below 32 go
between lanes, by shuffles; larger ones between numbers that one lane holds, and the largest between warps. The order of
additions is that of the definition, strides 1, 2, 4, ..., so that floats have its bits.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from ...arrays import Array
from .backend import BACKEND

LANES, LARGEST_PART = 32, 4096  # 128 numbers of a lane: more find no room in its registers
WARPS = 4
LARGEST = 1 << 15
TYPES = {torch.float32: tl.float32, torch.bfloat16: tl.float32, torch.float16: tl.float32, torch.int32: tl.int32}


@triton.jit
def between_lanes(x, ROWS: tl.constexpr, MEMBERS: tl.constexpr, STRIDE: tl.constexpr):
    """Butterflies of a stride below 32 along the last axis of (ROWS, MEMBERS, 32)."""
    lane = tl.arange(0, 32)
    other = tl.broadcast_to((lane ^ STRIDE)[None, None, :], (ROWS, MEMBERS, 32))
    partner = tl.gather(x, other, 2)
    return tl.where(((lane & STRIDE) > 0)[None, None, :], partner - x, x + partner)


@triton.jit
def between_members(x, ROWS: tl.constexpr, MEMBERS: tl.constexpr, STRIDE: tl.constexpr):
    """Butterflies of a stride along the middle axis."""
    pairs = x.reshape(ROWS, MEMBERS // (2 * STRIDE), 2, STRIDE, 32).permute(0, 1, 3, 4, 2)
    low, high = pairs.split()
    both = tl.join(low + high, low - high)
    return both.permute(0, 1, 4, 2, 3).reshape(ROWS, MEMBERS, 32)


@triton.jit
def between_parts(x, PARTS: tl.constexpr, MEMBERS: tl.constexpr, STRIDE: tl.constexpr):
    """Butterflies of a stride along the first axis, whose parts are those of one row or of several."""
    pairs = x.reshape(PARTS // (2 * STRIDE), 2, STRIDE, MEMBERS, 32).permute(0, 2, 3, 4, 1)
    low, high = pairs.split()
    both = tl.join(low + high, low - high)
    return both.permute(0, 4, 1, 2, 3).reshape(PARTS, MEMBERS, 32)


@triton.jit
def transformed(x, PARTS: tl.constexpr, MEMBERS: tl.constexpr, SHARED: tl.constexpr):
    """H x of rows that SHARED parts (PARTS, MEMBERS, 32) make up."""
    x = between_lanes(x, PARTS, MEMBERS, 1)
    x = between_lanes(x, PARTS, MEMBERS, 2)
    x = between_lanes(x, PARTS, MEMBERS, 4)
    x = between_lanes(x, PARTS, MEMBERS, 8)
    x = between_lanes(x, PARTS, MEMBERS, 16)
    for k in tl.static_range(7):
        if (1 << k) < MEMBERS:
            x = between_members(x, PARTS, MEMBERS, 1 << k)
    for k in tl.static_range(3):
        if (1 << k) < SHARED:
            x = between_parts(x, PARTS, MEMBERS, 1 << k)
    return x


@triton.jit
def fwht_kernel(
    x, out, parts, stride, PARTS: tl.constexpr, MEMBERS: tl.constexpr, SHARED: tl.constexpr, WORK: tl.constexpr
):
    part = tl.program_id(0) * PARTS + tl.arange(0, PARTS)
    place = tl.arange(0, MEMBERS)[:, None] * 32 + tl.arange(0, 32)[None, :]
    first = (part // SHARED).to(tl.int64) * stride + (part % SHARED) * (MEMBERS * 32)
    keep = (part < parts)[:, None, None]
    numbers = tl.load(x + first[:, None, None] + place[None], mask=keep, other=0).to(WORK)
    made = transformed(numbers, PARTS, MEMBERS, SHARED).to(out.dtype.element_ty)
    tl.store(out + part.to(tl.int64)[:, None, None] * (MEMBERS * 32) + place[None], made, mask=keep)


def parts_of(size: int) -> tuple[int, int, int]:
    """Parts of a program, members of a part, and parts that share a row."""
    members = min(size, LARGEST_PART) // LANES
    shared = size // (members * LANES)
    return max(shared, WARPS, WARPS * 8 // members), members, shared


def takes(x: Array) -> bool:
    size = x.shape[-1]
    return x.dtype in TYPES and size >= LANES and size & (size - 1) == 0 and not x.requires_grad


@BACKEND.serves(when=takes, note="float32, float16, bfloat16 and int32 of 32 columns or more, without gradients")
def fwht(x: Array) -> Array:
    size = x.shape[-1]
    rows = x.reshape(-1, min(size, LARGEST))
    rows = rows if rows.stride(1) == 1 else rows.contiguous()
    out = torch.empty(rows.shape, dtype=x.dtype, device=x.device)
    together, members, shared = parts_of(rows.shape[1])
    if len(rows):
        fwht_kernel[(triton.cdiv(len(rows) * shared, together),)](
            rows, out, len(rows) * shared, rows.stride(0), PARTS=together, MEMBERS=members, SHARED=shared,
            WORK=TYPES[x.dtype], num_warps=max(WARPS, shared),
        )  # fmt: skip
    out = out.reshape(x.shape)
    stride = LARGEST
    while stride < size:  # what is longer than a program's registers: the largest strides by torch
        low, high = out.unflatten(-1, (-1, 2, stride)).unbind(-2)
        out, stride = torch.stack((low + high, low - high), dim=-2).flatten(-3), 2 * stride
    return out

"""Hadamard transforms of rows that stay in registers: memory is read once and written once.

Numbers are seen as (members, parts, 32 lanes, line), a part for each warp, and a line as long as a lane loads at once.
Strides within a line and between members are between numbers that one lane holds; those between them go from lane to
lane, by shuffles, and the largest from warp to warp. The order of additions is that of the definition, strides
1, 2, 4, ..., so that floats have its bits.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from ...arrays import Array
from .backend import BACKEND

LANES, LINE = 32, 16  # of a warp, and bytes that a lane loads at once
HELD = 32, 128  # numbers of a lane: as a rule, and of long rows, since more find no room in its registers
LARGEST = 1 << 15
TYPES = {torch.float32: tl.float32, torch.bfloat16: tl.float32, torch.float16: tl.float32, torch.int32: tl.int32}


@triton.jit
def between_lanes(x, NUMBERS: tl.constexpr, PARTS: tl.constexpr, STRIDE: tl.constexpr):
    """Butterflies of lanes STRIDE apart, of (NUMBERS, PARTS, 32)."""
    lane = tl.arange(0, 32)
    partner = tl.gather(x, tl.broadcast_to((lane ^ STRIDE)[None, None, :], (NUMBERS, PARTS, 32)), 2)
    return tl.where(((lane & STRIDE) > 0)[None, None, :], partner - x, x + partner)


@triton.jit
def between_numbers(x, NUMBERS: tl.constexpr, PARTS: tl.constexpr, STRIDE: tl.constexpr):
    """Butterflies of the numbers of a lane that are STRIDE apart."""
    pairs = x.reshape(NUMBERS // (2 * STRIDE), 2, STRIDE, PARTS, 32).permute(0, 2, 3, 4, 1)
    low, high = pairs.split()
    return tl.join(low + high, low - high).permute(0, 4, 1, 2, 3).reshape(NUMBERS, PARTS, 32)


@triton.jit
def between_parts(x, NUMBERS: tl.constexpr, PARTS: tl.constexpr, STRIDE: tl.constexpr):
    """Butterflies of warps STRIDE apart."""
    pairs = x.reshape(NUMBERS, PARTS // (2 * STRIDE), 2, STRIDE, 32).permute(0, 1, 3, 4, 2)
    low, high = pairs.split()
    return tl.join(low + high, low - high).permute(0, 1, 4, 2, 3).reshape(NUMBERS, PARTS, 32)


@triton.jit
def transformed(x, SIZE: tl.constexpr, MEMBERS: tl.constexpr, PARTS: tl.constexpr, LINE: tl.constexpr):
    """H x of rows of SIZE numbers, one after another in (MEMBERS LINE, PARTS, 32)."""
    NUMBERS: tl.constexpr = MEMBERS * LINE
    for k in tl.static_range(5):
        if (1 << k) < LINE:
            x = between_numbers(x, NUMBERS, PARTS, 1 << k)
    for k in tl.static_range(5):
        if (LINE << k) < SIZE:
            x = between_lanes(x, NUMBERS, PARTS, 1 << k)
    for k in tl.static_range(7):
        if (1 << k) < MEMBERS and 32 * (LINE << k) < SIZE:
            x = between_numbers(x, NUMBERS, PARTS, LINE << k)
    for k in tl.static_range(5):
        if (1 << k) < PARTS and 32 * (NUMBERS << k) < SIZE:
            x = between_parts(x, NUMBERS, PARTS, 1 << k)
    return x


@triton.jit
def fwht_kernel(
    x, out, count, SIZE: tl.constexpr, MEMBERS: tl.constexpr, PARTS: tl.constexpr, LINE: tl.constexpr,
    WORK: tl.constexpr,
):  # fmt: skip
    EACH: tl.constexpr = MEMBERS * 32 * LINE
    member, part, lane = tl.arange(0, MEMBERS), tl.arange(0, PARTS), tl.arange(0, 32)
    place = member[:, None, None, None] * (32 * LINE) + part[None, :, None, None] * EACH
    place += lane[None, None, :, None] * LINE + tl.arange(0, LINE)[None, None, None, :]
    first = tl.program_id(0).to(tl.int64) * (PARTS * EACH)
    keep = place < count - first
    numbers = tl.load(x + first + place, mask=keep, other=0).to(WORK)
    numbers = numbers.permute(0, 3, 1, 2).reshape(MEMBERS * LINE, PARTS, 32)
    made = transformed(numbers, SIZE, MEMBERS, PARTS, LINE).to(out.dtype.element_ty)
    tl.store(out + first + place, made.reshape(MEMBERS, LINE, PARTS, 32).permute(0, 2, 3, 1), mask=keep)


def shape_of(size: int, itemsize: int) -> tuple[int, int, int]:
    """Members of a part, parts of a program, and numbers of a line, for rows of this size."""
    line = LINE // itemsize
    each = min(max(size // LANES, HELD[0]), HELD[1])
    return each // line, max(1, size // (LANES * each)), line


def takes(x: Array) -> bool:
    size = x.shape[-1]
    return x.dtype in TYPES and size >= LANES and size & (size - 1) == 0 and not x.requires_grad


@BACKEND.serves(when=takes, note="float32, float16, bfloat16 and int32 of 32 columns or more, without gradients")
def fwht(x: Array) -> Array:
    size = x.shape[-1]
    rows = x.contiguous()
    out = torch.empty_like(rows)
    members, parts, line = shape_of(min(size, LARGEST), x.element_size())
    if rows.numel():
        fwht_kernel[(triton.cdiv(rows.numel(), members * parts * line * LANES),)](
            rows, out, rows.numel(), SIZE=min(size, LARGEST), MEMBERS=members, PARTS=parts, LINE=line,
            WORK=TYPES[x.dtype], num_warps=parts,
        )  # fmt: skip
    stride = LARGEST
    while stride < size:  # what is longer than a program's registers: the largest strides by torch
        low, high = out.unflatten(-1, (-1, 2, stride)).unbind(-2)
        out, stride = torch.stack((low + high, low - high), dim=-2).flatten(-3), 2 * stride
    return out

"""Hadamard transforms of rows that stay in registers: memory is read once and written once.

A row of 2^k numbers is seen as (parts, members, 32 lanes), a part for each warp that shares it. Strides below 32 go
between lanes, by shuffles; larger ones between numbers that one lane holds, and the largest between warps. The order of
additions is that of the definition, strides 1, 2, 4, ..., so that floats have its bits.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from .backend import BACKEND, INTERPRETED

LANES = 32
PART, WARPS = 1024, 8  # numbers of a warp that were fastest, and warps of a program
LONG, LONG_PART, LONG_WARPS = 1 << 14, 4096, 4  # for rows from so many numbers on
LARGEST = 1 << 15
TYPES = {torch.float32: tl.float32, torch.float16: tl.float32, torch.int32: tl.int32}
PAIRED = torch.bfloat16  # two of them in a word, which one instruction adds, and one shuffle moves


@triton.jit
def plus(a, b, PAIRS: tl.constexpr):
    """a + b, or of both numbers of bfloat16 in a word, each sum rounded."""
    if PAIRS:
        return tl.inline_asm_elementwise("add.rn.bf16x2 $0, $1, $2;", "=r,r,r", [a, b], tl.int32, True, 1)
    return a + b


@triton.jit
def minus(a, b, PAIRS: tl.constexpr):
    """a - b, in the same way."""
    if PAIRS:
        return tl.inline_asm_elementwise("sub.rn.bf16x2 $0, $1, $2;", "=r,r,r", [a, b], tl.int32, True, 1)
    return a - b


@triton.jit
def signed_plus(a, sign, b):
    """a sign + b of both numbers of bfloat16 in a word, where each sign is 1 or -1."""
    return tl.inline_asm_elementwise("fma.rn.bf16x2 $0, $1, $2, $3;", "=r,r,r,r", [a, sign, b], tl.int32, True, 1)


@triton.jit
def within_words(x):
    """Butterflies of the two numbers of a word: (a, b) to (a + b, a - b)."""
    word = x.to(tl.uint32, bitcast=True)
    turned = ((word << 16) | (word >> 16)).to(tl.int32, bitcast=True)
    sign = tl.full(x.shape, -1082114176, tl.int32)  # 1 in the low half, -1 in the high one: 0xBF803F80
    return signed_plus(x, sign, turned)


@triton.jit
def between_lanes(x, PARTS: tl.constexpr, MEMBERS: tl.constexpr, STRIDE: tl.constexpr, PAIRS: tl.constexpr):
    """Butterflies of a stride below 32 along the last axis of (PARTS, MEMBERS, 32)."""
    lane = tl.arange(0, 32)
    partner = tl.gather(x, tl.broadcast_to((lane ^ STRIDE)[None, None, :], (PARTS, MEMBERS, 32)), 2)
    upper = ((lane & STRIDE) > 0)[None, None, :]
    if PAIRS:
        sign = tl.where(upper, -1082081408, 1065369472)  # -1 and 1 in both halves: 0xBF80BF80, 0x3F803F80
        return signed_plus(x, tl.broadcast_to(sign, (PARTS, MEMBERS, 32)), partner)
    return tl.where(upper, partner - x, x + partner)


@triton.jit
def between_members(x, PARTS: tl.constexpr, MEMBERS: tl.constexpr, STRIDE: tl.constexpr, PAIRS: tl.constexpr):
    """Butterflies of a stride along the middle axis."""
    pairs = x.reshape(PARTS, MEMBERS // (2 * STRIDE), 2, STRIDE, 32).permute(0, 1, 3, 4, 2)
    low, high = pairs.split()
    both = tl.join(plus(low, high, PAIRS), minus(low, high, PAIRS))
    return both.permute(0, 1, 4, 2, 3).reshape(PARTS, MEMBERS, 32)


@triton.jit
def between_parts(x, PARTS: tl.constexpr, MEMBERS: tl.constexpr, STRIDE: tl.constexpr, PAIRS: tl.constexpr):
    """Butterflies of a stride along the first axis, whose parts are those of one row or of several."""
    pairs = x.reshape(PARTS // (2 * STRIDE), 2, STRIDE, MEMBERS, 32).permute(0, 2, 3, 4, 1)
    low, high = pairs.split()
    both = tl.join(plus(low, high, PAIRS), minus(low, high, PAIRS))
    return both.permute(0, 4, 1, 2, 3).reshape(PARTS, MEMBERS, 32)


@triton.jit
def transformed(x, PARTS: tl.constexpr, MEMBERS: tl.constexpr, SHARED: tl.constexpr, PAIRS: tl.constexpr):
    """H x of rows that SHARED parts (PARTS, MEMBERS, 32) make up."""
    if PAIRS:
        x = within_words(x)
    x = between_lanes(x, PARTS, MEMBERS, 1, PAIRS)
    x = between_lanes(x, PARTS, MEMBERS, 2, PAIRS)
    x = between_lanes(x, PARTS, MEMBERS, 4, PAIRS)
    x = between_lanes(x, PARTS, MEMBERS, 8, PAIRS)
    x = between_lanes(x, PARTS, MEMBERS, 16, PAIRS)
    for k in tl.static_range(7):
        if (1 << k) < MEMBERS:
            x = between_members(x, PARTS, MEMBERS, 1 << k, PAIRS)
    for k in tl.static_range(6):
        if (1 << k) < SHARED:
            x = between_parts(x, PARTS, MEMBERS, 1 << k, PAIRS)
    return x


@triton.jit
def fwht_kernel(
    x, out, parts, stride, PARTS: tl.constexpr, MEMBERS: tl.constexpr, SHARED: tl.constexpr,
    PAIRS: tl.constexpr, WORK: tl.constexpr,
):  # fmt: skip
    part = tl.program_id(0) * PARTS + tl.arange(0, PARTS)
    place = tl.arange(0, MEMBERS)[:, None] * 32 + tl.arange(0, 32)[None, :]
    first = (part // SHARED).to(tl.int64) * stride + (part % SHARED) * (MEMBERS * 32)
    keep = (part < parts)[:, None, None]
    numbers = tl.load(x + first[:, None, None] + place[None], mask=keep, other=0).to(WORK)
    made = transformed(numbers, PARTS, MEMBERS, SHARED, PAIRS).to(out.dtype.element_ty)
    tl.store(out + part.to(tl.int64)[:, None, None] * (MEMBERS * 32) + place[None], made, mask=keep)


def parts_of(size: int) -> tuple[int, int, int, int]:
    """Parts of a program, members of a part, parts that share a row, and warps."""
    most, warps = (LONG_PART, LONG_WARPS) if size >= LONG else (PART, WARPS)
    members = min(size, most) // LANES
    shared = size // (members * LANES)
    return max(shared, warps, warps * 8 // members), members, shared, max(warps, shared)


def takes(x: Tensor) -> bool:
    size, paired = x.shape[-1], x.dtype == PAIRED
    known = x.dtype in TYPES or (paired and not INTERPRETED and x.stride(-1) == 1 and x.storage_offset() % 2 == 0)
    return known and size >= LANES * (1 + paired) and size & (size - 1) == 0 and not x.requires_grad


@BACKEND.serves(when=takes, note="float32, float16, bfloat16 and int32 of 64 columns or more, without gradients")
def fwht(x: Tensor) -> Tensor:
    size, paired = x.shape[-1], x.dtype == PAIRED
    rows = x.reshape(-1, min(size, LARGEST))
    rows = rows if rows.stride(1) == 1 and rows.stride(0) % 2 == 0 else rows.contiguous()
    out = torch.empty(rows.shape, dtype=x.dtype, device=x.device)
    given, made = (part.view(torch.int32) if paired else part for part in (rows, out))
    together, members, shared, warps = parts_of(given.shape[1])
    if len(rows):
        fwht_kernel[(triton.cdiv(len(rows) * shared, together),)](
            given, made, len(rows) * shared, given.stride(0), PARTS=together, MEMBERS=members, SHARED=shared,
            PAIRS=paired, WORK=tl.int32 if paired else TYPES[x.dtype], num_warps=warps,
        )  # fmt: skip
    out = out.reshape(x.shape)
    stride = LARGEST
    while stride < size:  # what is longer than a program's registers: the largest strides by torch
        low, high = out.unflatten(-1, (-1, 2, stride)).unbind(-2)
        out, stride = torch.stack((low + high, low - high), dim=-2).flatten(-3), 2 * stride
    return out

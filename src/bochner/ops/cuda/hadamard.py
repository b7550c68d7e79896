"""Hadamard transforms of rows that stay in registers: memory is read once and written once.

A warp holds whole rows, or its part of a longer one, 16 bytes side by side in each lane. A butterfly is x <- s x + y,
where y is the number a stride away and s is 1 or -1; y comes from another register of the lane, or by a shuffle from
another lane. Parts of a longer row meet once, by way of shared memory, for the largest strides. The order of additions
is that of the definition, strides 1, 2, 4, ..., so that floats have its bits.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from .backend import BACKEND, INTERPRETED

LANES = 32
WORDS = 2048  # numbers of a program of one warp: several short rows
MOST, PART = 4096, 2048  # numbers of a row that one warp holds, and of a part of a longer one
# As measured on an H200: short rows that do better side by side, or alone, and registers of a lane that leave room for
# other warps.
TOGETHER = {(1024, False): 1, (2048, False): 2, (1024, True): 4}  # by words of a row, and whether they are pairs
REGISTERS = {MOST: 168} | dict.fromkeys((2 * MOST, 4 * MOST), 80)
HINT = "evict_first"  # of loads and stores: nothing is used twice
LARGEST = 1 << 15
TYPES = {torch.float32: tl.float32, torch.float16: tl.float32, torch.int32: tl.int32}
PAIRED = torch.bfloat16  # two of them in a word, which one instruction adds, and one shuffle moves


class Plan(NamedTuple):
    """How a program holds rows: so many together, each of parts (a warp for each) of members of a run of numbers."""

    together: int
    parts: int
    members: int
    run: int

    @classmethod
    def of(cls, size: int, itemsize: int, paired: bool) -> Plan:
        """The plan for rows of `size` words, a power of two."""
        parts = 1 if size <= MOST else size // PART
        run = min(size, LANES * (16 // itemsize))
        together = TOGETHER.get((size, paired), max(1, WORDS // size))
        return cls(together, parts, size // (parts * run), run)


@triton.jit
def signed_plus(a, sign, b, PAIRS: tl.constexpr):
    """a sign + b, rounded once, where each sign is 1 or -1; or of both numbers of bfloat16 in a word."""
    if PAIRS:
        made = tl.inline_asm_elementwise("fma.rn.bf16x2 $0, $1, $2, $3;", "=r,r,r,r", [a, sign, b], tl.int32, True, 1)
    elif a.dtype.is_floating():
        made = tl.fma(a, sign, b)
    else:
        made = a * sign + b
    return made


@triton.jit
def within_words(x):
    """Butterflies of the two numbers of a word: (a, b) to (a + b, a - b)."""
    word = x.to(tl.uint32, bitcast=True)
    turned = ((word << 16) | (word >> 16)).to(tl.int32, bitcast=True)
    sign = tl.full(x.shape, -1082114176, tl.int32)  # 1 in the low half, -1 in the high one: 0xBF803F80
    return signed_plus(x, sign, turned, True)


@triton.jit
def butterflies(x, STRIDE: tl.constexpr, PAIRS: tl.constexpr):
    """Butterflies of a stride, of numbers in a line of any layout.

    The number a stride away is the sum of the words of both less one's own: exact in integers, and no work at all, for
    of the two halves of it, added and subtracted again, the compiler leaves nothing but the way that the other came.
    """
    SIZE: tl.constexpr = x.shape[0]
    word = x.to(tl.int32, bitcast=True).reshape(SIZE // (2 * STRIDE), 2, STRIDE)
    other = (tl.sum(word, axis=1, keep_dims=True) - word).reshape(SIZE).to(x.dtype, bitcast=True)
    upper = (tl.arange(0, SIZE) & STRIDE) > 0
    if PAIRS:
        sign = tl.where(upper, -1082081408, 1065369472)  # -1 and 1 in both halves: 0xBF80BF80, 0x3F803F80
    else:
        sign = tl.where(upper, -1, 1).to(x.dtype)
    return signed_plus(x, sign, other, PAIRS)


@triton.jit
def within_parts(x, PARTS: tl.constexpr, MEMBERS: tl.constexpr, RUN: tl.constexpr, PAIRS: tl.constexpr):
    """Butterflies of all strides within parts, of numbers in a line (..., MEMBERS, PARTS, RUN)."""
    if PAIRS:
        x = within_words(x)
    for k in tl.static_range(15):
        if (1 << k) < RUN:
            x = butterflies(x, 1 << k, PAIRS)
        elif (1 << k) < RUN * MEMBERS:
            x = butterflies(x, PARTS << k, PAIRS)
    return x


@triton.jit
def store_between(
    target, x, STEP: tl.constexpr, PARTS: tl.constexpr, PAIRS: tl.constexpr, HINT: tl.constexpr
):  # fmt: skip
    """The butterflies between parts, which the last axes of x are, the smallest stride last; then they are stored."""
    low, high = x.split()
    if PAIRS:
        plus = tl.inline_asm_elementwise("add.rn.bf16x2 $0, $1, $2;", "=r,r,r", [low, high], tl.int32, True, 1)
        minus = tl.inline_asm_elementwise("sub.rn.bf16x2 $0, $1, $2;", "=r,r,r", [low, high], tl.int32, True, 1)
    else:
        plus, minus = low + high, low - high
    if PARTS == 2:
        tl.store(target, plus.to(target.dtype.element_ty), eviction_policy=HINT)
        tl.store(target + STEP, minus.to(target.dtype.element_ty), eviction_policy=HINT)
    else:
        store_between(target, plus, 2 * STEP, PARTS // 2, PAIRS, HINT)
        store_between(target + STEP, minus, 2 * STEP, PARTS // 2, PAIRS, HINT)


@triton.jit
def fwht_kernel(
    x, out, rows, stride, TOGETHER: tl.constexpr, PARTS: tl.constexpr, MEMBERS: tl.constexpr, RUN: tl.constexpr,
    PAIRS: tl.constexpr, WORK: tl.constexpr, HINT: tl.constexpr,
):  # fmt: skip
    """H x of some rows; of one that has parts."""
    PART: tl.constexpr = MEMBERS * RUN
    SIZE: tl.constexpr = PARTS * PART
    piece = tl.arange(0, TOGETHER * MEMBERS * PARTS)
    # The last row stands in for those beyond it: the same numbers are then written more than once.
    row = tl.minimum(tl.program_id(0) * TOGETHER + piece // (MEMBERS * PARTS), rows - 1).to(tl.int64)
    first = (piece // PARTS) % MEMBERS * RUN + piece % PARTS * PART
    place = first[:, None] + tl.arange(0, RUN)[None, :]
    numbers = tl.load(x + (row * stride)[:, None] + place, eviction_policy=HINT).to(WORK)
    numbers = within_parts(numbers.reshape(TOGETHER * SIZE), PARTS, MEMBERS, RUN, PAIRS)
    if PARTS == 1:
        made = numbers.reshape(TOGETHER * MEMBERS, RUN).to(out.dtype.element_ty)
        tl.store(out + (row * SIZE)[:, None] + place, made, eviction_policy=HINT)
    else:
        target = out + tl.program_id(0).to(tl.int64) * SIZE
        target = target + tl.arange(0, MEMBERS)[:, None] * RUN + tl.arange(0, RUN)[None, :]
        if PARTS == 2:
            parts = numbers.reshape(MEMBERS, 2, RUN).permute(0, 2, 1)
        elif PARTS == 4:
            parts = numbers.reshape(MEMBERS, 2, 2, RUN).permute(0, 3, 1, 2)
        elif PARTS == 8:
            parts = numbers.reshape(MEMBERS, 2, 2, 2, RUN).permute(0, 4, 1, 2, 3)
        else:
            parts = numbers.reshape(MEMBERS, 2, 2, 2, 2, RUN).permute(0, 5, 1, 2, 3, 4)
        store_between(target, parts, PART, PARTS, PAIRS, HINT)


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
    together, parts, members, run = Plan.of(given.shape[1], given.element_size(), paired)
    options = {"maxnreg": REGISTERS[given.shape[1]]} if given.shape[1] in REGISTERS else {}
    if len(rows):
        fwht_kernel[(triton.cdiv(len(rows), together),)](
            given, made, len(rows), given.stride(0), TOGETHER=together, PARTS=parts, MEMBERS=members, RUN=run,
            PAIRS=paired, WORK=tl.int32 if paired else TYPES[x.dtype], HINT=HINT, num_warps=parts, **options,
        )  # fmt: skip
    out = out.reshape(x.shape)
    stride = LARGEST
    while stride < size:  # what is longer than a program's registers: the largest strides by torch
        low, high = out.unflatten(-1, (-1, 2, stride)).unbind(-2)
        out, stride = torch.stack((low + high, low - high), dim=-2).flatten(-3), 2 * stride
    return out

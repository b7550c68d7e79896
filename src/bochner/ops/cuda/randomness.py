"""Weights drawn on the device, with the bits that `streams` draws on the host."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from ...streams import int8_normal_table
from .backend import BACKEND, beside

BLOCK = 1024


@triton.jit
def philox_words(c0, c1, c2, c3, key0, key1):
    """Ten rounds of Philox4x32."""
    for _ in tl.static_range(10):
        high0, low0 = tl.umulhi(c0, 0xD2511F53), c0 * 0xD2511F53
        high1, low1 = tl.umulhi(c2, 0xCD9E8D57), c2 * 0xCD9E8D57
        c0, c1, c2, c3 = high1 ^ c1 ^ key0, low1, high0 ^ c3 ^ key1, low0
        key0, key1 = key0 + 0x9E3779B9, key1 + 0xBB67AE85
    return c0, c1, c2, c3


@triton.jit(do_not_specialize=["start", "key0", "key1"])
def normal_int8_kernel(table, out, start, count, width, blocks, key0, key1, BLOCK: tl.constexpr):
    """Eight numbers of 8 bits from each counter (block, 0, feature): two of each word, the low half first."""
    item = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    row, block = item // blocks, item % blocks
    feature = start + row
    zero = tl.zeros((BLOCK,), dtype=tl.uint32)
    words = philox_words(
        block.to(tl.uint32), zero, (feature & 0xFFFFFFFF).to(tl.uint32), (feature >> 32).to(tl.uint32),
        zero + key0.to(tl.uint32, bitcast=True), zero + key1.to(tl.uint32, bitcast=True),
    )  # fmt: skip
    for k in tl.static_range(4):
        for half in tl.static_range(2):
            column = 8 * block + 2 * k + half
            index = ((words[k] >> (16 * half)) & 0xFFFF).to(tl.int32)
            keep = (row < count) & (column < width)
            tl.store(out + row * width + column, tl.load(table + index), mask=keep)


@BACKEND.serves(dtypes=None)
def normal_int8(template: Tensor, key: tuple[int, int], start: int, stop: int, width: int) -> Tensor:
    (table,) = beside(template, int8_normal_table())
    out = torch.empty((stop - start, width), dtype=torch.int8, device=template.device)
    blocks = -(-width // 8)
    grid = (triton.cdiv(max(stop - start, 1) * blocks, BLOCK),)
    signed = (word - (1 << 32) if word >= 1 << 31 else word for word in key)
    normal_int8_kernel[grid](table, out, start, stop - start, width, blocks, *signed, BLOCK=BLOCK)
    return out

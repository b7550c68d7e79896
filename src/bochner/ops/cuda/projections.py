"""Integer projections x W' that never reach memory: each tile becomes features where it was made.

A program makes the projections of BLOCK_U units for BLOCK_N rows on int8 tensor cores, and then what the definitions in
`reference` do with them, in 32 and 64 bits. Bytes 0..255 go to the tensor cores as x - 128, and 128 times the sum of
each direction is added again: exact, as all of it is.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton import JITFunction
from triton.tools.tensor_descriptor import TensorDescriptor

from .backend import BACKEND, beside, by_column, padded

BYTES = ("int8", "uint8")


class Shape(NamedTuple):
    """Projections and rows of a program, columns multiplied at a time, its warps, and loads on their way."""

    projections: int
    rows: int
    lot: int
    warps: int
    stages: int


SHAPE = Shape(64, 64, 64, 4, 4)
POOLS = Shape(256, 64, 64, 4, 3)


@triton.jit
def tile_of(w, x, first, row, DEPTH: tl.constexpr, BLOCK_W: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr):
    """Projections (BLOCK_W, BLOCK_N) of rows from `row` on, on the directions from `first` on."""
    total = tl.zeros((BLOCK_W, BLOCK_N), dtype=tl.int32)
    for column in range(0, DEPTH, BLOCK_D):
        total = tl.dot(w.load([first, column]), x.load([row, column]).T, total, out_dtype=tl.int32)
    return total


@triton.jit
def place(n, units, BLOCK_U: tl.constexpr, BLOCK_N: tl.constexpr, GROUP: tl.constexpr):
    """The first unit and row of a program: neighbours share rows or directions, which so stay in a cache."""
    across, down = tl.cdiv(n, BLOCK_N), tl.cdiv(units, BLOCK_U)
    number = tl.program_id(0)
    group = number // (GROUP * down)
    first = group * GROUP
    width = tl.minimum(across - first, GROUP)
    block_n = first + (number % (GROUP * down)) % width
    block_u = (number % (GROUP * down)) // width
    return block_u * BLOCK_U, block_n * BLOCK_N


@triton.jit
def rescaled(values, multiplier, shift, limit):
    """round(v multiplier / 2^shift), halves upwards, saturated."""
    one = tl.full((1,), 1, tl.int64)
    scaled = (values.to(tl.int64) * multiplier + (one << (shift - 1))) >> shift
    return tl.minimum(tl.maximum(scaled, -limit), limit)


@triton.jit
def pool_kernel(
    x, w, sums, centre, out, n, units, stride, multiplier, shift, limit,
    POOL: tl.constexpr, TOGETHER: tl.constexpr, WINNERS: tl.constexpr, BYTES: tl.constexpr, DEPTH: tl.constexpr,
    BLOCK_U: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """The largest of the POOL projections of each unit, less a centre and rescaled; or which of them it is.

    TOGETHER members of a pool are one product of matrices, in which a thread has them all: see `in_pools`.
    """
    u, r = place(n, units, BLOCK_U, BLOCK_N, GROUP)
    unit, row = tl.arange(0, BLOCK_U), tl.arange(0, BLOCK_N)
    there, inside = unit < units - u, row < n - r
    best = tl.full((BLOCK_U, BLOCK_N), -2147483648, tl.int32)
    which = tl.zeros((BLOCK_U, BLOCK_N), dtype=tl.int32)
    BLOCK_W: tl.constexpr = BLOCK_U * TOGETHER
    for member in tl.static_range(0, POOL, TOGETHER):
        first = u * POOL + member * BLOCK_U
        found = tile_of(w, x, first, r, DEPTH, BLOCK_W, BLOCK_N, BLOCK_D)
        if BYTES:
            found += tl.load(sums + first + tl.arange(0, BLOCK_W))[:, None]
        found = found.reshape(TOGETHER, BLOCK_U, BLOCK_N)
        largest = tl.max(found, axis=0)
        if WINNERS:
            which = tl.where(largest > best, member + tl.argmax(found, axis=0), which)
        best = tl.maximum(best, largest)
    target = out + u.to(tl.int64) * stride + r + (unit[:, None] * stride + row[None, :])
    keep = there[:, None] & inside[None, :]
    if WINNERS:
        tl.store(target, which, mask=keep)
    else:
        best -= tl.load(centre + r + row, mask=inside, other=0)[None, :]
        tl.store(target, rescaled(best, multiplier, shift, limit).to(out.dtype.element_ty), mask=keep)


@triton.jit
def wave_kernel(
    x, w, sums, multipliers, offsets, table, out, n, units, pairs, stride,
    BITS: tl.constexpr, BYTES: tl.constexpr, DEPTH: tl.constexpr,
    BLOCK_U: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """Cosines and sines of projections as phases, by a table; the wrap of 32 bits is the range reduction."""
    u, r = place(n, units, BLOCK_U, BLOCK_N, GROUP)
    unit, row = tl.arange(0, BLOCK_U), tl.arange(0, BLOCK_N)
    there, inside, alone = unit < units - u, row < n - r, u + unit >= pairs
    found = tile_of(w, x, u, r, DEPTH, BLOCK_U, BLOCK_N, BLOCK_D)
    if BYTES:
        found += tl.load(sums + u + unit, mask=there, other=0)[:, None]
    factor = tl.load(multipliers + u + unit, mask=there, other=0)
    offset = tl.load(offsets + (u + unit - pairs), mask=alone & there, other=0)
    phase = (found * factor[:, None] + offset[:, None]).to(tl.uint32, bitcast=True)
    MASK: tl.constexpr = (1 << BITS) - 1
    index = ((phase + (1 << (31 - BITS))) >> (32 - BITS)).to(tl.int32) & MASK
    column = tl.where(alone, pairs - u + unit, 2 * unit)
    target = out + 2 * u.to(tl.int64) * stride + r + (column[:, None] * stride + row[None, :])
    keep = there[:, None] & inside[None, :]
    tl.store(target, tl.load(table + index), mask=keep)
    quarter = (index + 3 * (MASK + 1) // 4) & MASK
    tl.store(target + stride, tl.load(table + quarter), mask=keep & (alone == 0)[:, None])


@triton.jit
def lookup_kernel(
    x, w, sums, offsets, table, out, n, units, stride, multiplier, shift, length, least, limit,
    KIND: tl.constexpr, BYTES: tl.constexpr, DEPTH: tl.constexpr,
    BLOCK_U: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """KIND 0: the projections themselves. 1: a table of them. 2: what exceeds a threshold, on either side."""
    u, r = place(n, units, BLOCK_U, BLOCK_N, GROUP)
    unit, row = tl.arange(0, BLOCK_U), tl.arange(0, BLOCK_N)
    there, inside = unit < units - u, row < n - r
    found = tile_of(w, x, u, r, DEPTH, BLOCK_U, BLOCK_N, BLOCK_D)
    if BYTES:
        found += tl.load(sums + u + unit, mask=there, other=0)[:, None]
    keep = there[:, None] & inside[None, :]
    EACH: tl.constexpr = 2 if KIND == 2 else 1
    target = out + EACH * u.to(tl.int64) * stride + r + (EACH * unit[:, None] * stride + row[None, :])
    one = tl.full((1,), 1, tl.int64)
    if KIND == 0:
        tl.store(target, found, mask=keep)
    elif KIND == 1:
        offset = tl.load(offsets + u + unit, mask=there, other=0)[:, None]
        index = (found.to(tl.int64) * multiplier + offset + (one << (shift - 1))) >> shift
        index = tl.minimum(tl.maximum(index + length // 2, 0), length - 1)
        tl.store(target, tl.load(table + index), mask=keep)
    else:
        value = ((found.to(tl.int64) + ((one << shift) >> 1)) >> shift).to(tl.int32)
        above = tl.minimum(tl.maximum(value - least, 0), limit)
        below = tl.minimum(tl.maximum(-value - least, 0), limit)
        tl.store(target, above.to(out.dtype.element_ty), mask=keep)
        tl.store(target + stride, below.to(out.dtype.element_ty), mask=keep)


class Factors(NamedTuple):
    """Codes of rows and directions as the tensor cores take them, and what the shift of bytes added."""

    x: Tensor
    w: Tensor
    sums: Tensor
    bytes: bool

    @classmethod
    def of(cls, x: Tensor, directions: Tensor) -> Factors:
        (directions,) = beside(x, directions)
        w, is_bytes = padded(directions, 16), x.dtype == torch.uint8
        sums = 128 * directions.sum(dim=1, dtype=torch.int32) if is_bytes else w
        return cls(padded((x ^ 128).view(torch.int8) if is_bytes else x, 16), w, sums, is_bytes)

    def launch(
        self, kernel: JITFunction, units: int, *arguments: Tensor | float, shape: Shape = SHAPE, **constants: int
    ) -> None:
        n, depth = self.x.shape
        if not (n and units):
            return
        left = TensorDescriptor.from_tensor(self.w, [shape.projections, shape.lot])
        right = TensorDescriptor.from_tensor(self.x, [shape.rows, shape.lot])
        block = shape.projections // constants.get("TOGETHER", 1)
        grid = (triton.cdiv(units, block) * triton.cdiv(n, shape.rows),)
        kernel[grid](
            right, left, self.sums, *arguments, **constants, BYTES=self.bytes, DEPTH=depth, BLOCK_U=block,
            BLOCK_N=shape.rows, BLOCK_D=shape.lot, GROUP=16, num_warps=shape.warps, num_stages=shape.stages,
        )  # fmt: skip


def together(pool: int) -> int:
    """How many members of each pool are multiplied at once: 4, 2 or 1."""
    return min(4, pool & -pool)


def in_pools(directions: Tensor, pool: int, projections: int) -> Tensor:
    """Directions in the order in which programs take them: the first members of its units, the second ones, ..."""
    block, units = projections // together(pool), len(directions) // pool
    if not units:
        return directions
    some = torch.arange(units + -units % block, device=directions.device).clip(max=units - 1)
    order = pool * some.view(-1, 1, block) + torch.arange(pool, device=directions.device)[:, None]
    return directions[order.reshape(-1)]


@BACKEND.serves(dtypes=BYTES)
def project(x: Tensor, directions: Tensor) -> Tensor:
    made, units = Factors.of(x, directions), len(directions)
    out = by_column(len(x), units, torch.int32, x)
    made.launch(lookup_kernel, units, made.w, made.w, out, len(x), units, out.stride(0), 0, 1, 1, 0, 0, KIND=0)
    return out.mT


@BACKEND.serves(dtypes=BYTES)
def project_maxout(
    x: Tensor, directions: Tensor, pool_size: int, centre: Tensor, multiplier: int, shift: int, limit: int
) -> Tensor:
    directions, centre = beside(x, directions, centre)
    units, directions = len(directions) // pool_size, in_pools(directions, pool_size, POOLS.projections)
    out = by_column(len(x), units, torch.int8 if limit <= 127 else torch.int16, x)
    Factors.of(x, directions).launch(
        pool_kernel, units, centre, out, len(x), units, out.stride(0), multiplier, shift, limit, shape=POOLS,
        POOL=pool_size, TOGETHER=together(pool_size), WINNERS=False,
    )  # fmt: skip
    return out.mT


@BACKEND.serves(dtypes=BYTES)
def project_winners(x: Tensor, directions: Tensor, pool_size: int) -> Tensor:
    (directions,) = beside(x, directions)
    units, directions = len(directions) // pool_size, in_pools(directions, pool_size, POOLS.projections)
    out = by_column(len(x), units, torch.int32, x)
    Factors.of(x, directions).launch(
        pool_kernel, units, out, out, len(x), units, out.stride(0), 1, 1, 1, shape=POOLS,
        POOL=pool_size, TOGETHER=together(pool_size), WINNERS=True,
    )  # fmt: skip
    return out.mT


@BACKEND.serves(dtypes=BYTES)
def project_cos_sin(x: Tensor, directions: Tensor, multipliers: Tensor, offsets: Tensor, table: Tensor) -> Tensor:
    made, units = Factors.of(x, directions), len(directions)
    pairs = units - len(offsets)
    multipliers, offsets, table = (as_signed(part) for part in beside(x, multipliers, offsets, table))
    out = by_column(len(x), units + pairs, table.dtype, x)
    made.launch(
        wave_kernel, units, multipliers, offsets if len(offsets) else multipliers, table, out, len(x), units, pairs,
        out.stride(0), BITS=len(table).bit_length() - 1,
    )  # fmt: skip
    return out.mT


@BACKEND.serves(dtypes=BYTES)
def project_lookup(
    x: Tensor, directions: Tensor, multiplier: int, shift: int, offsets: Tensor, table: Tensor
) -> Tensor:
    made, units = Factors.of(x, directions), len(directions)
    offsets, table = beside(x, offsets, table)
    out = by_column(len(x), units, table.dtype, x)
    made.launch(
        lookup_kernel, units, offsets, table, out, len(x), units, out.stride(0),
        multiplier, shift, len(table), 0, 0, KIND=1,
    )  # fmt: skip
    return out.mT


@BACKEND.serves(dtypes=BYTES)
def project_threshold(x: Tensor, directions: Tensor, shift: int, least: int, limit: int) -> Tensor:
    made, units = Factors.of(x, directions), len(directions)
    out = by_column(len(x), 2 * units, torch.int8 if limit <= 127 else torch.int16, x)
    made.launch(
        lookup_kernel, units, made.w, made.w, out, len(x), units, out.stride(0),
        0, shift, 1, least, limit, KIND=2,
    )  # fmt: skip
    return out.mT


def as_signed(words: Tensor) -> Tensor:
    """Words of 32 bits as Triton loads them."""
    return words.view(torch.int32) if words.dtype == torch.uint32 else words

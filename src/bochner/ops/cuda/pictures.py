"""Pictures: 8-bit projections of patches that become pooled features where they are made, and what stands around them.

Patches of a cell are taken CHUNK at a time of each of some pictures, so that a warp has those of one picture; what a
chunk adds is added in registers, and over the chunk once for each cell. Neither projections nor features of patches
reach memory. A chunk that a cell does not fill ends in zeros, whose projection is zero.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from .backend import BACKEND, beside, by_column, padded
from .projections import rescaled

CHUNK = 16  # patches of one picture in a product of matrices: as many rows as a warp has of it
MOST_PIXELS = 1 << 16  # of a patch: 127^2 times as many, and what rounds, stay below 2^31
MOST_SHIFT = 24
WHITENED = 64  # patches that a program whitens


class Shape(NamedTuple):
    """Pictures and units of a program, and its warps."""

    pictures: int
    units: int
    warps: int


THRESHOLDS = Shape(8, 64, 4)
POOLS = Shape(8, 64, 4)
TILE = (32, 128)  # columns and rows that a program brings to one spread


@triton.jit
def in_cell(order, k, stop, picture, pictures, patches, CHUNK: tl.constexpr, PICTURES: tl.constexpr):
    """The rows (PICTURES CHUNK,) of the next patches of a cell, and which of them there are."""
    member = k + tl.arange(0, CHUNK)
    place = tl.load(order + member, mask=member < stop, other=0)
    row = picture.to(tl.int64)[:, None] * patches + place[None, :]
    keep = (picture < pictures)[:, None] & (member < stop)[None, :]
    return row.reshape(PICTURES * CHUNK), keep.reshape(PICTURES * CHUNK)


@triton.jit
def projected(
    x, w, row, keep, direction, there, x_stride, w_stride, total, DEPTH: tl.constexpr, BLOCK_D: tl.constexpr
):  # fmt: skip
    """total + the projections (rows, directions) of some rows, of which those that are not there are zero.

    DEPTH is a multiple of 16; beyond their pixels rows may hold anything, for directions are zero there.
    """
    for column in tl.static_range(0, DEPTH, BLOCK_D):
        pixel = column + tl.arange(0, BLOCK_D)
        inside = (pixel < DEPTH)[None, :]
        left = tl.load(x + row[:, None] * x_stride + pixel[None, :], mask=keep[:, None] & inside, other=0)
        right = tl.load(w + direction[:, None] * w_stride + pixel[None, :], mask=there[:, None] & inside, other=0)
        total = tl.dot(left, right.T, total, out_dtype=tl.int32)
    return total


@triton.jit
def threshold_kernel(
    x, w, order, starts, out, pictures, patches, units, cells, x_stride, w_stride, stride, shift, least, limit,
    LARGEST: tl.constexpr, DEPTH: tl.constexpr, BLOCK_D: tl.constexpr,
    PICTURES: tl.constexpr, BLOCK_U: tl.constexpr, CHUNK: tl.constexpr,
):  # fmt: skip
    """Sums, or the largest, over the patches of each cell of max(0, v - least) and max(0, -v - least), at most limit.

    With t = least, e = least + limit and v within +-e, these are max(v, t) - t and -min(v, -t) - t: the constants are
    taken out of the sums.
    """
    down = tl.cdiv(units, BLOCK_U)
    picture = (tl.program_id(0) // down) * PICTURES + tl.arange(0, PICTURES)
    unit = (tl.program_id(0) % down) * BLOCK_U + tl.arange(0, BLOCK_U)
    there, end = unit < units, least + limit
    target = out + 2 * unit.to(tl.int64)[None, :] * cells * stride + picture[:, None]
    inside = (picture < pictures)[:, None] & there[None, :]
    for cell in range(cells):
        start, stop = tl.load(starts + cell), tl.load(starts + cell + 1)
        above = tl.zeros((PICTURES, CHUNK, BLOCK_U), dtype=tl.int32)
        below = tl.zeros((PICTURES, CHUNK, BLOCK_U), dtype=tl.int32)
        for k in range(start, stop, CHUNK):
            row, keep = in_cell(order, k, stop, picture, pictures, patches, CHUNK, PICTURES)
            half = tl.zeros((PICTURES * CHUNK, BLOCK_U), dtype=tl.int32) + ((1 << shift) >> 1)
            value = projected(x, w, row, keep, unit, there, x_stride, w_stride, half, DEPTH, BLOCK_D) >> shift
            value = value.reshape(PICTURES, CHUNK, BLOCK_U)
            if LARGEST:
                above, below = tl.maximum(above, value), tl.minimum(below, value)
            else:
                value = tl.minimum(tl.maximum(value, -end), end)
                above += tl.maximum(value, least)
                below += tl.minimum(value, -least)
        if LARGEST:
            high = tl.minimum(tl.maximum(tl.max(above, axis=1) - least, 0), limit)
            low = tl.minimum(tl.maximum(-tl.min(below, axis=1) - least, 0), limit)
        else:
            added = tl.cdiv(stop - start, CHUNK) * CHUNK * least
            high, low = tl.sum(above, axis=1) - added, -tl.sum(below, axis=1) - added
        tl.store(target + cell * stride, high, mask=inside)
        tl.store(target + (cells + cell) * stride, low, mask=inside)


@triton.jit
def maxout_kernel(
    x, w, centre, order, starts, out, pictures, patches, units, cells, pool, x_stride, w_stride, stride,
    multiplier, shift, limit,
    LARGEST: tl.constexpr, DEPTH: tl.constexpr, BLOCK_D: tl.constexpr,
    PICTURES: tl.constexpr, BLOCK_U: tl.constexpr, CHUNK: tl.constexpr,
):  # fmt: skip
    """Sums, or the largest, over the patches of each cell of the centred and rescaled maxima of pools."""
    down = tl.cdiv(units, BLOCK_U)
    picture = (tl.program_id(0) // down) * PICTURES + tl.arange(0, PICTURES)
    unit = (tl.program_id(0) % down) * BLOCK_U + tl.arange(0, BLOCK_U)
    there = unit < units
    target = out + unit.to(tl.int64)[None, :] * cells * stride + picture[:, None]
    inside = (picture < pictures)[:, None] & there[None, :]
    for cell in range(cells):
        start, stop = tl.load(starts + cell), tl.load(starts + cell + 1)
        NOTHING: tl.constexpr = -2147483648 if LARGEST else 0
        total = tl.full((PICTURES * CHUNK, BLOCK_U), NOTHING, dtype=tl.int32)
        for k in range(start, stop, CHUNK):
            row, keep = in_cell(order, k, stop, picture, pictures, patches, CHUNK, PICTURES)
            best = tl.full((PICTURES * CHUNK, BLOCK_U), -2147483648, dtype=tl.int32)
            for member in range(pool):
                found = tl.zeros((PICTURES * CHUNK, BLOCK_U), dtype=tl.int32)
                found = projected(
                    x, w, row, keep, unit * pool + member, there, x_stride, w_stride, found, DEPTH, BLOCK_D
                )  # fmt: skip
                best = tl.maximum(best, found)
            best -= tl.load(centre + row, mask=keep, other=0)[:, None]
            value = tl.where(keep[:, None], rescaled(best, multiplier, shift, limit).to(tl.int32), NOTHING)
            total = tl.maximum(total, value) if LARGEST else total + value
        total = total.reshape(PICTURES, CHUNK, BLOCK_U)
        tl.store(target + cell * stride, tl.max(total, axis=1) if LARGEST else tl.sum(total, axis=1), mask=inside)


@triton.jit
def patch_kernel(
    x, places, high, low, settings, offset, out, rows, patches, pixels, stride,
    SHIFTED: tl.constexpr, SIZE: tl.constexpr, BLOCK: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    """Whitened codes of patches. Z = 256 high + low + 128 in 8 bits each, and Z (p - 128) = Z p, for its rows add up to
    zero; what wraps around on the way does not at the end. Floats are those of the definition, one rounding each."""
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    code = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    there = row < rows
    picture, patch = x + (row // patches).to(tl.int64) * pixels, places + (row % patches) * SIZE
    upper = tl.zeros((BLOCK, BLOCK_D), dtype=tl.int32)
    lower = tl.zeros((BLOCK, BLOCK_D), dtype=tl.int32)
    total = tl.zeros((BLOCK,), dtype=tl.int32)
    squares = tl.zeros((BLOCK,), dtype=tl.int64)
    for column in tl.static_range(0, SIZE, BLOCK_D):
        pixel = column + tl.arange(0, BLOCK_D)
        keep = there[:, None] & (pixel < SIZE)[None, :]
        place = tl.load(patch[:, None] + pixel[None, :], mask=keep, other=0)
        p = tl.load(picture[:, None] + place, mask=keep, other=0).to(tl.int32)
        if SHIFTED:
            p = tl.where(keep, p - 128, 0)
        total += tl.sum(p, axis=1)
        squares += tl.sum(p * p, axis=1).to(tl.int64)
        member = (code < SIZE)[:, None] & (pixel < SIZE)[None, :]
        entry = code[:, None] * SIZE + pixel[None, :]
        left = p.to(tl.int8)
        upper = tl.dot(left, tl.load(high + entry, mask=member, other=0).T, upper, out_dtype=tl.int32)
        lower = tl.dot(left, tl.load(low + entry, mask=member, other=0).T, lower, out_dtype=tl.int32)
    whitened = (256 * upper + lower + 128 * total[:, None]).to(tl.float64)
    wide = total.to(tl.float64)
    spread = SIZE * squares.to(tl.float64) - wide * wide
    factor, contrast, floor = tl.load(settings), tl.load(settings + 1), tl.load(settings + 2)
    gain = factor / tl.sqrt(contrast * spread + floor)
    values = whitened * gain[:, None] - tl.load(offset + code, mask=code < SIZE, other=0.0)[None, :]
    target = out + row.to(tl.int64)[:, None] * stride + code[None, :]
    tl.store(target, rounded(values, 127.0).to(tl.int8), mask=there[:, None] & (code < SIZE)[None, :])


@triton.jit
def rounded(values, limit):
    """Whole numbers within +-limit, halves to even: numbers near 1.5 2^52 have no other digits."""
    inside = tl.minimum(tl.maximum(values, -limit), limit)
    return (inside + 6755399441055744.0) - 6755399441055744.0


@triton.jit
def standardize_kernel(
    sums, centre, factor, out, rows, columns, row_stride, column_stride, stride, limit: tl.constexpr,
    ROOT: tl.constexpr, BLOCK_C: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """round((s - centre) factor), or with the root of s, saturated."""
    down = tl.cdiv(columns, BLOCK_C)
    column = (tl.program_id(0) % down) * BLOCK_C + tl.arange(0, BLOCK_C)
    row = (tl.program_id(0) // down) * BLOCK_N + tl.arange(0, BLOCK_N)
    there = column < columns
    keep = there[:, None] & (row < rows)[None, :]
    wide = column.to(tl.int64)[:, None]
    values = tl.load(sums + wide * column_stride + row.to(tl.int64)[None, :] * row_stride, mask=keep, other=0)
    values = values.to(tl.float64)
    if ROOT:
        values = tl.sqrt(values)
    values = values - tl.load(centre + column, mask=there, other=0.0)[:, None]
    values = values * tl.load(factor + column, mask=there, other=0.0)[:, None]
    codes = rounded(values, limit * 1.0).to(out.dtype.element_ty)
    tl.store(out + wide * stride + row[None, :], codes, mask=keep)


class Bags(NamedTuple):
    """Patches and directions in lines of 16 bytes, directions with zeros at their ends; the patches of a picture in the
    order of its cells, and where each of these starts."""

    x: Tensor
    w: Tensor
    order: Tensor
    starts: Tensor

    @classmethod
    def of(cls, x: Tensor, directions: Tensor, cells: Tensor, grid: int) -> Bags:
        directions, cells = beside(x, directions, cells)
        order = cells.argsort(stable=True)
        bounds = torch.arange(grid + 1, dtype=cells.dtype, device=x.device)
        starts = torch.searchsorted(cells[order].contiguous(), bounds).int()
        return cls(x if is_in_lines(x) else padded(x, 16), padded(directions, 16), order.int(), starts)

    @property
    def pictures(self) -> int:
        return len(self.x) // len(self.order)

    def programs(self, shape: Shape, units: int) -> tuple[int]:
        """One for some pictures and some units, all of whose cells it works through."""
        return (triton.cdiv(self.pictures, shape.pictures) * triton.cdiv(units, shape.units),)

    def constants(self, shape: Shape, largest: bool) -> dict[str, int]:
        depth = self.w.shape[1]
        return {
            "LARGEST": largest, "DEPTH": depth, "BLOCK_D": min(128, max(32, triton.next_power_of_2(depth))),
            "PICTURES": shape.pictures, "BLOCK_U": shape.units, "CHUNK": CHUNK, "num_warps": shape.warps,
        }  # fmt: skip


def is_in_lines(rows: Tensor) -> bool:
    """Whether every row begins on a line of 16 bytes, all of which are there to be loaded."""
    lines, beyond = rows.stride(0) % 16 == 0 and rows.data_ptr() % 16 == 0, -rows.shape[1] % 16
    reach = rows.storage_offset() + (len(rows) - 1) * rows.stride(0) + rows.shape[1] + beyond
    return rows.stride(1) == 1 and lines and reach <= rows.untyped_storage().nbytes()


def takes_thresholds(x: Tensor, directions: Tensor, shift: int, least: int, *others: object) -> bool:
    """Projections that fit 32 bits, and a threshold that what is not there does not reach."""
    return x.shape[1] <= MOST_PIXELS and 0 <= shift <= MOST_SHIFT and least >= 0


@BACKEND.serves(dtypes=("int8",), when=takes_thresholds, note="thresholds of 0 and more")
def pooled_threshold(
    x: Tensor, directions: Tensor, shift: int, least: int, limit: int, cells: Tensor, grid: int, largest: bool
) -> Tensor:
    made, units, shape = Bags.of(x, directions, cells, grid), len(directions), THRESHOLDS
    out = by_column(made.pictures, 2 * units * grid, torch.int32, x)
    if out.numel():
        threshold_kernel[made.programs(shape, units)](
            made.x, made.w, made.order, made.starts, out, made.pictures, len(made.order), units, grid,
            made.x.stride(0), made.w.stride(0), out.stride(0), shift, least, limit, **made.constants(shape, largest),
        )  # fmt: skip
    return out.mT


@BACKEND.serves(dtypes=("int8",), when=lambda x, *others: x.shape[1] <= MOST_PIXELS)
def pooled_maxout(
    x: Tensor, directions: Tensor, pool_size: int, centre: Tensor, multiplier: int, shift: int, limit: int,
    cells: Tensor, grid: int, largest: bool,
) -> Tensor:  # fmt: skip
    made, units, shape = Bags.of(x, directions, cells, grid), len(directions) // pool_size, POOLS
    (centre,) = beside(x, centre)
    out = by_column(made.pictures, units * grid, torch.int32, x)
    if out.numel():
        maxout_kernel[made.programs(shape, units)](
            made.x, made.w, centre, made.order, made.starts, out, made.pictures, len(made.order), units, grid,
            pool_size, made.x.stride(0), made.w.stride(0), out.stride(0), multiplier, shift, limit,
            **made.constants(shape, largest),
        )  # fmt: skip
    return out.mT


@BACKEND.serves(dtypes=("int8", "uint8"))
def patches(
    x: Tensor, places: Tensor, whitening: Tensor, factor: float, contrast: float, floor: float, offset: Tensor
) -> Tensor:
    x, places, whitening, offset = x.contiguous(), *beside(x, places, whitening, offset)
    (count, size), rows = places.shape, len(x) * len(places)
    out = torch.empty((rows, size + -size % 16), dtype=torch.int8, device=x.device)
    high, low = (whitening >> 8).to(torch.int8), ((whitening & 255) - 128).to(torch.int8)
    settings = torch.tensor((factor, contrast, floor), dtype=torch.float64).to(x.device)
    block = 32 if size <= 32 else 64
    if rows:
        patch_kernel[(triton.cdiv(rows, WHITENED), triton.cdiv(size, block))](
            x, places, high, low, settings, offset.double(), out, rows, count, x.shape[1], out.stride(0),
            SHIFTED=x.dtype == torch.uint8, SIZE=size, BLOCK=WHITENED, BLOCK_D=block, enable_fp_fusion=False,
        )  # fmt: skip
    return out[:, :size]


@BACKEND.serves(dtypes=("int32",))
def standardize(sums: Tensor, root: bool, centre: Tensor, factor: Tensor, limit: int) -> Tensor:
    centre, factor = (part.double() for part in beside(sums, centre, factor))
    (rows, columns), (across, down) = sums.shape, TILE
    out = by_column(rows, columns, torch.int8 if limit <= 127 else torch.int16, sums)
    if out.numel():
        standardize_kernel[(triton.cdiv(rows, down) * triton.cdiv(columns, across),)](
            sums, centre, factor, out, rows, columns, sums.stride(0), sums.stride(1), out.stride(0), limit,
            ROOT=root, BLOCK_C=across, BLOCK_N=down, enable_fp_fusion=False,
        )  # fmt: skip
    return out.mT

"""Z'Z of a triangle, tile by tile, each added to the sums where it was made: no product is ever in memory by itself.

A program multiplies some columns by others over all rows, on tensor cores, and adds the tile to the sums and to their
mirror image. Tiles below the diagonal are left out; of those on it, what lies below is made and thrown away.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor


class Tile(NamedTuple):
    """Columns of a tile on either side, bytes of rows multiplied at a time, its warps, and loads on their way."""

    left: int
    right: int
    lot: int
    warps: int
    stages: int


TILE = Tile(128, 256, 128, 8, 4)
GROUP = 8  # tiles side by side that are made at about the same time: they share columns, which so stay in a cache
WIDTH = 32  # columns of a tile that are added at a time: of more, numbers would find no room in registers


@triton.jit
def add_part(total, made, first, second, m, WIDTH: tl.constexpr):
    """made (ROWS, COLUMNS) onto the sums from row `first` and column `second` on, and onto their mirror image."""
    ROWS: tl.constexpr = made.shape[0]
    COLUMNS: tl.constexpr = made.shape[1]
    if COLUMNS > WIDTH:
        left, right = made.reshape(ROWS, 2, COLUMNS // 2).permute(0, 2, 1).split()
        add_part(total, left, first, second, m, WIDTH)
        add_part(total, right, first, second + COLUMNS // 2, m, WIDTH)
    else:
        row, column = first + tl.arange(0, ROWS)[:, None], second + tl.arange(0, COLUMNS)[None, :]
        keep = (row <= column) & (column < m)
        place = total + (row.to(tl.int64) * m + column)
        sums = tl.load(place, mask=keep) + made.to(total.dtype.element_ty)
        tl.store(place, sums, mask=keep)
        tl.store(total + (column.to(tl.int64) * m + row), sums, mask=keep & (row < column))


@triton.jit
def triangle_kernel(
    left, right, tiles, total, m, n, WORK: tl.constexpr,
    LEFT: tl.constexpr, RIGHT: tl.constexpr, LOT: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """One tile: columns `first` on of Z times columns `second` on, summed over n rows."""
    first = tl.load(tiles + 2 * tl.program_id(0))
    second = tl.load(tiles + 2 * tl.program_id(0) + 1)
    made = tl.zeros((LEFT, RIGHT), dtype=WORK)
    for row in range(0, n, LOT):
        made = tl.dot(left.load([first, row]), right.load([second, row]).T, made, out_dtype=WORK)
    add_part(total, made, first, second, m, WIDTH)


@lru_cache(maxsize=8)
def tiles_of(m: int, left: int, right: int, group: int, device: torch.device) -> Tensor:
    """Where the tiles begin that reach the triangle above the diagonal: (tiles, 2), in the order they are made in."""
    found = [
        (row, column)
        for band in range(0, m, group * left)
        for column in range(0, m, right)
        for row in range(band, min(band + group * left, m), left)
        if row < column + right
    ]
    return torch.tensor(found, dtype=torch.int32).to(device)


def add_triangle(total: Tensor, turned: Tensor, shape: Tile | None = None) -> None:
    """total += turned turned' of int8 or bfloat16 numbers, whose rows begin on lines of 16 bytes."""
    m, n, shape = len(total), turned.shape[1], shape or TILE
    lot = shape.lot // turned.element_size()
    tiles = tiles_of(m, shape.left, shape.right, GROUP, total.device)
    triangle_kernel[(len(tiles),)](
        TensorDescriptor.from_tensor(turned, [shape.left, lot]),
        TensorDescriptor.from_tensor(turned, [shape.right, lot]),
        tiles, total, m, n, WORK=tl.int32 if turned.dtype == torch.int8 else tl.float32,
        LEFT=shape.left, RIGHT=shape.right, LOT=lot, WIDTH=WIDTH, num_warps=shape.warps, num_stages=shape.stages,
    )  # fmt: skip

"""Float projections that never reach memory. Float32 goes through tensor cores in three products of TF32, whose error
is that of float32; bfloat16 in one, summed in float32."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton import JITFunction
from triton.tools.tensor_descriptor import TensorDescriptor

from .backend import BACKEND, beside, by_column, padded
from .projections import Shape, in_pools, place, together

SHAPES = {torch.float32: Shape(64, 64, 32, 4, 3), torch.bfloat16: Shape(128, 128, 64, 8, 3)}
POOLS = {torch.float32: Shape(128, 64, 32, 4, 3), torch.bfloat16: Shape(512, 64, 64, 8, 3)}


@triton.jit
def tile_of(
    w, x, first, row, THRICE: tl.constexpr, DEPTH: tl.constexpr,
    BLOCK_W: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    """Projections (BLOCK_W, BLOCK_N), in float32."""
    total = tl.zeros((BLOCK_W, BLOCK_N), dtype=tl.float32)
    for column in range(0, DEPTH, BLOCK_D):
        left, right = w.load([first, column]), x.load([row, column])
        total = tl.dot(left, right.T, total, input_precision="tf32x3" if THRICE else "tf32")
    return total


@triton.jit
def pool_kernel(
    x, w, centre, out, n, units, stride, scale, POOL: tl.constexpr, TOGETHER: tl.constexpr, WINNERS: tl.constexpr,
    THRICE: tl.constexpr, DEPTH: tl.constexpr,
    BLOCK_U: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """(max - centre) scale of the POOL projections of each unit, or which of them is largest."""
    u, r = place(n, units, BLOCK_U, BLOCK_N, GROUP)
    unit, row = tl.arange(0, BLOCK_U), tl.arange(0, BLOCK_N)
    there, inside = unit < units - u, row < n - r
    best = tl.full((BLOCK_U, BLOCK_N), float("-inf"), tl.float32)
    which = tl.zeros((BLOCK_U, BLOCK_N), dtype=tl.int32)
    for member in tl.static_range(0, POOL, TOGETHER):
        first = u * POOL + member * BLOCK_U
        found = tile_of(w, x, first, r, THRICE, DEPTH, BLOCK_U * TOGETHER, BLOCK_N, BLOCK_D)
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
        middle = tl.load(centre + r + row, mask=inside, other=0).to(tl.float32)
        tl.store(target, ((best - middle[None, :]) * scale).to(out.dtype.element_ty), mask=keep)


@triton.jit
def wave_kernel(
    x, w, phases, out, n, units, pairs, stride, height, THRICE: tl.constexpr, DEPTH: tl.constexpr,
    BLOCK_U: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """height cos p and height sin p in neighbouring columns; of the last projections height cos(p + phase)."""
    u, r = place(n, units, BLOCK_U, BLOCK_N, GROUP)
    unit, row = tl.arange(0, BLOCK_U), tl.arange(0, BLOCK_N)
    there, inside, alone = unit < units - u, row < n - r, u + unit >= pairs
    angle = tile_of(w, x, u, r, THRICE, DEPTH, BLOCK_U, BLOCK_N, BLOCK_D)
    angle += tl.load(phases + (u + unit - pairs), mask=alone & there, other=0.0)[:, None].to(tl.float32)
    column = tl.where(alone, pairs - u + unit, 2 * unit)
    target = out + 2 * u.to(tl.int64) * stride + r + (column[:, None] * stride + row[None, :])
    keep = there[:, None] & inside[None, :]
    tl.store(target, (tl.cos(angle) * height).to(out.dtype.element_ty), mask=keep)
    tl.store(target + stride, (tl.sin(angle) * height).to(out.dtype.element_ty), mask=keep & (alone == 0)[:, None])


def launch(
    kernel: JITFunction,
    shape: Shape,
    x: Tensor,
    directions: Tensor,
    units: int,
    *arguments: Tensor | float,
    **constants: int,
) -> None:
    """A kernel on tiles of units and rows."""
    n = len(x)
    if not (n and units):
        return
    x, w = (padded(part.to(x.dtype), 8) for part in (x, directions))
    right = TensorDescriptor.from_tensor(x, [shape.rows, shape.lot])
    left = TensorDescriptor.from_tensor(w, [shape.projections, shape.lot])
    block = shape.projections // constants.get("TOGETHER", 1)
    grid = (triton.cdiv(units, block) * triton.cdiv(n, shape.rows),)
    kernel[grid](
        right, left, *arguments, **constants, THRICE=x.dtype == torch.float32, DEPTH=x.shape[1],
        BLOCK_U=block, BLOCK_N=shape.rows, BLOCK_D=shape.lot, GROUP=16,
        num_warps=shape.warps, num_stages=shape.stages,
    )  # fmt: skip


def takes(x: Tensor, directions: Tensor, *others: object) -> bool:
    """A matrix of rows in one of these types, which no gradient is wanted of."""
    return x.dtype in SHAPES and x.ndim == 2 and not (x.requires_grad or getattr(directions, "requires_grad", False))


@BACKEND.serves(when=takes, note="float32 and bfloat16, without gradients")
def dense_maxout(
    x: Tensor, directions: Tensor, pool_size: int, centre: Tensor, scale: float, out: Tensor | None = None
) -> Tensor:
    directions, centre = beside(x, directions, centre)
    shape, units = POOLS[x.dtype], len(directions) // pool_size
    directions, made = in_pools(directions, pool_size, shape.projections), by_column(len(x), units, x.dtype, x)
    launch(
        pool_kernel, shape, x, directions, units, centre, made, len(x), units, made.stride(0), float(scale),
        POOL=pool_size, TOGETHER=together(pool_size), WINNERS=False,
    )  # fmt: skip
    return made.mT if out is None else out.copy_(made.mT)


@BACKEND.serves(when=takes, note="float32 and bfloat16, without gradients")
def dense_winners(x: Tensor, directions: Tensor, pool_size: int) -> Tensor:
    (directions,) = beside(x, directions)
    shape, units = POOLS[x.dtype], len(directions) // pool_size
    directions, made = in_pools(directions, pool_size, shape.projections), by_column(len(x), units, torch.int32, x)
    launch(
        pool_kernel, shape, x, directions, units, made, made, len(x), units, made.stride(0), 1.0,
        POOL=pool_size, TOGETHER=together(pool_size), WINNERS=True,
    )  # fmt: skip
    return made.mT


@BACKEND.serves(when=takes, note="float32 and bfloat16, without gradients")
def dense_cos_sin(x: Tensor, directions: Tensor, phases: Tensor, height: float, out: Tensor | None = None) -> Tensor:
    directions, phases = beside(x, directions, phases)
    units, pairs = len(directions), len(directions) - len(phases)
    made = by_column(len(x), units + pairs, x.dtype, x)
    launch(
        wave_kernel, SHAPES[x.dtype], x, directions, units, phases if len(phases) else directions, made,
        len(x), units, pairs, made.stride(0), float(height),
    )  # fmt: skip
    return made.mT if out is None else out.copy_(made.mT)

"""Fastfood in one pass: C H G Pi H B x and its cosines and sines, of which nothing but the result reaches memory."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.language.extra import libdevice

from .backend import BACKEND, INTERPRETED, beside
from .hadamard import LANES, LARGEST, transformed

WARPS, PART = 4, 1024  # numbers of a warp: what is beside them needs registers too
TURNS = 16  # of a program, whose scratch so is little beside the result


@triton.jit
def cos_sin(angle, FAST: tl.constexpr):
    """Both; brought to half a turn, the fast instructions are as good as float32 angles are."""
    if not FAST:
        return tl.cos(angle), tl.sin(angle)
    turns = libdevice.rint(angle * 0.15915494309189535)
    rest = angle - turns * 6.28125 - turns * 0.0019353071795864769
    return libdevice.fast_cosf(rest), libdevice.fast_sinf(rest)


@triton.jit
def fastfood_kernel(
    x, signs, permutation, gaussian, calibration, phases, out, scratch, n, d, stride, out_stride, kept, pairs, height,
    TURNS: tl.constexpr, PARTS: tl.constexpr, MEMBERS: tl.constexpr, SHARED: tl.constexpr,
    WAVES: tl.constexpr, ALONE: tl.constexpr, FAST: tl.constexpr,
):  # fmt: skip
    """One expansion of some rows, PARTS / SHARED of them at a time: the projections themselves, or waves of them.

    Rows are permuted by way of a scratch of the program's own, which stays in a cache.
    """
    SIZE: tl.constexpr = SHARED * MEMBERS * 32
    weights = tl.program_id(1) * SIZE
    number = tl.program_id(1) * tl.num_programs(0) + tl.program_id(0)
    mine = scratch + number.to(tl.int64) * (PARTS * MEMBERS * 32)
    own = tl.arange(0, PARTS)
    within = tl.arange(0, MEMBERS)[:, None] * 32 + tl.arange(0, 32)[None, :]
    place = (own % SHARED)[:, None, None] * (MEMBERS * 32) + within[None]
    base = ((own // SHARED) * SIZE)[:, None, None]
    column = weights + place
    for turn in range(TURNS):
        row = ((tl.program_id(0) * TURNS + turn) * PARTS + own) // SHARED
        inside = (row < n)[:, None, None]
        given = x + row.to(tl.int64)[:, None, None] * stride
        numbers = tl.load(given + place, mask=inside & (place < d), other=0)
        numbers = numbers * tl.load(signs + column).to(tl.float32)
        tl.store(mine + base + place, transformed(numbers, PARTS, MEMBERS, SHARED, False))
        tl.debug_barrier()
        numbers = tl.load(mine + base + tl.load(permutation + column))
        tl.debug_barrier()
        numbers = transformed(numbers * tl.load(gaussian + column), PARTS, MEMBERS, SHARED, False)
        numbers = numbers * tl.load(calibration + column)
        target = out + row.to(tl.int64)[:, None, None] * out_stride
        keep = inside & (column < kept)
        if not WAVES:
            tl.store(target + column, numbers, mask=keep)
        elif ALONE:
            alone = column >= pairs
            numbers += tl.load(phases + (column - pairs), mask=alone & keep, other=0.0)
            cosine, sine = cos_sin(numbers, FAST)
            tl.store(target + tl.where(alone, pairs + column, 2 * column), cosine * height, mask=keep)
            tl.store(target + 2 * column + 1, sine * height, mask=keep & (alone == 0))
        else:
            cosine, sine = cos_sin(numbers, FAST)
            both = tl.join(cosine, sine) * height  # neighbours in memory
            which = tl.arange(0, 2)[None, None, None, :]
            tl.store(target[:, :, :, None] + 2 * column[:, :, :, None] + which, both, mask=keep[:, :, :, None])


def takes(x: Tensor, signs: Tensor, *others: object) -> bool:
    size = signs.shape[-1]
    return (
        x.dtype == torch.float32 and x.ndim == 2 and LANES <= size <= LARGEST
        and not any(getattr(part, "requires_grad", False) for part in (x, signs, *others))
    )  # fmt: skip


def launch(x: Tensor, weights: tuple[Tensor, ...], phases: Tensor, kept: int, height: float, waves: bool) -> Tensor:
    signs, permutation, gaussian, calibration, phases = beside(x, *weights, phases)
    expansions, size = signs.shape
    shared = max(1, size // PART)
    members = size // (shared * LANES)
    together = max(shared, WARPS * max(1, 8 // members))
    x = x if x.stride(1) == 1 else x.contiguous()
    pairs = kept - len(phases)
    out = torch.empty((len(x), kept + pairs if waves else kept), dtype=x.dtype, device=x.device)
    if len(x) and kept:
        grid = (triton.cdiv(len(x) * shared, together * TURNS), min(expansions, triton.cdiv(kept, size)))
        scratch = torch.empty(grid[0] * grid[1] * together * members * LANES, dtype=x.dtype, device=x.device)
        fastfood_kernel[grid](
            x, signs, permutation, gaussian.to(x.dtype), calibration.to(x.dtype), phases if len(phases) else gaussian,
            out, scratch, len(x), x.shape[1], x.stride(0), out.stride(0), kept, pairs, height,
            TURNS=TURNS, PARTS=together, MEMBERS=members, SHARED=shared, WAVES=waves, ALONE=bool(len(phases)),
            FAST=not INTERPRETED, num_warps=max(WARPS, shared),
        )  # fmt: skip
    return out


@BACKEND.serves(when=takes, note="float32, expansions of 32 to 32,768, without gradients")
def fastfood(x: Tensor, signs: Tensor, permutation: Tensor, gaussian: Tensor, calibration: Tensor) -> Tensor:
    return launch(x, (signs, permutation, gaussian, calibration), x[:0, 0], signs.shape[0] * signs.shape[1], 1.0, False)


@BACKEND.serves(when=takes, note="float32, expansions of 32 to 32,768, without gradients")
def fastfood_cos_sin(
    x: Tensor, signs: Tensor, permutation: Tensor, gaussian: Tensor, calibration: Tensor, kept: int, phases: Tensor,
    height: float,
) -> Tensor:  # fmt: skip
    return launch(x, (signs, permutation, gaussian, calibration), phases, kept, float(height), True)

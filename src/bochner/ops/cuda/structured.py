"""Fastfood in one pass: C H G Pi H B x and its cosines and sines, of which nothing but the result reaches memory.

A program makes all expansions of some rows, which so are read once. A row lies in a few lanes of one warp, two numbers
side by side in each, so that two cosines and two sines are 16 bytes of the result; several warps share a long one. Rows
are permuted by way of shared memory.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.language.extra import libdevice

from .backend import BACKEND, INTERPRETED, beside
from .hadamard import LANES, LARGEST, signed_plus, within_parts

WARPS = 4  # of a program, if a row needs no more
EACH = 32  # numbers of a lane: more take fewer shuffles and loads of weights, fewer leave room for more programs
REGISTERS: int | None = None  # at most so many of a lane
FEWEST_LANES, ENOUGH = 8, 1024  # of a row; programs that fill a device, beyond which each makes all expansions


class Plan(NamedTuple):
    """Parts of a program, members of a part and numbers of a member side by side; parts that share a row, and warps."""

    parts: int
    members: int
    run: int
    shared: int
    warps: int

    @classmethod
    def of(cls, size: int) -> Plan:
        """The plan for rows of `size` numbers, a power of two."""
        lanes = min(LANES, max(FEWEST_LANES, size // EACH))
        shared = max(1, size // (EACH * LANES))
        warps = max(WARPS, shared)
        return cls(warps * LANES // lanes, size // (2 * lanes * shared), 2 * lanes, shared, warps)

    def placed(self, permutation: Tensor) -> Tensor:
        """Where each number that is asked for lies in the line (members, parts, run) of a program's numbers."""
        part, within = permutation // (self.members * self.run), permutation % (self.members * self.run)
        return ((within // self.run * self.parts + part) * self.run + within % self.run).to(torch.int32)


@triton.jit
def transformed(x, PARTS: tl.constexpr, MEMBERS: tl.constexpr, RUN: tl.constexpr, SHARED: tl.constexpr):
    """H x of rows that SHARED parts make up, numbers in a line (MEMBERS, PARTS, RUN); parts meet in shared memory."""
    x = within_parts(x, PARTS, MEMBERS, RUN, False)
    SIZE: tl.constexpr = x.shape[0]
    place = tl.arange(0, SIZE)
    for k in tl.static_range(6):
        if (1 << k) < SHARED:
            sign = tl.where((place & (RUN << k)) > 0, -1.0, 1.0)
            x = signed_plus(x, sign, tl.gather(x, place ^ (RUN << k), 0), False)
    return x


@triton.jit
def cos_sin(angle, FAST: tl.constexpr):
    """Both; brought to half a turn, the fast instructions are as good as float32 angles are."""
    if FAST:
        # What is added and taken away again, 1.5 times 2^23, leaves a whole number.
        turns = (angle * 0.15915494309189535 + 12582912.0) - 12582912.0
        rest = angle - turns * 6.28125 - turns * 0.0019353071795864769
        cosine, sine = libdevice.fast_cosf(rest), libdevice.fast_sinf(rest)
    else:
        cosine, sine = tl.cos(angle), tl.sin(angle)
    return cosine, sine


@triton.jit
def store_waves(
    target, numbers, phases, column, pairs, kept, height, FAST: tl.constexpr,
):  # fmt: skip
    """Cosines and sines of the first columns, and cosines alone of the others, whose phases are given."""
    alone, keep = column >= pairs, column < kept
    numbers += tl.load(phases + (column - pairs), mask=alone & keep, other=0.0)
    cosine, sine = cos_sin(numbers, FAST)
    tl.store(target + tl.where(alone, pairs + column, 2 * column), cosine * height, mask=keep)
    tl.store(target + (2 * column + 1), sine * height, mask=keep & (alone == 0))


@triton.jit
def fastfood_kernel(
    x, signs, places, gaussian, calibration, phases, out, n, d, stride, out_stride, kept, pairs, height, expansions,
    PARTS: tl.constexpr, MEMBERS: tl.constexpr, RUN: tl.constexpr, SHARED: tl.constexpr, STEP: tl.constexpr,
    WAVES: tl.constexpr, ALONE: tl.constexpr, FAST: tl.constexpr,
):  # fmt: skip
    """Some expansions of PARTS / SHARED rows: the projections themselves, or waves of them."""
    PART: tl.constexpr = MEMBERS * RUN
    PIECES: tl.constexpr = MEMBERS * PARTS
    piece = tl.arange(0, PIECES)
    part, member = piece % PARTS, piece // PARTS
    # The last row stands in for those beyond it: the same numbers are then written more than once.
    row = tl.minimum(tl.program_id(0) * (PARTS // SHARED) + part // SHARED, n - 1).to(tl.int64)[:, None]
    first = (part % SHARED * PART + member * RUN)[:, None]
    two_by_two = tl.arange(0, RUN) // 2 * 2 + tl.arange(0, RUN) % 2  # so that a lane loads and stores no more at once
    place = first + two_by_two[None, :]
    own = (part // SHARED * SHARED * RUN)[:, None]
    given, target = x + row * (stride // STEP * STEP) + place, out + row * out_stride
    inside = place < d // STEP * STEP
    each = tl.cdiv(expansions, tl.num_programs(1))
    begin = tl.program_id(1) * each
    for turn in range(tl.minimum(each, expansions - begin)):
        start = (begin + turn) * (SHARED * PART)
        numbers = tl.load(given, mask=inside, other=0.0) * tl.load(signs + start + place)
        numbers = transformed(numbers.reshape(PIECES * RUN), PARTS, MEMBERS, RUN, SHARED)
        where = (tl.load(places + start + place) + own).reshape(PIECES * RUN)
        numbers = tl.gather(numbers, where, 0).reshape(PIECES, RUN) * tl.load(gaussian + start + place)
        numbers = transformed(numbers.reshape(PIECES * RUN), PARTS, MEMBERS, RUN, SHARED).reshape(PIECES, RUN)
        numbers = numbers * tl.load(calibration + start + place)
        if not WAVES:
            tl.store(target + start + place, numbers, mask=place < kept - start)
        elif ALONE:
            store_waves(target, numbers, phases, start + place, pairs, kept, height, FAST)
        else:
            cosine, sine = cos_sin(numbers, FAST)
            both = tl.join(cosine * height, sine * height).reshape(PIECES, 2 * RUN)  # neighbours in memory
            wide = 2 * first + tl.arange(0, 2 * RUN)[None, :]
            tl.store(target + 2 * start + wide, both, mask=wide < 2 * (kept - start), eviction_policy="evict_first")


def takes(x: Tensor, signs: Tensor, *others: object) -> bool:
    size = signs.shape[-1]
    return (
        x.dtype == torch.float32 and x.ndim == 2 and LANES <= size <= LARGEST
        and not any(getattr(part, "requires_grad", False) for part in (x, signs, *others))
    )  # fmt: skip


def launch(x: Tensor, weights: tuple[Tensor, ...], phases: Tensor, kept: int, height: float, waves: bool) -> Tensor:
    signs, permutation, gaussian, calibration, phases = beside(x, *weights, phases)
    expansions, size = signs.shape
    plan = Plan.of(size)
    x = x if x.stride(1) == 1 else x.contiguous()
    pairs = kept - len(phases)
    out = torch.empty((len(x), kept + pairs if waves else kept), dtype=x.dtype, device=x.device)
    if len(x) and kept:
        expansions = min(expansions, triton.cdiv(kept, size))
        programs = triton.cdiv(len(x) * plan.shared, plan.parts)
        grid = (programs, 1 if programs >= ENOUGH else expansions)
        # Products by `gaussian` are rounded before they are added up, as in the definition, whose bits these are.
        options = {"enable_fp_fusion": False} | ({"maxnreg": REGISTERS} if REGISTERS else {})
        fastfood_kernel[grid](
            x, signs.to(x.dtype), plan.placed(permutation), gaussian.to(x.dtype), calibration.to(x.dtype),
            phases if len(phases) else gaussian, out, len(x), x.shape[1], x.stride(0), out.stride(0), kept, pairs,
            height, expansions, PARTS=plan.parts, MEMBERS=plan.members, RUN=plan.run, SHARED=plan.shared,
            STEP=1 + (x.stride(0) % 2 == 0 and x.shape[1] % 2 == 0), WAVES=waves, ALONE=bool(len(phases)),
            FAST=not INTERPRETED, num_warps=plan.warps, **options,
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

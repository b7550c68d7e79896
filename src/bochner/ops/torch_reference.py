"""The meaning of every op for torch tensors, on their device: integers have the bits of `reference`, floats its values
to rounding, and Hadamard transforms and Fastfood its bits too.

Float maps take rows of any leading shape and have gradients. Weights may come as numpy arrays: they are put where the
rows are. Words of 32 and 64 bits are worked on as int64, because torch has few operations on unsigned ones.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch

from ..arrays import like
from ..streams import MULTIPLIERS, WEYL
from .dispatch import Backend, Function
from .reference import EXACT_TERMS, NotFiniteError

TORCH = Backend("torch", library="torch", defines=True)
WORD = 0xFFFFFFFF


def defines(function: Function) -> Function:
    """The decorated function is what the op of its name means for tensors."""

    @wraps(function)
    def call(array: Any, *others: Any) -> Any:
        return function(array, *(like(other, array) for other in others))

    TORCH.serves(function.__name__, layouts=None)(call)
    return function


# ---- floats ----


@defines
def fwht(x: Any) -> Any:
    size, stride = x.shape[-1], 1
    while stride < size:
        low, high = x.unflatten(-1, (-1, 2, stride)).unbind(-2)
        x, stride = torch.stack((low + high, low - high), dim=-2).flatten(-3), 2 * stride
    return x


@defines
def fastfood(x: Any, signs: Any, permutation: Any, gaussian: Any, calibration: Any) -> Any:
    return (fwht(_mixed(x, signs, permutation) * gaussian) * calibration).flatten(-2)


def _mixed(x: Any, signs: Any, permutation: Any) -> Any:
    """Pi H B x for each of E expansions, (..., d) to (..., E, size)."""
    padded = torch.nn.functional.pad(x, (0, signs.shape[-1] - x.shape[-1])).unsqueeze(-2)
    mixed = fwht(padded * signs)
    return mixed.gather(-1, permutation.long().expand(mixed.shape))


@defines
def maxout(projections: Any, pool_size: int) -> Any:
    return projections.unflatten(-1, (-1, pool_size)).amax(dim=-1)


@defines
def winners(projections: Any, pool_size: int) -> Any:
    return projections.unflatten(-1, (-1, pool_size)).argmax(dim=-1).int()


@defines
def gates(winners: Any, through: Any, pool_size: int) -> Any:
    out = through.new_zeros((*winners.shape, pool_size))
    return out.scatter_(-1, winners.long().unsqueeze(-1), through.unsqueeze(-1)).flatten(-2)


@defines
def stumps(x: Any, coordinates: Any, thresholds: Any, height: Any) -> Any:
    if not bool(torch.isfinite(x).all()):
        raise NotFiniteError
    height = torch.as_tensor(height, device=x.device)
    return torch.where(x[:, coordinates.long()] > thresholds, height, -height)


@defines
def cos_sin(projections: Any, phases: Any, height: Any, out: Any = None) -> Any:
    pairs = projections.shape[-1] - len(phases)
    paired = torch.stack((projections[..., :pairs].cos(), projections[..., :pairs].sin()), dim=-1).flatten(-2)
    alone = torch.cos(projections[..., pairs:] + phases)
    return _given(torch.cat((paired, alone), dim=-1) * height, out)


def _given(made: Any, out: Any) -> Any:
    return made if out is None else out.copy_(made)


@defines
def bins(x: Any, shift: Any, pitch: Any, multipliers: Any, columns: int) -> Any:
    cells = torch.floor((x.double()[:, None] - shift) / pitch).clamp(-(2.0**62), 2.0**62).long() & WORD
    words = multipliers.view(torch.int64)  # products and sums wrap around as unsigned ones do
    code = (((cells * words[:, 1:]).sum(dim=2) + words[:, 0]) >> 32) & WORD
    return 2 * (((code >> 1) * columns) >> 31) + (code & 1)


@defines
def binned(cells: Any, columns: int, height: Any) -> tuple[Any, Any, Any]:
    n = len(cells)
    rows = torch.arange(n, device=cells.device)
    places, which = torch.unique((rows[:, None] * columns + (cells >> 1)).flatten(), return_inverse=True)
    signs = (2 * (cells & 1) - 1).flatten()
    sums = torch.zeros_like(places).index_add_(0, which, signs)
    if not height.dtype.is_floating_point:
        sums = sums.clamp(-127, 127)
    index = torch.int32 if max(columns, cells.numel()) < 2**31 else torch.int64
    ends = torch.bincount(places // columns, minlength=n).cumsum(0)
    starts = torch.cat((ends.new_zeros(1), ends)).to(index)
    return sums.to(height.dtype) * height, (places % columns).to(index), starts


# ---- integers ----


@defines
def quantize(x: Any, center: Any, step: float, low: int, high: int) -> Any:
    codes = torch.round((x.double() - center) / step)
    return codes.clamp(low, high).to(torch.uint8 if low == 0 else torch.int8)


@defines
def project(x: Any, directions: Any) -> Any:
    out = torch.zeros((len(x), len(directions)), dtype=torch.int32, device=x.device)
    for start in range(0, x.shape[1], EXACT_TERMS):
        chunk = slice(start, start + EXACT_TERMS)
        out += (x[:, chunk].float() @ directions[:, chunk].float().mT).int()
    return out


@defines
def project_phase(x: Any, frequencies: Any) -> Any:
    words = frequencies.long()
    low, high = ((x.double() @ half.double().mT).long() for half in (words & 0xFFFF, words >> 16))
    return ((low + (high << 16)) & WORD).to(torch.uint32)


@defines
def phase(projections: Any, multipliers: Any) -> Any:
    return ((projections.long() * multipliers.long()) & WORD).to(torch.uint32)


@defines
def cos_sin_integer(phases: Any, offsets: Any, table: Any) -> Any:
    bits = len(table).bit_length() - 1
    pairs, mask = phases.shape[1] - len(offsets), len(table) - 1
    words = phases.long()
    words = torch.cat((words[:, :pairs], words[:, pairs:] + offsets.long()), dim=1)
    index = ((words + (1 << (31 - bits))) >> (32 - bits)) & mask
    paired = torch.stack((index[:, :pairs], (index[:, :pairs] + 3 * len(table) // 4) & mask), dim=2).flatten(1)
    return table[torch.cat((paired, index[:, pairs:]), dim=1)]


@defines
def fastfood_integer(x: Any, signs: Any, permutation: Any, gaussian: Any, shift: int) -> Any:
    mixed = _mixed(x.int(), signs.int(), permutation) * gaussian.int()
    return fwht((mixed + ((1 << shift) >> 1)) >> shift).flatten(-2)


@defines
def calibrate(values: Any, multipliers: Any, shift: int) -> Any:
    return ((values.long() * multipliers + (1 << (shift - 1))) >> shift).int()


@defines
def rescale(values: Any, multiplier: int, shift: int, limit: int) -> Any:
    scaled = (values.long() * multiplier + (1 << (shift - 1))) >> shift
    return scaled.clamp(-limit, limit).to(torch.int8 if limit <= 127 else torch.int16)


@defines
def lookup(values: Any, multiplier: int, shift: int, offsets: Any, table: Any) -> Any:
    index = (values.long() * multiplier + offsets + (1 << (shift - 1))) >> shift
    return table[(index + len(table) // 2).clamp(0, len(table) - 1)]


@defines
def philox(counter: Any, key: tuple[int, int]) -> Any:
    words = [column.long() for column in counter.unbind(1)]
    key0, key1 = key
    for _ in range(10):
        (high0, low0), (high1, low1) = _product(words[0], int(MULTIPLIERS[0])), _product(words[2], int(MULTIPLIERS[1]))
        words = [high1 ^ words[1] ^ key0, low1, high0 ^ words[3] ^ key1, low0]
        key0, key1 = (key0 + WEYL[0]) & WORD, (key1 + WEYL[1]) & WORD
    return torch.stack(words, dim=1).to(torch.uint32)


def _product(words: Any, factor: int) -> tuple[Any, Any]:
    """The high and the low 32 bits of a product of such words, by halves of one factor: 64 bits would not fit."""
    low = words * (factor & 0xFFFF)
    rest = words * (factor >> 16) + (low >> 16)
    return rest >> 16, ((rest & 0xFFFF) << 16) | (low & 0xFFFF)


# ---- several of the above in one ----


@defines
def dense_cos_sin(x: Any, directions: Any, phases: Any, height: Any, out: Any = None) -> Any:
    return cos_sin(x @ directions.mT, phases, height, out)


@defines
def dense_maxout(x: Any, directions: Any, pool_size: int, centre: Any, scale: Any, out: Any = None) -> Any:
    return _given((maxout(x @ directions.mT, pool_size) - centre[:, None]) * scale, out)


@defines
def dense_winners(x: Any, directions: Any, pool_size: int) -> Any:
    return winners(x @ directions.mT, pool_size)


@defines
def fastfood_cos_sin(
    x: Any, signs: Any, permutation: Any, gaussian: Any, calibration: Any, kept: int, phases: Any, height: Any
) -> Any:
    return cos_sin(fastfood(x, signs, permutation, gaussian, calibration)[..., :kept], phases, height)


@defines
def fastfood_cos_sin_integer(
    x: Any,
    signs: Any,
    permutation: Any,
    gaussian: Any,
    shift: int,
    multipliers: Any,
    kept: int,
    offsets: Any,
    table: Any,
) -> Any:
    projections = fastfood_integer(x, signs, permutation, gaussian, shift)
    return cos_sin_integer(phase(projections, multipliers)[:, :kept], offsets, table)


@defines
def project_cos_sin(x: Any, directions: Any, multipliers: Any, offsets: Any, table: Any) -> Any:
    return cos_sin_integer(phase(project(x, directions), multipliers), offsets, table)


@defines
def project_maxout(
    x: Any, directions: Any, pool_size: int, centre: Any, multiplier: int, shift: int, limit: int
) -> Any:
    return rescale(maxout(project(x, directions), pool_size) - centre[:, None], multiplier, shift, limit)


@defines
def project_winners(x: Any, directions: Any, pool_size: int) -> Any:
    return winners(project(x, directions), pool_size)


@defines
def project_lookup(x: Any, directions: Any, multiplier: int, shift: int, offsets: Any, table: Any) -> Any:
    return lookup(project(x, directions), multiplier, shift, offsets, table)


# ---- sums ----


def _sums(z: Any, rows: int, product: Callable[[Any], Any], total: Any) -> Any:
    """total plus the products of so many rows at a time, which are exact."""
    for start in range(0, len(z), rows):
        total += product(slice(start, start + rows)).to(total.dtype)
    return total


@defines
def gram(z: Any, total: Any = None) -> Any:
    floats = z.dtype.is_floating_point
    if total is None:
        total = z.new_zeros((z.shape[1], z.shape[1]), dtype=torch.float64 if floats else torch.int64)
    elif total.shape != (z.shape[1], z.shape[1]):
        raise ValueError(f"the total is {tuple(total.shape)}, the sums are of {z.shape[1]} columns.")
    elif floats and not total.dtype.is_floating_point:
        raise TypeError("sums of floats cannot be added to integers.")
    rows, work = (1024, torch.float32) if z.dtype == torch.int8 else (1 << 22, torch.float64)

    def product(part: slice) -> Any:
        some = z[part].to(work)
        made = some.mT @ some
        return made if not floats else made.triu() + made.triu(1).mT  # the same bits on both sides of the diagonal

    return _sums(z, rows, product, total)


@defines
def float_gram(z: Any, rounded: bool, total: Any = None) -> Any:
    return gram(z.bfloat16().float() if rounded else z, total)


@defines
def cross(z: Any, y: Any) -> Any:
    exact = not z.dtype.is_floating_point and not y.dtype.is_floating_point
    work = torch.float32 if z.dtype == y.dtype == torch.int8 else torch.float64
    total = z.new_zeros((z.shape[1], y.shape[1]), dtype=torch.int64 if exact else torch.float64)
    return _sums(z, 1024, lambda rows: z[rows].to(work).mT @ y[rows].to(work), total)


@defines
def scores(z: Any, weights: Any) -> Any:
    dtype = torch.promote_types(z.dtype, weights.dtype)
    return z.to(dtype) @ weights.to(dtype)

"""The meaning of every op for torch tensors, on their device: integers have the bits of `reference`, floats its values
to rounding, and Hadamard transforms and Fastfood its bits too.

Float maps take rows of any leading shape and have gradients. Weights may come as numpy arrays: they are put where the
rows are. Words of 32 and 64 bits are worked on as int64, because torch has few operations on unsigned ones.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

import torch
from torch import Tensor

from ..arrays import like
from ..streams import FINISHERS, MULTIPLIERS, WEYL, hash_multipliers, int8_normal_table
from .dispatch import Backend, Function
from .reference import EXACT_TERMS, NotFiniteError
from .reference_sums import LOT, triangle_size

TORCH = Backend("torch", library="torch", defines=True)
WORD = 0xFFFFFFFF


def defines(function: Function) -> Function:
    """The decorated function is what the op of its name means for tensors."""

    @wraps(function)
    def call(array: Tensor, *others: object) -> Tensor:
        return function(array, *(like(other, array) for other in others))

    TORCH.serves(function.__name__)(call)
    return function


# ---- floats ----


@defines
def fwht(x: Tensor) -> Tensor:
    size, stride = x.shape[-1], 1
    while stride < size:
        low, high = x.unflatten(-1, (-1, 2, stride)).unbind(-2)
        x, stride = torch.stack((low + high, low - high), dim=-2).flatten(-3), 2 * stride
    return x


@defines
def fastfood(x: Tensor, signs: Tensor, permutation: Tensor, gaussian: Tensor, calibration: Tensor) -> Tensor:
    return (fwht(_mixed(x, signs, permutation) * gaussian) * calibration).flatten(-2)


def _mixed(x: Tensor, signs: Tensor, permutation: Tensor) -> Tensor:
    """Pi H B x for each of E expansions, (..., d) to (..., E, size)."""
    padded = torch.nn.functional.pad(x, (0, signs.shape[-1] - x.shape[-1])).unsqueeze(-2)
    mixed = fwht(padded * signs)
    return mixed.gather(-1, permutation.long().expand(mixed.shape))


@defines
def maxout(projections: Tensor, pool_size: int) -> Tensor:
    return projections.unflatten(-1, (-1, pool_size)).amax(dim=-1)


@defines
def winners(projections: Tensor, pool_size: int) -> Tensor:
    return projections.unflatten(-1, (-1, pool_size)).argmax(dim=-1).int()


@defines
def gates(winners: Tensor, through: Tensor, pool_size: int) -> Tensor:
    out = through.new_zeros((*winners.shape, pool_size))
    return out.scatter_(-1, winners.long().unsqueeze(-1), through.unsqueeze(-1)).flatten(-2)


@defines
def stumps(x: Tensor, coordinates: Tensor, thresholds: Tensor, height: Tensor) -> Tensor:
    if not bool(torch.isfinite(x).all()):
        raise NotFiniteError
    height = torch.as_tensor(height, device=x.device)
    return torch.where(x[:, coordinates.long()] > thresholds, height, -height)


@defines
def cells(x: Tensor, coordinates: Tensor, thresholds: Tensor, flips: Tensor) -> Tensor:
    out = flips.int().expand(len(x), -1).clone()
    for j in range(coordinates.shape[1]):
        out ^= (x[:, coordinates[:, j].long()] > thresholds[:, j]).int() << j
    return out


@defines
def matches(a: Tensor, b: Tensor) -> Tensor:
    counts = [(row == b).sum(dim=1, dtype=torch.int32) for row in a]
    return torch.stack(counts) if counts else a.new_zeros((0, len(b)), dtype=torch.int32)


@defines
def distances(x: Tensor, z: Tensor, p: float) -> Tensor:
    # Not by products of rows, which take the distance of near ones from the difference of large numbers.
    return torch.cdist(x, z, p=p, compute_mode="donot_use_mm_for_euclid_dist")


@defines
def cos_sin(projections: Tensor, phases: Tensor, height: Tensor, out: Tensor | None = None) -> Tensor:
    pairs = projections.shape[-1] - len(phases)
    paired = torch.stack((projections[..., :pairs].cos(), projections[..., :pairs].sin()), dim=-1).flatten(-2)
    alone = torch.cos(projections[..., pairs:] + phases)
    return _given(torch.cat((paired, alone), dim=-1) * height, out)


def _given(made: Tensor, out: Tensor | None) -> Tensor:
    return made if out is None else out.copy_(made)


@defines
def bins(x: Tensor, shift: Tensor, pitch: Tensor, multipliers: Tensor, columns: int) -> Tensor:
    cells = torch.floor((x.double()[:, None] - shift) / pitch).clamp(-(2.0**62), 2.0**62).long() & WORD
    words = multipliers.view(torch.int64)  # products and sums wrap around as unsigned ones do
    code = (((cells * words[:, 1:]).sum(dim=2) + words[:, 0]) >> 32) & WORD
    return 2 * (((code >> 1) * columns) >> 31) + (code & 1)


@defines
def binned(cells: Tensor, columns: int, height: Tensor) -> tuple[Tensor, Tensor, Tensor]:
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
def quantize(x: Tensor, center: Tensor, step: float, low: int, high: int) -> Tensor:
    codes = torch.round((x.double() - center) / step)
    return codes.clamp(low, high).to(torch.uint8 if low == 0 else torch.int8)


@defines
def project(x: Tensor, directions: Tensor) -> Tensor:
    out = torch.zeros((len(x), len(directions)), dtype=torch.int32, device=x.device)
    for start in range(0, x.shape[1], EXACT_TERMS):
        chunk = slice(start, start + EXACT_TERMS)
        out += (x[:, chunk].float() @ directions[:, chunk].float().mT).int()
    return out


@defines
def project_phase(x: Tensor, frequencies: Tensor) -> Tensor:
    words = frequencies.long()
    low, high = ((x.double() @ half.double().mT).long() for half in (words & 0xFFFF, words >> 16))
    return ((low + (high << 16)) & WORD).to(torch.uint32)


@defines
def phase(projections: Tensor, multipliers: Tensor) -> Tensor:
    return ((projections.long() * multipliers.long()) & WORD).to(torch.uint32)


@defines
def cos_sin_integer(phases: Tensor, offsets: Tensor, table: Tensor) -> Tensor:
    bits = len(table).bit_length() - 1
    pairs, mask = phases.shape[1] - len(offsets), len(table) - 1
    words = phases.long()
    words = torch.cat((words[:, :pairs], words[:, pairs:] + offsets.long()), dim=1)
    index = ((words + (1 << (31 - bits))) >> (32 - bits)) & mask
    paired = torch.stack((index[:, :pairs], (index[:, :pairs] + 3 * len(table) // 4) & mask), dim=2).flatten(1)
    return table[torch.cat((paired, index[:, pairs:]), dim=1)]


@defines
def fastfood_integer(x: Tensor, signs: Tensor, permutation: Tensor, gaussian: Tensor, shift: int) -> Tensor:
    mixed = _mixed(x.int(), signs.int(), permutation) * gaussian.int()
    return fwht((mixed + ((1 << shift) >> 1)) >> shift).flatten(-2)


@defines
def calibrate(values: Tensor, multipliers: Tensor, shift: int) -> Tensor:
    return ((values.long() * multipliers + (1 << (shift - 1))) >> shift).int()


@defines
def rescale(values: Tensor, multiplier: int, shift: int, limit: int) -> Tensor:
    scaled = (values.long() * multiplier + (1 << (shift - 1))) >> shift
    return scaled.clamp(-limit, limit).to(torch.int8 if limit <= 127 else torch.int16)


@defines
def largest_chosen(values: Tensor, choices: Tensor) -> Tensor:
    best = values[:, choices[:, 0]]
    for j in range(1, choices.shape[1]):
        best = torch.maximum(best, values[:, choices[:, j]])
    return best


@defines
def lookup(values: Tensor, multiplier: int, shift: int, offsets: Tensor, table: Tensor) -> Tensor:
    index = (values.long() * multiplier + offsets + (1 << (shift - 1))) >> shift
    return table[(index + len(table) // 2).clamp(0, len(table) - 1)]


@defines
def philox(counter: Tensor, key: tuple[int, int]) -> Tensor:
    words = [column.long() for column in counter.unbind(1)]
    key0, key1 = key
    for _ in range(10):
        (high0, low0), (high1, low1) = _product(words[0], int(MULTIPLIERS[0])), _product(words[2], int(MULTIPLIERS[1]))
        words = [high1 ^ words[1] ^ key0, low1, high0 ^ words[3] ^ key1, low0]
        key0, key1 = (key0 + WEYL[0]) & WORD, (key1 + WEYL[1]) & WORD
    return torch.stack(words, dim=1).to(torch.uint32)


def _product(words: Tensor, factor: int) -> tuple[Tensor, Tensor]:
    """The high and the low 32 bits of a product of such words, by halves of one factor: 64 bits would not fit."""
    low = words * (factor & 0xFFFF)
    rest = words * (factor >> 16) + (low >> 16)
    return rest >> 16, ((rest & 0xFFFF) << 16) | (low & 0xFFFF)


@defines
def normal_int8(template: Tensor, key: tuple[int, int], start: int, stop: int, width: int) -> Tensor:
    blocks, count = -(-width // 8), stop - start
    feature = torch.arange(start, stop, device=template.device).repeat_interleave(blocks)
    block = torch.arange(blocks, device=template.device).repeat(count)
    counter = torch.stack((block, torch.zeros_like(block), feature & WORD, feature >> 32), dim=1)
    words = philox(counter, key).long()
    halves = torch.stack((words & 0xFFFF, words >> 16), dim=2).reshape(count, 8 * blocks)
    return like(int8_normal_table(), template)[halves[:, :width]]


@defines
def row_folds(x: Tensor, folds: int) -> Tensor:
    hashes = row_words(x)
    return (2 * (_shifted(hashes, 1) % folds) + (hashes & 1)) % folds  # the remainder of an unsigned number


@defines
def row_words(x: Tensor) -> Tensor:
    """The bits of `streams.row_hashes`: sums and products wrap around as unsigned ones do."""
    words = (x.double() + 0.0).view(torch.int64) + (1 << 23)
    words &= -(1 << 24)
    words ^= _shifted(words, 32)
    total = (words * like(hash_multipliers(x.shape[1]).view("int64"), x)).sum(dim=1)
    for multiplier in FINISHERS:
        total ^= _shifted(total, 33)
        total *= multiplier - (1 << 64)
    return total ^ _shifted(total, 33)


def _shifted(words: Tensor, bits: int) -> Tensor:
    """Unsigned words of 64 bits, shifted to the right."""
    return (words >> bits) & ((1 << (64 - bits)) - 1)


# ---- several of the above in one ----


@defines
def dense_cos_sin(x: Tensor, directions: Tensor, phases: Tensor, height: Tensor, out: Tensor | None = None) -> Tensor:
    return cos_sin(x @ directions.mT, phases, height, out)


@defines
def dense_maxout(
    x: Tensor, directions: Tensor, pool_size: int, centre: Tensor, scale: float | Tensor, out: Tensor | None = None
) -> Tensor:
    return _given((maxout(x @ directions.mT, pool_size) - centre[:, None]) * scale, out)


@defines
def dense_winners(x: Tensor, directions: Tensor, pool_size: int) -> Tensor:
    return winners(x @ directions.mT, pool_size)


@defines
def fastfood_cos_sin(
    x: Tensor,
    signs: Tensor,
    permutation: Tensor,
    gaussian: Tensor,
    calibration: Tensor,
    kept: int,
    phases: Tensor,
    height: Tensor,
) -> Tensor:
    return cos_sin(fastfood(x, signs, permutation, gaussian, calibration)[..., :kept], phases, height)


@defines
def fastfood_cos_sin_integer(
    x: Tensor,
    signs: Tensor,
    permutation: Tensor,
    gaussian: Tensor,
    shift: int,
    multipliers: Tensor,
    kept: int,
    offsets: Tensor,
    table: Tensor,
) -> Tensor:
    projections = fastfood_integer(x, signs, permutation, gaussian, shift)
    return cos_sin_integer(phase(projections, multipliers)[:, :kept], offsets, table)


@defines
def project_cos_sin(x: Tensor, directions: Tensor, multipliers: Tensor, offsets: Tensor, table: Tensor) -> Tensor:
    return cos_sin_integer(phase(project(x, directions), multipliers), offsets, table)


@defines
def project_maxout(
    x: Tensor, directions: Tensor, pool_size: int, centre: Tensor, multiplier: int, shift: int, limit: int
) -> Tensor:
    return rescale(maxout(project(x, directions), pool_size) - centre[:, None], multiplier, shift, limit)


@defines
def project_winners(x: Tensor, directions: Tensor, pool_size: int) -> Tensor:
    return winners(project(x, directions), pool_size)


@defines
def project_lookup(
    x: Tensor, directions: Tensor, multiplier: int, shift: int, offsets: Tensor, table: Tensor
) -> Tensor:
    return lookup(project(x, directions), multiplier, shift, offsets, table)


# ---- sums ----


def _sums(z: Tensor, rows: int, product: Callable[[Tensor], Tensor], total: Tensor) -> Tensor:
    """total plus the products of so many rows at a time, which are exact."""
    for start in range(0, len(z), rows):
        total += product(slice(start, start + rows)).to(total.dtype)
    return total


@defines
def gram(z: Tensor, total: Tensor | None = None) -> Tensor:
    floats = z.dtype.is_floating_point
    if total is None:
        total = z.new_zeros((z.shape[1], z.shape[1]), dtype=torch.float64 if floats else torch.int64)
    elif total.shape != (z.shape[1], z.shape[1]):
        raise ValueError(f"the total is {tuple(total.shape)}, the sums are of {z.shape[1]} columns.")
    elif floats and not total.dtype.is_floating_point:
        raise TypeError("sums of floats cannot be added to integers.")
    rows, work = (1024, torch.float32) if z.dtype == torch.int8 else (1 << 22, torch.float64)

    def product(part: slice) -> Tensor:
        some = z[part].to(work)
        made = some.mT @ some
        return made if not floats else made.triu() + made.triu(1).mT  # the same bits on both sides of the diagonal

    return _sums(z, rows, product, total)


@defines
def float_gram(z: Tensor, rounded: bool, total: Tensor | None = None) -> Tensor:
    return gram(z.bfloat16().float() if rounded else z, total)


@defines
def cross(z: Tensor, y: Tensor) -> Tensor:
    exact = not z.dtype.is_floating_point and not y.dtype.is_floating_point
    work = torch.float32 if z.dtype == y.dtype == torch.int8 else torch.float64
    total = z.new_zeros((z.shape[1], y.shape[1]), dtype=torch.int64 if exact else torch.float64)
    return _sums(z, 1024, lambda rows: z[rows].to(work).mT @ y[rows].to(work), total)


@defines
def normal_product(z: Tensor, v: Tensor, weight: Tensor | None) -> Tensor:
    wide = z.double()
    image = wide @ v
    return wide.mT @ (image if weight is None else image * weight[:, None])


@defines
def scores(z: Tensor, weights: Tensor) -> Tensor:
    dtype = torch.promote_types(z.dtype, weights.dtype)
    return z.to(dtype) @ weights.to(dtype)


@TORCH.serves("add_to_triangle")
def add_to_triangle(z: Tensor, total: Tensor | None = None) -> Tensor:
    columns, place = z.shape[1], 0
    if total is None:
        kind = torch.float64 if z.is_floating_point() else torch.int64
        total = torch.zeros(triangle_size(columns), dtype=kind, device=z.device)
    for start in range(0, columns, LOT):
        lower = (z[:, start:].double().mT @ z[:, start : start + LOT].double()).tril()
        lot = lower.to(total.dtype).flatten()
        total[place : place + len(lot)] += lot
        place += len(lot)
    return total


# ---- pictures ----


@defines
def patches(
    x: Tensor, places: Tensor, whitening: Tensor, factor: float, contrast: float, floor: float, offset: Tensor
) -> Tensor:
    p, size = x[:, places.long()].double(), places.shape[1]
    spread = size * (p * p).sum(dim=2) - p.sum(dim=2) ** 2
    gain = factor / (contrast * spread + floor).sqrt()
    codes = ((p @ whitening.double().mT) * gain[:, :, None] - offset.double()).round()
    return codes.clamp(-127, 127).to(torch.int8).reshape(len(x) * len(places), size)


@defines
def threshold(values: Tensor, shift: int, least: int, limit: int) -> Tensor:
    v = (values.long() + ((1 << shift) >> 1)) >> shift
    both = torch.stack((v - least, -v - least), dim=2).flatten(1)
    return both.clamp(0, limit).to(torch.int8 if limit <= 127 else torch.int16)


@defines
def pooled(features: Tensor, cells: Tensor, grid: int, largest: bool) -> Tensor:
    table = features if features.is_floating_point() else features.int()
    table = table.reshape(len(features) // len(cells), len(cells), features.shape[1])
    parts = [table[:, cells == cell] for cell in range(grid)]
    pooled_parts = [part.amax(dim=1) if largest else part.sum(dim=1, dtype=table.dtype) for part in parts]
    return torch.stack(pooled_parts, dim=2).flatten(1)


@defines
def standardize(sums: Tensor, root: bool, centre: Tensor, factor: Tensor, limit: int) -> Tensor:
    values = sums.double().sqrt() if root else sums.double()
    codes = ((values - centre.double()) * factor.double()).round()
    return codes.clamp(-limit, limit).to(torch.int8 if limit <= 127 else torch.int16)


@defines
def project_threshold(x: Tensor, directions: Tensor, shift: int, least: int, limit: int) -> Tensor:
    return threshold(project(x, directions), shift, least, limit)


@defines
def pooled_threshold(
    x: Tensor, directions: Tensor, shift: int, least: int, limit: int, cells: Tensor, grid: int, largest: bool
) -> Tensor:
    return pooled(project_threshold(x, directions, shift, least, limit), cells, grid, largest)


@defines
def pooled_maxout(
    x: Tensor, directions: Tensor, pool_size: int, centre: Tensor, multiplier: int, shift: int, limit: int,
    cells: Tensor, grid: int, largest: bool,
) -> Tensor:  # fmt: skip
    return pooled(project_maxout(x, directions, pool_size, centre, multiplier, shift, limit), cells, grid, largest)

"""Gram matrices of a triangle, by tensor cores: int8 products are summed exactly in 32 bits, and across blocks in 64.

Of many columns a kernel adds each tile to the sums where it is made (`triangles`). Of few, by cuBLAS, a stripe of
columns is multiplied by all from its own first on, which leaves out nearly half of the square. Tensor cores want the
rows of each column side by side, as the fused projections leave them; others are turned first.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

import torch
from torch import Tensor

from .. import torch_reference
from .backend import BACKEND, INTERPRETED, beside

Product = Callable[[Tensor, Tensor], Tensor]
EXACT_ROWS = 1 << 16  # products of 8-bit numbers that 32 bits add up: 2^16 2^14 < 2^31
STRIPE = 2048
FUSED = 4096  # columns from which on the tiles of a triangle fill a device several times
HAS_KERNELS = find_spec("triton") is not None and not INTERPRETED
SINGLE_ROWS = 1 << 15  # rows of bfloat16 that are summed in float32 before they go to float64
DOUBLE = 1 << 27  # numbers that are made float64 at a time
HALF = 64  # int14: z = 128 h + l with |h|, |l| and |h + l| at most 127


def columns_of(z: Tensor, rows: slice = slice(None), multiple: int = 16) -> Tensor:
    """Z' (m, n) of some rows, contiguous but for the stride of columns, with columns and rows padded by zeros."""
    turned = z[rows].mT
    more = -turned.shape[1] % multiple, -turned.shape[0] % multiple
    if turned.stride(1) == 1 and turned.stride(0) % multiple == 0 and turned.data_ptr() % 16 == 0 and not any(more):
        return turned
    return torch.nn.functional.pad(turned, (0, more[0], 0, more[1])).contiguous()


def add_triangle(total: Tensor, turned: Tensor, product: Product) -> None:
    """total += Z'Z, a stripe at a time, and what lies below the diagonal by its mirror image."""
    m = len(total)
    for first in range(0, m, STRIPE):
        stripe = slice(first, min(first + STRIPE, m))
        made = product(turned[first : first + STRIPE], turned[first:])
        total[stripe, first:] += made[: stripe.stop - first, : m - first]
        total[stripe.stop :, stripe] = total[stripe, stripe.stop :].mT


def add_columns(total: Tensor, z: Tensor, rows: slice, product: Product) -> None:
    """total += Z'Z of some rows of int8 or bfloat16 numbers, by a kernel if they are of many columns."""
    if len(total) < FUSED or not (HAS_KERNELS and total.is_contiguous()):
        add_triangle(total, columns_of(z, rows), product)
        return
    from . import triangles

    turned = z[rows].mT
    lines = turned.stride(0) * turned.element_size() % 16 == 0 and turned.data_ptr() % 16 == 0
    triangles.add_triangle(total, turned if turned.stride(1) == 1 and lines else columns_of(z, rows))


def exact_product(left: Tensor, right: Tensor) -> Tensor:
    """left right' of int8 numbers in 32 bits; cuBLAS has it for 17 rows or more."""
    if len(left) < 17:
        left = torch.nn.functional.pad(left, (0, 0, 0, 32 - len(left)))
    return torch._int_mm(left, right.mT)


def checked_total(z: Tensor, total: Tensor | None, exact: bool) -> Tensor:
    """The matrix to add to; what the definition refuses is refused in its words."""
    if total is None:
        return z.new_zeros((z.shape[1],) * 2, dtype=torch.int64 if exact else torch.float64)
    if total.shape != (z.shape[1],) * 2 or (not exact and not total.dtype.is_floating_point):
        torch_reference.gram(z[:0], total)
    return total


@BACKEND.serves("gram", dtypes=("int8",))
def gram_of_bytes(z: Tensor, total: Tensor | None = None) -> Tensor:
    total = checked_total(z, total, True)
    for start in range(0, len(z) if z.shape[1] else 0, EXACT_ROWS):
        add_columns(total, z, slice(start, start + EXACT_ROWS), exact_product)
    return total


@BACKEND.serves("gram", dtypes=("int16",), when=lambda z, *others: within_14_bits(z), note="up to 8,191")
def gram_of_14_bits(z: Tensor, total: Tensor | None = None) -> Tensor:
    """z'z = 16384 h'h + 128 (h'l + l'h) + l'l, and h'l + l'h = (h + l)'(h + l) - h'h - l'l."""
    total = checked_total(z, total, True)
    for start in range(0, len(z) if z.shape[1] else 0, EXACT_ROWS):
        turned = columns_of(z, slice(start, start + EXACT_ROWS))
        high = (turned + HALF) >> 7
        low = turned - (high << 7)
        for part, factor in ((high, 16384 - 128), (low, 1 - 128), (high + low, 128)):
            add_scaled(total, part.to(torch.int8), factor)
    return total


def add_scaled(total: Tensor, turned: Tensor, factor: int) -> None:
    add_triangle(total, turned, lambda left, right: exact_product(left, right).to(torch.int64) * factor)


def within_14_bits(z: Tensor) -> bool:
    return not z.numel() or bool((z.amax() <= 8191) & (z.amin() >= -8191))


@BACKEND.serves("gram", dtypes=("float32", "float64"))
def gram_of_floats(z: Tensor, total: Tensor | None = None) -> Tensor:
    """In float64, which these tensor cores multiply as fast as others multiply float32."""
    total = checked_total(z, total, False)
    rows = max(1024, DOUBLE // max(z.shape[1], 1))
    for start in range(0, len(z) if z.shape[1] else 0, rows):
        turned = z[start : start + rows].double().mT
        add_triangle(total, turned, lambda left, right: left @ right.mT)
    return total


@BACKEND.serves("float_gram", when=lambda z, rounded, *others: rounded, note="rounded to bfloat16")
def gram_of_halves(z: Tensor, rounded: bool, total: Tensor | None = None) -> Tensor:
    """Products of bfloat16 numbers, added up in float32 for some rows and in float64 for all."""
    total = checked_total(z, total, False)
    for start in range(0, len(z) if z.shape[1] else 0, SINGLE_ROWS):
        add_columns(total, z[start : start + SINGLE_ROWS].bfloat16(), slice(None), single_product)
    return total


def single_product(left: Tensor, right: Tensor) -> Tensor:
    """left right' of bfloat16 numbers, summed and returned in float32."""
    if left.device.type == "cpu":
        return left.float() @ right.float().mT
    return torch.mm(left, right.mT, out_dtype=torch.float32)


@BACKEND.serves("normal_product", dtypes=("int8",))
def normal_product_of_bytes(z: Tensor, v: Tensor, weight: Tensor | None) -> Tensor:
    """Integers are whole in bfloat16; floats come as two halves, which hold 16 of their bits."""
    rows = z.bfloat16()
    image = product_in_halves(rows, v)
    return product_in_halves(rows.mT, image if weight is None else image * weight[:, None])


def product_in_halves(left: Tensor, right: Tensor) -> Tensor:
    """left right of bfloat16 and float64 numbers, summed in float32."""
    largest = right.abs().amax(dim=0) if len(right) else right.new_zeros(right.shape[1])
    size = torch.ldexp(torch.ones_like(largest), torch.frexp(largest).exponent)  # a power of two: division is exact
    high = (right / size).bfloat16()
    both = torch.cat([high, (right / size - high.double()).bfloat16()], dim=1)
    made = left.float() @ both.float() if left.device.type == "cpu" else torch.mm(left, both, out_dtype=torch.float32)
    first, second = made.double().tensor_split(2, dim=1)
    return (first + second) * size


@BACKEND.serves("cross", dtypes=("int8",), when=lambda z, y: y.dtype == torch.int8)
def cross_of_bytes(z: Tensor, y: Tensor) -> Tensor:
    total = z.new_zeros((z.shape[1], y.shape[1]), dtype=torch.int64)
    for start in range(0, len(z) if total.numel() else 0, EXACT_ROWS):
        rows = slice(start, start + EXACT_ROWS)
        made = exact_product(columns_of(z, rows), columns_of(y, rows))
        total += made[: z.shape[1], : y.shape[1]]
    return total


@BACKEND.serves("cross", dtypes=("int8", "int16", "float32", "float64"), when=lambda z, y: y.dtype.is_floating_point)
def cross_with_floats(z: Tensor, y: Tensor) -> Tensor:
    (y,) = beside(z, y)
    total = z.new_zeros((z.shape[1], y.shape[1]), dtype=torch.float64)
    rows = max(1024, DOUBLE // max(z.shape[1], 1))
    for start in range(0, len(z) if total.numel() else 0, rows):
        total += z[start : start + rows].double().mT @ y[start : start + rows].double()
    return total

"""The backend of GPUs, and how its kernels are launched."""

from __future__ import annotations

import os

import torch
from torch import Tensor

from ...arrays import like
from ..dispatch import Backend, Tiles

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
# Projections that no kernel uses up at once are kept: four gigabytes of them in float32.
TILES = Tiles(numbers=1 << 30, columns=1 << 24, packed_rows=1 << 20)
BACKEND = Backend("cuda", library="torch", device="cpu" if INTERPRETED else "cuda", tiles=TILES)


def beside(array: Tensor, *others: object) -> tuple[Tensor, ...]:
    """Other arrays on the device of the first, contiguous, as kernels take them."""
    return tuple(like(other, array).contiguous() for other in others)


def padded(rows: Tensor, multiple: int) -> Tensor:
    """Rows with columns of zeros up to a multiple, contiguous: tensor cores take no ragged ends."""
    more = -rows.shape[1] % multiple
    return torch.nn.functional.pad(rows, (0, more)) if more else rows.contiguous()


def by_column(rows: int, columns: int, dtype: torch.dtype, template: Tensor) -> Tensor:
    """Room for features (columns, rows), whose transpose is what an op returns; rows begin on lines of 16 bytes."""
    room = torch.empty((columns, rows + -rows % 16), dtype=dtype, device=template.device)
    return room[:, :rows]

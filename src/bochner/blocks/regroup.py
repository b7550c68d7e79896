"""Rows that come in pieces of any length, as blocks of equal length."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..arrays import Rows
from .base import Block, stack

Piece = tuple[Any, Any, Any]  # X, y, weight


def regroup(pieces: Iterator[Piece], start: int, rows: int, skip: int = 0) -> Iterator[Block]:
    """(X, y, weight) pieces of any length as blocks of `rows` rows, after the first `skip` rows are left out."""
    held: list[Piece] = []
    count = 0
    for piece in pieces:
        size = piece[0].shape[0]
        if skip >= size:
            skip -= size
            continue
        held.append(cut(piece, skip, size) if skip else piece)
        count += size - skip
        skip = 0
        while count >= rows:
            block, held = split(held, rows)
            yield Block(*block, start)
            start, count = start + rows, count - rows
    if count:
        yield Block(*split(held, count)[0], start)


def split(held: list[Piece], rows: int) -> tuple[Piece, list[Piece]]:
    """The first rows of some pieces as one, and what is left."""
    taken, left, missing = [], [], rows
    for piece in held:
        size = piece[0].shape[0]
        if missing:
            taken.append(cut(piece, 0, min(size, missing)))
        if size > missing:
            left.append(cut(piece, missing, size))
        missing = max(0, missing - size)
    X, y, weight = (None if parts[0] is None else joined(parts) for parts in zip(*taken, strict=True))
    return (X, y, weight), left


def cut(piece: Piece, start: int, stop: int) -> Piece:
    X, y, weight = (None if part is None else part[start:stop] for part in piece)
    return X, y, weight


def joined(parts: tuple[Rows, ...]) -> Rows:
    return parts[0] if len(parts) == 1 else stack(parts)

"""Structured normal projections, C H G Pi H B, shared by Fastfood and structured maxout.

Every row of H G Pi H B has length sqrt(n) |G|; with C_ii = s_i/(|G| sqrt(n)) it has length s_i and a uniform direction,
so with s_i ~ chi(n) each projection alone is exactly normal. Projections of one expansion are dependent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..streams import Stream


class Expansion(NamedTuple):
    """The weights of expansions start..stop-1, one a row."""

    signs: np.ndarray
    permutation: np.ndarray
    gaussian: np.ndarray

    def inverse_length(self) -> np.ndarray:
        """1/(|G| sqrt(n)) of each expansion, as a column."""
        squares = np.sum(self.gaussian.astype(np.float64) ** 2, axis=1, keepdims=True)
        return 1.0 / np.sqrt(squares * self.gaussian.shape[1])


def padded_size(d: int) -> int:
    """The next power of two."""
    return 1 << (d - 1).bit_length()


def draw_expansions(seed: int, start: int, stop: int, size: int, integer: bool) -> Expansion:
    gaussian = (Stream(seed, "G").normal_int8 if integer else Stream(seed, "G").normal)(start, stop, size)
    give_length(gaussian)
    signs, permutation = Stream(seed, "B").sign(start, stop, size), Stream(seed, "Pi").permutation(start, stop, size)
    return Expansion(signs, permutation, gaussian)


def give_length(directions: np.ndarray) -> None:
    """Make rows of zeros, which int8 normals have where columns are few, a unit vector: they need a length."""
    directions[~directions.any(axis=1), 0] = 1


def integer_shift(largest_code: int, d: int, size: int) -> int:
    """By how many bits G Pi H B x must be shifted so that no sum of the second transform can leave int32.

    |H y| <= |y|_1 <= |G|_2 |H B x|_2 <= (127 sqrt(n)) (sqrt(n) largest sqrt(d)), and rounding adds at most n/2.
    """
    if largest_code * d * 127 >= 2**31:
        limit = (2**31 - 1) // (largest_code * 127)
        raise ValueError(f"integer Fastfood holds at most {limit} columns of such inputs; X has {d}.")
    bound, shift = 127.0 * size * largest_code * np.sqrt(d), 0
    while bound / 2**shift + size / 2 >= 2**31:
        shift += 1
    return shift

"""Categories as columns of 0 and 1, one for each, or as a signed 1 in one of a few columns, chosen by a hash."""

from __future__ import annotations

import hashlib

import numpy as np

from .chunk import Text


def write_onehot(text: Text, categories: list[str], out: np.ndarray) -> None:
    """A 1 in the column of each row's category; none for one that is missing or not known."""
    known = {value: k for k, value in enumerate(categories)}
    places = np.array([known.get(value, -1) for value in text.values], dtype=np.int64)
    write_signs(text, places, np.ones(len(places), dtype=np.int64), out)


def write_hashed(name: str, text: Text, out: np.ndarray) -> None:
    """A signed 1 in the column that the hash of the column's name and the category says; none for a missing one."""
    hashed = [hash_text(name, value, out.shape[1]) for value in text.values]
    places, signs = np.array(hashed, dtype=np.int64).reshape(-1, 2).T
    write_signs(text, places, signs, out)


def write_signs(text: Text, places: np.ndarray, signs: np.ndarray, out: np.ndarray) -> None:
    rows = np.flatnonzero(text.codes >= 0)
    rows = rows[places[text.codes[rows]] >= 0]
    out[rows, places[text.codes[rows]]] = signs[text.codes[rows]]


def hash_text(column: str, value: str, width: int) -> tuple[int, int]:
    """(place, sign) of a value: the first bytes of BLAKE2b of the column's name and the value."""
    word = int.from_bytes(hashlib.blake2b(f"{column}\0{value}".encode(), digest_size=8).digest(), "little")
    return (word >> 1) % width, 1 - 2 * (word & 1)

"""q-ary codes as bits, and the Hamming distance between them.

Codes are kept as bit planes: plane k holds bit k of all codes of a row, eight codes a byte. Two codes differ if they
differ in any plane, so a distance is exclusive or, or over the planes, and a count of bits; no code is unpacked.
"""

from __future__ import annotations

import numpy as np

from ..blocks import rows_per_block

WORDS = (np.uint64, np.uint32, np.uint16, np.uint8)


def bits_per_code(pool_size: int) -> int:
    """Bits that hold the numbers 0..q-1."""
    return (int(pool_size) - 1).bit_length()


def pack(codes: np.ndarray, pool_size: int) -> np.ndarray:
    """Bytes (n, planes, codes / 8) of codes (n, m); a last byte that is not full ends in zeros."""
    planes = [np.packbits((codes >> k) & 1, axis=1) for k in range(bits_per_code(pool_size))]
    return np.stack(planes, axis=1)


def unpack(packed: np.ndarray, n_codes: int) -> np.ndarray:
    """The codes that were packed."""
    planes = np.unpackbits(packed, axis=2)[:, :, :n_codes].astype(np.uint16)
    return (planes << np.arange(packed.shape[1], dtype=np.uint16)[:, None]).sum(axis=1, dtype=np.uint16)


def count_differences(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """How many codes differ, for every row of A and every row of B, both packed; a block of A at a time."""
    A, B = words_of(A), words_of(B)
    out = np.empty((len(A), len(B)), dtype=np.int64)
    step = rows_per_block(2 * len(B) * A.shape[2])
    for start in range(0, len(A), step):
        rows = slice(start, start + step)
        differ = A[rows, None, 0] ^ B[None, :, 0]
        for plane in range(1, A.shape[1]):
            differ |= A[rows, None, plane] ^ B[None, :, plane]
        out[rows] = np.bitwise_count(differ).sum(axis=2, dtype=np.int64)
    return out


def words_of(packed: np.ndarray) -> np.ndarray:
    """The same bits in the widest words that fit, for speed."""
    packed = np.ascontiguousarray(packed)
    return packed.view(next(word for word in WORDS if packed.shape[2] % np.dtype(word).itemsize == 0))

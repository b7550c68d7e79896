"""Named, counter-based randomness: the only source of random numbers in the library.

A `Stream` is Philox4x32-10 (Salmon, Moraes, Dror and Shaw, 2011) with key = hash of (seed, name) and counter =
(block, feature). Any feature can be drawn alone, so the first k of m features are the features drawn for k, every
machine and worker draws the same ones, and a saved model stores the seed instead of the weights.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from . import portable

MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
WEYL = (0x9E3779B9, 0xBB67AE85)
LOW, HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
FINISHERS = (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53)  # of MurmurHash3
CHUNK = 1 << 15  # counters per pass: the working arrays stay in cache


def philox(counter: np.ndarray, key: tuple[int, int]) -> np.ndarray:
    """Ten rounds of Philox4x32 on counters of shape (n, 4); uint32 in, uint32 out."""
    out = np.empty(counter.shape, dtype=np.uint32)
    for start in range(0, len(counter), CHUNK):
        words = [counter[start : start + CHUNK, k].astype(np.uint64) for k in range(4)]
        key0, key1 = key
        for _ in range(10):
            first, second = words[0] * MULTIPLIERS[0], words[2] * MULTIPLIERS[1]
            words = [
                (second >> HALF) ^ words[1] ^ np.uint64(key0), second & LOW,
                (first >> HALF) ^ words[3] ^ np.uint64(key1), first & LOW,
            ]  # fmt: skip
            key0, key1 = (key0 + WEYL[0]) & 0xFFFFFFFF, (key1 + WEYL[1]) & 0xFFFFFFFF
        for k in range(4):
            out[start : start + CHUNK, k] = words[k]
    return out


generate: Callable[[np.ndarray, tuple[int, int]], np.ndarray] = philox  # or a faster one of the same bits


def uniform_from_bits(bits: np.ndarray) -> np.ndarray:
    """32 bits -> the middle of one of 2^32 equal cells of (0, 1); exact in float64."""
    return (bits.astype(np.float64) + 0.5) * 2.0**-32


@lru_cache(maxsize=1)
def int8_normal_table() -> np.ndarray:
    """The normal quantiles at 2^16 cell middles, times 32, rounded to int8: an integer table, the same everywhere."""
    quantiles = portable.normal_quantile((np.arange(1 << 16) + 0.5) * 2.0**-16)
    return np.clip(np.rint(32.0 * quantiles), -127, 127).astype(np.int8)


@lru_cache(maxsize=1)
def int8_normal_deviation() -> float:
    """The exact standard deviation of the table, 32 but for rounding and clipping."""
    return float(np.sqrt(np.mean(int8_normal_table().astype(np.float64) ** 2)))


class Stream:
    """The random numbers called `name` under `seed`; every method draws for the features start..stop-1, one a row."""

    def __init__(self, seed: int, name: str) -> None:
        digest = hashlib.blake2b(f"{int(seed)}:{name}".encode(), digest_size=8).digest()
        self.key = (int.from_bytes(digest[:4], "little"), int.from_bytes(digest[4:], "little"))

    @classmethod
    def of_key(cls, key: tuple[int, int]) -> Stream:
        """The stream with this key."""
        stream = cls.__new__(cls)
        stream.key = key
        return stream

    def _blocks(self, features: np.ndarray, block: np.ndarray | int, turn: int = 0) -> np.ndarray:
        """Four words for each feature: the counter is (block, turn, low and high half of the feature's index)."""
        counter = np.empty((len(features), 4), dtype=np.uint32)
        counter[:, 0], counter[:, 1] = block, turn
        counter[:, 2], counter[:, 3] = features & 0xFFFFFFFF, features >> 32
        return generate(counter, self.key)

    def bits(self, start: int, stop: int, width: int = 1) -> np.ndarray:
        """uint32 words, shape (stop - start, width)."""
        blocks = -(-width // 4)
        if blocks == 1:  # as for priorities of rows, of which there are many
            return self._blocks(np.arange(start, stop, dtype=np.int64), 0)[:, :width]
        features = np.repeat(np.arange(start, stop, dtype=np.int64), blocks)
        words = self._blocks(features, np.tile(np.arange(blocks, dtype=np.uint32), stop - start))
        return words.reshape(stop - start, 4 * blocks)[:, :width]

    def uniform(self, start: int, stop: int, width: int = 1) -> np.ndarray:
        """Uniform on (0, 1)."""
        return uniform_from_bits(self.bits(start, stop, width))

    def normal(self, start: int, stop: int, width: int = 1, dtype: DTypeLike = np.float64) -> np.ndarray:
        """Standard normal, by the quantile function; made in float64, stored in `dtype`."""
        out: np.ndarray = np.empty((stop - start, width), dtype=dtype)
        rows = max(1, CHUNK // max(width, 1))
        for first in range(start, stop, rows):
            last = min(first + rows, stop)
            out[first - start : last - start] = portable.normal_quantile(self.uniform(first, last, width))
        return out

    def normal_int8(self, start: int, stop: int, width: int = 1) -> np.ndarray:
        """int8 numbers with the law of round(32 g): sixteen bits each, through an integer table."""
        words = self.bits(start, stop, -(-width // 2))
        halves = np.stack([words & 0xFFFF, words >> 16], axis=2).reshape(stop - start, -1)
        return int8_normal_table()[halves[:, :width]]

    def sign(self, start: int, stop: int, width: int = 1) -> np.ndarray:
        """-1 or +1, as int8; one bit each."""
        words = np.ascontiguousarray(self.bits(start, stop, -(-width // 32)).astype("<u4"))
        ones = np.unpackbits(words.view(np.uint8).reshape(stop - start, -1), axis=1, bitorder="little")[:, :width]
        return (2 * ones.astype(np.int8) - 1).astype(np.int8)

    def permutation(self, start: int, stop: int, size: int) -> np.ndarray:
        """A permutation of 0..size-1 per row, by sorting 64-bit keys; a tie (chance size^2/2^65) keeps index order."""
        words = self.bits(start, stop, 2 * size).astype(np.uint64)
        return np.argsort((words[:, 0::2] << HALF) | words[:, 1::2], axis=1, kind="stable").astype(np.int32)

    def integers(self, start: int, stop: int, bound: int, width: int = 1) -> np.ndarray:
        """Integers 0..bound-1, the high half of a 32 x 32 bit product; bias below bound/2^32."""
        return ((self.bits(start, stop, width).astype(np.uint64) * np.uint64(bound)) >> HALF).astype(np.int64)

    def gamma(self, shape: float, start: int, stop: int, width: int = 1) -> np.ndarray:
        """Gamma(shape), scale 1, by Marsaglia and Tsang (2000); feature f, column j, try t has a block of its own."""
        features = np.repeat(np.arange(start, stop, dtype=np.int64), width)
        columns = np.tile(np.arange(width, dtype=np.uint32), stop - start)
        boosted = shape if shape >= 1.0 else shape + 1.0
        d = boosted - 1.0 / 3.0
        c = 1.0 / (3.0 * float(np.sqrt(d)))
        out, waiting, turn = np.empty(len(features)), np.arange(len(features)), 0
        while len(waiting):
            u = uniform_from_bits(self._blocks(features[waiting], columns[waiting], turn))
            x = portable.normal_quantile(u[:, 0])
            v = 1.0 + c * x
            v = v * v * v
            positive = np.where(v > 0, v, 1.0)
            accepted = (v > 0) & (portable.log(u[:, 1]) < 0.5 * x * x + d - d * v + d * portable.log(positive))
            out[waiting[accepted]] = d * v[accepted]
            if shape < 1.0:  # Gamma(a) = Gamma(a + 1) U^(1/a)
                out[waiting[accepted]] *= portable.exp(portable.log(u[accepted, 2]) / shape)
            waiting, turn = waiting[~accepted], turn + 1
        return out.reshape(stop - start, width)

    def chi(self, degrees: float, start: int, stop: int, width: int = 1) -> np.ndarray:
        """The norm of a standard normal vector with `degrees` coordinates."""
        return np.sqrt(2.0 * self.gamma(0.5 * degrees, start, stop, width))


def priorities(start: int, stop: int, seed: int) -> np.ndarray:
    """A random number for each row number, the same whoever asks."""
    return Stream(seed, "rows").bits(start, stop)[:, 0].astype(np.int64)


def sample_rows(n: int, count: int, seed: int) -> np.ndarray:
    """At most `count` of n row numbers, ascending: those with the smallest random priority.

    The priority belongs to the row number alone, so the choice does not depend on how rows come in blocks.
    """
    if n <= count:
        return np.arange(n)
    best = np.empty((0, 2), dtype=np.int64)  # (priority, number): ties are broken by the number
    for start in range(0, n, CHUNK * 4):
        stop = min(start + CHUNK * 4, n)
        drawn = priorities(start, stop, seed)
        # All but a few of many rows are out at once, before anything is done with their numbers.
        few = np.flatnonzero(drawn <= best[-1, 0]) if len(best) == count else np.arange(stop - start)
        lot = np.column_stack([drawn[few], start + few])
        best = np.vstack([best, lot])
        best = best[np.lexsort((best[:, 1], best[:, 0]))][:count]
    return np.sort(best[:, 1])


def row_hashes(X: Any) -> np.ndarray:
    """64 bits for each row of a matrix, dense or CSR, that equal rows share: float32 and float64 alike, zeros or none.

    Numbers count to 28 binary digits, so that a row that was computed twice is one row whatever its last digits. It is
    a sum of products with odd multipliers, in integers that wrap around, so that the order of columns in memory and of
    additions does not matter; then the finisher of MurmurHash3.
    """
    if hasattr(X, "indptr"):
        total = np.zeros(X.shape[0], dtype=np.uint64)
        terms = _words(X.data) * hash_multipliers(X.shape[1])[X.indices]
        np.add.at(total, np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), terms)
    else:
        multipliers = hash_multipliers(X.shape[1])
        total = np.empty(X.shape[0], dtype=np.uint64)
        rows = max(1, (1 << 17) // max(X.shape[1], 1))  # a slab stays in a cache
        for start in range(0, len(total), rows):
            words = _words(X[start : start + rows])
            words *= multipliers
            total[start : start + rows] = words.sum(axis=1)
    for multiplier in FINISHERS:
        total ^= total >> np.uint64(33)
        total *= np.uint64(multiplier)
    return total ^ (total >> np.uint64(33))


def _words(values: np.ndarray) -> np.ndarray:
    """The leading bits of numbers as float64, the upper half mixed into the lower; zero has none, whatever its sign."""
    if values.dtype.itemsize == 1:
        every = np.arange(256, dtype=np.uint8).view(values.dtype)
        return np.asarray(_words(every.astype(np.float64)))[values.view(np.uint8)]
    words = (np.ascontiguousarray(values, dtype=np.float64) + 0.0).view(np.uint64)
    words += np.uint64(1 << 23)  # to the nearest: whole numbers and their like lie in the middle of what is rounded
    words &= np.uint64((1 << 64) - (1 << 24))
    words ^= words >> HALF
    return words


@lru_cache(maxsize=64)
def hash_multipliers(columns: int) -> np.ndarray:
    """An odd number of 64 bits for each column."""
    words = Stream(0, "rows").bits(0, columns, 2).astype(np.uint64)
    return (words[:, 0] << HALF) | words[:, 1] | np.uint64(1)

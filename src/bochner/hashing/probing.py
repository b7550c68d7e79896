"""In which order to look into buckets: those first that a neighbour of the query is most likely to have fallen into.

A neighbour's winner is j instead of the query's own if a normal number of variance proportional to its squared distance
exceeds the margin by which j lost. So bucket (j_1, ..., j_K) has, up to a scale that does not matter for the order, the
log-probability -(margin_1^2 + ... + margin_K^2), and the buckets to look at are those with the smallest sums.
"""

from __future__ import annotations

import numpy as np

from .packing import bits_per_code


def bucket_keys(codes: np.ndarray, pool_size: int) -> np.ndarray:
    """One number for K codes along the last axis, the first in the highest bits; uint64."""
    keys = np.zeros(codes.shape[:-1], dtype=np.uint64)
    for k in range(codes.shape[-1]):
        keys = (keys << np.uint64(bits_per_code(pool_size))) | codes[..., k].astype(np.uint64)
    return keys


def probe_keys(margins: np.ndarray, n_probes: int) -> np.ndarray:
    """The keys of the n_probes buckets (or of all, if they are fewer) with the smallest sums, shape (n, n_probes).

    margins has shape (n, K, q). Exact: the best of K + 1 codes begin with some of the best of K codes, so that it is
    enough to keep n_probes beginnings.
    """
    n, _, pool_size = margins.shape
    bits, numbers = np.uint64(bits_per_code(pool_size)), np.arange(pool_size, dtype=np.uint64)
    sums, keys = np.zeros((n, 1)), np.zeros((n, 1), dtype=np.uint64)
    for margin in margins.astype(np.float64).transpose(1, 0, 2):
        sums = (sums[:, :, None] + np.square(margin)[:, None, :]).reshape(n, -1)
        keys = ((keys[:, :, None] << bits) | numbers).reshape(n, -1)
        if sums.shape[1] > n_probes:
            best = np.argpartition(sums, n_probes - 1, axis=1)[:, :n_probes]
            sums, keys = np.take_along_axis(sums, best, axis=1), np.take_along_axis(keys, best, axis=1)
    return keys

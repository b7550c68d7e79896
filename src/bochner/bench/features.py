"""Random features of pictures of the size of MNIST: 60,000 x 784 -> 4,096."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.kernel_approximation import RBFSampler

from .. import Fastfood, GatedLinear, RandomBins, RandomFourier, RandomMaxout, RandomStumps, ops
from ..arrays import is_csr
from ..bases import Basis
from .limits import BYTES, CODES, DIVISIONS, FLOATS, SUMS
from .timing import Entry, best_time, check

LOT = 15_000  # rows at a time, as a block has: the features of all would fill memory
CHECKED = 600  # rows whose features are made by the definitions too; few would not meet the kernels for many
PADDED, WAVE = 1024, 13  # numbers of a Hadamard transform; operations for a cosine or a sine


def bench_features(quick: bool = False) -> list[Entry]:
    rows, d, m = (15_000, 784, 1024) if quick else (60_000, 784, 4096)
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (LOT, d), dtype=np.uint8)
    pixels[rng.random((LOT, d)) < 0.8] = 0
    X, lots = pixels.astype(np.float32) / 255, rows // LOT
    entries: list[Entry] = []

    def add(
        work: str, who: str, kind: str, action: Callable[[], Any], note: str = "", costs: Any = (), part: int = 1
    ) -> None:
        """The action takes one lot, or that part of it; costs are those of a lot."""
        seconds = lots * part * (best_time(action, 1) if quick or part > 1 else best_time(action, 5, least=4.0))
        whole = {unit: float(lots * cost) for unit, cost in dict(costs).items()}
        entries.append(
            Entry(f"{work} {rows:,} x {d} -> {m:,}", who, kind, seconds, rows / seconds, "rows/s", note, whole)
        )

    dense = float(LOT) * d * m  # products
    add_fourier(add, rng, pixels, X, m)
    maxout: list[tuple[str, Any, np.ndarray, dict[str, float]]] = [
        ("bochner int8", RandomMaxout(m // 4, precision="int8", random_state=0), pixels, {CODES: 2 * dense}),
        ("bochner float32", RandomMaxout(m // 4, random_state=0), X, {FLOATS: 2 * dense}),
    ]
    pools = rng.standard_normal((d, m)).astype(np.float32)
    for name, basis, data, costs in maxout:
        moved = checked(name, basis, data)
        add("maxout of 4", name, "ours", partial(basis.features, data), costs={**costs, BYTES: moved})
    add("maxout of 4", "X W alone", "limit", lambda: X @ pools, "the bare product of our float32 map")
    add_comparisons(add, pixels, X, m)
    gated = GatedLinear(m, random_state=0, precision="int8")
    moved = checked("gated linear int8", gated, pixels)
    directions = rng.integers(-127, 128, (m + m // 4, d)).astype(np.int8)
    products = 2.5 * dense  # four gates and a value for four columns
    add("gated linear int8", "bochner", "ours", partial(gated.features, pixels), costs={CODES: products, BYTES: moved})
    add("gated linear int8", "X W alone", "limit", partial(ops.project, pixels, directions), "integer projections")
    add_pools(add, rng, m)
    return entries


def add_fourier(add: Callable[..., None], rng: np.random.Generator, pixels: np.ndarray, X: np.ndarray, m: int) -> None:
    """Waves, ours and other people's."""
    d = X.shape[1]
    W, b = rng.standard_normal((d, m)).astype(np.float32), rng.uniform(0, 6, m).astype(np.float32)
    sampler = RBFSampler(gamma=0.02, n_components=m, random_state=0).fit(X)
    sampler.random_weights_ = sampler.random_weights_.astype(np.float32)
    sampler.random_offset_ = sampler.random_offset_.astype(np.float32)
    half = W[:, : m // 2].copy()
    dense, hadamard = float(LOT) * d * m, 2.0 * LOT * (m // 2) * np.log2(PADDED)  # a frequency has two columns
    fourier: list[tuple[str, Any, np.ndarray, dict[str, float]]] = [
        ("int8", RandomFourier(m, bandwidth=7.0, precision="int8", random_state=0), pixels, {CODES: dense}),
        ("float32", RandomFourier(m, bandwidth=7.0, random_state=0), X, {FLOATS: dense + WAVE * LOT * m}),
        ("Fastfood float32", Fastfood(m, bandwidth=7.0, random_state=0), X, {SUMS: hadamard}),
        ("Fastfood int8", Fastfood(m, bandwidth=7.0, precision="int8", random_state=0), pixels, {SUMS: hadamard}),
    ]
    for name, basis, data, costs in fourier:
        moved = checked(name, basis, data)
        add("fourier", f"bochner {name}", "ours", partial(basis.features, data), costs={**costs, BYTES: moved})
    add("fourier", "numpy cos(X W + b)", "peer", lambda: np.cos(X @ W + b), "one cosine per column: m frequencies")
    add("fourier", "numpy cos and sin of X W", "peer", lambda: pairs(X @ half), "pairs: m/2 frequencies, as ours")
    add("fourier", "scikit-learn RBFSampler", "peer", lambda: sampler.transform(X), "float32")
    add_torch(add, X, W)
    add_extra(add, X, m)
    add("fourier", "X W alone, m/2 columns", "limit", lambda: X @ half, "the bare product of our float32 map")


def add_comparisons(add: Callable[..., None], pixels: np.ndarray, X: np.ndarray, m: int) -> None:
    """Features that compare and do not multiply: writing them should be what takes the time; for bins, dividing."""
    cheap: list[tuple[str, Any, np.ndarray]] = [
        ("stumps int8 of bytes", RandomStumps(m, random_state=0, precision="int8"), pixels),
        ("stumps int8 of float32", RandomStumps(m, random_state=0, precision="int8"), X),
        ("stumps float32", RandomStumps(m, random_state=0), X),
    ]
    for work, basis, data in cheap:
        moved = checked(work, basis, data)
        add(work, "bochner", "ours", partial(basis.features, data), costs={BYTES: moved})
        add(work, "writing the output", "limit", partial(np.ones, (LOT, m), dtype=basis.features(data[:1]).dtype))
    few, grids = X[:, :16].copy(), 64
    bins = RandomBins(m, n_grids=grids, random_state=0, bandwidth=50.0)
    moved = checked("bins", bins, few)
    divisions = float(LOT) * grids * few.shape[1]  # a number of the output takes one for each column
    made = partial(bins.features, few)
    add("bins of 16 columns", "bochner", "ours", made, costs={DIVISIONS: divisions, BYTES: moved})
    shift, pitch, multipliers = bins.map_.weights(0, grids)
    cells = partial(ops.bins, few, shift, pitch, multipliers, m)
    check("cells", np.array_equal(cells()[:200], ops.reference.bins(few[:200], shift, pitch, multipliers, m)))
    moved = few.nbytes + 8 * LOT * grids
    add("cells of 64 grids", "bochner", "ours", cells, costs={DIVISIONS: divisions, BYTES: moved})


def add_pools(add: Callable[..., None], rng: np.random.Generator, m: int) -> None:
    """What follows projections that are there: which of four is largest, and what its gate lets through."""
    projections = rng.standard_normal((LOT, m)).astype(np.float32)
    winners = ops.winners(projections, 4)
    through = rng.integers(-127, 128, winners.shape).astype(np.int8)
    check("argmax codes", np.array_equal(winners[:200], ops.reference.winners(projections[:200], 4)))
    opened = ops.gates(winners, through, 4)
    check("gates", np.array_equal(opened[:200], ops.reference.gates(winners[:200], through[:200], 4)))
    moved = projections.nbytes + winners.nbytes
    add("argmax codes of projections", "bochner", "ours", partial(ops.winners, projections, 4), costs={BYTES: moved})
    add("argmax codes of projections", "copying the projections", "limit", projections.copy)
    moved = winners.nbytes + through.nbytes + opened.nbytes
    add("gates of winners", "bochner", "ours", partial(ops.gates, winners, through, 4), costs={BYTES: moved})
    add("gates of winners", "writing the output", "limit", partial(np.ones, (LOT, m), dtype=np.int8))


def pairs(projections: np.ndarray) -> np.ndarray:
    out = np.empty((len(projections), 2 * projections.shape[1]), dtype=projections.dtype)
    out[:, 0::2], out[:, 1::2] = np.cos(projections), np.sin(projections)
    return out


def checked(name: str, basis: Basis, data: np.ndarray) -> int:
    """The features of some rows, by the definitions alone, must be the same. Returns the bytes in and out."""
    basis.fit(data)
    few = data[:CHECKED]
    fast = basis.features(few)
    with ops.backend_context("reference"):
        slow = basis.features(few)
    close = (fast != slow).nnz == 0 if hasattr(fast, "nnz") else np.allclose(fast, slow, rtol=0, atol=2e-6)
    if fast.dtype.kind == "i" and not hasattr(fast, "nnz"):
        close = np.array_equal(fast, slow)
    check(name, bool(close))
    made = sum(part.nbytes for part in (fast.data, fast.indices)) if is_csr(fast) else fast.nbytes
    return (few.nbytes + int(made)) * len(data) // len(few)


def add_extra(add: Callable[..., None], X: np.ndarray, m: int) -> None:
    try:
        from sklearn_extra.kernel_approximation import Fastfood as Peer
    except (ImportError, ValueError):  # its wheels are of an older numpy, which a ValueError says
        return
    few = X[: LOT // 15].astype(np.float64)
    peer = Peer(n_components=m, random_state=0).fit(few)
    add("fourier", "scikit-learn-extra Fastfood", "peer", lambda: peer.transform(few), "float64", part=15)


def add_torch(add: Callable[..., None], X: np.ndarray, W: np.ndarray) -> None:
    try:
        import torch
    except ImportError:
        return
    x, w = torch.from_numpy(X), torch.from_numpy(W)
    add("fourier", "torch cos(X W), float32", "peer", lambda: torch.cos(x @ w))
    brain = x.bfloat16(), w.bfloat16()
    add("fourier", "torch cos(X W), bfloat16", "peer", lambda: torch.cos(brain[0] @ brain[1]))
